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
