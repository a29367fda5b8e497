"""Traces in JSON: which of the formats it is shows in the names under which the long arrays lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from spn.errors import DataError, SpnError, refuse
from spn.trace import chrome, graphs, stepstats
from spn.trace.files import Source
from spn.trace.jsonstream import Document, is_json
from spn.trace.records import Trace

_KEPT = ("distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceName", "schemaVersion", "schema", "metadata", "pid", "start_ts")


class Consumer(Protocol):
    """Takes the elements of an array run by run, and makes the trace of them at the end."""

    def take(self, elements: Sequence[Any]) -> None: ...

    def finish(self, about: Mapping[str, Any], source: Source, cut: bool) -> Trace: ...


class ChromeConsumer:
    def __init__(self) -> None:
        self.events = chrome.Events()

    def take(self, elements: Sequence[Any]) -> None:
        self.events.take(elements)

    def finish(self, about: Mapping[str, Any], source: Source, cut: bool) -> Trace:
        if cut:
            self.events.table.problem("event cut off at the end of the file", "the writer was stopped")
        if source.replaced:
            self.events.table.problem("file with invalid UTF-8", f"{source.replaced} characters replaced")
        return chrome.trace(self.events, about, source.path, source.sha256)


CONSUMERS: Mapping[str, Callable[[], Consumer]] = {
    "traceEvents": ChromeConsumer,
    "nodes": graphs.ExecutionConsumer,
    "workload_graph": graphs.ChakraConsumer,
    "devStats": stepstats.JsonConsumer,
    "dev_stats": stepstats.JsonConsumer,
}


def recognises(head: bytes) -> bool:
    return is_json(head)


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """The trace in a JSON file of any of the formats; DataError E0802 where the file is none."""
    document = Document(source)
    about: dict[str, Any] = {}
    keys: list[str] = []
    consumer: Consumer | None = None
    key_of_consumer: str | None = None
    for key, value, elements in document.items():
        if key is not None and key not in keys[-1:]:
            keys.append(key)
        if consumer is None:
            consumer, key_of_consumer = _consumer(key, value, elements), key
        if consumer is None and key in ("stepStats", "step_stats") and isinstance(value, dict):
            consumer, key_of_consumer = stepstats.JsonConsumer(), None
            devices = value.get("devStats", value.get("dev_stats", []))
            consumer.take(devices if isinstance(devices, list) else [])
        elif elements and consumer is not None and key == key_of_consumer:
            consumer.take(value)
        elif key in _KEPT or key == "deviceProperties":
            about[key] = value if not elements else len(value)
    if consumer is None and document.empty:
        consumer = ChromeConsumer()
    if consumer is None:
        raise _no_trace(source, document, keys)
    return consumer.finish(about, source, document.cut)


def _consumer(key: str | None, value: Any, elements: bool) -> Consumer | None:
    if key is not None:
        make = CONSUMERS.get(key)
        return make() if make is not None and elements else None
    if elements and all(isinstance(e, dict) and ("ph" in e or not e) for e in value[:1]):
        return ChromeConsumer()
    return None


def _no_trace(source: Source, document: Document, keys: Sequence[str]) -> SpnError:
    if document.several:
        message = f"{source.path} has one JSON value a line (JSON lines), but these are not trace events (objects with ph, ts, dur)"
    elif keys:
        found = ", ".join(sorted(set(keys))[:8])
        message = f"{source.path} is JSON, but no trace: it has no traceEvents (found: {found})"
    else:
        message = f"{source.path} is a JSON array, but not of trace events (objects with ph, ts, dur)"
    return refuse(DataError, "E0802", message)
