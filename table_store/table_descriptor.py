"""Describes a new table in Python, which is then created by Spark or without it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier, quoted, quoted_parts
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.log_topic import all_listeners
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.kernel.types import DataType, parse_type
from table_store.storage.log_store.logged_table import open_logged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JSON_NAMES: Final = {
    "BOOLEAN": "boolean",
    "TINYINT": "byte",
    "BYTE": "byte",
    "SMALLINT": "short",
    "SHORT": "short",
    "INT": "integer",
    "INTEGER": "integer",
    "BIGINT": "long",
    "LONG": "long",
    "FLOAT": "float",
    "REAL": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_LTZ": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "VARIANT": "variant",
    "DECIMAL": "decimal(10,0)",
}
_DECIMAL: Final = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")


@dataclass(frozen=True, slots=True)
class TableDescriptor:
    """Describes a managed table; every method returns a new descriptor.

    Example:
        >>> orders = (
        ...     TableDescriptor.for_managed()
        ...     .column("day", "DATE")
        ...     .column("id", "BIGINT")
        ...     .column("amount", "DECIMAL(10,2)", comment="in euro")
        ...     .primary_key("day", "id")
        ...     .partitioned_by("day")
        ...     .option("bucket", "4")
        ... )
        >>> orders.to_sql("sales.orders").splitlines()[0]
        'CREATE TABLE `sales`.`orders` ('
    """

    definition: TableDefinition

    @classmethod
    def for_managed(cls) -> TableDescriptor:
        """Return a description without columns, to begin with."""
        return cls(TableDefinition(columns=()))

    def column(
        self,
        name: str,
        data_type: str | DataType,
        *,
        nullable: bool = True,
        comment: str | None = None,
        default: str | None = None,
    ) -> TableDescriptor:
        """Add a column behind the others.

        Args:
            name: of the column.
            data_type: SQL's name of a type without parts (`BIGINT`, `DECIMAL(10,2)`), or any
                type of `table_store.storage.kernel.types`.
            nullable: whether NULL may be stored; a key column never holds NULL.
            comment: for people.
            default: SQL text of a literal that an INSERT stores if it leaves the column out.

        Raises:
            InvalidSchemaError: there is no such type.
        """
        return self._with_field(
            Field(
                id=len(self.definition.columns),
                name=name,
                type=_data_type(name, data_type),
                nullable=nullable,
                comment=comment,
                default=default,
            )
        )

    def computed_column(
        self, name: str, data_type: str | DataType, expression: str, *, comment: str | None = None
    ) -> TableDescriptor:
        """Add a column that Spark computes from others by `expression`, which is SQL.

        Raises:
            InvalidSchemaError: there is no such type.
        """
        return self._with_field(
            Field(
                id=len(self.definition.columns),
                name=name,
                type=_data_type(name, data_type),
                comment=comment,
                generated=expression,
            )
        )

    def primary_key(self, *columns: str, constraint_name: str | None = None) -> TableDescriptor:
        """Make these columns the key: a new row replaces an older one with the same key."""
        return self._with(
            replace(self.definition, primary_key=columns, constraint_name=constraint_name)
        )

    def partitioned_by(self, *columns: str) -> TableDescriptor:
        """Keep rows with different values in these columns in different folders."""
        return self._with(replace(self.definition, partition_keys=columns))

    def watermark(self, column: str, expression: str) -> TableDescriptor:
        """Set how late rows may come, by SQL such as `ts - INTERVAL 5 SECONDS`."""
        return self._with(replace(self.definition, watermark=(column, expression)))

    def option(self, key: str, value: str) -> TableDescriptor:
        """Set one option; it is checked when the table is created."""
        options = FrozenMap({**self.definition.options, key: value})
        return self._with(replace(self.definition, options=options))

    def comment(self, text: str) -> TableDescriptor:
        """Set the comment of the table."""
        return self._with(replace(self.definition, comment=text))

    def to_sql(self, name: str) -> str:
        """Return the CREATE TABLE of a table `name`, whose parts are separated by dots."""
        definition = self.definition
        lines = [_column_sql(field) for field in definition.columns]
        if definition.watermark is not None:
            column, expression = definition.watermark
            lines.append(f"WATERMARK FOR {quoted(column)} AS {expression}")
        if definition.primary_key:
            constraint = definition.constraint_name
            named = "" if constraint is None else f"CONSTRAINT {quoted(constraint)} "
            lines.append(f"{named}PRIMARY KEY ({_names(definition.primary_key)}) NOT ENFORCED")
        body = ",\n  ".join(lines)
        sql = f"CREATE TABLE {quoted_parts(tuple(name.split('.')))} (\n  {body}\n)"
        if definition.comment is not None:
            sql += f"\nCOMMENT {string_literal(definition.comment)}"
        if definition.partition_keys:
            sql += f"\nPARTITIONED BY ({_names(definition.partition_keys)})"
        if definition.options:
            pairs = ", ".join(
                f"{string_literal(key)} = {string_literal(value)}"
                for key, value in definition.options.items()
            )
            sql += f"\nWITH ({pairs})"
        return sql

    def create(self, session: SparkSession, name: str) -> None:
        """Create the table through Spark, in the catalog and namespace of `name`.

        Raises:
            AnalysisException: Spark or the catalog refuses it.
        """
        session.sql(self.to_sql(name))

    def create_in(self, warehouse: str, name: str) -> FileStoreTable:
        """Create the table in the warehouse at this path, without Spark; `name` is `[db.]table`.

        Raises:
            AlreadyExistsError: the name is taken.
            NamespaceNotFoundError: there is no such namespace.
            InvalidSchemaError, UnknownOptionError, InvalidOptionError: the description is wrong.
            InvalidIdentifierError: the name is not allowed.
        """
        namespace, _, table = name.rpartition(".")
        root = plain_path(warehouse)
        lifecycle = TableLifecycle(
            Warehouse(file_io_for(root), root, SystemClock(), RandomIds()), all_listeners()
        )
        identifier = Identifier(namespace or DEFAULT_NAMESPACE, table)
        return open_logged(lifecycle.create(identifier, self.definition).location)

    def _with(self, definition: TableDefinition) -> TableDescriptor:
        return TableDescriptor(definition)

    def _with_field(self, field: Field) -> TableDescriptor:
        return self._with(replace(self.definition, columns=(*self.definition.columns, field)))


def _data_type(column: str, given: str | DataType) -> DataType:
    if isinstance(given, DataType):
        return given
    name = given.strip().upper()
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        return parse_type(f"decimal({decimal[1]},{decimal[2] or 0})")
    if name not in _JSON_NAMES:
        raise InvalidSchemaError(
            reason=f"column {column!r}: {given!r} is no type that can be named here; give a type "
            "of table_store.storage.kernel.types for one with parts"
        )
    return parse_type(_JSON_NAMES[name])


def _column_sql(field: Field) -> str:
    words = [quoted(field.name), field.type.sql_name()]
    if field.generated is not None:
        words.append(f"GENERATED ALWAYS AS ({field.generated})")
    if not field.nullable:
        words.append("NOT NULL")
    if field.default is not None:
        words.append(f"DEFAULT {field.default}")
    if field.comment is not None:
        words.append(f"COMMENT {string_literal(field.comment)}")
    return " ".join(words)


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(quoted(column) for column in columns)
