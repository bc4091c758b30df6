"""What a database says of a table, and whether it can be read as it is declared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from table_store.catalog.connectors.database_errors import (
    SourceServerError,
    SourceTableError,
    SourceTableNotFoundError,
)
from table_store.catalog.connectors.mysql.mysql_connection import Connection
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition
from table_store.catalog.connectors.mysql.mysql_rows import ReadTable
from table_store.catalog.connectors.mysql.mysql_types import (
    DatabaseColumn,
    Family,
    ReadColumn,
    quoted_name,
)
from table_store.storage.kernel.frozen_map import FrozenMap

_COLUMNS: Final = (
    "SELECT column_name, data_type, column_type, numeric_precision, numeric_scale, "
    "character_maximum_length, character_set_name, column_key FROM information_schema.columns "
    "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"
)
_KEY: Final = (
    "SELECT column_name FROM information_schema.statistics WHERE table_schema = %s AND "
    "table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index"
)
_ROWS: Final = (
    "SELECT coalesce(table_rows, 0) FROM information_schema.tables WHERE table_schema = %s AND "
    "table_name = %s"
)
_TABLES: Final = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
)
_CASCADE: Final = re.compile(
    r"CONSTRAINT `((?:[^`]|``)+)` FOREIGN KEY [^\n]*\bON (?:DELETE|UPDATE) (?:CASCADE|SET NULL)"
)
_SETTINGS: Final[Mapping[str, str]] = FrozenMap(
    {
        "log_bin": "ON",
        "binlog_format": "ROW",
        "binlog_row_image": "FULL",
        "binlog_row_metadata": "FULL",
    }
)
_OF_MARIADB: Final[Mapping[str, str]] = FrozenMap({**_SETTINGS, "log_bin_compress": "OFF"})
_OF_MYSQL: Final[Mapping[str, str]] = FrozenMap(
    {**_SETTINGS, "gtid_mode": "ON", "binlog_row_value_options": ""}
)
_LATER: Final[Mapping[str, str]] = FrozenMap({"binlog_transaction_compression": "OFF"})
"""Settings that older versions do not have."""

_AT_START: Final = frozenset(("log_bin",))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTable:
    """A table of a database.

    Attributes:
        schema_name: the name of its database.
        table_name: its name.
        columns: all of them, by name.
        key: those of the primary key; may be empty.
        rows: about how many it has.
        cascades: its foreign keys that change rows by themselves.
    """

    schema_name: str
    table_name: str
    columns: Mapping[str, DatabaseColumn]
    key: tuple[str, ...]
    rows: int
    cascades: tuple[str, ...]

    @classmethod
    def all_of(cls, connection: Connection, definition: MysqlDefinition) -> tuple[Self, ...]:
        """Look at the tables of a definition, in the order of their names; fails as `of`."""
        places = table_places(connection, definition)
        return tuple(cls.of(connection, definition, place) for place in places)

    @classmethod
    def of(
        cls, connection: Connection, definition: MysqlDefinition, place: tuple[str, str]
    ) -> Self:
        """Look at a table, by its database and name, which can be read as it is declared.

        Raises:
            SourceTableNotFoundError: there is none.
            SourceTableError: it cannot be read so.
        """
        table = cls.seen(connection, place)
        if table is None:
            raise table_not_found(definition)
        reason = table.why_not(definition)
        if reason is not None:
            raise SourceTableError(table=".".join(place), reason=reason)
        return table

    @classmethod
    def seen(cls, connection: Connection, place: tuple[str, str]) -> Self | None:
        """Look at a table, whether it can be read or not; None if there is none."""
        found = [_column(row) for row in connection.texts(_COLUMNS, place)]
        if not found:
            return None
        name = ".".join(map(quoted_name, place))
        created = connection.texts(f"SHOW CREATE TABLE {name}")[0][1]
        return cls(
            schema_name=place[0],
            table_name=place[1],
            columns=FrozenMap({column.name: column for column in found}),
            key=tuple(name for (name,) in connection.texts(_KEY, place)),
            rows=int(connection.texts(_ROWS, place)[0][0] or 0),
            cascades=tuple(_CASCADE.findall(created)),
        )

    def read(self, definition: MysqlDefinition) -> ReadTable:
        """Return it as it is read."""
        own = {"database_name": self.schema_name, "table_name": self.table_name}
        return ReadTable(
            schema_name=self.schema_name,
            table_name=self.table_name,
            columns=tuple(
                ReadColumn(
                    field.name,
                    field.type,
                    field.nullable,
                    self.columns[field.name],
                    definition.zone,
                )
                for field in definition.columns
                if field.name not in definition.metadata
            ),
            key=self.columns[self.key[0]],
            metadata=FrozenMap({name: own[key] for name, key in definition.metadata.items()}),
            labels=FrozenMap({c.name: c.labels for c in self.columns.values() if c.has_labels}),
        )

    def why_not(self, definition: MysqlDefinition) -> str | None:
        """Return why it cannot be read as it is declared; None if it can."""
        if not self.key:
            return "it has no primary key, by which its rows are told from each other"
        declared = {name for name in definition.primary_key if name not in definition.metadata}
        if declared and declared != set(self.key):
            return (
                f"its primary key is ({', '.join(self.key)}), not "
                f"({', '.join(definition.primary_key)})"
            )
        if self.cascades:
            return (
                f"its foreign key {self.cascades[0]} changes rows by itself (CASCADE or SET NULL), "
                "of which the binlog says nothing"
            )
        for field in definition.columns:
            if field.name in definition.metadata:
                continue
            column = self.columns.get(field.name)
            reason = (
                "the table has no such column" if column is None else column.why_not(field.type)
            )
            if reason is not None:
                return f"column {field.name}: {reason}"
        first = self.columns[self.key[0]]
        if first.family in (None, Family.REAL, Family.ENUM, Family.SET, Family.BIT, Family.TIME):
            return f"its primary key begins with {first.full_type}, by which it is not read"
        return None


def table_places(connection: Connection, definition: MysqlDefinition) -> list[tuple[str, str]]:
    """Return the databases and names of a definition's tables, in order.

    Raises:
        SourceTableNotFoundError: none matches the pattern.
    """
    names = definition.names
    if names.is_one:
        return [(names.database, names.table)]
    found = [(of, name) for of, name in connection.texts(_TABLES) if names.has(of, name)]
    if not found:
        raise table_not_found(definition)
    return sorted(found)


def table_not_found(definition: MysqlDefinition) -> SourceTableNotFoundError:
    """Return the error of a definition whose table is not there."""
    return SourceTableNotFoundError(
        table=definition.table,
        server=definition.database.name,
        options="'database-name' and 'table-name'",
    )


def check_server(connection: Connection, server: str) -> None:
    """Check that a database writes into its binlog what is read there.

    Raises:
        SourceServerError: it does not.
    """
    ((version,),) = connection.texts("SELECT version()")
    known = _OF_MARIADB if "mariadb" in version.lower() else _OF_MYSQL
    names = ", ".join(f"'{name}'" for name in (*known, *_LATER))
    found = connection.texts(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})")
    settings = {**_LATER, **{row[0]: row[1] for row in found}}
    for name, wanted in {**known, **_LATER}.items():
        value = settings.get(name, "absent")
        if value.upper() != wanted:
            reason = f"{name} is {value or 'empty'}, not {wanted or 'empty'}"
            remedy = f"As its administrator {_how(name, wanted)}; changes from then on can be read"
            raise SourceServerError(server=server, reason=reason, remedy=remedy)


def _how(name: str, wanted: str) -> str:
    if name in _AT_START:
        return f"start the database with --{name.replace('_', '-')}"
    if name == "gtid_mode":
        return (
            "start the database with --gtid-mode=ON --enforce-gtid-consistency=ON, or set "
            "gtid_mode to OFF_PERMISSIVE, ON_PERMISSIVE and ON, one after the other"
        )
    return f"SET GLOBAL {name} = {wanted or repr(wanted)}, also in its configuration"


def _column(row: tuple[str, ...]) -> DatabaseColumn:
    name, kind, full_type, precision, scale, length, charset, _ = row
    return DatabaseColumn(
        name=name,
        type=kind.lower(),
        full_type=full_type,
        precision=int(precision) if precision else None,
        scale=int(scale) if scale else None,
        length=int(length) if length else None,
        charset=charset.lower() or None,
    )
