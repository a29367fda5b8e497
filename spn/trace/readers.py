"""The table of trace formats. A reader recognises a file by its content and never by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spn.errors import DataError, nearest, refuse
from spn.trace import durations, graphs, jsontrace, logs, nsight, parquet, stepstats, xplane
from spn.trace.combine import combine
from spn.trace.files import Source, open_sources
from spn.trace.records import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format: its name, whether the first bytes of a file look like it, and how to read it with which options."""

    name: str
    recognises: Callable[[bytes], bool]
    read: Callable[[Source, Mapping[str, str]], Trace]
    options: frozenset[str] = frozenset()


READERS: tuple[Reader, ...] = (
    Reader(name="trace in JSON", recognises=jsontrace.recognises, read=jsontrace.read),
    Reader(name="Nsight Systems database", recognises=nsight.recognises, read=nsight.read),
    Reader(name="Parquet of durations", recognises=parquet.recognises, read=parquet.read, options=frozenset({"column", "unit"})),
    Reader(name="TensorFlow RunMetadata", recognises=stepstats.recognises, read=stepstats.read),
    Reader(name="TensorFlow XSpace", recognises=xplane.recognises, read=xplane.read),
    Reader(name="Chakra trace", recognises=graphs.recognises, read=graphs.read),
    Reader(name="training log", recognises=logs.recognises, read=logs.read),
    Reader(name="CSV of durations", recognises=durations.recognises, read=durations.read, options=frozenset({"column", "unit"})),
)


def read(path: str | Path | Sequence[str | Path], **options: str) -> Trace:
    """Read a trace of any known format, gzipped or not, or one table from several files (a list of them, or a tar archive).

    ``options`` are the reader's own: for tables ``column`` (which one holds the durations) and ``unit`` (ns, us, ms, s, min, h).
    Times come out in whole nanoseconds. What is odd in the data but does not stop the reading is listed in ``problems`` (see
    :func:`sound`); zero and negative durations of a timeline are counted there and are in no record. Raises
    DataError: E0801 no such file, E0802 broken or unknown format, E0803 empty, E0806 unclear columns or units, E0807 a cell that is
    no number.
    """
    paths = [path] if isinstance(path, str | Path) else list(path)
    traces = [_read(source, options) for given in paths for source in open_sources(given)]
    if not traces:
        raise refuse(DataError, "E0801", "no trace was named", help="name at least one file")
    return combine(traces, str(path) if isinstance(path, str | Path) else f"{len(paths)} files")


read_trace = read  # as `spn.read_trace`


def sound(trace: Trace) -> Trace:
    """The trace itself; DataError E0809 where its reader found anything wrong with the data."""
    if trace.problems:
        raise refuse(
            DataError,
            "E0809",
            f"{trace.origin.path} is not sound: {trace.problems[0]}",
            help="without --strict what is sound in it is read",
            notes=tuple(str(p) for p in trace.problems[1:]),
        )
    return trace


def _read(source: Source, options: Mapping[str, str]) -> Trace:
    for reader in READERS:
        if reader.recognises(source.head):
            _check_options(reader, options, source.path)
            return reader.read(source, options)
    known = ", ".join(reader.name for reader in READERS)
    what = "a binary file of an unknown kind" if b"\0" in source.head[:4096] else "of no known format"
    raise refuse(DataError, "E0802", f"{source.path} is {what}", help=f"what is read: {known}")


def _check_options(reader: Reader, options: Mapping[str, str], path: str) -> None:
    for option in options:
        if option not in reader.options:
            near = nearest(option, reader.options)
            listed = ", ".join(sorted(reader.options)) or "none"
            help = f"did you mean {near}?" if near else f"options: {listed}"
            raise refuse(DataError, "E0806", f"{path} is a {reader.name}, which takes no option {option}", help=help)
