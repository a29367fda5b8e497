"""The table of trace formats. A reader recognises a file by its content and never by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spn.errors import DataError, nearest, refuse
from spn.trace import chrome, durations
from spn.trace.files import Content, load
from spn.trace.records import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format: its name, whether a text looks like it, and how to read it with which options."""

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[Content, Mapping[str, str]], Trace]
    options: frozenset[str] = frozenset()


READERS: tuple[Reader, ...] = (
    Reader(name="Chrome trace", recognises=chrome.recognises, read=chrome.read),
    Reader(name="CSV of durations", recognises=durations.recognises, read=durations.read, options=frozenset({"column", "unit"})),
)


def read(path: str | Path, **options: str) -> Trace:
    """Read a trace of any known format, gzipped or not.

    ``options`` are the reader's own: for CSV ``column`` (which one holds the durations) and ``unit`` (ns, us, ms, s, min, h).
    Times come out in whole nanoseconds. What is odd in the data but does not stop the reading is listed in ``problems``; zero and
    negative durations are counted there and are in no record. Raises DataError: E0801 no such file, E0802 broken or unknown format,
    E0803 empty, E0806 unclear columns or units, E0807 a cell that is no number.
    """
    content = load(path)
    for reader in READERS:
        if reader.recognises(content.text):
            _check_options(reader, options, content.path)
            return reader.read(content, options)
    known = " and ".join(reader.name for reader in READERS)
    raise refuse(DataError, "E0802", f"{path} is of no known format", help=f"what is read: {known}")


def _check_options(reader: Reader, options: Mapping[str, str], path: str) -> None:
    for option in options:
        if option not in reader.options:
            near = nearest(option, reader.options)
            listed = ", ".join(sorted(reader.options)) or "none"
            help = f"did you mean {near}?" if near else f"options: {listed}"
            raise refuse(DataError, "E0806", f"{path} is a {reader.name}, which takes no option {option}", help=help)
