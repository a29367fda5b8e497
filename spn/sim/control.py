"""When to stop: limits on firings and seconds, interruption, and the report of progress."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from spn.result import Value


class Stopped(Exception):
    """A limit was reached or the user interrupted; internal, never escapes the simulator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come: firings made, seconds spent, the present estimates, and the worst relative half-width beside that wanted
    (or, unless ``relative``, how many times wider than wanted the widest is, beside 1)."""

    firings: int
    seconds: float
    measures: Mapping[str, Value]
    worst: float
    precision: float
    relative: bool = True

    def __str__(self) -> str:
        if not self.relative:
            return f"{self.firings:.3g} firings, {self.worst:.2g} times the half-width wanted"
        return f"{self.firings:.3g} firings, ±{100 * self.worst:.2g} % (wanted ±{100 * self.precision:.2g} %)"


@dataclass(slots=True)
class Control:
    """Shared by all threads of a run."""

    workers: int
    max_seconds: float
    max_firings: float
    progress: Callable[[Progress], None] | None = None
    firings: int = 0
    interrupted: bool = False
    started: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, firings: int) -> None:
        with self._lock:
            self.firings += firings

    def interrupt(self) -> None:
        self.interrupted = True

    def seconds(self) -> float:
        return time.monotonic() - self.started

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """What is done in here costs the run none of its seconds: compiling a kernel for the first time, say."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.started += time.monotonic() - began

    def exhausted(self) -> str:
        """Which limit is reached, in words; empty where none is."""
        if self.interrupted:
            return "interrupted"
        if self.seconds() > self.max_seconds:
            return f"stopped after {self.max_seconds:g} s"
        if self.firings >= self.max_firings:
            return f"stopped after {self.firings} firings"
        return ""

    def check(self) -> None:
        if self.exhausted():
            raise Stopped


def all_cores() -> int:
    """The cores that this process may use."""
    count = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count else os.cpu_count() or 1
