"""Graphs of execution: the PyTorch Execution Trace (all its schemas to 1.1.1-chakra) and Chakra in JSON and as protocol buffers.

An Execution Trace tells no times: its records have neither start nor duration, but sizes and dependencies (of a node on its parent, and
of an operator on those that wrote its input tensors). Chakra nodes may have durations, in microseconds.
Schemas: https://github.com/mlcommons/chakra (schema/protobuf/et_def.proto), https://github.com/facebookresearch/param (et_replay).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spn.errors import DataError, refuse
from spn.trace import classify
from spn.trace.files import Source
from spn.trace.records import NO_TIME, Collective, Ints, Kind, Layer, Origin, Trace
from spn.trace.table import NO_DEPENDENCIES, Columns, Table, finish
from spn.trace.wire import FIXED32, FIXED64, Value, WireError, double, fields, numbers, signed, text, varint, view, whole

_COMPUTE, _SEND, _RECV, _COLLECTIVE = 4, 5, 6, 7  # NodeType
_KINDS = {
    2: Kind.MEMORY,
    3: Kind.MEMORY,
    4: Kind.COMPUTE,
    5: Kind.COMMUNICATION,
    6: Kind.COMMUNICATION,
    7: Kind.COMMUNICATION,
    8: Kind.MEMORY,
}
_PATTERNS = {
    0: Collective.ALL_REDUCE, 1: Collective.REDUCE, 2: Collective.ALL_GATHER, 3: Collective.GATHER, 4: Collective.SCATTER,
    5: Collective.BROADCAST, 6: Collective.ALL_TO_ALL, 7: Collective.REDUCE_SCATTER, 8: Collective.REDUCE_SCATTER, 9: Collective.BARRIER,
}  # fmt: skip
_LARGEST = 2**62


@dataclass(slots=True)
class Graph:
    """Nodes under construction; ``waits`` are pairs of identities (node, node that it waited for)."""

    table: Table = field(default_factory=Table)
    waits: list[tuple[int, int]] = field(default_factory=list)
    writer: dict[tuple[Any, ...], int] = field(default_factory=dict)  # tensor -> the node that wrote it last
    identities: set[int] = field(default_factory=set)
    nodes: int = 0
    rank: int = -1

    def trace(self, source: Source, format_: str, about: Mapping[str, Any]) -> Trace:
        if not self.nodes:
            self.table.problem("trace without any events", source.path)
        missing = {b for _, b in self.waits if b not in self.identities}
        if missing:
            self.table.problem("dependency on a node that is not there", f"node {min(missing)}", len(missing))
        columns = self.table.columns()
        origin = Origin(path=source.path, format=format_, events=self.nodes, sha256=source.sha256, about=about)
        return finish(self.table, columns, origin, rank=self.rank, dependencies=self._dependencies(columns))

    def _dependencies(self, columns: Columns) -> Ints:
        if not self.waits or not len(columns.key):
            return NO_DEPENDENCIES
        pairs = np.array([(a, b) for a, b in dict.fromkeys(self.waits) if a != b and b in self.identities], dtype=np.int64).reshape(-1, 2)
        order = np.argsort(columns.key, kind="stable")
        return np.asarray(order[np.searchsorted(columns.key[order], pairs)])


class ExecutionConsumer:
    """``nodes`` of a PyTorch Execution Trace."""

    def __init__(self) -> None:
        self.graph = Graph()

    def take(self, elements: Sequence[Any]) -> None:
        for node in elements:
            if isinstance(node, dict) and isinstance(node.get("id"), int) and 0 <= node["id"] < _LARGEST:
                self._node(node)
            else:
                self.graph.table.problem("node without an identity", str(node)[:60])

    def _node(self, node: Mapping[str, Any]) -> None:
        graph, table, identity, name = self.graph, self.graph.table, node["id"], str(node.get("name", ""))
        attributes = _attributes(node)
        graph.nodes += 1
        graph.identities.add(identity)
        kind, layer = _execution_kind(name, attributes)
        told = attributes.get("collective_name")
        pattern = classify.collective(str(told or name)) if kind is Kind.COMMUNICATION else Collective.NONE
        thread = table.thread("", str(attributes.get("tid", node.get("tid", ""))))
        group = attributes.get("pg_size", -1)
        label = table.label(name, kind, layer, pattern)
        size = _execution_size(node, attributes) if kind is Kind.COMMUNICATION else -1
        table.add(
            label, thread, NO_TIME, -1, size, group if isinstance(group, int) and 0 < group < 2**31 else -1, identity, graph.nodes - 1
        )
        parent = node.get("ctrl_deps", node.get("parent"))
        known = isinstance(parent, int) and 1 < parent < _LARGEST  # the root is in no file
        if known and parent != identity:
            graph.waits.append((identity, int(parent)))
        for tensor in _tensors(_values(node, "inputs")):
            if tensor in graph.writer:
                graph.waits.append((identity, graph.writer[tensor]))
        for tensor in _tensors(_values(node, "outputs")):
            graph.writer[tensor] = identity

    def finish(self, about: Mapping[str, Any], source: Source, cut: bool) -> Trace:
        if cut:
            self.graph.table.problem("event cut off at the end of the file", "the writer was stopped")
        if not self.graph.nodes:
            raise refuse(DataError, "E0802", f"{source.path} is JSON, but no trace: it has no traceEvents (found: nodes)")
        return self.graph.trace(source, "PyTorch Execution Trace", about)


def _attributes(node: Mapping[str, Any]) -> dict[str, Any]:
    listed = node.get("attrs")
    if not isinstance(listed, list):
        return {}
    return {str(a.get("name")): a.get("value") for a in listed if isinstance(a, dict)}


def _values(node: Mapping[str, Any], name: str) -> Any:
    told = node.get(name)
    return told.get("values") if isinstance(told, dict) else told


def _types(node: Mapping[str, Any]) -> Any:
    told = node.get("inputs")
    return told.get("types") if isinstance(told, dict) else node.get("input_types")


def _tensors(values: Any) -> list[tuple[Any, ...]]:
    """Identities of tensors (identity, storage, offset, elements, bytes of one, device), also inside lists."""
    found: list[tuple[Any, ...]] = []
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if not isinstance(value, list):
            continue
        if len(value) == 6 and isinstance(value[5], str) and all(isinstance(v, int) for v in value[:5]):
            found.append((*value[1:3], value[5]))
        else:
            waiting += value[:1000]
    return found


def _execution_kind(name: str, attributes: Mapping[str, Any]) -> tuple[Kind, Layer]:
    if name.startswith(("[", "##")):
        return Kind.OTHER, Layer.HOST
    if name == "record_param_comms" and attributes.get("collective_name") in ("wait", "init"):
        return Kind.WAIT, Layer.HOST
    kind, layer = classify.classify("cpu_op", name)
    return kind, Layer.RANGE if name.split(":", maxsplit=1)[0] in ("nccl", "gloo", "mpi", "ucc") else layer


def _execution_size(node: Mapping[str, Any], attributes: Mapping[str, Any]) -> int:
    elements, kind = attributes.get("in_msg_nelems"), str(attributes.get("dtype", "")).lower()
    width = classify.width(kind)
    if isinstance(elements, int) and elements >= 0 and width:
        return elements * width if elements * width < _LARGEST else -1
    values, types = _values(node, "inputs"), _types(node)
    sizes = [_bytes_of(v) for v in values] if isinstance(values, list) and isinstance(types, list) else []
    known = [s for s in sizes if s >= 0]
    return sum(known) if known and sum(known) < _LARGEST else -1


def _bytes_of(value: Any) -> int:
    """Bytes of a tensor, or of a list of tensors; -1 for anything else."""
    if not isinstance(value, list):
        return -1
    if len(value) == 6 and isinstance(value[5], str) and isinstance(value[3], int) and isinstance(value[4], int):
        return int(value[3]) * int(value[4]) if value[3] >= 0 and value[4] >= 0 else -1
    inner = [_bytes_of(v) for v in value[:1000] if isinstance(v, list)]
    known = [size for size in inner if size >= 0]
    return sum(known) if known else -1


# --- Chakra --------------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Node:
    """A Chakra node."""

    identity: int = -1
    name: str = ""
    type: int = 0
    waits: list[int] = field(default_factory=list)
    start_us: int = 0
    duration_us: float = 0
    attributes: dict[str, Any] = field(default_factory=dict)


def _add_chakra(graph: Graph, node: Node) -> None:
    if not 0 <= node.identity < _LARGEST:
        graph.table.problem("node without an identity", node.name)
        return
    if node.identity in graph.identities:
        graph.table.problem("identity of a node that is there twice", str(node.identity))
        return
    graph.nodes += 1
    graph.identities.add(node.identity)
    kind = _KINDS.get(node.type, Kind.OTHER)
    pattern = _chakra_pattern(node, kind)
    size, duration = node.attributes.get("comm_size"), node.duration_us
    if duration < 0:
        graph.table.problem("negative duration", node.name)
        duration = 0
    layer = Layer.HOST if node.attributes.get("is_cpu_op") in (True, 1, "True", "true") else Layer.DEVICE
    graph.table.add(
        graph.table.label(node.name, kind, layer, pattern),
        graph.table.thread("", "host" if layer is Layer.HOST else "device"),
        node.start_us * 1000 if 0 < node.start_us < 2**52 else NO_TIME,
        round(duration * 1000) if 0 < duration < 2.0**52 else -1,
        size if isinstance(size, int) and 0 <= size < _LARGEST else -1,
        -1,
        node.identity,
        graph.nodes - 1,
    )
    graph.waits += [(node.identity, other) for other in node.waits if 0 <= other < _LARGEST]


def _chakra_pattern(node: Node, kind: Kind) -> Collective:
    if kind is not Kind.COMMUNICATION:
        return Collective.NONE
    if node.type in (_SEND, _RECV):
        return Collective.SEND if node.type == _SEND else Collective.RECV
    told = node.attributes.get("comm_type")
    return _PATTERNS.get(told, Collective.NONE) if isinstance(told, int) else classify.collective(str(told or node.name))


class ChakraConsumer:
    """``workload_graph`` of Chakra in JSON; names of fields in any case, with or without underscores."""

    def __init__(self) -> None:
        self.graph = Graph()

    def take(self, elements: Sequence[Any]) -> None:
        for element in elements:
            if isinstance(element, dict):
                _add_chakra(self.graph, _from_json(element))
            else:
                self.graph.table.problem("node without an identity", str(element)[:60])

    def finish(self, about: Mapping[str, Any], source: Source, cut: bool) -> Trace:
        if cut:
            self.graph.table.problem("event cut off at the end of the file", "the writer was stopped")
        return self.graph.trace(source, "Chakra", about)


def _from_json(element: Mapping[str, Any]) -> Node:
    told = {key.lower().replace("_", ""): value for key, value in element.items()}
    attributes = {key: value for key, value in element.items() if key in ("comm_size", "comm_type", "is_cpu_op")}
    for a in told.get("attr", ()) if isinstance(told.get("attr"), list) else ():
        if isinstance(a, dict):
            attributes[str(a.get("name"))] = next((v for k, v in a.items() if k not in ("name", "docString", "doc_string")), None)
    waits = [d for listed in (told.get("ctrldeps"), told.get("datadeps")) if isinstance(listed, list) for d in listed]
    duration = told.get("durationmicros", told.get("runtime", 0))
    return Node(
        identity=_int(told.get("id"), -1),
        name=str(told.get("name", "")),
        type=_int(told.get("nodetype", told.get("type")), 0),
        waits=[_int(d, -1) for d in waits],
        start_us=_int(told.get("starttimemicros"), 0),
        duration_us=float(duration) if isinstance(duration, int | float) and abs(duration) < 2.0**52 else 0,
        attributes=attributes,
    )


def _int(value: Any, missing: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return missing


def recognises(head: bytes) -> bool:
    """Length-delimited messages, the first of which is nothing but a version such as "0.0.4" (and attributes)."""
    try:
        size, at = varint(memoryview(head), 0)
        first = list(fields(memoryview(head)[at : at + size]))
    except WireError:
        return False
    if at + size > len(head) or not first or any(number not in (1, 2) for number, _, _ in first):
        return False
    number, _, value = first[0]
    return number == 1 and not isinstance(value, int) and 0 < len(value) < 64 and bytes(value).replace(b".", b"").isalnum()


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """Chakra as protocol buffers; what follows a cut is left out and reported. DataError E0802 where the first node is broken."""
    graph, data, at = Graph(), memoryview(source.all()), 0
    about: dict[str, Any] = {}
    try:
        while at < len(data):
            size, begin = varint(data, at)
            if begin + size > len(data):
                raise WireError("a message is cut off", at)
            message = data[begin : begin + size]
            if at == 0:
                about["version"] = next((text(v) for n, _, v in fields(message) if n == 1), "")
            else:
                _add_chakra(graph, _from_wire(message))
            at = begin + size
    except WireError as error:
        if not graph.nodes:
            raise refuse(DataError, "E0802", f"{source.path} is a damaged Chakra trace: {error}", help="write it again") from None
        graph.table.problem("event cut off at the end of the file", str(error))
    return graph.trace(source, "Chakra", about)


def _from_wire(message: memoryview) -> Node:
    node = Node(identity=0)  # a field of the value 0 is not sent
    for number, kind, value in fields(message):
        if number == 1:
            node.identity = whole(value)
        elif number == 2:
            node.name = text(value)
        elif number == 3:
            node.type = whole(value)
        elif number in (4, 5):
            node.waits += numbers(kind, value)
        elif number == 6:
            node.start_us = whole(value)
        elif number == 7:
            node.duration_us = whole(value)
        elif number == 10:
            name, told = _attribute(view(value))
            node.attributes[name] = told
    return node


def _attribute(message: memoryview) -> tuple[str, Any]:
    name, told = "", None
    for number, kind, value in fields(message):
        if number == 1:
            name = text(value)
        elif number > 2:
            told = _attribute_value(number, kind, value)
    return name, told


def _attribute_value(number: int, kind: int, value: Value) -> Any:
    if number == 27:
        return bool(whole(value))
    if number in (3, 5):
        return double(value)
    if kind in (FIXED32, FIXED64):
        return int.from_bytes(view(value), "little")
    if isinstance(value, int):
        return (value >> 1) ^ -(value & 1) if number in (15, 17) else signed(value)
    return text(value) if number == 29 else None
