"""A read of a table, which any library with Arrow's stream interface can take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from table_store.client.filters import RowFilter
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.scan import scan as storage_scan
from table_store.storage.kernel.errors import LibraryNotInstalledError

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


Source: TypeAlias = storage_scan.Scan | ChangeScan
"""What storage reads: rows, or the changes of rows."""


@dataclass(frozen=True, slots=True, repr=False)
class Scan:
    """A read of one snapshot or of one range of changes; it never changes, and may be run again.

    `columns` are those of the answer; the source has also those that the filter looks at.
    """

    name: str
    source: Source
    columns: tuple[str, ...]
    row_filter: RowFilter
    limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the answer."""
        source = self.source.arrow_schema
        return pa.schema([source.field(name) for name in self.columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, read as they are asked for; in any order.

        Raises:
            MissingFileError, CorruptFileError: a file is gone or damaged.
            ExpressionFailedError: the filter has no result for a row.
        """
        left = self.limit
        if left == 0:
            return
        for batch in self.source.to_batches():
            rows = self.row_filter.holding(batch).select(list(self.columns))
            if left is not None:
                rows = rows.slice(0, left)
                left -= rows.num_rows
            if rows.num_rows:
                yield rows
            if left == 0:
                return

    def to_arrow(self) -> pa.Table:
        """Return all rows as one table."""
        return pa.Table.from_batches(list(self.to_batches()), schema=self.schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of the rows, which can be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows in the form that libraries of many languages take.

        Source: "The Arrow PyCapsule Interface" in Arrow's format documentation.
        """
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Return all rows as a data frame of pandas; `options` are those of `pyarrow.Table`.

        Raises:
            LibraryNotInstalledError: pandas is not there.
        """
        _library("pandas", "Scan.to_pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas(**options)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a data frame of polars.

        Raises:
            LibraryNotInstalledError: polars is not there.
        """
        library = _library("polars", "Scan.to_polars")
        frame: pl.DataFrame = library.DataFrame(self.to_arrow())
        return frame

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> Any:
        """Return all rows as a relation of duckdb, in a connection or in the default one.

        Raises:
            LibraryNotInstalledError: duckdb is not there.
        """
        library = _library("duckdb", "Scan.to_duckdb")
        return (connection or library.default_connection()).from_arrow(self.to_arrow())

    def count(self) -> int:
        """Return the number of rows; it reads the columns of key and filter only."""
        source = replace(self.source, columns=tuple(sorted(self.row_filter.columns)))
        batches = (self.row_filter.holding(batch) for batch in source.to_batches())
        count = 0
        for batch in batches:
            count += batch.num_rows
            if self.limit is not None and count >= self.limit:
                return self.limit
        return count

    def __repr__(self) -> str:
        text = f"Scan of {self.name}: {', '.join(self.columns)}"
        if self.row_filter.text:
            text += f" where {self.row_filter.text}"
        return f"<{text}>" if self.limit is None else f"<{text} limit {self.limit}>"


def _library(name: str, method: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise LibraryNotInstalledError(library=name, method=method) from error
