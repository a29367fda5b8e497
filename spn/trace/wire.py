"""The wire format of protocol buffers: fields by number, nothing generated, nothing copied.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

Value = int | memoryview

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTH = {FIXED64: 8, FIXED32: 4}


class WireError(ValueError):
    """Bytes that are no message; ``at`` is where reading failed."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"{message} at byte {at}")
        self.at = at


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at ``at``, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise WireError("a number is cut off", at)
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
        shift += 7
        if shift > 63:
            raise WireError("a number has more than 64 bits", at)


def fields(data: memoryview) -> Iterator[tuple[int, int, Value]]:
    """(number, wire type, value) of a message: fixed widths and bytes as views, varints as unsigned numbers. WireError where it is none."""
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise WireError("a field has the number 0", at)
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            width, at = varint(data, at)
        elif kind in _WIDTH:
            width = _WIDTH[kind]
        else:
            raise WireError(f"a field has the wire type {kind}", at)
        if at + width > end:
            raise WireError("a field is cut off", at)
        yield number, kind, data[at : at + width]
        at += width


def signed(value: Value) -> int:
    """An int64 that was sent as a varint."""
    number = whole(value)
    return number - 2**64 if number >= 2**63 else number


def whole(value: Value) -> int:
    if isinstance(value, int):
        return value
    raise WireError("a number was expected and bytes were found", 0)


def view(value: Value) -> memoryview:
    if isinstance(value, int):
        raise WireError("bytes were expected and a number was found", 0)
    return value


def text(value: Value) -> str:
    return bytes(view(value)).decode("utf-8", errors="replace")


def numbers(kind: int, value: Value) -> list[int]:
    """A repeated number, packed or not."""
    if kind == VARINT:
        return [whole(value)]
    data, at, found = view(value), 0, []
    while at < len(data):
        number, at = varint(data, at)
        found.append(number)
    return found


def double(value: Value) -> float:
    data = view(value)
    return float(struct.unpack("<d" if len(data) == 8 else "<f", data)[0])
