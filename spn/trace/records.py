"""The one table that every reader fills: what ran, where, from when, for how long, and how many bytes it moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Kind(IntEnum):
    """What a record spends its time on."""

    OTHER = 0
    COMPUTE = 1
    COMMUNICATION = 2
    UPDATE = 3
    WAIT = 4
    MEMORY = 5


class Layer(IntEnum):
    """Who tells of it: a named range of the program, an operator or call on the host, or a kernel or copy on a device."""

    RANGE = 0
    HOST = 1
    DEVICE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A finding about the data that did not stop the reading: how often, and the first case."""

    what: str
    count: int
    example: str = ""

    def __str__(self) -> str:
        return f"{self.count} x {self.what}" + (f", for instance {self.example}" if self.example else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a trace came from. ``events``: all entries of the file, records or not."""

    path: str
    format: str
    events: int
    sha256: str
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Records as columns of one length, in order of start, every duration positive.

    ``operation`` and ``thread`` index into ``operations`` and ``threads``; ``kind`` and ``layer`` hold :class:`Kind` and
    :class:`Layer`. ``rank``, ``step`` and ``bytes`` are -1 where unknown; see :meth:`known_bytes`. Times are whole nanoseconds from
    the trace's own epoch. The marks say where steps begin and how long they take (``mark_number`` is the number in the mark's name);
    ``step`` is an index into them.
    """

    operations: tuple[str, ...]
    threads: tuple[str, ...]
    operation: Ints
    thread: Ints
    kind: Ints
    layer: Ints
    rank: Ints
    step: Ints
    start_ns: Ints
    duration_ns: Ints
    bytes: Ints
    mark_number: Ints
    mark_start_ns: Ints
    mark_duration_ns: Ints
    problems: tuple[Problem, ...]
    origin: Origin

    def __post_init__(self) -> None:
        for column in fields(self):
            values = getattr(self, column.name)
            if isinstance(values, np.ndarray):
                values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.start_ns)

    def __repr__(self) -> str:
        span = f"{self.span_ns() / 1e9:.6g} s" if len(self) else "empty"
        found = f", {sum(p.count for p in self.problems)} problems" if self.problems else ""
        return (
            f"Trace({self.origin.path!r}: {self.origin.format}, {len(self)} records of {len(self.operations)} operations, "
            f"{len(self.mark_number)} steps, {span}{found})"
        )

    def span_ns(self) -> int:
        """From the first start to the last end; 0 for an empty trace."""
        return int((self.start_ns + self.duration_ns).max() - self.start_ns.min()) if len(self) else 0

    def known_bytes(self) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
        """The bytes column with the unknown masked."""
        return np.ma.masked_less(self.bytes, 0)

    def select(self, operation: str) -> Flags:
        """Which records are of the operation with exactly this name; none if there is no such name."""
        if operation not in self.operations:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.operation == self.operations.index(operation))

    def counts(self) -> dict[str, int]:
        """Records per operation, most frequent first."""
        counts = np.bincount(self.operation, minlength=len(self.operations))
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], self.operations[i]))
        return {self.operations[i]: int(counts[i]) for i in order}
