"""SQLAlchemy's dialect `tablestore://`: PyHive's, where the table store differs from Hive.

`SHOW TABLES` of Spark has the schema's name where Hive's has the table's, so PyHive's own dialect
lists no tables. Keys, comments, partitions and exact types are read from DESCRIBE EXTENDED.
"""

from __future__ import annotations

from typing import Any

from pyhive.sqlalchemy_hive import HiveDialect
from sqlalchemy import exc, schema, text
from sqlalchemy.engine import reflection
from sqlalchemy.engine.base import Connection

from table_store_sqlalchemy.compilers import (
    COLUMN_SPECS,
    TableStoreCompiler,
    TableStoreDDLCompiler,
    TableStoreTypeCompiler,
)
from table_store_sqlalchemy.described_table import DescribedTable

_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")


class TableStoreDialect(HiveDialect):  # type: ignore[misc] # PyHive has no types
    """Connects by Thrift as PyHive does: `tablestore://user@host:10000/schema`."""

    name = "tablestore"
    driver = "thrift"
    statement_compiler = TableStoreCompiler
    ddl_compiler = TableStoreDDLCompiler
    type_compiler = TableStoreTypeCompiler
    type_compiler_cls = TableStoreTypeCompiler
    colspecs = COLUMN_SPECS
    supports_statement_cache = True
    supports_comments = True
    inline_comments = True
    # A statement is a commit: rows that are written one by one would each be one.
    use_insertmanyvalues = True
    use_insertmanyvalues_wo_returning = True
    insertmanyvalues_page_size = 1000

    # What `Table(…, tablestore_partition_by=…, tablestore_options=…)` may say.
    construct_arguments = [(schema.Table, {"partition_by": None, "options": None})]

    def _get_default_schema_name(self, connection: Connection) -> str:
        return _unquoted(str(connection.exec_driver_sql("SELECT current_schema()").scalar()))

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Return the schemas; Spark shows unusual names in quotes."""
        return [_unquoted(row[0]) for row in connection.execute(text("SHOW SCHEMAS"))]

    def get_table_names(
        self, connection: Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        """Return the tables of a schema; neither views nor materialized views."""
        others = {
            *self.get_view_names(connection, schema),
            *self.get_materialized_view_names(connection, schema),
        }
        return [name for name in self._shown(connection, "TABLES", schema) if name not in others]

    def get_view_names(
        self, connection: Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        """Return the views of a schema."""
        return self._shown(connection, "VIEWS", schema)

    def get_materialized_view_names(
        self, connection: Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        """Return the materialized views of a schema."""
        return self._shown(connection, "MATERIALIZED VIEWS", schema)

    def _shown(self, connection: Connection, kind: str, schema: str | None) -> list[str]:
        name = self.identifier_preparer.quote_identifier(schema or self.default_schema_name)
        return [row[1] for row in connection.execute(text(f"SHOW {kind} IN {name}"))]

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> bool:
        """Whether there is a table, view or materialized view of this name."""
        try:
            self._described(connection, table_name, schema)
        except exc.NoSuchTableError:
            return False
        return True

    # SQLAlchemy 1.4 writes the decorated function anew, and fails at annotations.
    @reflection.cache
    def _described(self, connection, table_name, schema=None, **_):  # type: ignore[no-untyped-def]
        quote = self.identifier_preparer.quote_identifier
        name = ".".join(quote(part) for part in (schema, table_name) if part)
        try:
            rows = connection.execute(text(f"DESCRIBE TABLE EXTENDED {name}".replace(":", r"\:")))
            created = None
            described = [tuple(row) for row in rows]
            if DescribedTable.has_definition(described):
                shown = connection.execute(text(f"SHOW CREATE TABLE {name}".replace(":", r"\:")))
                created = str(shown.scalar())
        except exc.DBAPIError as error:
            if any(condition in str(error) for condition in _ABSENT):
                raise exc.NoSuchTableError(table_name) from error
            raise
        return DescribedTable.of(described, created)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[dict[str, Any]]:
        """Return columns with type, nullability and comment."""
        return self._described(connection, table_name, schema, **kw).reflected_columns()

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, Any]:
        """Return the primary key."""
        table = self._described(connection, table_name, schema, **kw)
        return {"constrained_columns": list(table.primary_key), "name": table.key_name}

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[dict[str, Any]]:
        """Return the partition columns as an index, which is where Superset looks for them."""
        names = self._described(connection, table_name, schema, **kw).partition_by
        return (
            [{"name": "partition", "column_names": list(names), "unique": False}] if names else []
        )

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, str | None]:
        """Return the table's comment."""
        return {"text": self._described(connection, table_name, schema, **kw).comment or None}

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """Return the query of a view or a materialized view."""
        return self._described(connection, view_name, schema, **kw).query

    def get_unique_constraints(self, *_: Any, **__: Any) -> list[Any]:
        """Return nothing: a table has no other key than its primary key."""
        return []


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
