"""What a database says of a table, and whether it can be read as it is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.database_errors import (
    SourceTableError,
    SourceTableNotFoundError,
)
from table_store.catalog.connectors.postgres.postgres_connection import (
    Connection,
    Row,
    quoted_name,
)
from table_store.catalog.connectors.postgres.postgres_definition import PostgresDefinition
from table_store.catalog.connectors.postgres.postgres_types import DatabaseColumn, ReadColumn
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.frozen_map import FrozenMap

_PAGE_BYTES: Final = 8192
_TABLE: Final = (
    "SELECT c.oid, c.relkind, c.relpersistence, c.relreplident, c.reltoastrelid, c.reltuples, "
    "c.relpages, pg_catalog.pg_relation_size(c.oid), "
    "pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
    "AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT') "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
)
# Of a domain the type below.
_COLUMNS: Final = (
    "SELECT a.attname, b.typname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid, "
    "CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END, b.typtype, b.typcategory, "
    "a.attstorage, a.attgenerated FROM pg_catalog.pg_attribute a "
    "JOIN pg_catalog.pg_type t ON t.oid = a.atttypid JOIN pg_catalog.pg_type b "
    "ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END "
    "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_KEY: Final = (
    "SELECT a.attname FROM pg_catalog.pg_index i, unnest(i.indkey) WITH ORDINALITY k (attnum, at) "
    "JOIN pg_catalog.pg_attribute a ON a.attnum = k.attnum "
    "WHERE i.indrelid = %s AND i.indisprimary AND a.attrelid = i.indrelid ORDER BY k.at"
)
_KINDS: Final[Mapping[str, str]] = FrozenMap(
    {
        "p": "a partitioned table: read its partitions, each as a table of its own",
        "v": "a view",
        "m": "a materialized view",
        "f": "a foreign table",
    }
)
_IDENTITIES: Final[Mapping[str, str]] = FrozenMap(
    {"d": "DEFAULT", "n": "NOTHING", "i": "USING INDEX", "f": "FULL"}
)
_ROW_BYTES: Final = 100
"""So long a row is taken for while the database does not know better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTable:
    """A table of a database.

    Attributes:
        oid: its number.
        identity: its replica identity: `f` for all columns, `d` for the primary key.
        columns: all of them, by name.
        key: those of the primary key; never empty.
        rows: about how many it has.
    """

    oid: int
    identity: str
    columns: Mapping[str, DatabaseColumn]
    key: tuple[str, ...]
    rows: int

    @classmethod
    def of(cls, connection: Connection, definition: PostgresDefinition) -> DatabaseTable:
        """Look at a table, which can be read as it is declared.

        Raises:
            SourceTableNotFoundError: there is none.
            SourceTableError: it cannot be read so.
            SourceRefusedError: the user may not read it.
        """
        found = connection.rows(_TABLE, (definition.schema_name, definition.table_name))
        if not found:
            raise SourceTableNotFoundError(
                table=definition.table,
                server=definition.database.server,
                options="'database-name', 'schema-name' and 'table-name'",
            )
        oid, kind, persistence, identity, apart, tuples, known, size, is_granted = found[0]
        reason = None
        if kind in _KINDS:
            reason = f"it is {_KINDS[kind]}"
        elif persistence != "p":
            reason = "it is unlogged or temporary, so that its changes are not told"
        if reason is not None:
            raise SourceTableError(table=definition.table, reason=reason)
        if not is_granted:
            raise definition.database.refused(f"no SELECT on {definition.table}")
        pages = -(-int(size or 0) // _PAGE_BYTES)
        each = tuples / known if known and tuples > 0 else _PAGE_BYTES / _ROW_BYTES
        columns = [_column(row, has_apart=bool(apart)) for row in connection.rows(_COLUMNS, (oid,))]
        table = cls(
            oid=oid,
            identity=identity,
            columns=FrozenMap({column.name: column for column in columns}),
            key=tuple(name for (name,) in connection.rows(_KEY, (oid,))),
            rows=int(pages * each),
        )
        reason = table._why_not(definition)
        if reason is not None:
            raise SourceTableError(table=definition.table, reason=reason)
        return table

    def check_identity(self, definition: PostgresDefinition) -> None:
        """Check that the log of changes tells of rows what a job needs.

        Raises:
            SourceTableError: it does not.
        """
        name = f"{quoted_name(definition.schema_name)}.{quoted_name(definition.table_name)}"
        remedy = f"As its owner ALTER TABLE {name} REPLICA IDENTITY FULL"
        identity = _IDENTITIES.get(self.identity, self.identity)
        if self.identity == "f":
            return
        if not definition.is_upsert:
            reason = (
                f"its REPLICA IDENTITY is {identity}, so that a change does not tell what the row "
                f"was. {remedy}, or create the source with 'changelog-mode' = 'upsert', by which "
                "the key is enough"
            )
        elif self.identity != "d":
            reason = f"its REPLICA IDENTITY is {identity}, not DEFAULT or FULL. {remedy}"
        else:
            apart = [
                field.name
                for field in definition.columns
                if field.name not in self.key and not self.columns[field.name].is_short
            ]
            if not apart:
                return
            reason = (
                f"a long value of its column {apart[0]} is stored apart from the row (TOAST), and "
                f"with REPLICA IDENTITY DEFAULT a change that leaves it does not tell it. {remedy}"
            )
        raise SourceTableError(table=definition.table, reason=reason)

    def read_column(self, field: Field) -> ReadColumn:
        """Return a declared column as it is read."""
        return ReadColumn(field.name, field.type, field.nullable, self.columns[field.name])

    def _why_not(self, definition: PostgresDefinition) -> str | None:
        if not self.key:
            return "it has no primary key, by which its rows are told from each other"
        if definition.primary_key and set(definition.primary_key) != set(self.key):
            return (
                f"its primary key is ({', '.join(self.key)}), not "
                f"({', '.join(definition.primary_key)})"
            )
        for field in definition.columns:
            column = self.columns.get(field.name)
            reason = (
                "the table has no such column" if column is None else column.why_not(field.type)
            )
            if reason is not None:
                return f"column {field.name}: {reason}"
        return None


def _column(row: Row, *, has_apart: bool) -> DatabaseColumn:
    name, kind, full_type, oid, modifier, type_kind, category, storage, generated = row
    return DatabaseColumn(
        name=name,
        type=kind,
        full_type=full_type,
        oid=oid,
        modifier=modifier,
        is_enum=type_kind == "e",
        is_array=category == "A",
        may_be_apart=has_apart and storage != "p",
        is_generated=bool(generated.strip("\0 ")),
    )
