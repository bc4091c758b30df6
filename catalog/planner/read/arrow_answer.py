"""Rows as part of an answer."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Final

import pyarrow as pa

from table_store.catalog.planner.protocol.rows import ArrowRows

_COMPRESSED_BYTES_MIN: Final = 1 << 16
_STREAM_ROWS: Final = 1 << 16
_READ_ROWS_MAX: Final = 200_000
_FOUND_ROWS_MAX: Final = 1 << 20
_OPENED_FILES_MAX: Final = 32
_READ_BYTES_MAX: Final = 16 << 20


def arrow_answer(rows: pa.Table) -> ArrowRows:
    """`rows` as Arrow IPC streams in base64, which the JVM turns into its rows."""
    is_large = rows.nbytes >= _COMPRESSED_BYTES_MIN
    return arrow_streams(rows.schema, rows.to_batches(_STREAM_ROWS), is_compressed=is_large)


def arrow_streams(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, is_compressed: bool
) -> ArrowRows:
    """Each batch as an Arrow IPC stream in base64; the batches are never all in memory at once.

    Compressing a large answer costs less than sending it uncompressed.
    """
    streams = [_stream(schema, batch, is_compressed=is_compressed) for batch in batches]
    if not streams:
        streams = [_stream(schema, None, is_compressed=is_compressed)]
    return ArrowRows(arrow=tuple(streams), is_compressed=is_compressed)


def _stream(schema: pa.Schema, batch: pa.RecordBatch | None, *, is_compressed: bool) -> str:
    sink = pa.BufferOutputStream()
    with ExitStack() as closing:
        to = sink
        if is_compressed:
            to = closing.enter_context(pa.CompressedOutputStream(sink, "zstd"))
        stream = closing.enter_context(pa.ipc.new_stream(to, schema))
        if batch is not None:
            stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def is_read_at_once(row_count: int, size_bytes: int) -> bool:
    """Whether reading this much in the planner costs less than a Spark job and its workers."""
    return row_count <= _READ_ROWS_MAX and size_bytes <= _READ_BYTES_MAX


def is_found_at_once(
    file_count: int, row_count: int, size_bytes: int, possible_rows: Callable[[], int]
) -> bool:
    """Whether finding rows by their keys costs less in the planner, though the files are large.

    `possible_rows` tells how many of the rows are in row groups that are looked at. Of most of
    them the keys alone are read.
    """
    if is_read_at_once(row_count, size_bytes):
        return True
    if file_count > _OPENED_FILES_MAX:
        return False
    possible = possible_rows()
    are_bounds_of_use = possible < row_count and possible <= _FOUND_ROWS_MAX
    return are_bounds_of_use and size_bytes * possible <= row_count * _READ_BYTES_MAX
