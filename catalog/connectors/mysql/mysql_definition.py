"""What the definition of a table `WITH ('connector' = 'mysql-cdc')` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.mysql.mysql_connection import Database
from table_store.catalog.connectors.mysql.table_names import TableNames, refused_pattern
from table_store.catalog.connectors.physical_columns import metadata_columns, physical_columns
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    InvalidTimeZoneError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.kernel.types import STRING
from table_store.storage.options.connector_options import needed
from table_store.storage.options.database_options import (
    CHUNK_SIZE,
    DATABASE_NAME,
    HOSTNAME,
    PASSWORD,
    PORT,
    TABLE_NAME,
    USERNAME,
)
from table_store.storage.options.kafka_source_options import (
    STARTUP_MODE,
    STARTUP_TIMESTAMP,
)
from table_store.storage.options.mysql_source_options import (
    SERVER_ID,
    SERVER_TIME_ZONE,
    STARTUP_FILE,
    STARTUP_POSITION,
)
from table_store.storage.options.options import Option, OptionScope, OptionValues
from table_store.storage.options.table_options import TABLE_OPTIONS

MYSQL: Final = "mysql-cdc"
METADATA_KEYS: Final = ("database_name", "table_name")
_PORT: Final = 3306
_SERVER_IDS: Final = (2**31, 2**32 - 1)


class Startup(Enum):
    """The values of 'scan.startup.mode'."""

    INITIAL = "initial"
    EARLIEST = "earliest-offset"
    LATEST = "latest-offset"
    OFFSET = "specific-offset"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlDefinition:
    """A database's table as rows.

    Attributes:
        database: where the table is.
        names: which tables of it.
        columns: those that are read, in their order.
        metadata: by column what is not the table's, but says which table it is: keys of `METADATA`.
        primary_key: the declared one; may be empty.
        startup: with what the rows begin.
        startup_at: for `OFFSET`, the file of the binlog and the position in it.
        startup_ms: for `TIMESTAMP`, ms since 1970.
        chunk_rows: about how many rows of the table a task reads.
        server_ids: the first and the last number as which the binlog may be read.
        zone: in which local times are.
    """

    database: Database
    names: TableNames
    columns: tuple[Field, ...]
    metadata: Mapping[str, str]
    primary_key: tuple[str, ...]
    startup: Startup
    startup_at: tuple[str, int] | None
    startup_ms: int | None
    chunk_rows: int
    server_ids: tuple[int, int]
    zone: str

    @classmethod
    def of(cls, schema: TableSchema) -> MysqlDefinition:
        """Return what a table's definition says; nobody asks the database.

        Raises:
            InvalidOptionError: an option is missing, or is not valid with the others.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        startup = _startup(options)
        return cls(
            database=Database(
                host=needed(options, HOSTNAME),
                port=options.get(PORT) or _PORT,
                user=needed(options, USERNAME),
                password=options.get(PASSWORD) or "",
            ),
            names=_names(options),
            columns=physical_columns(schema),
            metadata=_metadata(schema, options),
            primary_key=schema.primary_key,
            startup=startup,
            startup_at=_startup_at(options, startup),
            startup_ms=options.get(STARTUP_TIMESTAMP),
            chunk_rows=options.get(CHUNK_SIZE),
            server_ids=options.get(SERVER_ID) or _SERVER_IDS,
            zone=_zone(options),
        )

    @property
    def table(self) -> str:
        """The tables' name for messages."""
        return str(self.names)

    @property
    def begins_with_changes(self) -> bool:
        """Whether a job begins with changes, not with the rows that the table has."""
        return self.startup is not Startup.INITIAL


def is_mysql(schema: TableSchema) -> bool:
    """Return whether the rows of a table are those of a database's table."""
    return connector_of(schema) == MYSQL


def _names(options: OptionValues) -> TableNames:
    database, table = needed(options, DATABASE_NAME), needed(options, TABLE_NAME)
    for option, text in ((DATABASE_NAME, database), (TABLE_NAME, table)):
        with refused_pattern(option.key, text):
            TableNames(text, text)
    return TableNames(database, table)


def _metadata(schema: TableSchema, options: OptionValues) -> Mapping[str, str]:
    columns = metadata_columns(schema, options)
    for field, key in columns:
        if key not in METADATA_KEYS:
            shown = " and ".join(map(repr, METADATA_KEYS))
            reason = f"a row of a database has no metadata {key!r}; it has {shown}"
            raise InvalidSchemaError(column=field.name, reason=reason)
        if field.type != STRING:
            raise InvalidSchemaError(column=field.name, reason=f"metadata {key!r} is STRING")
    return FrozenMap({field.name: key for field, key in columns})


def _startup(options: OptionValues) -> Startup:
    name = options.get(STARTUP_MODE) or Startup.INITIAL.value
    try:
        return Startup(name)
    except ValueError:
        modes = ", ".join(repr(mode.value) for mode in Startup)
        reason = f"a table with the connector {MYSQL!r} has {modes}"
        raise InvalidOptionError(key=STARTUP_MODE.key, value=name, reason=reason) from None


def _startup_at(options: OptionValues, startup: Startup) -> tuple[str, int] | None:
    needed_by: tuple[tuple[Option[Any], Startup], ...] = (
        (STARTUP_FILE, Startup.OFFSET),
        (STARTUP_POSITION, Startup.OFFSET),
        (STARTUP_TIMESTAMP, Startup.TIMESTAMP),
    )
    for option, mode in needed_by:
        is_wanted = startup is mode
        if options.is_given(option) != is_wanted:
            needs = f"{STARTUP_MODE.key!r} = {mode.value!r}"
            reason = f"{needs} needs it" if is_wanted else f"it needs {needs}"
            value = options.text.get(option.key)
            raise InvalidOptionError(key=option.key, value=value, reason=reason)
    file, position = options.get(STARTUP_FILE), options.get(STARTUP_POSITION)
    return None if file is None or position is None else (file, position)


def _zone(options: OptionValues) -> str:
    zone = options.get(SERVER_TIME_ZONE)
    try:
        find_zone(zone)
    except InvalidTimeZoneError:
        reason = "use a zone's name, such as 'Europe/Berlin', or '+02:00'"
        raise InvalidOptionError(key=SERVER_TIME_ZONE.key, value=zone, reason=reason) from None
    return zone
