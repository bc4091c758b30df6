"""The columns that a source would be declared with: those of the database's table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.database_errors import SourceTableError
from table_store.catalog.connectors.mysql.mysql_database import defined_tables
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition, is_mysql
from table_store.catalog.connectors.mysql.mysql_table import table_not_found
from table_store.catalog.connectors.postgres.postgres_definition import (
    PostgresDefinition,
    is_postgres,
)
from table_store.catalog.connectors.postgres.postgres_table import DatabaseTable
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.options.postgres_source_options import CHANGELOG_MODE


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundColumns:
    """The columns of a table of a database, in its order, and its key.

    What the database computes is left out where its changes are not told (Postgres).
    """

    columns: tuple[Field, ...]
    primary_key: tuple[str, ...]

    @classmethod
    def of(cls, schema: TableSchema) -> FoundColumns:
        """Ask the database that the options of a table without columns name.

        Raises:
            InvalidSchemaError: the connector cannot tell columns.
            InvalidOptionError: an option is missing, or is not valid with the others.
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
            SourceTableNotFoundError, SourceTableError: there is no such table, or it can't be read.
        """
        if is_mysql(schema):
            return cls._of_mysql(schema)
        if is_postgres(schema):
            return cls._of_postgres(schema)
        raise InvalidSchemaError(
            reason=f"the connector {connector_of(schema)!r} does not know what columns its rows "
            "have: give them with .schema('name TYPE, …') in front of .load()"
        )

    @classmethod
    def _of_mysql(cls, schema: TableSchema) -> FoundColumns:
        definition = MysqlDefinition.of(schema)
        tables = defined_tables(schema, None, None)
        if not tables:
            raise table_not_found(definition)
        table, *others = tables
        if others:
            reason = (
                f"it stands for {len(tables)} tables, such as {table.shown} and {others[0].shown}: "
                "give the columns that all of them have with .schema('name TYPE, …')"
            )
            raise SourceTableError(table=definition.table, reason=reason)
        if table.reason is not None:
            raise SourceTableError(table=table.shown, reason=table.reason)
        return cls(columns=table.columns, primary_key=table.primary_key)

    @classmethod
    def _of_postgres(cls, schema: TableSchema) -> FoundColumns:
        asked = {key: text for key, text in schema.options.items() if key != CHANGELOG_MODE.key}
        definition = PostgresDefinition.of(replace(schema, options=asked))
        with definition.database.connected() as connection:
            table = DatabaseTable.of(connection, definition)
        fields = []
        told = [column for column in table.columns.values() if not column.is_generated]
        for at, column in enumerate(told, 1):
            kind = column.suggested
            if kind is None:
                reason = f"columns of the type {column.full_type} are not read"
                raise SourceTableError(table=definition.table, reason=reason)
            is_nullable = column.name not in table.key
            fields.append(Field(id=at, name=column.name, type=kind, nullable=is_nullable))
        return cls(columns=tuple(fields), primary_key=table.key)
