"""The rows of a database's table and their changes, read in workers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.database_errors import (
    SourceTableChangedError,
    SourceTableError,
    SourceTableNotFoundError,
)
from table_store.catalog.connectors.mysql.mysql_binlog import BinlogPlace
from table_store.catalog.connectors.mysql.mysql_connection import (
    Connection,
    Database,
    StatementError,
)
from table_store.catalog.connectors.mysql.mysql_log import RowImages, TableLog
from table_store.catalog.connectors.mysql.mysql_types import (
    DatabaseColumn,
    ReadColumn,
    key_value,
    quoted_name,
)
from table_store.catalog.connectors.mysql.shared_binlog import shared_events
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER
from table_store.storage.kernel.row_batch import batch_of

_ROWS: Final = 1 << 14
_BATCH_BYTES: Final = 32 << 20
_NO_COLUMN: Final = 1054
_NO_TABLE: Final = (1146, 1049)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows of a table whose first column of the key is in a range.

    Attributes:
        schema_name: the name of the table's database.
        table_name: its name.
        after: it is greater than this, as text; None: the first chunk.
        up_to: and at most this; None: the last chunk.
        limit: how many of them are enough; None: all are wanted.
    """

    schema_name: str
    table_name: str
    after: str | None
    up_to: str | None
    limit: int | None = None

    def to_bytes(self) -> bytes:
        """Return what a worker gets; `from_bytes` is the inverse."""
        return json.dumps(astuple(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Chunk:
        """Return the chunk that `to_bytes` has written."""
        return cls(*json.loads(data))

    def condition(self, key: DatabaseColumn) -> tuple[str, list[Any]]:
        """Return SQL for the rest of a SELECT, and the values in it."""
        name = quoted_name(key.name)
        sides = [(">", self.after), ("<=", self.up_to)]
        given = [(sign, text) for sign, text in sides if text is not None]
        where = " AND ".join(f"{name} {sign} %s" for sign, _ in given)
        limit = "" if self.limit is None else f" LIMIT {self.limit:d}"
        values = [key_value(key, text.encode("utf-8", "surrogateescape")) for _, text in given]
        return (f" WHERE {where}" if where else "") + limit, values


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTable:
    """A table as it is read.

    Attributes:
        schema_name: the name of its database.
        table_name: its name.
        columns: those that may be asked for.
        key: the first column of its primary key.
        metadata: further columns, with the one value that each has.
        labels: see `TableLog`.
    """

    schema_name: str
    table_name: str
    columns: tuple[ReadColumn, ...]
    key: DatabaseColumn
    metadata: Mapping[str, str]
    labels: Mapping[str, tuple[str, ...]]

    @property
    def place(self) -> tuple[str, str]:
        """Its database and name."""
        return self.schema_name, self.table_name

    def constant(self, name: str, count: int) -> pa.Array:
        """Return a column of `metadata`."""
        return pa.repeat(pa.scalar(self.metadata[name], pa.string()), count)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReader(PartReader):
    """Reads chunks of tables as they are.

    Attributes:
        database: where they are.
        tables: which ones.
    """

    database: Database
    tables: tuple[ReadTable, ...]

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a `Chunk`, as one statement sees them.

        Raises:
            SourceTableNotFoundError, SourceTableError: the table is gone, or altered.
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
        """
        chunk = Chunk.from_bytes(part)
        place = (chunk.schema_name, chunk.table_name)
        (read,) = [table for table in self.tables if table.place == place]
        by_name = {column.name: column for column in read.columns}
        wanted = [by_name[name] for name in columns if name in by_name]
        constants = [name for name in columns if name not in by_name]
        rest, values = chunk.condition(read.key)
        selected = ", ".join(column.selected for column in wanted) or "1"
        quoted = ".".join(map(quoted_name, place))
        rows = 0
        with self.database.connected() as connection:
            statement = f"SELECT {selected} FROM {quoted}{rest}"
            large = [at for at, column in enumerate(wanted) if column.column.is_large]
            for page in self._pages(connection, place, statement, values, large):
                rows += len(page)
                by_column = list(zip(*page, strict=True))
                arrays = {
                    column.name: _checked(place, column, column.of_texts(by_column[at]))
                    for at, column in enumerate(wanted)
                }
                arrays |= {name: read.constant(name, len(page)) for name in constants}
                yield batch_of({name: arrays[name] for name in columns}, len(page))
        _log.info("%s: %d rows of a chunk", ".".join(place), rows)

    def _pages(
        self,
        connection: Connection,
        place: tuple[str, str],
        statement: str,
        values: Sequence[Any],
        large: Sequence[int],
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        try:
            yield from connection.pages(statement, values, _ROWS, large)
        except StatementError as error:
            if error.args[0] in _NO_TABLE:
                raise SourceTableNotFoundError(
                    table=".".join(place),
                    server=self.database.name,
                    options="'database-name' and 'table-name'",
                ) from error
            if error.args[0] == _NO_COLUMN:
                raise SourceTableError(table=".".join(place), reason=str(error.args[-1])) from error
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader(PartReader):
    """Reads the changes of tables from their binlog.

    Attributes:
        log: where they are.
        tables: which ones, as they are now.
    """

    log: TableLog
    tables: tuple[ReadTable, ...]

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that came and went between two positions, the same each time.

        Of a row that was changed there are both, first the old one.

        Raises:
            SourceTableChangedError: rows are not such as the table declares them, or it is another
                table by then.
            SourceChangesGoneError, SourceUnavailableError, SourceRefusedError: see `TableLog`.
        """
        yield from self._read(self.log.images(*log_range(part)), columns)

    def read_here(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the same; a range is read once for all tables."""
        events = shared_events(self.log, *log_range(part))
        yield from self._read(self.log.images_of(events), columns)

    def _read(self, found: Iterable[RowImages], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows = before = size_bytes = 0
        for images in found:
            if not images.values:
                continue
            held.append(self._batch(images, columns, before))
            before += len(images.values)
            rows += len(images.values)
            size_bytes += held[-1].nbytes
            if rows >= _ROWS or size_bytes >= _BATCH_BYTES:
                yield _joined(held)
                held, rows, size_bytes = [], 0, 0
        if held:
            yield _joined(held)

    def _batch(self, images: RowImages, columns: Sequence[str], before: int) -> pa.RecordBatch:
        table = next((table for table in self.tables if table.place == images.table), None)
        if table is None:
            reason = f"{'.'.join(images.table)} was dropped after {images.shown}"
            raise SourceTableChangedError(table=str(self.log.names), reason=reason)
        by_name = {column.name: column for column in table.columns}
        count = len(images.values)
        arrays = {}
        for name in columns:
            if name == CHANGE_ORDER:
                order = np.arange(before + 1, before + count + 1, dtype=np.int64)
                arrays[name] = pa.array(np.where(images.come, order, -order))
                continue
            column = by_name.get(name)
            arrays[name] = (
                table.constant(name, count) if column is None else self._values(column, images)
            )
        return batch_of(arrays, count)

    def _values(self, column: ReadColumn, images: RowImages) -> pa.Array:
        name = column.column.name
        if not images.is_whole(name):
            raise self._unreadable(images, f"rows without the column {name}")
        try:
            values = column.of_logged([row[name] for row in images.values], images.empty_sets(name))
        except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
            raise self._unreadable(images, f"a value of the column {name}: {error}") from error
        if not column.is_nullable and values.null_count:
            raise self._unreadable(images, f"a NULL of the column {name}, declared NOT NULL")
        return values

    def _unreadable(self, images: RowImages, what: str) -> SourceTableChangedError:
        reason = f"the table cannot have what the binlog has at {images.shown}: {what}"
        return SourceTableChangedError(table=".".join(images.table), reason=reason)


def log_part(start: BinlogPlace, end: BinlogPlace) -> bytes:
    """Return what a worker gets for a range of a binlog; `log_range` is the inverse."""
    return json.dumps([[place.offsets, place.mark] for place in (start, end)]).encode()


def log_range(part: bytes) -> tuple[BinlogPlace, BinlogPlace]:
    """Return the range that `log_part` has written."""
    start, end = (BinlogPlace.of(tuple(offsets), mark) for offsets, mark in json.loads(part))
    return start, end


def _checked(place: tuple[str, str], column: ReadColumn, values: pa.Array) -> pa.Array:
    if not column.is_nullable and values.null_count:
        reason = f"column {column.name} is declared NOT NULL, and a row has NULL in it"
        raise SourceTableError(table=".".join(place), reason=reason)
    return values


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    if not batches[0].num_columns:
        return batch_of({}, sum(batch.num_rows for batch in batches))
    return pa.concat_batches(batches)
