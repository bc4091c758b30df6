"""The rows of a database's table and their changes, read in workers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from table_store.catalog.connectors.database_errors import (
    SourceTableChangedError,
    SourceTableError,
    SourceTableNotFoundError,
)
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER
from table_store.catalog.connectors.postgres.pgoutput import ChangedRows, Decoder, Truncated
from table_store.catalog.connectors.postgres.postgres_chunks import Chunk
from table_store.catalog.connectors.postgres.postgres_connection import (
    Connection,
    StatementError,
    quoted_name,
    said,
)
from table_store.catalog.connectors.postgres.postgres_definition import PostgresDefinition
from table_store.catalog.connectors.postgres.postgres_log import TableLog, shown, table_changed
from table_store.catalog.connectors.postgres.postgres_types import ReadColumn
from table_store.storage.kernel.row_batch import batch_of

_NO_TABLE: Final = ("42P01", "3F000")
_NO_COLUMN: Final = "42703"
_FULL: Final = "f"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReader(PartReader):
    """Reads chunks of a table as it is.

    Attributes:
        definition: names the table.
        columns: those that may be asked for.
    """

    definition: PostgresDefinition
    columns: tuple[ReadColumn, ...]

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a `Chunk`, as one statement sees them.

        Raises:
            SourceTableNotFoundError, SourceTableError: the table is gone, or altered.
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
        """
        chunk, rows = Chunk.from_bytes(part), 0
        by_name = {column.name: column for column in self.columns}
        with self.definition.database.connected() as connection:
            try:
                for batch in self._batches(connection, chunk, [by_name[name] for name in columns]):
                    rows += batch.num_rows
                    yield batch
            except StatementError as error:
                if error.sqlstate in _NO_TABLE:
                    raise SourceTableNotFoundError(
                        table=self.definition.table,
                        server=self.definition.database.server,
                        options="'database-name', 'schema-name' and 'table-name'",
                    ) from error
                if error.sqlstate == _NO_COLUMN:
                    raise self._unsuitable(said(error)) from error
                raise
        _log.info("%s: %d rows of a chunk", self.definition.table, rows)

    def _batches(
        self, connection: Connection, chunk: Chunk, columns: Sequence[ReadColumn]
    ) -> Iterator[pa.RecordBatch]:
        name = ".".join(map(quoted_name, (self.definition.schema_name, self.definition.table_name)))
        names = ", ".join(quoted_name(column.column.name) for column in columns) or "1"
        statement = f"SELECT {names} FROM ONLY {name}{chunk.condition}"
        with connection.transaction():
            if not columns:
                ((rows,),) = connection.rows(f"SELECT count(*) FROM ({statement}) counted")
                yield batch_of({}, rows)
                return
            for page in connection.copied(statement, "csv"):
                yield batch_of(
                    {
                        column.name: self._values(column, found)
                        for column, found in zip(columns, _columns(page, len(columns)), strict=True)
                    },
                    len(page),
                )

    def _values(self, column: ReadColumn, found: pa.BinaryArray) -> pa.Array:
        try:
            values = column.of_texts(found)
        except pa.ArrowException as error:
            raise self._unsuitable(
                f"column {column.name} has a value that {column.type.sql_name()} has no place "
                f"for ({error})"
            ) from error
        if not column.is_nullable and values.null_count:
            reason = f"column {column.name} is declared NOT NULL, and a row has NULL in it"
            raise self._unsuitable(reason)
        return values

    def _unsuitable(self, reason: str) -> SourceTableError:
        return SourceTableError(table=self.definition.table, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader(PartReader):
    """Reads the changes of a table that its slot keeps.

    Attributes:
        definition: names the table, and the slot.
        oid: the number of the table.
        columns: those that may be asked for, besides `CHANGE_ORDER`.
    """

    definition: PostgresDefinition
    oid: int
    columns: tuple[ReadColumn, ...]

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that came and went between two positions, the same each time.

        Of a row that was changed there are both, first the old one; with `is_upsert` the old one
        only if its key is another one, and of it no more than the key.

        Raises:
            SourceTableChangedError: rows are not such as the table declares them, or the table was
                emptied.
            SourceChangesGoneError, SourceBusyError, SourceServerError: see `TableLog`.
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
        """
        start, end = log_range(part)
        by_name = {column.name: column for column in self.columns}
        names = tuple(name for name in columns if name != CHANGE_ORDER)
        decoder = Decoder(oid=self.oid, start=start, end=end, names=names)
        before = 0
        for piece in TableLog(self.definition).pieces(start, end):
            try:
                for rows in decoder.decoded(piece):
                    self._check(rows, names)
                    arrays: dict[str, pa.Array] = {}
                    for name in columns:
                        if name == CHANGE_ORDER:
                            order = np.arange(before + 1, before + len(rows.come) + 1)
                            arrays[name] = pa.array(np.where(rows.come, order, -order))
                        else:
                            arrays[name] = self._values(by_name[name], rows)
                    before += len(rows.come)
                    yield batch_of(arrays, len(rows.come))
            except Truncated:
                reason = f"TRUNCATE has emptied it between {shown(start)} and {shown(end)}"
                raise table_changed(self.definition, reason) from None
            except KeyError as error:
                raise self._unreadable(f"rows without the column {error.args[0]}") from None

    def _check(self, rows: ChangedRows, names: Sequence[str]) -> None:
        identity = rows.relation.identity
        if identity != _FULL and not self.definition.is_upsert:
            raise self._unreadable("changes from while its REPLICA IDENTITY was not FULL")
        for name in names:
            if rows.is_untold(name):
                raise self._unreadable(
                    f"a change that does not tell the value of the column {name}, which is stored "
                    "apart (TOAST): ALTER TABLE … REPLICA IDENTITY FULL"
                )

    def _values(self, column: ReadColumn, rows: ChangedRows) -> pa.Array:
        oid, modifier = rows.relation.types[rows.relation.places[column.name]]
        logged = column.column.as_logged(oid, modifier)
        reason = "another type" if logged is None else logged.why_not(column.type)
        if logged is None or reason is not None:
            raise self._unreadable(
                f"rows whose column {column.name} has a type from then: {reason}"
            )
        found = rows.texts(column.name)
        try:
            values = ReadColumn(column.name, column.type, column.is_nullable, logged).of_texts(
                found
            )
        except pa.ArrowException as error:
            raise self._unreadable(f"a value of the column {column.name}: {error}") from error
        if not column.is_nullable and values.null_count:
            raise self._unreadable(f"a NULL of the column {column.name}, declared NOT NULL")
        return values

    def _unreadable(self, what: str) -> SourceTableChangedError:
        return table_changed(self.definition, f"the table cannot have what the log has, {what}")


def log_part(start: int, end: int) -> bytes:
    """Return what a worker gets for a range of the log; `log_range` is the inverse."""
    return json.dumps([start, end]).encode()


def log_range(part: bytes) -> tuple[int, int]:
    """Return the range that `log_part` has written."""
    start, end = json.loads(part)
    return start, end


def _columns(page: Sequence[memoryview], count: int) -> list[pa.BinaryArray]:
    """Return the columns of rows in CSV, where nothing is NULL and `""` the empty text."""
    text = b"".join(page)
    names = [str(place) for place in range(count)]
    found = pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(
            column_names=names, block_size=len(text) + 1, use_threads=False
        ),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [column.combine_chunks() for column in found.columns]
