"""What the definition of a table `WITH ('connector' = 'postgres-cdc')` says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.physical_columns import physical_columns
from table_store.catalog.connectors.postgres.postgres_connection import Database
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
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
from table_store.storage.options.kafka_source_options import STARTUP_MODE
from table_store.storage.options.options import OptionScope, OptionValues
from table_store.storage.options.postgres_source_options import (
    CHANGELOG_MODE,
    PLUGIN_NAME,
    PUBLICATION_NAME,
    SCHEMA_NAME,
    SLOT_NAME,
)
from table_store.storage.options.table_options import TABLE_OPTIONS

POSTGRES: Final = "postgres-cdc"
_PORT: Final = 5432
_UPSERT: Final = "upsert"


class Startup(Enum):
    """The values of 'scan.startup.mode'."""

    INITIAL = "initial"
    LATEST = "latest-offset"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresDefinition:
    """A database's table as rows.

    Attributes:
        database: where the table is.
        schema_name: of the table in the database.
        table_name: the table's.
        columns: those that are read, in their order.
        primary_key: the declared one; may be empty.
        startup: with what the rows begin.
        chunk_rows: about how many rows of the table a task reads.
        slot: the replication slot that keeps the changes.
        publication: the one that has the table.
        is_upsert: whether of a row that goes, or is replaced, the key alone is told.
    """

    database: Database
    schema_name: str
    table_name: str
    columns: tuple[Field, ...]
    primary_key: tuple[str, ...]
    startup: Startup
    chunk_rows: int
    slot: str
    publication: str
    is_upsert: bool

    @classmethod
    def of(cls, schema: TableSchema) -> PostgresDefinition:
        """Return what a table's definition says; nobody asks the database.

        Raises:
            InvalidOptionError: an option is missing, or is not valid with the others.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        options.get(PLUGIN_NAME)
        is_upsert = options.get(CHANGELOG_MODE) == _UPSERT
        if is_upsert and not schema.primary_key:
            reason = "it needs a PRIMARY KEY … NOT ENFORCED, that of the database's table"
            raise InvalidOptionError(key=CHANGELOG_MODE.key, value=_UPSERT, reason=reason)
        return cls(
            database=Database(
                host=needed(options, HOSTNAME),
                port=options.get(PORT) or _PORT,
                name=needed(options, DATABASE_NAME),
                user=needed(options, USERNAME),
                password=options.get(PASSWORD) or "",
            ),
            schema_name=needed(options, SCHEMA_NAME),
            table_name=needed(options, TABLE_NAME),
            columns=physical_columns(schema),
            primary_key=schema.primary_key,
            startup=_startup(options),
            chunk_rows=options.get(CHUNK_SIZE),
            slot=needed(options, SLOT_NAME),
            publication=options.get(PUBLICATION_NAME),
            is_upsert=is_upsert,
        )

    @property
    def table(self) -> str:
        """The table's name for messages."""
        return f"{self.database.name}.{self.schema_name}.{self.table_name}"

    @property
    def begins_with_changes(self) -> bool:
        """Whether a job begins with changes, not with the rows that the table has."""
        return self.startup is not Startup.INITIAL


def is_postgres(schema: TableSchema) -> bool:
    """Return whether the rows of a table are those of a database's table."""
    return connector_of(schema) == POSTGRES


def tells_only_keys(schema: TableSchema) -> bool:
    """Return whether of a row that goes, or is replaced, no more than its key is known."""
    mode = schema.options.get(CHANGELOG_MODE.key, "").strip().lower()
    return is_postgres(schema) and mode == _UPSERT


def _startup(options: OptionValues) -> Startup:
    name = options.get(STARTUP_MODE) or Startup.INITIAL.value
    try:
        return Startup(name)
    except ValueError:
        modes = ", ".join(repr(mode.value) for mode in Startup)
        reason = f"a table with the connector {POSTGRES!r} has {modes}"
        raise InvalidOptionError(key=STARTUP_MODE.key, value=name, reason=reason) from None
