"""CSV of durations: a header names the columns, and the unit is in the name (``duration_us``, ``step [ms]``, ``seconds``).

The duration is a column with a unit of time that is not a point in time, or the difference of a start and an end column. Columns named
op, operation, name or event, worker or rank, step, and bytes fill the like columns of the table. ``column=`` picks a column where
several would do; ``unit=`` gives the unit where no header does.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spn.errors import DataError, SpnError, nearest, refuse
from spn.trace.classify import by_name
from spn.trace.files import Content
from spn.trace.records import Layer, Origin, Problem, Trace

UNITS = {
    "ns": 1, "nanoseconds": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "microseconds": 10**3, "ms": 10**6, "milliseconds": 10**6, "s": 10**9,
    "sec": 10**9, "secs": 10**9, "second": 10**9, "seconds": 10**9, "min": 60 * 10**9, "minutes": 60 * 10**9, "h": 3600 * 10**9,
    "hours": 3600 * 10**9,
}  # fmt: skip
_UNIT = re.compile(r"^(?:(?P<base>.*?)(?:[\s_.-]+|\s*(?=[\[(]))|)[\[(]?(?P<unit>[a-zµμ]+)[\])]?$", re.IGNORECASE)
_START = re.compile(r"^(start|begin|from|ts|timestamp|time)$", re.IGNORECASE)
_END = re.compile(r"^(end|stop|finish|until)$", re.IGNORECASE)
_OPERATION = ("op", "operation", "name", "event")
_RANK = ("rank", "worker", "node")
LATEST = 2.0**62  # nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A header: its whole text, the part before the unit, and nanoseconds per unit (None if it has none)."""

    text: str
    base: str
    scale: int | None
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns mean what; ``minus`` is the start column where durations are differences."""

    duration: Column
    scale: int
    minus: Column | None
    operation: Column | None
    rank: Column | None
    step: Column | None
    bytes: Column | None


def recognises(text: str) -> bool:
    """Text whose first line that is no comment has a header word or a number before its first separator."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return first.lstrip()[:1] not in tuple("{[<") and first.replace("\t", " ").isprintable()


def read(content: Content, options: Mapping[str, str]) -> Trace:
    """One record per row; DataError E0806 where the layout is not clear, E0807 where a cell is no number."""
    rows, lines = _rows(content)
    header, body, lines = _split(rows, lines, content.path, options)
    layout = _layout(header, content.path, options)
    return _table(layout, body, lines, content)


def _rows(content: Content) -> tuple[list[list[str]], list[int]]:
    kept = [(n, line) for n, line in enumerate(content.text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")]
    if not kept:
        raise refuse(DataError, "E0803", f"{content.path} holds nothing but comments")
    delimiter = max(",;\t", key=kept[0][1].count)
    cells = [[c.strip() for c in row] for row in csv.reader([line for _, line in kept], delimiter=delimiter)]
    if len(cells) != len(kept):
        raise refuse(DataError, "E0802", f"{content.path} has a quoted cell that runs over several lines")
    return cells, [n for n, _ in kept]


def _split(
    rows: list[list[str]], lines: list[int], path: str, options: Mapping[str, str]
) -> tuple[list[Column], list[list[str]], list[int]]:
    if any(_is_number(c) for c in rows[0]):
        if len(rows[0]) > 1:
            raise refuse(DataError, "E0806", f"{path} has {len(rows[0])} columns and no header", help="put a first line that names them")
        if "unit" not in options:
            raise refuse(
                DataError,
                "E0806",
                f"{path} is one column without a header: in which unit?",
                help='say it: --unit ms, or unit = "ms" in fit(…)',
            )
        return [Column(text="duration", base="duration", scale=None, index=0)], rows, lines
    return [_column(i, text) for i, text in enumerate(rows[0])], rows[1:], lines[1:]


def _column(index: int, text: str) -> Column:
    match = _UNIT.match(text)
    scale = UNITS.get(match["unit"].lower()) if match else None
    base = (match["base"] or "").strip() if match and scale else text
    return Column(text=text, base=base or text, scale=scale, index=index)


def _layout(header: Sequence[Column], path: str, options: Mapping[str, str]) -> Layout:
    duration, minus = _duration(header, path, options)
    scale = _unit(options["unit"], path) if "unit" in options else duration.scale
    if scale is None:
        raise refuse(
            DataError,
            "E0806",
            f"column {duration.text!r} of {path} names no unit",
            help='say it: --unit ms, or unit = "ms" in fit(…); or name the column like duration_ms',
        )

    def called(*names: str) -> Column | None:
        return next((c for n in names for c in header if c.text.lower() == n and c is not duration), None)

    sizes = (c for c in header if "bytes" in c.text.lower())
    return Layout(
        duration=duration,
        scale=scale,
        minus=minus,
        operation=called(*_OPERATION),
        rank=called(*_RANK),
        step=called("step"),
        bytes=next(sizes, None),
    )


def _duration(header: Sequence[Column], path: str, options: Mapping[str, str]) -> tuple[Column, Column | None]:
    if "column" in options:
        return _named(header, options["column"], path), None
    timed = [c for c in header if c.scale is not None]
    spans = [c for c in timed if not _START.match(c.base) and not _END.match(c.base)]
    if len(spans) == 1:
        return spans[0], None
    starts, ends = [c for c in timed if _START.match(c.base)], [c for c in timed if _END.match(c.base)]
    if not spans and len(starts) == len(ends) == 1 and starts[0].scale == ends[0].scale:
        return ends[0], starts[0]
    if not spans and len(timed) == 1 and timed[0].base.lower() == "time":
        return timed[0], None
    bare = [c for c in header if c.base.lower() in ("duration", "dur", "time", "latency", "elapsed")] or (
        list(header) if len(header) == 1 else []
    )
    if not timed and len(bare) == 1:
        return bare[0], None
    choice = ", ".join(c.text for c in (spans or header))
    raise refuse(
        DataError,
        "E0806",
        f"which column of {path} holds the durations?",
        help=f'say it: --column NAME, or column = "NAME" in fit(…), one of: {choice}',
    )


def _named(header: Sequence[Column], name: str, path: str) -> Column:
    for column in header:
        if name in (column.text, column.base):
            return column
    known = [c.text for c in header]
    near = nearest(name, known)
    raise refuse(
        DataError, "E0806", f"{path} has no column {name!r}", help=f"{f'did you mean {near}? ' if near else ''}columns: {', '.join(known)}"
    )


def _unit(name: str, path: str) -> int:
    if name.lower() not in UNITS:
        raise refuse(DataError, "E0806", f"{name!r} is no unit of time (for {path})", help="ns, us, ms, s, min or h")
    return UNITS[name.lower()]


def _table(layout: Layout, body: list[list[str]], lines: list[int], content: Content) -> Trace:
    problems: Counter[str] = Counter()
    names: dict[str, int] = {}
    columns = []
    for row, line in zip(body, lines, strict=True):
        start = _nanoseconds(row, layout.minus, layout.scale, line, content.path) if layout.minus else 0.0
        duration = _nanoseconds(row, layout.duration, layout.scale, line, content.path) - start
        if not 0 < duration < LATEST:
            problems["negative duration" if duration < 0 else "duration of 0" if duration == 0 else "duration that is not finite"] += 1
            continue
        name = _cell(row, layout.operation) or ("duration" if layout.minus else layout.duration.base)
        operation = names.setdefault(name, len(names))
        whole = [_whole(_cell(row, c)) for c in (layout.rank, layout.step, layout.bytes)]
        columns.append((operation, int(by_name(name)), round(start), max(1, round(duration)), *whole))
    data = np.array(columns, dtype=np.int64).reshape(-1, 7)
    nothing = np.zeros(0, dtype=np.int64)
    zeros = np.zeros(len(data), dtype=np.int64)
    operation_, kind, begin, duration_, rank, step, bytes_ = data.T
    return Trace(
        operations=tuple(names),
        threads=("",),
        operation=operation_,
        thread=zeros,
        kind=kind,
        layer=np.full(len(data), Layer.RANGE, dtype=np.int64),
        rank=rank,
        step=step,
        start_ns=begin,
        duration_ns=duration_,
        bytes=bytes_,
        mark_number=nothing,
        mark_start_ns=nothing,
        mark_duration_ns=nothing,
        problems=tuple(Problem(what=what, count=n) for what, n in problems.most_common()),
        origin=Origin(path=content.path, format="CSV", events=len(body), sha256=content.sha256),
    )


def _nanoseconds(row: list[str], column: Column, scale: int, line: int, path: str) -> float:
    text = _cell(row, column)
    if not _is_number(text):
        raise _bad_cell(text, column, line, path)
    return float(text) * scale


def _bad_cell(text: str, column: Column, line: int, path: str) -> SpnError:
    hint = "decimals are written with a point" if "," in text else "every row needs a number there"
    return refuse(DataError, "E0807", f"{path}, line {line}: {text!r} in column {column.text} is not a number", help=hint)


def _cell(row: list[str], column: Column | None) -> str:
    return row[column.index] if column is not None and column.index < len(row) else ""


def _whole(text: str) -> int:
    if not _is_number(text):
        return -1
    value = float(text)
    return int(value) if math.isfinite(value) and 0 <= value < LATEST else -1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
