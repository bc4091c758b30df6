"""A table that reads from elsewhere: up to where, and the rows of a range."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from table_store.catalog.connectors.datagen import Datagen
from table_store.catalog.connectors.position import Position, PositionStore
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.options.connector_options import CONNECTOR, NUMBER_OF_ROWS

BOUND: Final = NUMBER_OF_ROWS.key
_SPLIT_ROWS_MIN: Final = 50_000
_PAUSE_MS_MIN: Final = 10_000


class Connector(Protocol):
    """What a source needs to know of its rows; it is sent to workers."""

    @property
    def rows_max(self) -> int | None:
        """How many rows there will be; None: they have no end."""

    def begin(self) -> Position:
        """Return the position before the first row."""

    def next_position(self, last: Position, now_ms: int, pause_ms: int) -> Position:
        """Return the position now; after `pause_ms` without a look nobody has read."""

    def batches(
        self, first: int, last: int, columns: Sequence[str], position: Position
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range, the same each time; `position` is not before its end."""


@dataclass(frozen=True, slots=True)
class RowRange:
    """The rows from number `first` up to `last`, without it."""

    first: int
    last: int

    def to_bytes(self) -> bytes:
        """Return what a worker gets; `from_bytes` is the inverse."""
        return json.dumps([self.first, self.last]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> RowRange:
        """Return the range that `to_bytes` has written."""
        first, last = json.loads(data)
        return cls(first, last)

    def split(self, parallelism: int) -> tuple[RowRange, ...]:
        """Return parts of it for so many tasks, or fewer where they would be small."""
        step = max(_SPLIT_ROWS_MIN, -(-(self.last - self.first) // max(1, parallelism)))
        return tuple(
            RowRange(at, min(at + step, self.last)) for at in range(self.first, self.last, step)
        )


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads ranges in workers."""

    connector: Connector
    position: Position

    def read(self, rows: RowRange, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range."""
        return self.connector.batches(rows.first, rows.last, columns, self.position)


@dataclass(frozen=True, slots=True)
class Source:
    """A table whose rows a connector makes."""

    name: str
    connector: Connector
    positions: PositionStore

    @property
    def rows_max(self) -> int | None:
        """How many rows there will be; None: they have no end."""
        return self.connector.rows_max

    def advance(self, now_ms: int, interval_ms: int) -> int:
        """Publish up to where the rows are out now, and return it.

        Args:
            now_ms: ms since 1970.
            interval_ms: the longest time between two looks while all jobs that read it run.
        """
        pause_ms = max(_PAUSE_MS_MIN, 2 * interval_ms)

        def following(last: Position | None) -> Position | None:
            known = last or self.connector.begin()
            found = self.connector.next_position(known, now_ms, pause_ms)
            is_same = (found.rows, found.stretches) == (known.rows, known.stretches)
            return None if is_same else found

        last = self.positions.advanced(following)
        return 0 if last is None else last.rows

    def reader(self) -> RangeReader:
        """Return what reads rows that are out, or all rows before anybody has read them."""
        return RangeReader(self.connector, self.positions.last() or self.connector.begin())


def connector_of(schema: TableSchema) -> str | None:
    """Return which connector makes the rows of a table; None: it stores them."""
    return schema.options.get(CONNECTOR.key)


def source_of(table: FileStoreTable, schema: TableSchema | None = None) -> Source | None:
    """Return a table as a source; None if it stores its rows itself."""
    schema = table.schema if schema is None else schema
    connector = connector_of(schema)
    if connector is None:
        return None
    first = schema if schema.id == 0 else table.schema_store.get(0)
    # Its rows do not depend on when it was altered.
    found = Datagen.of(schema, created_ms=first.time_ms)
    return Source(connector, found, PositionStore(table.file_io, table.path))


def check_new(schema: TableSchema) -> None:
    """Check the definition of a new table with a connector.

    Raises:
        UnknownOptionError, InvalidOptionError: an option is wrong.
        UnsupportedTypeError: the connector makes no values of a column's type.
    """
    if connector_of(schema) is not None:
        Datagen.of(schema, created_ms=schema.time_ms)


def last_position(table: FileStoreTable) -> int:
    """Return how many rows of a source are out; 0 for any other table. Costs a list."""
    last = PositionStore(table.file_io, table.path).last()
    return 0 if last is None else last.rows
