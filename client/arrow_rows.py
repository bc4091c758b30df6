"""Rows to be written, from whatever library has them."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa

from table_store.client.errors import InvalidRowsError

Rows: TypeAlias = Any
"""A table, record batch or reader of pyarrow, a data frame of polars or pandas, a relation of
duckdb, or anything else with the method `__arrow_c_stream__`."""


def reader_of(rows: Rows) -> pa.RecordBatchReader:
    """Return a reader of the rows; nothing is copied that the library has in Arrow's form.

    A data frame of pandas gives its columns, and its index where that has names. Its NaNs are
    NULLs, as pandas means them.

    Raises:
        InvalidRowsError: they are no rows.
    """
    match rows:
        case pa.RecordBatchReader():
            return rows
        case pa.Table():
            return rows.to_reader()
        case pa.RecordBatch():
            return pa.RecordBatchReader.from_batches(rows.schema, [rows])
    if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
        named = any(name is not None for name in rows.index.names)
        frame = rows.reset_index() if named else rows
        return pa.Table.from_pandas(frame, preserve_index=False).to_reader()
    if not hasattr(rows, "__arrow_c_stream__"):
        raise InvalidRowsError(found=type(rows).__name__)
    try:
        return pa.RecordBatchReader.from_stream(rows)
    except pa.ArrowInvalid as error:  # a stream of values, as one column is
        raise InvalidRowsError(found=type(rows).__name__) from error
