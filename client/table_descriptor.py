"""Describes a new table in Python, which is then created by Spark or in a `Warehouse`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_store.catalog.definition.declared_type import declared_sql
from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.client.column_type import column_type
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import DataType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
            data_type: SQL's name of a type without parts (`BIGINT`, `DECIMAL(10,2)`,
                `VARCHAR(20)`), or any type of `table_store.storage.kernel.types`.
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
                type=(typed := column_type(name, data_type)).type,
                nullable=nullable,
                comment=comment,
                default=None if default is None else StoredExpression(default),
                metadata=typed.metadata,
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
                type=(typed := column_type(name, data_type)).type,
                comment=comment,
                generated=StoredExpression(expression),
                metadata=typed.metadata,
            )
        )

    def primary_key(self, *columns: str, constraint_name: str | None = None) -> TableDescriptor:
        """Make these columns the key: a new row replaces an older one with the same key."""
        return self._with(
            replace(self.definition, primary_key=columns, constraint_name=constraint_name)
        )

    def check(self, name: str, condition: str) -> TableDescriptor:
        """Demand of every row that a condition, SQL text, is not false."""
        check = Check(name=name, condition=StoredExpression(condition))
        return self._with(replace(self.definition, checks=(*self.definition.checks, check)))

    def partitioned_by(self, *columns: str) -> TableDescriptor:
        """Keep rows with different values in these columns in different folders."""
        return self._with(replace(self.definition, partition_keys=columns))

    def watermark(self, column: str, expression: str) -> TableDescriptor:
        """Set how late rows may come, by SQL such as `ts - INTERVAL 5 SECONDS`."""
        watermark = (column, StoredExpression(expression))
        return self._with(replace(self.definition, watermark=watermark))

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
        lines += [f"CONSTRAINT {quoted(c.name)} CHECK ({c.condition})" for c in definition.checks]
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

    def _with(self, definition: TableDefinition) -> TableDescriptor:
        return TableDescriptor(definition)

    def _with_field(self, field: Field) -> TableDescriptor:
        return self._with(replace(self.definition, columns=(*self.definition.columns, field)))


def _column_sql(field: Field) -> str:
    words = [quoted(field.name), declared_sql(field)]
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
