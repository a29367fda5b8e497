"""Records out: CSV, or Parquet where the name ends in .parquet. What is unknown is an empty cell (null)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from spn.errors import DataError, refuse
from spn.trace.records import NO_TIME, Collective, Ints, Kind, Layer, Trace

COLUMNS: Final = (
    "record", "operation", "type", "kind", "layer", "node", "thread", "rank", "step", "start_ns", "duration_ns", "bytes", "collective",
    "group", "depends_on", "file", "entry",
)  # fmt: skip
_WHOLE: Final = ("record", "rank", "step", "start_ns", "duration_ns", "bytes", "group", "entry")
_BLOCK: Final = 1 << 14


def write_records(trace: Trace, path: str | Path) -> int:
    """Write every record and return how many there are; ``depends_on`` lists the numbers of records between blanks. DataError E0914
    where the file cannot be written, E0916 for Parquet without pyarrow."""
    target = Path(path)
    write = _parquet if target.suffix.lower() == ".parquet" else _csv
    try:
        write(trace, target)
    except OSError as error:
        raise refuse(DataError, "E0914", f"cannot write {path}: {error.strerror or error}", help="give another path") from None
    return len(trace)


def _csv(trace: Trace, target: Path) -> None:
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for block in _blocks(trace):
            writer.writerows(zip(*(block[name] for name in COLUMNS), strict=True))


def _parquet(trace: Trace, target: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        help = "pip install 'spn[parquet]', or name a .csv file"
        raise refuse(DataError, "E0916", "a Parquet file takes the package pyarrow, which is not installed", help=help) from None
    schema = pyarrow.schema([(name, pyarrow.int64() if name in _WHOLE else pyarrow.string()) for name in COLUMNS])
    with pyarrow.parquet.ParquetWriter(str(target), schema) as writer:
        for block in _blocks(trace):
            writer.write_table(pyarrow.table([block[name] for name in COLUMNS], schema=schema))


def _blocks(trace: Trace) -> Iterator[dict[str, list[Any]]]:
    first = trace.dependencies[np.argsort(trace.dependencies[:, 0], kind="stable")]
    bounds = np.searchsorted(first[:, 0], np.arange(len(trace) + 1))
    numbers = np.append(trace.mark_number, -1)
    node = trace.node()
    for begin in range(0, len(trace), _BLOCK):
        part = slice(begin, min(begin + _BLOCK, len(trace)))
        at = range(part.start, part.stop)
        yield {
            "record": list(at),
            "operation": _names(trace.operations, trace.operation[part]),
            "type": _names(trace.types, trace.operation[part]),
            "kind": [Kind(k).name.lower() for k in trace.kind[part].tolist()],
            "layer": [Layer(k).name.lower() for k in trace.layer[part].tolist()],
            "node": _names(trace.nodes, node[part]),
            "thread": _names(trace.threads, trace.thread[part]),
            "rank": _known(trace.rank[part]),
            "step": _known(numbers[trace.step[part]]),
            "start_ns": _known(trace.start_ns[part], NO_TIME),
            "duration_ns": _known(trace.duration_ns[part]),
            "bytes": _known(trace.bytes[part]),
            "collective": [Collective(k).name.lower() if k else None for k in trace.collective[part].tolist()],
            "group": _known(trace.group[part]),
            "depends_on": [" ".join(map(str, first[bounds[i] : bounds[i + 1], 1].tolist())) or None for i in at],
            "file": [trace.parts[p].path for p in trace.part[part].tolist()],
            "entry": _known(trace.entry[part]),
        }


def _names(names: tuple[str, ...], index: Ints) -> list[str | None]:
    return [names[i] or None for i in index.tolist()]


def _known(values: Ints, unknown: int = -1) -> list[int | None]:
    return [None if v == unknown else v for v in values.tolist()]
