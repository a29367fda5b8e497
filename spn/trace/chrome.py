"""The Chrome Trace Event Format, and what the PyTorch profiler (Kineto) writes in it.

Times are microseconds, whole or not. Read are complete events (``X``) and pairs of begin and end (``B``, ``E``) per thread; other phases
carry no duration. Kineto tells some ranges of the host again on the device (``gpu_user_annotation``): those copies are left out.
Source: "Trace Event Format", Google; https://github.com/pytorch/kineto.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from spn.errors import DataError, refuse
from spn.trace.classify import DEVICE_COPIES, LARGEST, STEP_MARK, classify, size
from spn.trace.files import Content
from spn.trace.intervals import union
from spn.trace.lenient import parse
from spn.trace.records import Ints, Kind, Layer, Origin, Problem, Trace

ABOUT = ("distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceName", "schemaVersion")
NESTING_SLACK_NS = 1000  # ends may disagree by a microsecond of rounding
LATEST = 2.0**52  # microseconds (140 years): beyond it the number is no time
FINE = 2.0**43  # microseconds: from here on a double no longer tells nanoseconds apart
LOST = 0.5  # share of numbered events that are not there, or of kernels without a launch, that means: the trace was thinned out

Event = Mapping[str, Any]
Thread = tuple[str, str]


@dataclass(slots=True)
class Rows:
    """Columns under construction."""

    names: dict[str, int] = field(default_factory=dict)
    threads: dict[Thread, int] = field(default_factory=dict)
    columns: list[tuple[int, int, int, int, int, int, int, int]] = field(default_factory=list)
    marks: dict[tuple[int, int], int] = field(default_factory=dict)  # (start, number) -> duration
    launches: dict[int, int] = field(default_factory=dict)  # correlation -> start of the launch
    coarsest: float = 0.0  # the latest start, in microseconds, that was told with decimals
    numbered: int = 0  # events with the profiler's running number
    highest: int = -1  # and the highest such number
    problems: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def problem(self, what: str, example: str) -> None:
        self.problems[what] += 1
        self.examples.setdefault(what, example)


def recognises(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def read(content: Content, options: Mapping[str, str]) -> Trace:
    """Records of a Chrome trace; DataError E0802 where the file is none."""
    value, cut = parse(content)
    events, about = _events(value, content.path)
    rows = Rows()
    if cut:
        rows.problem("event cut off at the end of the file", "the writer was stopped")
    if content.replaced:
        rows.problem("file with invalid UTF-8", f"{content.replaced} characters replaced")
    present: list[Event] = [e for e in events if isinstance(e, dict) and e]
    for event in _complete(present, rows):
        _add(event, rows)
    if not present:
        rows.problem("trace without any events", content.path)
    rank = _rank(about)
    origin = Origin(path=content.path, format="Chrome trace", events=len(present), sha256=content.sha256, about=about)
    return _table(rows, rank, origin)


def _events(value: object, path: str) -> tuple[list[Any], dict[str, Any]]:
    if isinstance(value, list):
        if any(isinstance(e, dict) for e in value) or not value:
            return value, {}
        raise refuse(DataError, "E0802", f"{path} is a JSON array, but not of trace events (objects with ph, ts, dur)")
    if isinstance(value, dict) and isinstance(value.get("traceEvents"), list):
        return value["traceEvents"], {key: value[key] for key in ABOUT if key in value}
    keys = ", ".join(sorted(value)[:8]) if isinstance(value, dict) else type(value).__name__
    raise refuse(DataError, "E0802", f"{path} is JSON, but no trace: it has no traceEvents (found: {keys})")


def _complete(events: list[Event], rows: Rows) -> Iterator[Event]:
    """The X events, and one made of every matched pair of B and E."""
    stacks: dict[Thread, list[Event]] = {}
    for event in events:
        phase = event.get("ph")
        if phase == "X":
            yield event
        elif phase == "B":
            stacks.setdefault(_thread(event), []).append(event)
        elif phase == "E":
            stack = stacks.get(_thread(event))
            if stack:
                yield _paired(stack.pop(), event)
            else:
                rows.problem("end without a begin", str(event.get("name", "?")))
    for stack in stacks.values():
        for event in stack:
            rows.problem("begin without an end", str(event.get("name", "?")))


def _paired(begin: Event, end: Event) -> Event:
    start, stop = _number(begin.get("ts")), _number(end.get("ts"))
    arguments = {**_arguments(begin), **_arguments(end)}
    return {**begin, "ph": "X", "dur": stop - start, "args": arguments}


def _add(event: Event, rows: Rows) -> None:
    name, category = str(event.get("name", "")), str(event.get("cat", ""))
    start, duration = _number(event.get("ts")), _number(event.get("dur"))
    if category == DEVICE_COPIES:
        return
    if not abs(start) < LATEST or not abs(duration) < LATEST:
        rows.problem("event without a time or duration", name)
        return
    if duration <= 0:
        rows.problem("negative duration" if duration < 0 else "duration of 0", name)
        return
    if start != math.floor(start):
        rows.coarsest = max(rows.coarsest, start)
    start_ns, duration_ns = round(start * 1000), max(1, round(duration * 1000))
    mark = STEP_MARK.match(name)
    if mark and len(mark[1]) < 19:
        rows.marks[start_ns, int(mark[1])] = duration_ns
        return
    arguments = _arguments(event)
    _count_index(arguments, rows)
    kind, layer = classify(category, name)
    correlation = arguments.get("correlation", -1)
    if layer is Layer.HOST and isinstance(correlation, int) and category.lower() in ("cuda_runtime", "runtime", "cuda_driver"):
        rows.launches[correlation] = start_ns
    operation = rows.names.setdefault(name, len(rows.names))
    thread = rows.threads.setdefault(_thread(event), len(rows.threads))
    known = correlation if isinstance(correlation, int) and 0 <= correlation < LARGEST and layer is Layer.DEVICE else -1
    rows.columns.append((operation, thread, int(kind), int(layer), start_ns, duration_ns, size(arguments), known))


def _table(rows: Rows, rank: int, origin: Origin) -> Trace:
    data = np.array(rows.columns, dtype=np.int64).reshape(-1, 8)
    data = data[np.argsort(data[:, 4], kind="stable")]
    operation, thread, kind, layer, start, duration, bytes_, correlation = data.T
    marks = sorted((s, n, d) for (s, n), d in rows.marks.items())
    mark_start, mark_number, mark_duration = np.array(marks, dtype=np.int64).reshape(-1, 3).T
    launched = _launches(correlation, start, layer, rows)
    kind = _update_kernels(kind, layer, start, start + duration, launched)
    _check_whole(rows)
    _check_nesting(thread, layer, start, start + duration, rows)
    problems = tuple(Problem(what=what, count=n, example=rows.examples[what]) for what, n in rows.problems.most_common())
    return Trace(
        operations=tuple(rows.names),
        threads=tuple("/".join(t) for t in rows.threads),
        operation=operation,
        thread=thread,
        kind=kind,
        layer=layer,
        rank=np.full(len(data), rank, dtype=np.int64),
        step=_step_of(launched, mark_start, mark_duration),
        start_ns=start,
        duration_ns=duration,
        bytes=bytes_,
        mark_number=mark_number,
        mark_start_ns=mark_start,
        mark_duration_ns=mark_duration,
        problems=problems,
        origin=origin,
    )


def _launches(correlation: Ints, start: Ints, layer: Ints, rows: Rows) -> Ints:
    """When each record was begun by the host: for a device record the start of its launch, where that is known."""
    launched = start.copy()
    device = np.flatnonzero(layer == Layer.DEVICE)
    for i in device.tolist():
        launched[i] = rows.launches.get(int(correlation[i]), int(start[i]))
    missing = sum(int(correlation[i]) not in rows.launches for i in device.tolist())
    if missing > LOST * len(device):
        rows.problem("trace that is not complete", f"{missing} of {len(device)} device records have no launch")
    return launched


def _update_kernels(kind: Ints, layer: Ints, start: Ints, end: Ints, launched: Ints) -> Ints:
    """Kinds with the kernels launched inside an update range of the host counted as update."""
    ranges = (kind == Kind.UPDATE) & (layer != Layer.DEVICE)
    if not ranges.any():
        return kind
    update = union(start[ranges], end[ranges])
    index = np.searchsorted(update.start, launched, side="right") - 1
    inside = (index >= 0) & (launched < update.end[index])
    return np.where(inside & (kind == Kind.COMPUTE) & (layer == Layer.DEVICE), Kind.UPDATE, kind)


def _check_whole(rows: Rows) -> None:
    """Report a trace that lost events, and starts that their writer rounded."""
    if rows.numbered < (1 - LOST) * (rows.highest + 1):
        rows.problem("trace that is not complete", f"of events numbered up to {rows.highest} there are {rows.numbered}")
    marks = sorted((start, start + duration) for (start, _), duration in rows.marks.items())
    crossing = sum(a[1] > b[0] + NESTING_SLACK_NS for a, b in pairwise(marks))
    if crossing:
        rows.problem("trace whose step marks overlap", f"{crossing} pairs: are these several processes in one file?")
    if rows.coarsest >= FINE:
        step = float(np.spacing(rows.coarsest))
        rows.problem("trace whose starts are rounded", f"microseconds written as floats this late are {step:g} us apart")


def _step_of(launched: Ints, mark_start: Ints, mark_duration: Ints) -> Ints:
    """Index of the step mark in whose time each record was begun, or -1."""
    if len(mark_start) == 0:
        return np.full(len(launched), -1, dtype=np.int64)
    index = np.searchsorted(mark_start, launched, side="right") - 1
    inside = (index >= 0) & (launched < (mark_start + mark_duration)[index])
    return np.where(inside, index, -1)


def _check_nesting(thread: Ints, layer: Ints, start: Ints, end: Ints, rows: Rows) -> None:
    """Count records of one host thread that overlap without one holding the other: their durations must not be added up."""
    host = np.flatnonzero(layer != Layer.DEVICE)
    order = host[np.lexsort((-end[host], start[host], thread[host]))]
    stack: list[int] = []
    current = -1
    for i in order.tolist():
        if thread[i] != current:
            current, stack = int(thread[i]), []
        while stack and stack[-1] <= start[i]:
            stack.pop()
        if stack and end[i] > stack[-1] + NESTING_SLACK_NS and start[i] < stack[-1] - NESTING_SLACK_NS:
            rows.problem("overlap on one thread without nesting", "unions are used, never sums")
        stack.append(int(end[i]))


def _count_index(arguments: Event, rows: Rows) -> None:
    index = arguments.get("Ev Idx", arguments.get("Profiler Event Index"))
    if isinstance(index, int):
        rows.numbered += 1
        rows.highest = max(rows.highest, index)


def _rank(about: Mapping[str, Any]) -> int:
    info = about.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) and 0 <= rank < LARGEST else -1


def _thread(event: Event) -> Thread:
    return str(event.get("pid", "")), str(event.get("tid", ""))


def _arguments(event: Event) -> dict[str, Any]:
    arguments = event.get("args")
    return arguments if isinstance(arguments, dict) else {}


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return float(str(value)) if value is not None else math.nan
    except ValueError:
        return math.nan
