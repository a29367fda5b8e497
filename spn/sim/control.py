"""When to stop: limits on firings and seconds, and interruption; what else has to be done while a run goes on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from spn.sim.executors import Site
from spn.sim.progress import Progress, Reporter
from spn.sim.record import Record

__all__ = ["Control", "Progress", "Stopped", "all_cores"]


class Stopped(Exception):
    """A limit was reached or the user interrupted; internal, never escapes the simulator."""


@dataclass(slots=True)
class Control:
    """Shared by all threads of a run. ``site`` is where units of work are sent (None: threads of this process), ``record`` keeps what was
    done (None: nobody will ask)."""

    workers: int
    max_seconds: float
    max_firings: float
    progress: Callable[[Progress], None] | None = None
    record: Record | None = None
    site: Site | None = None
    firings: int = 0
    interrupted: bool = False
    abandoned: bool = False  # a unit has failed: the others need not go on
    started: float = field(default_factory=time.monotonic)
    reporter: Reporter = field(init=False)
    _owner: int = field(default_factory=threading.get_ident)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.reporter = Reporter(self.progress, self.max_seconds)

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
        """Raises Stopped where the run has to end. Ticks, in the thread that made it."""
        if self.abandoned or self.exhausted():
            raise Stopped
        if threading.get_ident() == self._owner:
            self.tick()

    def tick(self) -> None:
        """Tell how far things are and write them down, when it is time."""
        if self.record is not None and self.record.due():
            self.record.write()
        self.reporter.tick(self.firings, self.seconds())


def all_cores() -> int:
    """The cores that this process may use."""
    count = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count else os.cpu_count() or 1
