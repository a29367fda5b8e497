"""The one table that every reader fills: what ran, where, from when, for how long, and how many bytes it moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]  # whole numbers; of 8, 32 or 64 bits, since tables may have millions of rows
Flags = NDArray[np.bool_]
NO_TIME = -(2**63)  # a start that is not known


class Kind(IntEnum):
    """What a record spends its time on."""

    OTHER = 0
    COMPUTE = 1
    COMMUNICATION = 2
    UPDATE = 3
    WAIT = 4
    MEMORY = 5


class Collective(IntEnum):
    """Which pattern of communication a record belongs to; NONE where it is none or not told."""

    NONE = 0
    ALL_REDUCE = 1
    ALL_GATHER = 2
    REDUCE_SCATTER = 3
    BROADCAST = 4
    ALL_TO_ALL = 5
    REDUCE = 6
    GATHER = 7
    SCATTER = 8
    SEND = 9
    RECV = 10
    BARRIER = 11


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
    """Records as columns of one length, in order of start.

    ``operation`` and ``thread`` index into ``operations`` and ``threads``; ``types`` has for every operation the type of it that the
    format tells ("MatMul"), or ""; ``thread_node`` gives for every thread its index into
    ``nodes`` (a process, a host or a device), see :meth:`node`. ``kind``, ``layer`` and ``collective`` hold :class:`Kind`,
    :class:`Layer` and :class:`Collective`. ``rank``, ``step``, ``bytes`` and ``group`` (members of the collective) are -1 where
    unknown; see :meth:`known_bytes`. ``start_ns`` is in whole nanoseconds from the trace's own epoch, :data:`NO_TIME` where unknown.
    ``duration_ns`` is positive, or -1 where the format tells none (an execution graph), or 0 in formats of graphs, where other
    records depend on it; :meth:`timed` picks the positive ones. What a timeline tells with a duration of 0 is in no record but
    counted per operation in ``zeros``.

    The marks say where steps begin and how long they take (``mark_number`` is the number in the mark's name, ``mark_part`` the file);
    ``step`` is an index into them. ``dependencies`` has rows (record, record that it waited for). Provenance: ``part`` is an index
    into ``parts``, the files, and ``entry`` the running number of the entry of that file.
    """

    operations: tuple[str, ...]
    types: tuple[str, ...]
    threads: tuple[str, ...]
    nodes: tuple[str, ...]
    thread_node: Ints
    operation: Ints
    thread: Ints
    kind: Ints
    layer: Ints
    collective: Ints
    group: Ints
    rank: Ints
    step: Ints
    start_ns: Ints
    duration_ns: Ints
    bytes: Ints
    entry: Ints
    part: Ints
    dependencies: Ints
    mark_number: Ints
    mark_start_ns: Ints
    mark_duration_ns: Ints
    mark_part: Ints
    zeros: Mapping[str, int]
    problems: tuple[Problem, ...]
    origin: Origin
    parts: tuple[Origin, ...]

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

    def timed(self) -> Flags:
        """Which records have a start and a positive duration."""
        return np.asarray((self.duration_ns > 0) & (self.start_ns != NO_TIME))

    def span_ns(self) -> int:
        """From the first start to the last end of what is timed; 0 where nothing is."""
        timed = self.timed()
        start = self.start_ns[timed]
        return int((start + self.duration_ns[timed]).max() - start.min()) if len(start) else 0

    def known_bytes(self) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
        """The bytes column with the unknown masked."""
        return np.ma.masked_less(self.bytes, 0)

    def node(self) -> Ints:
        """The node of every record, an index into ``nodes``."""
        return np.asarray(self.thread_node[self.thread])

    def named(self, operation: str) -> Flags:
        """Which records are of the operation with exactly this name; none if there is no such name."""
        if operation not in self.operations:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.operation == self.operations.index(operation))

    def select(self, operation: str) -> Flags:
        """As :meth:`named`, of these only the ones with a positive duration: what a law can be fitted to."""
        return np.asarray(self.named(operation) & (self.duration_ns > 0))

    def counts(self) -> dict[str, int]:
        """Records per operation, most frequent first."""
        counts = np.bincount(self.operation, minlength=len(self.operations))
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], self.operations[i]))
        return {self.operations[i]: int(counts[i]) for i in order}
