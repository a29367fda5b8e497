"""A table of records under construction: names become numbers at once, and rows become narrow columns block by block.

A trace of a gigabyte has some millions of records, so a row costs about 50 bytes and never a Python object.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spn.trace.records import Collective, Ints, Kind, Layer, Origin, Problem, Trace

BLOCK = 1 << 16  # rows
_ROW = ("label", "thread", "start_ns", "duration_ns", "bytes", "group", "key", "entry")
_NARROW = {"label": np.int32, "thread": np.int32, "group": np.int32, "entry": np.int32}

Label = tuple[str, Kind, Layer, Collective]
Thread = tuple[str, str]  # node, thread


@dataclass(slots=True)
class Table:
    """Rows under construction; ``key`` is a number of the reader's own (a correlation, an identity), gone from the finished trace."""

    labels: dict[Label, int] = field(default_factory=dict)
    threads: dict[Thread, int] = field(default_factory=dict)
    flat: array[int] = field(default_factory=lambda: array("q"))
    blocks: dict[str, list[Ints]] = field(default_factory=lambda: {name: [] for name in _ROW})
    types: dict[str, str] = field(default_factory=dict)  # operation -> its type, where the format tells it
    zeros: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def label(self, name: str, kind: Kind, layer: Layer, collective: Collective = Collective.NONE) -> int:
        key = (name, kind, layer, collective)
        return self.labels.setdefault(key, len(self.labels))

    def thread(self, node: str, name: str) -> int:
        return self.threads.setdefault((node, name), len(self.threads))

    def add(
        self, label: int, thread: int, start_ns: int, duration_ns: int, size: int = -1, group: int = -1, key: int = -1, entry: int = -1
    ) -> None:
        self.flat.extend((label, thread, start_ns, duration_ns, size, group, key, entry))
        if len(self.flat) >= BLOCK * len(_ROW):
            self.flush()

    def flush(self) -> None:
        rows = np.array(self.flat, dtype=np.int64).reshape(-1, len(_ROW))
        self.flat = array("q")
        for i, name in enumerate(_ROW):
            self.blocks[name].append(rows[:, i].astype(_NARROW.get(name, np.int64)))

    def problem(self, what: str, example: str, count: int = 1) -> None:
        self.problems[what] += count
        self.examples.setdefault(what, example)

    def found(self) -> tuple[Problem, ...]:
        return tuple(Problem(what=what, count=n, example=self.examples[what]) for what, n in self.problems.most_common())

    def columns(self) -> Columns:
        """All rows as columns, in order of start; the table is empty afterwards."""
        self.flush()
        taken = {name: _joined(self.blocks.pop(name), _NARROW.get(name, np.int64)) for name in _ROW}
        order = np.argsort(taken["start_ns"], kind="stable").astype(np.int32)
        for name in _ROW:
            taken[name] = taken[name][order]
        return Columns(**taken)


@dataclass(slots=True)
class Columns:
    """What every record says, in order of start."""

    label: Ints
    thread: Ints
    start_ns: Ints
    duration_ns: Ints
    bytes: Ints
    group: Ints
    key: Ints
    entry: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Marks of steps, in order of start."""

    number: Ints
    start_ns: Ints
    duration_ns: Ints


NO_MARKS = Marks(number=np.zeros(0, dtype=np.int64), start_ns=np.zeros(0, dtype=np.int64), duration_ns=np.zeros(0, dtype=np.int64))
NO_DEPENDENCIES: Ints = np.zeros((0, 2), dtype=np.int64)


def marks_of(rows: Sequence[tuple[int, int, int]]) -> Marks:
    """Marks from (start, number, duration)."""
    start, number, duration = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3).T
    return Marks(number=number, start_ns=start, duration_ns=duration)


def step_of(moment: Ints, marks: Marks) -> Ints:
    """Index of the mark in whose time each moment lies, or -1."""
    if len(marks.number) == 0:
        return np.full(len(moment), -1, dtype=np.int32)
    index = np.searchsorted(marks.start_ns, moment, side="right") - 1
    inside = (index >= 0) & (moment < (marks.start_ns + marks.duration_ns)[index])
    return np.where(inside, index, -1).astype(np.int32)


def by_label(table: Table, column: int) -> Ints:
    """For each label: its name's number (0), kind (1), layer (2) or collective (3)."""
    if column == 0:
        names = {name: i for i, name in enumerate(dict.fromkeys(label[0] for label in table.labels))}
        return np.array([names[label[0]] for label in table.labels], dtype=np.int32)
    return np.array([label[column] for label in table.labels], dtype=np.int8)


def finish(
    table: Table,
    columns: Columns,
    origin: Origin,
    *,
    rank: Ints | int = -1,
    step: Ints | None = None,
    marks: Marks = NO_MARKS,
    kind: Ints | None = None,
    dependencies: Ints = NO_DEPENDENCIES,
) -> Trace:
    """The trace of one file. ``kind`` replaces the kinds of the labels; ``step`` is by default told by the start."""
    n = len(columns.label)
    operation, names = _used(by_label(table, 0)[columns.label], tuple(dict.fromkeys(label[0] for label in table.labels)))
    nodes = {name: i for i, name in enumerate(dict.fromkeys(node for node, _ in table.threads))}
    return Trace(
        operations=names,
        types=tuple(table.types.get(name, "") for name in names),
        threads=tuple("/".join(thread) for thread in table.threads),
        nodes=tuple(nodes),
        thread_node=np.array([nodes[node] for node, _ in table.threads], dtype=np.int32),
        operation=operation,
        thread=columns.thread,
        kind=by_label(table, 1)[columns.label] if kind is None else kind,
        layer=by_label(table, 2)[columns.label],
        collective=by_label(table, 3)[columns.label],
        group=columns.group,
        rank=np.full(n, rank, dtype=np.int32) if isinstance(rank, int) else rank.astype(np.int32),
        step=step_of(columns.start_ns, marks) if step is None else step,
        start_ns=columns.start_ns,
        duration_ns=columns.duration_ns,
        bytes=columns.bytes,
        entry=columns.entry,
        part=np.zeros(n, dtype=np.int32),
        dependencies=dependencies,
        mark_number=marks.number,
        mark_start_ns=marks.start_ns,
        mark_duration_ns=marks.duration_ns,
        mark_part=np.zeros(len(marks.number), dtype=np.int32),
        zeros=dict(table.zeros),
        problems=table.found(),
        origin=origin,
        parts=(origin,),
    )


def _used(operation: Ints, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    """Only the names that some record has, and the operations numbered among these."""
    used = np.zeros(len(names), dtype=bool)
    used[operation] = True
    place = np.cumsum(used, dtype=np.int32) - 1
    return place[operation].astype(np.int32), tuple(name for name, one in zip(names, used.tolist(), strict=True) if one)


def _joined(blocks: list[Ints], dtype: type) -> Ints:
    joined = np.concatenate(blocks) if blocks else np.zeros(0, dtype=dtype)
    blocks.clear()
    return joined
