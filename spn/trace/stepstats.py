"""TensorFlow's StepStats: what every operation of one ``session.run`` took, from RunMetadata (protocol buffer, or JSON of the same).

A file is one step. The times are those of the executor in nanoseconds where it tells them, else in microseconds. The record of a received
tensor (RecvTensor) is named "RecvTensor TENSOR", lies on the node that received it, and has the exact bytes of the tensor. Its duration is
no service time: many tensors share one connection; see :func:`spn.trace.transfers`.
Field numbers: tensorflow/core/framework/step_stats.proto, tensor_description.proto, allocation_description.proto; protobuf/config.proto.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spn.errors import DataError, refuse
from spn.trace import classify
from spn.trace.files import Source
from spn.trace.records import Collective, Ints, Kind, Layer, Origin, Trace
from spn.trace.table import NO_DEPENDENCIES, Columns, Marks, Table, finish
from spn.trace.wire import BYTES, Value, WireError, fields, text, view, whole

_LABEL = re.compile(r"^(?P<name>\S+) = (?P<op>\w+)\((?P<inputs>[^)]*)\)")
_RECEIVED = re.compile(r"(?:\[[^\]]*\] )*(?:edge_\d+_)?(?P<tensor>\S+) from (?P<source>/\S+) to (?P<target>/\S+)")
_TASK = re.compile(r"/job:(?P<job>[^/]+)(?:/replica:\d+)?/task:(?P<task>\d+)")
_LATEST = 2**61  # nanoseconds, and bytes
_CLIENT = re.compile(r"_S\d+$|/_\d+$")  # how a partition's graph calls a tensor that it received


@dataclass(slots=True)
class Node:
    """What is told of one execution of an operation."""

    name: str = ""
    label: str = ""
    start_us: int = 0
    end_us: int = 0
    start_ns: int = 0
    end_ns: int = 0
    thread: int = 0
    size: int = -1


@dataclass(slots=True)
class Run:
    """One step under construction."""

    table: Table = field(default_factory=Table)
    inputs: dict[int, tuple[str, ...]] = field(default_factory=dict)  # entry -> what it waited for
    sent: dict[int, str] = field(default_factory=dict)  # entry -> the tensor that it received
    entry: int = -1
    ranks: dict[int, int] = field(default_factory=dict)  # thread -> rank

    def add(self, device: str, node: Node) -> None:
        """One execution; those without any time are counted."""
        self.entry += 1
        label, inputs = self._label(node)
        start, duration = _time(node)
        if not 0 < start < _LATEST or not 0 <= duration < _LATEST:
            self.table.problem("event without a time or duration", node.name)
            return
        if inputs:
            self.inputs[self.entry] = inputs
        thread = self.table.thread(short(device), f"{device.rpartition('/')[2]} ({node.thread})")
        self.ranks.setdefault(thread, rank_of(device))
        self.table.add(
            label, thread, start, duration, node.size if self.entry in self.sent and node.size < _LATEST else -1, -1, -1, self.entry
        )

    def _label(self, node: Node) -> tuple[int, tuple[str, ...]]:
        received = _RECEIVED.match(node.label) if node.name == "RecvTensor" else None
        if received:
            name = f"RecvTensor {received['tensor']}"
            self.sent[self.entry] = received["tensor"]
            self.table.types.setdefault(name, "RecvTensor")
            return self.table.label(name, Kind.COMMUNICATION, Layer.RANGE, Collective.RECV), (received["tensor"],)
        told = _LABEL.match(node.label)
        op = told["op"] if told else node.name
        kind = classify.tensorflow_kind(op)
        self.table.types.setdefault(node.name, op)
        layer = Layer.RANGE if kind is Kind.COMMUNICATION else Layer.HOST
        inputs = tuple(i.strip().lstrip("^").partition(":")[0] for i in told["inputs"].split(",")) if told and told["inputs"] else ()
        return self.table.label(node.name, kind, layer, classify.collective(op) if kind is Kind.COMMUNICATION else Collective.NONE), inputs


def recognises(head: bytes) -> bool:
    """RunMetadata whose first field is StepStats with a device first: the name of a device lies within its first bytes."""
    match = re.match(rb"\x0a[\x80-\xff]{0,4}[\x00-\x7f]\x0a[\x80-\xff]{0,4}[\x00-\x7f]\x0a[\x00-\x7f](/|[a-z])", head[:32], re.DOTALL)
    return bool(match) and (b"device:" in head[:256] or b"/cpu:" in head[:256] or b"/gpu:" in head[:256] or b"/job:" in head[:256])


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """The step of a RunMetadata file; DataError E0802 where it is broken (a file cut off at its end keeps what is whole)."""
    run = Run()
    try:
        for number, kind, value in fields(memoryview(source.all())):
            if number == 1 and kind == BYTES:
                _step_stats(run, view(value))
    except WireError as error:
        if run.entry < 0:
            raise refuse(DataError, "E0802", f"{source.path} is a damaged RunMetadata: {error}", help="record it again") from None
        run.table.problem("event cut off at the end of the file", str(error))
    return trace(run, source)


def _step_stats(run: Run, data: memoryview) -> None:
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            _device(run, view(value))


def _device(run: Run, data: memoryview) -> None:
    device = ""
    for number, _, value in fields(data):
        if number == 1:
            device = text(value)
        elif number == 2:
            run.add(device, _node(view(value)))


def _node(data: memoryview) -> Node:
    node, end_us, end_ns = Node(), [0, 0], [0, 0]
    size = -1
    for number, _, value in fields(data):
        if number == 1:
            node.name = text(value)
        elif number == 2:
            node.start_us = whole(value)
        elif number in (4, 5):
            end_us[number - 4] = whole(value)
        elif number == 7:
            size = _sum(size, _output(view(value)))
        elif number == 8:
            node.label = text(value)
        elif number == 10:
            node.thread = whole(value)
        elif number == 13:
            node.start_ns = whole(value)
        elif number in (15, 16):
            end_ns[number - 15] = whole(value)
    node.end_us, node.end_ns, node.size = max(end_us), max(end_ns), size
    return node


def _sum(size: int, more: int) -> int:
    return size if more < 0 else more + max(size, 0)


def _output(data: memoryview) -> int:
    """Bytes that the tensor of a NodeOutput asked for, or -1."""
    found: Value = data
    for wanted in (3, 4, 1):  # tensor_description, allocation_description, requested_bytes
        inner = next((v for n, _, v in fields(view(found)) if n == wanted), None)
        if inner is None:
            return -1
        found = inner
    return whole(found)


def _time(node: Node) -> tuple[int, int]:
    if node.start_ns > 0 and node.end_ns > 0:
        return node.start_ns, node.end_ns
    return node.start_us * 1000, node.end_us * 1000


def trace(run: Run, source: Source) -> Trace:
    """The records of a step; its one mark has the number -1, for the file does not tell which step it is."""
    columns = run.table.columns()
    if not len(columns.start_ns):
        run.table.problem("trace without any events", source.path)
    origin = Origin(path=source.path, format="TensorFlow RunMetadata", events=run.entry + 1, sha256=source.sha256)
    marks = _mark(columns)
    ranks = np.array([run.ranks.get(i, -1) for i in range(len(run.table.threads))] or [-1], dtype=np.int32)
    workers = sorted({r for r in run.ranks.values() if r >= 0})
    rank: Ints | int = ranks[columns.thread] if len(workers) != 1 else workers[0]  # what servers did, they did for this worker's step
    return finish(run.table, columns, origin, rank=rank, marks=marks, dependencies=_dependencies(run, columns))


def _mark(columns: Columns) -> Marks:
    if not len(columns.start_ns):
        return Marks(number=np.zeros(0, np.int64), start_ns=np.zeros(0, np.int64), duration_ns=np.zeros(0, np.int64))
    start, end = columns.start_ns.min(), (columns.start_ns + columns.duration_ns).max() + 1  # a record may begin with the last end
    return Marks(number=np.array([-1]), start_ns=np.array([start]), duration_ns=np.array([end - 1 - start if end - 1 > start else 1]))


def _dependencies(run: Run, columns: Columns) -> Ints:
    """Operations wait for the operations that they name: on the same node, else for the tensor received from another node."""
    names = [label[0] for label in run.table.labels]
    node_of = [node for node, _ in run.table.threads]
    own = {(node_of[t], names[label]): i for i, (t, label) in enumerate(zip(columns.thread.tolist(), columns.label.tolist(), strict=True))}
    anywhere = {name: i for (_, name), i in own.items()}
    pairs = []
    for i, (thread, entry) in enumerate(zip(columns.thread.tolist(), columns.entry.tolist(), strict=True)):
        for name in run.inputs.get(entry, ()):
            found = _producer(name, node_of[thread], entry in run.sent, own, anywhere)
            if found is not None and found != i:
                pairs.append((i, found))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2) if pairs else NO_DEPENDENCIES


def _producer(name: str, node: str, received: bool, own: Mapping[tuple[str, str], int], anywhere: Mapping[str, int]) -> int | None:
    bare = _CLIENT.sub("", name)
    if received:
        return anywhere.get(bare)
    for known in (name, f"RecvTensor {bare}", bare):
        if (node, known) in own:
            return own[node, known]
    return None


def short(device: str) -> str:
    """The job and task of a device, or the device."""
    task = _TASK.match(device)
    return f"/job:{task['job']}/task:{task['task']}" if task else device


def rank_of(device: str) -> int:
    """The task of a worker; -1 for servers and all others."""
    task = _TASK.match(device)
    return int(task["task"]) if task and task["job"] in ("worker", "localhost", "chief", "master") and len(task["task"]) < 9 else -1


# --- the same in JSON ----------------------------------------------------------------------------------------------------------------


class JsonConsumer:
    """``devStats`` of StepStats, alone or inside RunMetadata, as protocol buffers write JSON (numbers of 64 bits are strings)."""

    def __init__(self) -> None:
        self.run = Run()

    def take(self, elements: Sequence[Any]) -> None:
        for device in elements:
            if not isinstance(device, dict):
                continue
            nodes = device.get("nodeStats", device.get("node_stats", ()))
            for node in nodes if isinstance(nodes, list) else ():
                if isinstance(node, dict):
                    self.run.add(str(device.get("device", "")), _from_json(node))

    def finish(self, about: Mapping[str, Any], source: Source, cut: bool) -> Trace:
        if cut:
            self.run.table.problem("event cut off at the end of the file", "the writer was stopped")
        return trace(self.run, source)


def _from_json(told: Mapping[str, Any]) -> Node:
    node = {_snake(key): value for key, value in told.items()}
    size = -1
    outputs = node.get("output")
    for output in outputs if isinstance(outputs, list) else ():
        size = _sum(size, _whole(_inside(output, "tensor_description", "allocation_description", "requested_bytes"), -1))
    return Node(
        name=str(node.get("node_name", "")),
        label=str(node.get("timeline_label", "")),
        start_us=_whole(node.get("all_start_micros")),
        end_us=max(_whole(node.get("op_end_rel_micros")), _whole(node.get("all_end_rel_micros"))),
        start_ns=_whole(node.get("all_start_nanos")),
        end_ns=max(_whole(node.get("op_end_rel_nanos")), _whole(node.get("all_end_rel_nanos"))),
        thread=_whole(node.get("thread_id")),
        size=size,
    )


def _inside(value: Any, *path: str) -> Any:
    for name in path:
        value = next((v for k, v in value.items() if _snake(k) == name), None) if isinstance(value, dict) else None
    return value


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda m: "_" + m[0].lower(), name)


def _whole(value: Any, missing: int = 0) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return missing
    return number if 0 <= number < 2**62 else missing
