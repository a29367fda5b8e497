"""Nsight Systems: the SQLite database that ``nsys export --type sqlite`` writes. Times are nanoseconds.

Kernels, copies and fills of the device, calls of the CUDA runtime (which launched what: the correlation), synchronisations and NVTX
ranges. Columns differ between versions of the schema; those that are missing are unknown.
Source: https://docs.nvidia.com/nsight-systems/UserGuide/ (SQLite schema).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from spn.errors import DataError, refuse
from spn.trace import classify
from spn.trace.chrome import launches_of
from spn.trace.files import SQLITE, Source, digest_of
from spn.trace.records import Collective, Kind, Origin, Trace
from spn.trace.table import Table, finish, marks_of, step_of

_KERNEL, _COPY, _FILL = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
_CALL, _SYNC, _NVTX = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS"
_TABLES = (_CALL, _KERNEL, _COPY, _FILL, _SYNC, _NVTX)
_STEP = re.compile(r"(?:iteration|iter|step)[\s_#:]*(\d{1,18})$", re.IGNORECASE)
_LATEST = 2**61  # nanoseconds
_DIRECTIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}


def recognises(head: bytes) -> bool:
    return head.startswith(SQLITE)


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """The records of a database; DataError E0802 where it is damaged, packed, or none of Nsight Systems."""
    if source.plain is None:
        raise refuse(DataError, "E0802", f"{source.path} is a packed SQLite database", help="unpack it first: it is read in place")
    table = Table()
    marks: list[tuple[int, int, int]] = []
    pairs: list[tuple[int, int]] = []
    try:
        connection = sqlite3.connect(f"file:{quote(str(Path(source.plain).resolve()))}?mode=ro", uri=True)
        try:
            present = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not present & set(_TABLES):
                listed = ", ".join(sorted(present)[:6])
                raise refuse(DataError, "E0802", f"{source.path} is a database, but not of Nsight Systems (its tables: {listed})")
            names = dict(connection.execute("SELECT id, value FROM StringIds")) if "StringIds" in present else {}
            entry = _rows(connection, present, names, table, marks, pairs)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise refuse(DataError, "E0802", f"{source.path} is a damaged SQLite database: {error}", help="export it again") from None
    return _trace(source, table, marks, pairs, entry)


def _rows(
    connection: sqlite3.Connection,
    present: set[str],
    names: Mapping[int, str],
    table: Table,
    marks: list[tuple[int, int, int]],
    pairs: list[tuple[int, int]],
) -> int:
    """Every row of the tables that are there; the number of rows."""
    entry = -1
    for name in (t for t in _TABLES if t in present):
        for row in _select(connection, name):
            entry += 1
            start, end, text = row.get("start"), row.get("end"), _text(name, row, names)
            if name == _NVTX and (end is None or start is None):
                continue  # a mark, or a range's other half: no duration
            if not isinstance(start, int) or not isinstance(end, int) or max(abs(start), abs(end)) > _LATEST:
                table.problem("event without a time or duration", text)
            elif end <= start:
                _odd(table, text, end - start)
            elif name == _NVTX and (mark := _STEP.search(text)):
                marks.append((start, int(mark[1]), end - start))
            else:
                key = row.get("correlationId")
                key = key if isinstance(key, int) and key >= 0 else -1  # SQLite's integers have 64 bits
                if name == _CALL and key >= 0:
                    pairs.append((key, start))
                size = row.get("bytes")
                label, thread = _label(table, name, row, text), table.thread(*_place(name, row))
                table.add(label, thread, start, end - start, size if isinstance(size, int) else -1, -1, key, entry)
    return entry


def _select(connection: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(f'SELECT * FROM "{table}"')
    columns = [d[0] for d in cursor.description]
    for row in cursor:
        yield dict(zip(columns, row, strict=True))


def _text(table: str, row: Mapping[str, Any], names: Mapping[int, str]) -> str:
    if table == _COPY:
        return f"Memcpy {_DIRECTIONS.get(row.get('copyKind', 0), '')}".strip()
    if table == _FILL:
        return "Memset"
    if table == _SYNC:
        return "synchronization"
    if table == _NVTX:
        inline = row.get("text")
        return str(inline) if inline is not None else str(names.get(row.get("textId", -1), "range"))
    for column in ("demangledName", "shortName", "nameId"):
        if row.get(column) in names:
            return str(names[row[column]])
    return "kernel" if table == _KERNEL else "call"


def _odd(table: Table, name: str, duration: int) -> None:
    table.problem("negative duration" if duration < 0 else "duration of 0", name)
    if duration == 0:
        table.zeros[name] += 1


def _label(table: Table, of: str, row: Mapping[str, Any], name: str) -> int:
    categories = {_KERNEL: "kernel", _COPY: "gpu_memcpy", _FILL: "gpu_memset", _CALL: "cuda_runtime", _SYNC: "cuda_sync", _NVTX: "nvtx"}
    kind, layer = classify.classify(categories[of], name)
    return table.label(name, kind, layer, classify.collective(name) if kind is Kind.COMMUNICATION else Collective.NONE)


def _place(of: str, row: Mapping[str, Any]) -> tuple[str, str]:
    if of in (_KERNEL, _COPY, _FILL):
        return f"GPU {row.get('deviceId', '')}", f"stream {row.get('streamId', '')}"
    identity = row.get("globalTid", row.get("globalPid"))
    if not isinstance(identity, int):
        return "host", ""
    return f"process {identity >> 24 & 0xFFFFFF}", f"thread {identity & 0xFFFFFF}"


def _trace(source: Source, table: Table, rows: list[tuple[int, int, int]], pairs: list[tuple[int, int]], entry: int) -> Trace:
    if not table.labels:
        table.problem("trace without any events", source.path)
    columns = table.columns()
    layer = np.array([label[2] for label in table.labels], dtype=np.int8)[columns.label]
    launched, dependencies = launches_of(columns, layer, np.array(pairs, dtype=np.int64).reshape(-1, 2), table)
    marks = marks_of(rows)
    digest = digest_of(source.plain).hexdigest() if source.plain else source.sha256
    origin = Origin(path=source.path, format="Nsight Systems", events=entry + 1, sha256=digest)
    return finish(table, columns, origin, step=step_of(launched, marks), marks=marks, dependencies=dependencies)
