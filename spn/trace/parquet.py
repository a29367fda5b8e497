"""Parquet of durations: the columns mean what they mean in CSV. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spn.errors import DataError, refuse
from spn.trace.durations import fill, header_of, layout_of
from spn.trace.files import PARQUET, Source, digest_of
from spn.trace.records import Trace


def recognises(head: bytes) -> bool:
    return head.startswith(PARQUET)


def read(source: Source, options: Mapping[str, str]) -> Trace:
    """One record a row; DataError E0802 where the file is damaged or pyarrow is missing, E0806 where the layout is not clear."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise refuse(
            DataError, "E0802", f"{source.path} is a Parquet file, for which pyarrow is missing", help="pip install 'spn[parquet]'"
        ) from None
    try:
        opened: Any = str(source.plain) if source.plain is not None else pyarrow.BufferReader(source.all())
        file = pyarrow.parquet.ParquetFile(opened)
        layout = layout_of(header_of(file.schema_arrow.names), source.path, options)
        digest = digest_of(source.plain).hexdigest() if source.plain is not None else source.sha256
        return fill(layout, _rows(file), source.path, "Parquet", lambda: digest)
    except (pyarrow.ArrowException, OSError) as error:
        raise refuse(DataError, "E0802", f"{source.path} is a damaged Parquet file: {error}", help="write it again") from None


def _rows(file: Any) -> Iterator[tuple[int, list[str]]]:
    """Row number (from 1) and the cells as text, batch by batch."""
    number = 0
    for batch in file.iter_batches(batch_size=1 << 14):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            number += 1
            yield number, ["" if cell is None else str(cell) for cell in row]
