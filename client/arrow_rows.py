"""Rows to be written, from whatever library has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pyarrow as pa

from table_store.client.errors import InvalidRowsError
from table_store.storage.kernel.bounded_pieces import in_pieces

_ROWS_MAX: Final = 1 << 17
"""Rows of a batch: defaults and CHAR columns of 16 KB for each of them reach 2 GiB."""

Rows: TypeAlias = Any
"""A table, record batch or reader of pyarrow, a data frame of polars or pandas, a relation of
duckdb, or anything else with the method `__arrow_c_stream__`."""


def reader_of(rows: Rows) -> pa.RecordBatchReader:
    """Return a reader of the rows; nothing is copied that the library has in Arrow's form.

    A data frame of pandas gives its columns, and its index where that has names. Its NaNs are
    NULLs, as pandas means them.

    Raises:
        InvalidRowsError: they are no rows, or Arrow has no type for a column.
    """
    match rows:
        case pa.RecordBatchReader():
            return rows
        case pa.Table():
            return rows.to_reader()
        case pa.RecordBatch():
            return pa.RecordBatchReader.from_batches(rows.schema, [rows])
    library = type(rows).__module__.partition(".")[0]
    try:
        if library == "pandas" and hasattr(rows, "columns"):
            return _reader_of_pandas(rows)
        if hasattr(rows, "__arrow_c_stream__"):
            if library == "polars":
                _check_polars(rows)
            return pa.RecordBatchReader.from_stream(rows)
    except (pa.ArrowException, TypeError, ValueError) as error:
        # Also of a stream of values, as one column is.
        raise InvalidRowsError(found=type(rows).__name__, reason=str(error)) from error
    raise InvalidRowsError(found=type(rows).__name__)


def _reader_of_pandas(frame: Any) -> pa.RecordBatchReader:
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return pa.Table.from_pandas(frame, preserve_index=False).to_reader()


def _check_polars(frame: Any) -> None:
    """Refuse columns of Python's objects, of which polars gives out the places in memory."""
    for name, kind in getattr(frame, "schema", {}).items():
        if str(kind) == "Object":
            raise TypeError(f"column {name!r} holds objects of Python")


def batches_of(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches that the types of a table can hold, and none without rows.

    Raises:
        InvalidRowsError: they are no rows.
    """
    for batch in reader_of(rows):
        for start in range(0, batch.num_rows, _ROWS_MAX):
            yield from in_pieces(batch.slice(start, _ROWS_MAX))
