"""The Chrome Trace Event Format, in every form, and what the profilers that use it write in it.

Times are microseconds, whole or not. Durations come from complete events (``X``), from pairs of begin and end (``B``, ``E``) on a thread
and from asynchronous pairs (``b``, ``e`` of one identity; also the old ``S``, ``F``); flows (``s``, ``t``, ``f``) and the correlation of
kernels with launches become dependencies; other phases carry no duration. Kineto tells some ranges of the host again on the device
(``gpu_user_annotation``): those copies are left out.
Source: "Trace Event Format", Google; https://github.com/pytorch/kineto.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from spn.trace import classify
from spn.trace.classify import CALLS, DEVICE_COPIES, LARGEST, STEP_MARK
from spn.trace.flows import dependencies_of_flows, nesting
from spn.trace.intervals import union
from spn.trace.records import Collective, Ints, Kind, Layer, Origin, Trace
from spn.trace.table import NO_DEPENDENCIES, Columns, Marks, Table, finish, marks_of, step_of

LATEST: Final = 2.0**52  # microseconds (140 years): beyond it the number is no time
FINE: Final = 2.0**43  # microseconds: from here on a double no longer tells nanoseconds apart
LOST: Final = 0.5  # share of numbered events that are not there, or of kernels without a launch, that means: the trace was thinned out
ASYNC: Final = "async"  # the thread of a process's asynchronous events, which may overlap
NESTING_SLACK_NS: Final = 1000  # ends may disagree by a microsecond of rounding

Event = Mapping[str, Any]

# what is done with the arguments of an event
_SKIP, _PLAIN, _INDEX, _CALL, _DEVICE, _SIZED, _MARK, _NODE = range(8)
_FLOWS: Final = {"s": 0, "t": 1, "f": 2}
_ASYNC: Final = {"b": 1, "S": 1, "e": -1, "F": -1}


@dataclass(slots=True)
class Events:
    """What the events of one file say, taken in run by run."""

    table: Table = field(default_factory=Table)
    codes: dict[tuple[Any, Any], tuple[int, int]] = field(default_factory=dict)  # (category, name) -> label, what to do
    rows: dict[tuple[Any, Any], int] = field(default_factory=dict)  # (pid, tid) -> thread
    process_names: dict[str, str] = field(default_factory=dict)
    thread_names: dict[tuple[str, str], str] = field(default_factory=dict)
    marks: dict[tuple[int, int], int] = field(default_factory=dict)  # (start, number) -> duration
    launches: array[int] = field(default_factory=lambda: array("q"))  # correlation, start
    halves: array[int] = field(default_factory=lambda: array("q"))  # thread, start, begins, label, name, bytes, entry
    names: dict[str, int] = field(default_factory=dict)
    opened: dict[tuple[str, ...], list[tuple[int, int, int, int, int]]] = field(default_factory=dict)
    flows: array[int] = field(default_factory=lambda: array("q"))  # flow, phase, thread, time, enclosing
    flow_ids: dict[tuple[str, str], int] = field(default_factory=dict)
    inputs: dict[int, tuple[str, ...]] = field(default_factory=dict)  # entry -> names of the operations it waited for
    seen: set[str] = field(default_factory=set)  # signs of who wrote the file
    entry: int = -1
    events: int = 0
    coarsest: float = 0.0  # the latest start, in microseconds, that was told with decimals
    numbered: int = 0  # events with the profiler's running number
    highest: int = -1  # and the highest such number

    def take(self, events: Sequence[Any]) -> None:
        """The hot loop: about as long as the JSON scanner itself needs for an event."""
        codes, rows, add = self.codes, self.rows, self.table.add
        for event in events:
            self.entry += 1
            if event.__class__ is not dict or not event:
                continue
            self.events += 1
            get: Callable[[str], Any] = event.get
            if get("ph") != "X":
                if get("cat") != "ac2g":  # the correlation of a kernel with its launch tells the same
                    self._other(event)
                continue
            try:
                label, use = codes[get("cat"), get("name")]
            except (KeyError, TypeError):
                label, use = self._code(get("cat"), get("name"))
            if not use:
                continue
            start, duration = get("ts"), get("dur")
            try:
                fine = -LATEST < start < LATEST and 0 < duration < LATEST
            except TypeError:
                start, duration = _number(start), _number(duration)
                fine = -LATEST < start < LATEST and 0 < duration < LATEST
            if not fine:
                self._odd(event, start, duration, use)
                continue
            start_ns, duration_ns = round(start * 1000), round(duration * 1000) or 1
            if start >= FINE and start.__class__ is float:  # the product would lose what the double still has
                start_ns = int(start) * 1000 + round(start % 1.0 * 1000)
                if start % 1.0:
                    self.coarsest = max(self.coarsest, start)
            try:
                thread = rows[get("pid"), get("tid")]
            except (KeyError, TypeError):
                thread = self._thread(event)
            if use == _PLAIN:
                add(label, thread, start_ns, duration_ns, -1, -1, -1, self.entry)
            else:
                self._add_with_arguments(event, use, label, thread, start_ns, duration_ns)

    def _add_with_arguments(self, event: Event, use: int, label: int, thread: int, start_ns: int, duration_ns: int) -> None:
        arguments = event.get("args")
        if use == _MARK:
            self.marks[start_ns, label] = duration_ns
            return
        size = group = key = -1
        if arguments.__class__ is not dict:
            self.table.add(label, thread, start_ns, duration_ns, -1, -1, -1, self.entry)
            return
        if use == _INDEX:
            index = arguments.get("Ev Idx")
            if index.__class__ is int:
                self.numbered += 1
                self.highest = max(self.highest, index)
            elif "Profiler Event Index" in arguments:
                self._count_index(arguments)
        elif use == _NODE:
            label, size = self._node(event, arguments, label)
        else:
            correlation = arguments.get("correlation", -1)
            key = correlation if isinstance(correlation, int) and 0 <= correlation < LARGEST else -1
            if use == _CALL:
                self.launches.extend((key, start_ns))
            elif use == _SIZED:
                size, group = classify.size(arguments), classify.group_size(arguments)
                self._count_index(arguments)
            elif use == _DEVICE and ("bytes" in arguments or "dtype" in arguments):
                size, group = classify.size(arguments), classify.group_size(arguments)
        self.table.add(label, thread, start_ns, duration_ns, size, group, key, self.entry)

    def _node(self, event: Event, arguments: Mapping[str, Any], label: int) -> tuple[int, int]:
        """A TensorFlow operation: the event's name is its type, and the arguments name it and its inputs."""
        node, op = arguments.get("name"), str(event.get("name", ""))
        if not isinstance(node, str) or not node:
            return label, -1
        kind = classify.tensorflow_kind(op)
        self.table.types.setdefault(node, op)
        inputs = tuple(str(v).lstrip("^").partition(":")[0] for k, v in arguments.items() if k.startswith("input"))
        if inputs:
            self.inputs[self.entry] = inputs
        return self.table.label(node, kind, Layer.HOST, classify.collective(op) if kind is Kind.COMMUNICATION else Collective.NONE), -1

    def _code(self, category: Any, name: Any) -> tuple[int, int]:
        """Label and use of events of this category and name, looked up once for each pair."""
        category_, name_ = str(category or ""), "" if name is None else str(name)
        label, use = self._new_code(category_, name_)
        if not isinstance(category, list | dict) and not isinstance(name, list | dict):
            self.codes[category, name] = label, use
        return label, use

    def _new_code(self, category: str, name: str) -> tuple[int, int]:
        lower = category.lower()
        if lower == DEVICE_COPIES:
            return 0, _SKIP
        self._sign(lower, name)
        mark = STEP_MARK.match(name)
        if mark and len(mark[1]) < 19:
            return int(mark[1]), _MARK
        kind, layer = classify.classify(category, name)
        pattern = classify.collective(name) if kind is Kind.COMMUNICATION else Collective.NONE
        label = self.table.label(name, kind, layer, pattern)
        if category == "Op":
            self.seen.add("TensorFlow timeline")
            return label, _NODE
        if layer is Layer.DEVICE:
            return label, _DEVICE
        if lower in CALLS:
            return label, _CALL
        if layer is Layer.RANGE or kind is Kind.COMMUNICATION:
            return label, _SIZED
        return label, _INDEX if lower in ("cpu_op", "operator", "cpu_instant_event") else _PLAIN

    def _sign(self, category: str, name: str) -> None:
        if category in ("cpu_op", "operator", "kernel", "cuda_runtime", "user_annotation") or STEP_MARK.match(name):
            self.seen.add("Kineto")
        elif name.startswith(("NEGOTIATE_", "HOROVOD_")):
            self.seen.add("Horovod timeline")
        elif name.startswith("Comm.byteps") or (name[:5] in ("push-", "pull-") and name[5:].isdecimal()):
            self.seen.add("BytePS timeline")

    def _thread(self, event: Event) -> int:
        pid, tid = event.get("pid"), event.get("tid")
        thread = self.table.thread("" if pid is None else str(pid), "" if tid is None else str(tid))
        if not isinstance(pid, list | dict) and not isinstance(tid, list | dict):
            self.rows[pid, tid] = thread
        return thread

    def _odd(self, event: Event, start: float, duration: float, use: int) -> None:
        """An event without a usable time: counted, and in no record."""
        name, problem = str(event.get("name", "")), self.table.problem
        if not abs(start) < LATEST or not abs(duration) < LATEST:
            problem("event without a time or duration", name)
        elif duration < 0:
            problem("negative duration", name)
        elif name.isdecimal() and "Horovod timeline" in self.seen:
            self.seen.add(f"rank {name}")  # the moment at which this rank was ready
        else:
            problem("duration of 0", name)
            self.table.zeros[name] += 1
            arguments = event.get("args")
            if use == _CALL and isinstance(arguments, dict) and isinstance(key := arguments.get("correlation"), int) and 0 <= key < LARGEST:
                self.launches.extend((key, round(start * 1000)))
            elif isinstance(arguments, dict):
                self._count_index(arguments)

    def _count_index(self, arguments: Event) -> None:
        index = arguments.get("Ev Idx", arguments.get("Profiler Event Index"))
        if isinstance(index, int):
            self.numbered += 1
            self.highest = max(self.highest, index)

    # --- phases other than complete events -----------------------------------------------------------------------------------------

    def _other(self, event: Event) -> None:
        phase = event.get("ph")
        if not isinstance(phase, str):
            self.table.problem("entry without a phase", str(event)[:60])
        elif phase in ("B", "E"):
            self._half(event, phase == "B")
        elif phase == "M":
            self._metadata(event)
        elif phase in _FLOWS:
            self._flow(event, _FLOWS[phase])
        elif phase in _ASYNC:
            self._async(event, _ASYNC[phase] > 0)

    def _metadata(self, event: Event) -> None:
        arguments = event.get("args")
        name = arguments.get("name") if isinstance(arguments, dict) else None
        if not isinstance(name, str):
            return
        pid, tid = str(event.get("pid", "")), str(event.get("tid", ""))
        if event.get("name") == "process_name":
            self.process_names[pid] = name
        elif event.get("name") == "thread_name":
            self.thread_names[pid, tid] = name

    def _half(self, event: Event, begins: bool) -> None:
        moment = _number(event.get("ts"))
        if not abs(moment) < LATEST:
            self.table.problem("event without a time or duration", str(event.get("name", "")))
            return
        label, use, number = -1, _PLAIN, -1
        name = event.get("name")
        if begins:
            label, use = self._code(event.get("cat"), name)
        if use == _SKIP:
            return
        if name not in (None, "") or begins:
            number = self.names.setdefault("" if name is None else str(name), len(self.names))
        arguments = event.get("args")
        size = classify.size(arguments) if isinstance(arguments, dict) else -1
        self.halves.extend(
            (self._thread(event), _nanoseconds(moment), begins, label if use != _MARK else -2 - label, number, size, self.entry)
        )

    def _async(self, event: Event, begins: bool) -> None:
        moment, name = _number(event.get("ts")), str(event.get("name", ""))
        identity = event.get("id", event.get("id2", ""))
        old = event.get("ph") in ("S", "F")
        key = (str(event.get("cat", "")), str(identity), str(event.get("pid", "")) if "id2" in event else "", name if old else "")
        if not abs(moment) < LATEST:
            self.table.problem("event without a time or duration", name)
            return
        stack = self.opened.setdefault(key, [])
        arguments = event.get("args")
        size = classify.size(arguments) if isinstance(arguments, dict) else -1
        if begins:
            label, use = self._code(event.get("cat"), event.get("name"))
            thread = self.table.thread(str(event.get("pid", "")), ASYNC)
            stack.append((_nanoseconds(moment), label if use != _MARK else -2 - label, thread, size, self.entry))
        elif stack:
            start, label, thread, told, entry = stack.pop()
            self._paired(label, thread, start, _nanoseconds(moment), max(size, told), entry)
        else:
            self.table.problem("end without a begin", name)

    def _flow(self, event: Event, phase: int) -> None:
        category, moment = str(event.get("cat", "")), _number(event.get("ts"))
        if event.get("name") == "launch" or not abs(moment) < LATEST:
            return  # as an old Kineto calls the flow to a kernel
        key = (category, str(event.get("id")))
        flow = self.flow_ids.setdefault(key, len(self.flow_ids))
        enclosing = phase < 2 or event.get("bp") == "e"
        self.flows.extend((flow, phase, self._thread(event), _nanoseconds(moment), enclosing))

    def _paired(self, label: int, thread: int, start: int, end: int, size: int, entry: int) -> None:
        """A record made of a begin and an end."""
        if end <= start:
            name = next((n for i, (n, *_) in enumerate(self.table.labels) if i == label), "")
            self.table.problem("negative duration" if end < start else "duration of 0", name)
            if end == start:
                self.table.zeros[name] += 1
        elif label <= -2:
            self.marks[start, -2 - label] = end - start
        else:
            self.table.add(label, thread, start, end - start, size, -1, -1, entry)

    def close(self) -> None:
        """Match begins and ends per thread in order of time: an end closes the innermost begin, of its name if it has one."""
        rows = np.array(self.halves, dtype=np.int64).reshape(-1, 7)
        self.halves = array("q")
        texts = list(self.names)
        stack: list[list[int]] = []
        current = -1
        order = np.lexsort((rows[:, 6], rows[:, 1], rows[:, 0]))
        latest = -1
        for i in range(len(rows)):
            row = rows[order[i]].tolist()
            if row[0] != current:
                self._left_open(stack, texts)
                stack, current, latest = [], row[0], -1
            if row[6] < latest:
                self.table.problem("begin or end out of order", f"entry {row[6]}")
            latest = max(latest, row[6])
            if row[2]:
                stack.append(row)
                continue
            depth = next((i for i in range(len(stack) - 1, -1, -1) if row[4] in (-1, stack[i][4])), -1)
            if depth < 0:
                self.table.problem("end without a begin", texts[row[4]] if row[4] >= 0 else "?")
                continue
            self._left_open(stack[depth + 1 :], texts)
            begin = stack[depth]
            del stack[depth:]
            self._paired(begin[3], begin[0], begin[1], row[1], max(begin[5], row[5]), begin[6])
        self._left_open(stack, texts)
        for key, open_ in self.opened.items():
            for _ in open_:
                self.table.problem("begin without an end", "/".join(filter(None, key)))

    def _left_open(self, rows: list[list[int]], texts: list[str]) -> None:
        for row in rows:
            self.table.problem("begin without an end", texts[row[4]])


def trace(events: Events, about: Mapping[str, Any], path: str, sha256: str) -> Trace:
    """The finished trace of the events taken in."""
    events.close()
    table = events.table
    if not events.events:
        table.problem("trace without any events", path)
    columns = table.columns()
    format_ = _written_by(events, about)
    _rename_threads(events)
    layer = np.array([label[2] for label in table.labels], dtype=np.int8)[columns.label]
    pairs = np.array(events.launches, dtype=np.int64).reshape(-1, 2)
    events.launches = array("q")
    launched, launches = launches_of(columns, layer, pairs[pairs[:, 0] >= 0], table)
    marks = marks_of([(start, number, duration) for (start, number), duration in events.marks.items()])
    if format_ == "TensorFlow timeline" and not events.marks:
        marks = _runs(table, columns)
    kind = np.array([label[1] for label in table.labels], dtype=np.int8)[columns.label]
    kind = _update_kernels(kind, layer, columns, launched)
    _check_whole(events)
    nested = np.array([not thread.startswith(ASYNC) for _, thread in table.threads] or [True])[columns.thread] & (layer != Layer.DEVICE)
    crossing = nesting(columns.thread, nested, columns.start_ns, columns.duration_ns, NESTING_SLACK_NS)
    if crossing:
        table.problem("overlap on one thread without nesting", "unions are used, never sums", crossing)
    flows = dependencies_of_flows(np.array(events.flows, dtype=np.int64).reshape(-1, 5), columns)
    inputs = _inputs(events, columns)
    ranks = sorted(int(sign[5:]) for sign in events.seen if sign.startswith("rank "))
    told = {**about, "ranks_seen": ranks} if ranks else about
    return finish(
        table,
        columns,
        Origin(path=path, format=format_, events=events.events, sha256=sha256, about=told),
        rank=_rank(about),
        step=step_of(launched, marks),
        marks=marks,
        kind=kind,
        dependencies=np.unique(np.concatenate([launches, flows, inputs]), axis=0),
    )


def _written_by(events: Events, about: Mapping[str, Any]) -> str:
    if "Kineto" in events.seen or "deviceProperties" in about or "distributedInfo" in about:
        return "Kineto"
    metadata = about.get("metadata")
    if isinstance(metadata, dict) and "highres-ticks" in metadata:
        return "TensorFlow profile"
    found = next((sign for sign in ("TensorFlow timeline", "Horovod timeline", "BytePS timeline") if sign in events.seen), None)
    return found or "Chrome trace"


def _rename_threads(events: Events) -> None:
    """Processes and threads by the names that the file gives them, with the number where a name is given twice."""
    given = list(events.process_names.values())
    node = {pid: name if given.count(name) == 1 else f"{name} ({pid})" for pid, name in events.process_names.items()}
    renamed: dict[tuple[str, str], int] = {}
    for (pid, tid), index in events.table.threads.items():
        name = events.thread_names.get((pid, tid))
        shown = (node.get(pid, pid), tid if name is None else f"{name} ({tid})")
        renamed[shown if shown not in renamed else (f"{shown[0]} ({pid})", shown[1])] = index
    events.table.threads = renamed


def launches_of(columns: Columns, layer: Ints, pairs: Ints, table: Table) -> tuple[Ints, Ints]:
    """When the host began each record (for a device record the start of its launch, where that is known), and pairs (record, record
    that launched it); from pairs (correlation, start of the call)."""
    launched = columns.start_ns.copy()
    device = np.flatnonzero(layer == Layer.DEVICE)
    if len(device):
        known, index = _found(columns.key[device], pairs[:, 0])
        launched[device[known]] = pairs[index, 1]
        missing = len(device) - int(known.sum())
        if missing > LOST * len(device):
            table.problem("trace that is not complete", f"{missing} of {len(device)} device records have no launch")
    calls = np.flatnonzero((layer == Layer.HOST) & (columns.key >= 0))
    if not len(device) or not len(calls):
        return launched, NO_DEPENDENCIES
    known, index = _found(columns.key[device], columns.key[calls])
    return launched, np.stack([device[known], calls[index]], axis=1).astype(np.int64)


def _found(wanted: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """Which of the wanted are among the keys, and where (the last, if several)."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=bool), np.zeros(0, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted, side="right") - 1
    known = (at >= 0) & (keys[order][at] == wanted) & (wanted >= 0)
    return known, order[at[known]]


def _update_kernels(kind: Ints, layer: Ints, columns: Columns, launched: Ints) -> Ints:
    """Kinds with the kernels launched inside an update range of the host counted as update."""
    ranges = (kind == Kind.UPDATE) & (layer != Layer.DEVICE)
    if not ranges.any() or not (layer == Layer.DEVICE).any():
        return kind
    start = columns.start_ns[ranges]
    update = union(start, start + columns.duration_ns[ranges])
    index = np.searchsorted(update.start, launched, side="right") - 1
    inside = (index >= 0) & (launched < update.end[index])
    return np.where(inside & (kind == Kind.COMPUTE) & (layer == Layer.DEVICE), np.int8(Kind.UPDATE), kind)


def _check_whole(events: Events) -> None:
    """Report a trace that lost events, and starts that their writer rounded."""
    problem = events.table.problem
    if events.numbered < (1 - LOST) * (events.highest + 1):
        problem("trace that is not complete", f"of events numbered up to {events.highest} there are {events.numbered}")
    marks = sorted((start, start + duration) for (start, _), duration in events.marks.items())
    crossing = sum(a[1] > b[0] + NESTING_SLACK_NS for a, b in pairwise(marks))
    if crossing:
        problem("trace whose step marks overlap", f"{crossing} pairs: are these several processes in one file?")
    if events.coarsest >= FINE:
        step = float(np.spacing(events.coarsest))
        problem("trace whose starts are rounded", f"microseconds written as floats this late are {step:g} us apart")


def _runs(table: Table, columns: Columns) -> Marks:
    """A mark for every run of a TensorFlow graph, from the source node of the partition that began first to its next start. A single run
    has the number -1, for the file does not tell which step it is."""
    sources = [i for i, label in enumerate(table.labels) if label[0] == "_SOURCE"]
    at = np.flatnonzero(np.isin(columns.label, sources))
    end = int((columns.start_ns + columns.duration_ns).max()) if len(columns.start_ns) else 0
    starts = columns.start_ns[at[columns.thread[at] == columns.thread[at[0]]]].tolist() if len(at) else columns.start_ns[:1].tolist()
    if len(starts) == 1:
        starts = columns.start_ns[:1].tolist()
    ends = [*starts[1:], end][: len(starts)]
    return marks_of([(a, i if len(starts) > 1 else -1, b - a) for i, (a, b) in enumerate(zip(starts, ends, strict=True))])


def _inputs(events: Events, columns: Columns) -> Ints:
    """Dependencies by the names of inputs: on the latest record of that name that began before."""
    if not events.inputs:
        return NO_DEPENDENCIES
    names = [label[0] for label in events.table.labels]
    latest: dict[str, int] = {}
    pairs = []
    for i, (label, entry) in enumerate(zip(columns.label.tolist(), columns.entry.tolist(), strict=True)):
        pairs += [(i, latest[name]) for name in events.inputs.get(entry, ()) if name in latest]
        latest[names[label]] = i
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _nanoseconds(microseconds: float) -> int:
    """Of a time; what a double tells of a late one is kept."""
    whole = int(microseconds // 1)
    return whole * 1000 + round((microseconds - whole) * 1000)


def _rank(about: Mapping[str, Any]) -> int:
    info = about.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) and 0 <= rank < 2**31 else -1


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return float(str(value)) if value is not None else math.nan
    except ValueError:
        return math.nan


__all__ = ["Events", "Marks", "trace"]
