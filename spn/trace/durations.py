"""CSV of durations: a header names the columns, and the unit is in the name (``duration_us``, ``step [ms]``, ``seconds``).

The duration is a column with a unit of time that is not a point in time, or the difference of a start and an end column. Columns named
op, operation, name or event, worker or rank, step, and bytes fill the like columns of the table. ``column=`` picks a column where
several would do; ``unit=`` gives the unit where no header does.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import chain

import numpy as np

from spn.errors import DataError, SpnError, nearest, refuse
from spn.trace.classify import by_name, collective
from spn.trace.files import UTF16, Source
from spn.trace.records import NO_TIME, Collective, Ints, Kind, Layer, Origin, Trace
from spn.trace.table import Marks, Table, finish

UNITS = {
    "ns": 1, "nanoseconds": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "microseconds": 10**3, "ms": 10**6, "milliseconds": 10**6, "s": 10**9,
    "sec": 10**9, "secs": 10**9, "second": 10**9, "seconds": 10**9, "min": 60 * 10**9, "minutes": 60 * 10**9, "h": 3600 * 10**9,
    "hours": 3600 * 10**9,
}  # fmt: skip
_UNIT = re.compile(r"^(?:(?P<base>.*?)(?:[\s_.-]+|\s*(?=[\[(]))|)[\[(]?(?P<unit>[a-zµμ]+)[\])]?$", re.IGNORECASE)
_START = re.compile(r"^(start|begin|from|ts|start_?ts|timestamp|start_?time|time)$", re.IGNORECASE)
_END = re.compile(r"^(end|stop|finish|until)$", re.IGNORECASE)
_OPERATION = ("op", "operation", "name", "event", "optype", "comm_type")
_RANK = ("rank", "worker", "node")
_GROUP = ("group_size", "comm_group_size")
_BARE = ("duration", "dur", "time", "latency", "elapsed", "elapsed_time")
_LONG, _MANY = 40, 20  # characters of a column's name, and columns, that a message shows: prose may look like a header
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
    """Which columns mean what; ``minus`` is the start column where durations are differences, and ``start`` any start column."""

    duration: Column
    scale: int
    minus: Column | None
    start: Column | None
    group: Column | None
    operation: Column | None
    rank: Column | None
    step: Column | None
    bytes: Column | None


def recognises(head: bytes) -> bool:
    """Text whose first line that is no comment has a header word or a number before its first separator."""
    text = head.decode("utf-16" if head[:2] in UTF16 else "utf-8-sig", errors="replace")
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return first.lstrip()[:1] not in tuple("{[<") and first.replace("\t", " ").isprintable()


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """One record per row; DataError E0806 where the layout is not clear, E0807 where a cell is no number."""
    rows = _rows(source)
    first = next(rows, None)
    if first is None:
        raise refuse(DataError, "E0803", f"{source.path} holds nothing but comments")
    header = _header(first[1], source.path, options)
    body = rows if header is not None else chain([first], rows)
    bare = Column(text="duration", base="duration", scale=None, index=0)
    layout = layout_of([bare] if header is None else header, source.path, options)
    return fill(layout, body, source.path, "CSV", lambda: source.sha256)


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the lines that are neither blank nor comments."""
    delimiter = ""
    for number, line in enumerate(source.lines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        delimiter = delimiter or max(",;\t", key=line.count)
        yield number, [cell.strip() for cell in (_quoted(line, delimiter, source.path) if '"' in line else line.split(delimiter))]


def _quoted(line: str, delimiter: str, path: str) -> list[str]:
    if line.count('"') % 2:
        raise refuse(DataError, "E0802", f"{path} has a quoted cell that runs over several lines")
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        raise refuse(DataError, "E0802", f"{path} has a line that is no CSV: {error}") from None


def _header(row: Sequence[str], path: str, options: Mapping[str, str]) -> list[Column] | None:
    """The columns that a first line names, or None where it is a duration itself."""
    if not any(_is_number(c) for c in row):
        return header_of(row)
    if len(row) > 1:
        raise refuse(DataError, "E0806", f"{path} has {len(row)} columns and no header", help="put a first line that names them")
    if "unit" not in options:
        raise refuse(
            DataError,
            "E0806",
            f"{path} is one column without a header: in which unit?",
            help='say it: --unit ms, or unit = "ms" in fit(…)',
        )
    return None


def _column(index: int, text: str) -> Column:
    match = _UNIT.match(text)
    scale = UNITS.get(match["unit"].lower()) if match else None
    base = (match["base"] or "").strip() if match and scale else text
    return Column(text=text, base=base or text, scale=scale, index=index)


def layout_of(header: Sequence[Column], path: str, options: Mapping[str, str]) -> Layout:
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

    sizes = (c for c in header if "bytes" in c.text.lower() or c.text.lower() in ("size", "msg_size", "message_size"))
    starts = (c for c in header if c is not duration and _START.match(c.base) and (c.scale is not None or c.text.lower() != "time"))
    return Layout(
        duration=duration,
        scale=scale,
        minus=minus,
        start=minus or next(starts, None),
        group=called(*_GROUP),
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
    bare = [c for c in header if c.base.lower().strip("_") in _BARE] or (list(header) if len(header) == 1 else [])
    if not timed and len(bare) == 1:
        return bare[0], None
    choice = ", ".join(c.text if len(c.text) <= _LONG else f"{c.text[:_LONG]}…" for c in (spans or header)[:_MANY])
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


def header_of(names: Sequence[str]) -> list[Column]:
    return [_column(i, name) for i, name in enumerate(names)]


def fill(layout: Layout, rows: Iterable[tuple[int, Sequence[str]]], path: str, format_: str, digest: Callable[[], str]) -> Trace:
    """One record per row (number of its line, cells)."""
    table = Table()
    more = array("q")  # rank and step of every record
    thread = table.thread("", "")
    entry = -1
    for entry, (line, row) in enumerate(rows):
        start = _nanoseconds(row, layout.start, (layout.start.scale or layout.scale), line, path) if layout.start else None
        duration = _nanoseconds(row, layout.duration, layout.scale, line, path)
        if layout.minus and duration is not None:
            duration = duration - start if start is not None else None
        name = _cell(row, layout.operation) or ("duration" if layout.minus else layout.duration.base)
        if duration is None or not 0 < duration < LATEST or (start is not None and abs(start) >= LATEST):
            _odd(table, duration, name)
            continue
        rank, step, size, group = (_whole(_cell(row, c)) for c in (layout.rank, layout.step, layout.bytes, layout.group))
        kind = by_name(name)
        label = table.label(name, kind, Layer.RANGE, collective(name) if kind is Kind.COMMUNICATION else Collective.NONE)
        moment = NO_TIME if start is None else round(start)
        table.add(label, thread, moment, max(1, round(duration)), size, min(group, 2**31 - 1), len(more) // 2, entry)
        more.extend((rank, step))
    origin = Origin(path=path, format=format_, events=entry + 1, sha256=digest())
    return with_ranks_and_steps(table, np.array(more, dtype=np.int64).reshape(-1, 2), origin)


def _odd(table: Table, duration: Decimal | None, name: str) -> None:
    if duration is None or duration >= LATEST:
        table.problem("duration that is not finite", name)
    elif duration == 0:
        table.problem("duration of 0", name)
        table.zeros[name] += 1
    else:
        table.problem("negative duration", name)


def with_ranks_and_steps(table: Table, more: Ints, origin: Origin) -> Trace:
    """The trace of a table whose keys are rows of (rank, number of the step), -1 where unknown. A step of a rank lasts from the first
    start to the last end of its records; without starts nobody knows how long it took."""
    columns = table.columns()
    own = more[columns.key]
    pairs, step = np.unique(own, axis=0, return_inverse=True)
    step = step.reshape(-1)
    start, end = np.full(len(pairs), 2**62), np.full(len(pairs), NO_TIME)
    np.minimum.at(start, step, columns.start_ns)
    np.maximum.at(end, step, columns.start_ns + columns.duration_ns)
    numbered, told = pairs[:, 1] >= 0, start > NO_TIME
    place = np.where(numbered, np.cumsum(numbered) - 1, -1)
    marks = Marks(
        number=pairs[numbered, 1],
        start_ns=np.where(told, start, NO_TIME)[numbered],
        duration_ns=np.where(told, end - np.where(told, start, 0), -1)[numbered],
    )
    rank = np.minimum(own[:, 0], 2**31 - 1)
    return finish(table, columns, origin, rank=rank, step=place[step].astype(np.int32), marks=marks)


def _nanoseconds(row: Sequence[str], column: Column, scale: int, line: int, path: str) -> Decimal | None:
    """The exact product, for a double does not tell the nanoseconds of a date; None for what is not finite."""
    text = _cell(row, column)
    if not _is_number(text):
        raise _bad_cell(text, column, line, path)
    try:
        value = Decimal(text.replace("_", ""))
    except InvalidOperation:
        value = Decimal(float(text))
    return value * scale if value.is_finite() and abs(value) < LATEST else None


def _bad_cell(text: str, column: Column, line: int, path: str) -> SpnError:
    hint = "decimals are written with a point" if "," in text else "every row needs a number there"
    return refuse(DataError, "E0807", f"{path}, line {line}: {text!r} in column {column.text} is not a number", help=hint)


def _cell(row: Sequence[str], column: Column | None) -> str:
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
