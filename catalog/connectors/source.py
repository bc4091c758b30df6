"""A table that reads from elsewhere: up to where, and the rows of a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.datagen.datagen import Datagen
from table_store.catalog.connectors.filesystem.file_register import FileRegister
from table_store.catalog.connectors.filesystem.filesystem_definition import (
    FilesystemDefinition,
    is_filesystem,
)
from table_store.catalog.connectors.filesystem.filesystem_source import FilesystemSource
from table_store.catalog.connectors.kafka.kafka_definition import KafkaDefinition, is_kafka
from table_store.catalog.connectors.kafka.kafka_definition import (
    gives_changes as has_changed_records,
)
from table_store.catalog.connectors.kafka.kafka_definition import (
    tells_only_keys as has_tombstones,
)
from table_store.catalog.connectors.kafka.kafka_source import KafkaSource
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition, is_mysql
from table_store.catalog.connectors.mysql.mysql_source import MysqlSource
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import Position, PositionStore
from table_store.catalog.connectors.positions.source_read import AskedRows, SourceRead
from table_store.catalog.connectors.postgres.postgres_definition import (
    PostgresDefinition,
    is_postgres,
)
from table_store.catalog.connectors.postgres.postgres_definition import (
    tells_only_keys as has_only_keys,
)
from table_store.catalog.connectors.postgres.postgres_source import PostgresSource
from table_store.catalog.connectors.spark_source import SparkSource, is_read_by_spark
from table_store.catalog.connectors.spark_stream import SparkStreamSource, is_stream
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.options.connector_options import SOURCES

_PAUSE_MS_MIN: Final = 10_000


class Connector(Protocol):
    """What a source needs to know of its rows."""

    @property
    def bound(self) -> str:
        """The option with which the rows have an end."""

    def rows_max(self, last: Position | None) -> int | None:
        """Return how many rows there will be by the last position; None: that is not known."""

    def following(
        self, last: Position | None, now_ms: int, pause_ms: int, moment: Moment
    ) -> Position | None:
        """Return the position now; None if it is still the last one.

        After `pause_ms` without a look nobody has read. What is asked of a system that has several
        tables is asked once in a `moment`.
        """

    def plan(self, asked: AskedRows, positions: PositionStore) -> SourceRead | None:
        """Return how to read rows, the same each time; None if they have no end."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table whose rows a connector makes."""

    name: str
    connector: Connector
    positions: PositionStore

    @property
    def rows_max(self) -> int | None:
        """How many rows there will be; None: that is not known."""
        return self.connector.rows_max(self.positions.last())

    def advance(self, now_ms: int, interval_ms: int, moment: Moment) -> int:
        """Publish up to where the rows are out now, and return it.

        Args:
            now_ms: ms since 1970.
            interval_ms: the longest time between two looks while all jobs that read it run.
            moment: of all sources that are looked at together.

        Raises:
            TableStoreError: what holds the rows does not answer, or is not what it was.
        """
        pause_ms = max(_PAUSE_MS_MIN, 2 * interval_ms)
        last = self.positions.advanced(
            lambda known: self.connector.following(known, now_ms, pause_ms, moment)
        )
        return 0 if last is None else last.rows

    @property
    def is_kept_for_jobs(self) -> bool:
        """Whether what holds the rows keeps them until it is told that jobs have them."""
        return isinstance(self.connector, PostgresSource | SparkStreamSource)

    def release(self, rows: int, moment: Moment) -> None:
        """Tell what holds the rows that all jobs have committed those of a position.

        Raises:
            TableStoreError: what holds the rows does not answer.
        """
        if isinstance(self.connector, PostgresSource):
            self.connector.release(rows, self.positions)
        elif isinstance(self.connector, SparkStreamSource):
            self.connector.release(rows, self.positions, moment)

    def plan(self, asked: AskedRows) -> SourceRead | None:
        """Return how to read rows that are out, or all that there will be; None: without end."""
        return self.connector.plan(asked, self.positions)


def source_of(table: FileStoreTable, schema: TableSchema | None = None) -> Source | None:
    """Return a table as a source; None if no connector makes its rows."""
    schema = table.schema if schema is None else schema
    connector = connector_of(schema)
    if connector not in SOURCES:
        return None
    positions = PositionStore(table.file_io, table.path)
    if is_kafka(schema):
        return Source(connector, KafkaSource(KafkaDefinition.of(schema)), positions)
    if is_mysql(schema):
        return Source(connector, MysqlSource(MysqlDefinition.of(schema)), positions)
    if is_postgres(schema):
        return Source(connector, PostgresSource(PostgresDefinition.of(schema)), positions)
    if is_filesystem(schema):
        register = FileRegister(table.file_io, table.path, table.ids)
        folder = FilesystemSource(FilesystemDefinition.of(schema), register)
        return Source(connector, folder, positions)
    if is_stream(schema):
        return Source(connector, SparkStreamSource.of(table, schema), positions)
    first = schema if schema.id == 0 else table.schema_store.get(0)
    # Its rows do not depend on when it was altered.
    found = Datagen.of(schema, created_ms=first.time_ms)
    return Source(connector, found, positions)


def is_repeatable(schema: TableSchema) -> bool:
    """Return whether all rows of a source that were ever read can be read again."""
    is_followed = is_filesystem(schema) or is_stream(schema)
    return not (is_kafka(schema) or _is_database(schema) or is_followed)


def gives_changes(schema: TableSchema) -> bool:
    """Return whether rows of a source also go: its later rows have a `CHANGE_ORDER`."""
    return _is_database(schema) or has_changed_records(schema)


def tells_only_keys(schema: TableSchema) -> bool:
    """Return whether of a row that goes, or is replaced, no more than its key is known."""
    return has_tombstones(schema) or has_only_keys(schema)


def begins_with_changes(schema: TableSchema) -> bool:
    """Return whether its first rows have one, too."""
    if is_mysql(schema):
        return MysqlDefinition.of(schema).begins_with_changes
    if is_postgres(schema):
        return PostgresDefinition.of(schema).begins_with_changes
    return has_changed_records(schema)


def begins_late(schema: TableSchema) -> bool:
    """Return whether a job begins with what comes from then on, as former rows are not kept."""
    return is_postgres(schema) and PostgresDefinition.of(schema).begins_with_changes


def check_new(schema: TableSchema) -> None:
    """Check the definition of a new table with a connector.

    Raises:
        UnknownOptionError, InvalidOptionError: an option is wrong.
        InvalidSchemaError: the connector has no such columns.
        UnsupportedTypeError: the connector makes no values of a column's type.
    """
    if is_kafka(schema):
        KafkaDefinition.of(schema).brokers.cluster().close()
    elif is_mysql(schema):
        MysqlDefinition.of(schema)
    elif is_postgres(schema):
        PostgresDefinition.of(schema)
    elif is_filesystem(schema):
        FilesystemDefinition.of(schema)
    elif is_read_by_spark(schema):
        SparkSource.of(schema)
    elif connector_of(schema) == "datagen":
        Datagen.of(schema, created_ms=schema.time_ms)


def last_position(table: FileStoreTable) -> int:
    """Return how many rows of a source are out; 0 for any other table. Costs a list."""
    last = PositionStore(table.file_io, table.path).last()
    return 0 if last is None else last.rows


def _is_database(schema: TableSchema) -> bool:
    return is_mysql(schema) or is_postgres(schema)
