"""The tables of a database, each as a table of its own that may be defined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from table_store.catalog.connectors.mysql.mysql_connection import Connection
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition
from table_store.catalog.connectors.mysql.mysql_table import (
    DatabaseTable,
    check_server,
    table_places,
)
from table_store.catalog.connectors.mysql.table_names import TableNames, only, refused_pattern
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.database_options import DATABASE_NAME, TABLE_NAME
from table_store.storage.options.kafka_source_options import METADATA


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedTable:
    """A table of a database as one that reads it is defined.

    Attributes:
        name: of the table.
        shown: with its database, for messages.
        columns: all of it, in their order.
        primary_key: its key.
        options: of the table that reads it.
        reason: why there can be none; None if there can.
    """

    name: str
    shown: str
    columns: tuple[Field, ...]
    primary_key: tuple[str, ...]
    options: Mapping[str, str]
    reason: str | None


def defined_tables(
    schema: TableSchema, including: str | None, excluding: str | None
) -> tuple[DefinedTable, ...]:
    """Return the tables that a definition means, in the order of their names.

    Args:
        schema: of a table with the connector.
        including: a regular expression that whole names of tables match; None: all.
        excluding: one that they do not match; None: none.

    Raises:
        InvalidOptionError: a pattern is none, or the definition is wrong.
        SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
        SourceServerError, SourceTableNotFoundError: it cannot be followed, or has no such table.
    """
    definition = MysqlDefinition.of(schema)
    wanted = _pattern("including_tables", including or ".*")
    unwanted = _pattern("excluding_tables", excluding or "(?!)")
    found: list[DefinedTable] = []
    with definition.database.connected() as connection:
        check_server(connection, definition.database.name)
        for place in table_places(connection, definition):
            if wanted.fullmatch(place[1]) is None or unwanted.fullmatch(place[1]) is not None:
                continue
            defined = _defined(connection, definition, schema, place)
            found += [] if defined is None else [_without_doubt(defined, found)]
    return tuple(found)


def _defined(
    connection: Connection,
    definition: MysqlDefinition,
    schema: TableSchema,
    place: tuple[str, str],
) -> DefinedTable | None:
    table = DatabaseTable.seen(connection, place)
    if table is None:  # dropped meanwhile
        return None
    types = {column.name: column.suggested for column in table.columns.values()}
    fields = tuple(
        Field(id=at, name=name, type=kind, nullable=name not in table.key)
        for at, (name, kind) in enumerate(types.items(), 1)
        if kind is not None
    )
    unread = [column.full_type for column in table.columns.values() if types[column.name] is None]
    options = {
        key: value for key, value in schema.options.items() if not key.startswith(METADATA.prefix)
    }
    options |= {DATABASE_NAME.key: only(place[0]), TABLE_NAME.key: only(place[1])}
    one = replace(
        definition,
        names=TableNames(options[DATABASE_NAME.key], options[TABLE_NAME.key]),
        columns=fields,
        metadata=FrozenMap(),
        primary_key=table.key,
    )
    reason = f"columns of the type {unread[0]} are not read" if unread else table.why_not(one)
    return DefinedTable(
        name=place[1],
        shown=".".join(place),
        columns=fields,
        primary_key=table.key,
        options=FrozenMap(options),
        reason=reason,
    )


def _without_doubt(table: DefinedTable, known: list[DefinedTable]) -> DefinedTable:
    """Refuse a table whose name another one has, in any letter case."""
    for other in known:
        if other.name.lower() == table.name.lower():
            return replace(table, reason=f"{other.shown} has its name")
    return table


def _pattern(name: str, text: str) -> re.Pattern[str]:
    with refused_pattern(name, text):
        return re.compile(text)
