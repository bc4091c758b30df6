"""SQL texts of the dialect, where Spark's differ from those that PyHive writes for Hive."""

from __future__ import annotations

from typing import Any

from pyhive.sqlalchemy_hive import HiveCompiler, HiveDate, HiveTimestamp, HiveTypeCompiler
from sqlalchemy import cast, exc, func, types
from sqlalchemy.sql import compiler, schema


class _Date(types.Date):
    """A date whose parameter is cast: Spark writes no string into a column of dates."""

    def bind_expression(self, bindvalue: Any) -> Any:
        return cast(bindvalue, types.Date)

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        return HiveDate().result_processor(dialect, coltype)


class _DateTime(types.DateTime):
    """A timestamp whose parameter is cast."""

    def bind_expression(self, bindvalue: Any) -> Any:
        return cast(bindvalue, types.DateTime)

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        return HiveTimestamp().result_processor(dialect, coltype)


class _Numeric(types.Numeric):  # type: ignore[type-arg]
    """A decimal, which PyHive passes only as text."""

    def bind_expression(self, bindvalue: Any) -> Any:
        return cast(bindvalue, types.Numeric(self.precision, self.scale))

    def bind_processor(self, dialect: Any) -> Any:
        return lambda value: None if value is None else str(value)


class _LargeBinary(types.LargeBinary):
    """Bytes, of which the parameter is their hexadecimal text."""

    def bind_processor(self, dialect: Any) -> Any:
        return lambda value: None if value is None else bytes(value).hex()

    def bind_expression(self, bindvalue: Any) -> Any:
        return func.unhex(bindvalue)


COLUMN_SPECS = {
    types.Date: _Date,
    types.DateTime: _DateTime,
    types.Numeric: _Numeric,
    types.LargeBinary: _LargeBinary,
}


class TableStoreCompiler(HiveCompiler):  # type: ignore[misc] # PyHive has no types
    """Statements on rows: columns are named, as Spark allows and Hive does not."""

    def visit_insert(self, *args: Any, **kw: Any) -> str:
        """INSERT with the names of its columns, which may be in another order than the table's."""
        return str(compiler.SQLCompiler.visit_insert(self, *args, **kw))

    def visit_column(self, *args: Any, **kw: Any) -> str:
        """A column, with table and schema where they are needed."""
        return str(compiler.SQLCompiler.visit_column(self, *args, **kw))


class TableStoreTypeCompiler(HiveTypeCompiler):  # type: ignore[misc] # PyHive has no types
    """Names of types in CREATE TABLE."""

    def visit_DATE(self, type_: Any, **_: Any) -> str:
        return "DATE"

    def visit_FLOAT(self, type_: Any, **_: Any) -> str:
        return "DOUBLE"  # as Python's floats are

    def visit_REAL(self, type_: Any, **_: Any) -> str:
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **_: Any) -> str:
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **_: Any) -> str:
        return "DOUBLE"

    def visit_TINYINT(self, type_: Any, **_: Any) -> str:
        return "TINYINT"

    def visit_NUMERIC(self, type_: Any, **_: Any) -> str:
        scale = 18 if type_.precision is None else type_.scale or 0
        return f"DECIMAL({type_.precision or 38}, {scale})"

    def visit_DECIMAL(self, type_: Any, **kw: Any) -> str:
        return self.visit_NUMERIC(type_, **kw)

    def visit_VARCHAR(self, type_: Any, **_: Any) -> str:
        return f"VARCHAR({type_.length})" if type_.length else "STRING"

    def visit_CHAR(self, type_: Any, **_: Any) -> str:
        return f"CHAR({type_.length})" if type_.length else "STRING"

    def visit_TIME(self, type_: Any, **_: Any) -> str:
        raise exc.CompileError(f"{type_!r}: a time without a date is not stored; take a timestamp")


class TableStoreDDLCompiler(compiler.DDLCompiler):
    """CREATE TABLE with a key, comments, `tablestore_partition_by` and `tablestore_options`."""

    def get_column_specification(self, column: schema.Column[Any], **_: Any) -> str:
        """Name, type, NOT NULL, DEFAULT, COMMENT."""
        words = [
            self.preparer.format_column(column),
            self.dialect.type_compiler.process(column.type, type_expression=column),
        ]
        if not column.nullable:
            words.append("NOT NULL")
        default = self.get_column_default_string(column)
        if default is not None:
            words.append(f"DEFAULT {default}")
        if column.comment:
            words.append(f"COMMENT {self._literal(column.comment)}")
        return " ".join(words)

    def post_create_table(self, table: schema.Table) -> str:
        """What stands behind the columns."""
        options = table.dialect_options["tablestore"]
        clauses = []
        if table.comment:
            clauses.append(f"COMMENT {self._literal(table.comment)}")
        names = options["partition_by"] or []
        if names:
            names = [names] if isinstance(names, str) else names
            clauses.append(f"PARTITIONED BY ({', '.join(map(self.preparer.quote, names))})")
        if options["options"]:
            pairs = (
                f"{self._literal(key)} = {self._literal(value)}"
                for key, value in options["options"].items()
            )
            clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
        return "".join(f"\n{clause}" for clause in clauses)

    def visit_primary_key_constraint(
        self, constraint: schema.PrimaryKeyConstraint, **kw: Any
    ) -> str:
        """A key; the table store keeps it, though the standard makes it say NOT ENFORCED."""
        text = super().visit_primary_key_constraint(constraint, **kw)
        return f"{text} NOT ENFORCED" if text else ""

    def visit_foreign_key_constraint(self, constraint: Any, **_: Any) -> str:
        """Nothing: foreign keys are not kept."""
        return ""

    def visit_unique_constraint(self, constraint: Any, **_: Any) -> str:
        """Refused, since it would not be kept."""
        names = ", ".join(column.name for column in constraint.columns)
        raise exc.CompileError(f"UNIQUE ({names}) would not be kept; a table has one PRIMARY KEY")

    def visit_create_index(self, create: Any, **_: Any) -> str:
        """A statement that does nothing: there are no indexes, and pandas makes one unasked."""
        return f"SELECT {self._literal(f'no index {create.element.name} is needed')}"

    def visit_set_table_comment(self, create: Any, **_: Any) -> str:
        """COMMENT ON TABLE."""
        table = self.preparer.format_table(create.element)
        return f"COMMENT ON TABLE {table} IS {self._literal(create.element.comment)}"

    def visit_set_column_comment(self, create: Any, **_: Any) -> str:
        """ALTER COLUMN."""
        column = create.element
        return (
            f"ALTER TABLE {self.preparer.format_table(column.table)} ALTER COLUMN "
            f"{self.preparer.format_column(column)} COMMENT {self._literal(column.comment)}"
        )

    def _literal(self, value: object) -> str:
        text = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("%", "%%")
        return f"'{text}'"
