"""TensorFlow 2 and JAX profiles as XSpace protocol buffers: planes (hosts, devices) of lines (threads) of events.

Times are picoseconds from the line's own start, rounded to nanoseconds. A step is an event with a ``step_num`` (the context that a
training loop opens for every step) where there are any.
Field numbers: tsl/profiler/protobuf/xplane.proto.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spn.errors import DataError, refuse
from spn.trace import classify
from spn.trace.files import Source
from spn.trace.records import Collective, Kind, Layer, Origin, Trace
from spn.trace.table import Table, finish, marks_of
from spn.trace.wire import Value, WireError, double, fields, signed, text, varint, view, whole

_STEP = "step_num"
_LATEST = 2**62


@dataclass(slots=True)
class Plane:
    """A plane with its names, read before its lines, which come first in the file."""

    name: str = ""
    lines: list[memoryview] = field(default_factory=list)
    events: dict[int, str] = field(default_factory=dict)
    stats: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Space:
    table: Table = field(default_factory=Table)
    marks: list[tuple[int, int, int]] = field(default_factory=list)
    planes: list[str] = field(default_factory=list)
    entry: int = -1


def recognises(head: bytes) -> bool:
    """A first field (a plane) that begins with an identity or a name."""
    if head[:1] != b"\x0a":
        return False
    try:
        _, at = varint(memoryview(head), 1)
        if head[at : at + 1] == b"\x08":
            _, at = varint(memoryview(head), at + 1)
        if head[at : at + 1] != b"\x12":
            return False
        size, at = varint(memoryview(head), at + 1)
    except WireError:
        return False
    name = head[at : at + size]
    return 0 < size < 256 and (name.startswith(b"/") or name in (b"Task Environment", b"#Chip TPU") or b"CPU" in name or b"GPU" in name)


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """All planes; DataError E0802 where the file is broken before the first of its events (one cut off later keeps what is whole)."""
    space = Space()
    try:
        for number, _, value in fields(memoryview(source.all())):
            if number == 1:
                _plane(space, view(value))
            elif number in (2, 3):
                space.table.problem("error told by the profiler" if number == 2 else "warning told by the profiler", text(value))
    except WireError as error:
        if space.entry < 0:
            raise refuse(DataError, "E0802", f"{source.path} is a damaged XSpace: {error}", help="record it again") from None
        space.table.problem("event cut off at the end of the file", str(error))
    if space.entry < 0:
        space.table.problem("trace without any events", source.path)
    columns = space.table.columns()
    about = {"planes": space.planes}
    origin = Origin(path=source.path, format="TensorFlow XSpace", events=space.entry + 1, sha256=source.sha256, about=about)
    return finish(space.table, columns, origin, marks=marks_of(space.marks))


def _plane(space: Space, data: memoryview) -> None:
    plane = Plane()
    for number, _, value in fields(data):
        if number == 2:
            plane.name = text(value)
        elif number == 3:
            plane.lines.append(view(value))
        elif number in (4, 5):
            key, name = _map_entry(view(value))
            (plane.events if number == 4 else plane.stats)[key] = name
    space.planes.append(plane.name)
    for line in plane.lines:
        _line(space, plane, line)


def _map_entry(data: memoryview) -> tuple[int, str]:
    """Key and name of an entry of a map to metadata."""
    key, name = 0, ""
    for number, _, value in fields(data):
        if number == 1:
            key = whole(value)
        elif number == 2:
            name = next((text(v) for n, _, v in fields(view(value)) if n == 2), "")
    return key, name


def _line(space: Space, plane: Plane, data: memoryview) -> None:
    start, name, identity, events = 0, "", 0, []
    for number, _, value in fields(data):
        if number == 1:
            identity = whole(value)
        elif number == 2:
            name = text(value)
        elif number == 3:
            start = signed(value)
        elif number == 4:
            events.append(view(value))
    thread = space.table.thread(plane.name, f"{name} ({identity})" if name else str(identity))
    for event in events:
        space.entry += 1
        _event(space, plane, name, thread, start, event)


def _event(space: Space, plane: Plane, line: str, thread: int, line_start: int, data: memoryview) -> None:
    offset = duration = metadata = 0
    stats: dict[str, Any] = {}
    for number, _, value in fields(data):
        if number == 1:
            metadata = whole(value)
        elif number == 2:
            offset = signed(value)
        elif number == 3:
            duration = signed(value)
        elif number == 4:
            key, told = _stat(view(value), plane.stats)
            stats[key] = told
    name = plane.events.get(metadata, f"event {metadata}")
    start_ns, duration_ns = line_start + round(offset / 1000), round(duration / 1000)
    if duration < 0 or not abs(start_ns) < _LATEST:
        space.table.problem("negative duration" if duration < 0 else "event without a time or duration", name)
    elif duration == 0:
        space.table.problem("duration of 0", name)
        space.table.zeros[name] += 1
    elif isinstance(stats.get(_STEP), int) and stats[_STEP] < _LATEST:
        space.marks.append((start_ns, max(0, stats[_STEP]), max(1, duration_ns)))
    else:
        size = stats.get("bytes_accessed", stats.get("bytes", -1)) if "Memcpy" in name else -1
        label = _label(space.table, plane.name, line, name)
        space.table.add(
            label, thread, start_ns, max(1, duration_ns), size if isinstance(size, int) and 0 <= size < _LATEST else -1, -1, -1, space.entry
        )


def _label(table: Table, plane: str, line: str, name: str) -> int:
    on_device = plane.startswith("/device:") and "CPU" not in plane
    if on_device and line.startswith(("Stream", "XLA Ops")):
        kind, layer = classify.classify("kernel", name)
        if kind is Kind.COMPUTE and classify.collective(name) is not Collective.NONE and classify.by_name(name) is Kind.COMMUNICATION:
            kind = Kind.COMMUNICATION
        kind = Kind.MEMORY if name.lower().startswith(("memcpy", "memset")) else kind
    elif on_device:
        kind, layer = Kind.OTHER, Layer.HOST  # the steps, modules and scopes that a device's line tells again
    else:
        kind, layer = _host_kind(name), Layer.HOST
    pattern = classify.collective(name) if kind is Kind.COMMUNICATION else Collective.NONE
    return table.label(name, kind, layer, pattern)


def _host_kind(name: str) -> Kind:
    """Operations are told as NAME:TYPE or by their type; the rest is the runtime's own."""
    op = name.rpartition(":")[2] if ":" in name and "::" not in name else name
    kind = classify.tensorflow_kind(op)
    if kind is Kind.COMPUTE and ("::" in name or " " in op or not op[:1].isupper()):
        return classify.by_name(name)
    return kind


def _stat(data: memoryview, names: Mapping[int, str]) -> tuple[str, Any]:
    key, told = "", None
    for number, _, value in fields(data):
        if number == 1:
            key = names.get(whole(value), "")
        else:
            told = _stat_value(number, value)
    return key, told


def _stat_value(number: int, value: Value) -> Any:
    if number == 2:
        return double(value)
    if number in (3, 4):
        return whole(value) if number == 3 else signed(value)
    return text(value) if number == 5 else None
