"""Small traces written for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def event(name: str, ts: float, dur: float, cat: str = "cpu_op", tid: int = 1, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def mark(number: int, ts: float, dur: float) -> Event:
    return event(f"ProfilerStep#{number}", ts, dur, cat="user_annotation")


def write(folder: Path, events: list[Event], name: str = "trace.json", **about: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({**about, "traceEvents": events}), encoding="utf-8")
    return path


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a protocol buffer: a varint, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)
