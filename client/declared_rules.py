"""What a table declares about its rows, done to rows that a program writes.

Defaults are filled in, computed columns are computed, and lengths and constraints are checked, with
the results of an INSERT in Spark; NOT NULL and the types are checked by storage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.definition.declared_settings import is_quoted_as_usual, zone_of
from table_store.catalog.definition.declared_type import has_length
from table_store.catalog.definition.sql_literal import parse_literal
from table_store.client.declared_expression import read_declared
from table_store.client.errors import (
    CheckViolationError,
    ColumnRuleError,
    UnsupportedExpressionError,
)
from table_store.client.expressions.coercion import NotKnownError, cast
from table_store.client.expressions.evaluation import evaluated
from table_store.client.expressions.expression import Expression, columns_of
from table_store.client.expressions.kernels import KERNELS
from table_store.client.expressions.sql_reader import Names, as_condition
from table_store.client.filters import declared_text, names_of
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.write.conformed_column import conformed
from table_store.storage.kernel.errors import InvalidSchemaError, InvalidTimeZoneError
from table_store.storage.kernel.types import STRING, to_arrow
from table_store.storage.kernel.valid_text import check_texts
from table_store.storage.kernel.values import Value, python_value

_LENGTH: Final = re.compile(r"(var)?char\(\s*(\d+)\s*\)", re.I)


@dataclass(frozen=True, slots=True)
class DeclaredRules:
    """The rules of one schema; `zone` is that of timestamps without one in the rows."""

    schema: TableSchema
    zone: str | None = None

    def complete(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with all columns of the table, in its order and types.

        Args:
            rows: with some of the columns, in any order and case.

        Raises:
            InvalidSchemaError: a column is not the table's, or is there twice, or is absent and
                has neither a default nor may be NULL; or a value does not fit its type.
            ColumnRuleError: a text is too long, or a computed column has another value.
            CheckViolationError: a row breaks a CHECK constraint.
            UnsupportedExpressionError: only Spark can evaluate a default, a computed column or a
                constraint.
            ExpressionFailedError: a computed column or a constraint has no value for a row.
            NaiveTimestampError: see `conformed`.
        """
        given = self.conformed(rows)
        columns = {
            field.name: given[field.name]
            if field.name in given
            else self.default(field, rows.num_rows)
            for field in self.schema.fields
            if field.generated is None
        }
        return self.computed(_batch(columns), given)

    def conformed(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the columns that rows have, by their names in the table, in its types.

        Raises:
            InvalidTextError: a text is not UTF-8.
            InvalidSchemaError, ColumnRuleError, NaiveTimestampError: see `complete`.
        """
        given: dict[str, pa.Array] = {}
        for name, values in zip(rows.schema.names, rows.columns, strict=True):
            field = self._field(name)
            if field.name in given:
                raise InvalidSchemaError(reason="rows have it twice", column=field.name)
            column = conformed(values, field, self.zone)
            check_texts(column, field.name)
            given[field.name] = with_length(column, field)
        return given

    def computed(
        self, rows: pa.RecordBatch, given: dict[str, pa.Array] | None = None
    ) -> pa.RecordBatch:
        """Return rows with the table's computed columns; those in `given` are checked.

        Args:
            rows: with all other columns; computed ones in it are computed anew.
            given: values of computed columns that must be right.

        Raises:
            CheckViolationError: a row breaks a CHECK constraint.
            ColumnRuleError, UnsupportedExpressionError, ExpressionFailedError: see `complete`.
        """
        names = names_of(self.schema, self.zone)
        columns = {}
        for field in self.schema.fields:
            if field.generated is None:
                columns[field.name] = rows.column(field.name)
                continue
            values = computed_values(field, names, rows)
            if given is not None and field.name in given:
                _check_equal(field, values, given[field.name])
            columns[field.name] = with_length(values, field)
        whole = _batch(columns)
        for check in self.schema.checks:
            _check_rows(check, names, whole)
        return whole

    def _field(self, name: str) -> Field:
        try:
            return self.schema.field_named(name)
        except InvalidSchemaError as error:
            raise InvalidSchemaError(
                reason="the table has no such column; it has "
                + ", ".join(self.schema.column_names),
                column=name,
            ) from error

    def default(self, field: Field, count: int) -> pa.Array:
        """Return what rows hold that do not have a column.

        Raises:
            InvalidSchemaError: it is NOT NULL and has no default.
            UnsupportedExpressionError: only Spark computes the default.
        """
        kind = to_arrow(field.type)
        if field.default is not None:
            return pa.repeat(pa.scalar(self._default_value(field), kind), count)
        if not field.nullable:
            reason = "rows must have it: it is NOT NULL and has no default"
            raise InvalidSchemaError(reason=reason, column=field.name)
        return pa.nulls(count, kind)

    def _default_value(self, field: Field) -> Value:
        stored = field.default or StoredExpression("NULL")
        text = stored.text
        try:
            read, zone = read_declared(stored, Names({}, {}))
            one_row = pa.RecordBatch.from_pydict({"": [None]})
            values = evaluated(assigned(read, field, text, zone), one_row, sql=text)
        except UnsupportedExpressionError as error:
            refusal = UnsupportedExpressionError(sql=text, reason=error.reason, column=field.name)
            values = pa.array([_literal(field, stored, refusal)], to_arrow(field.type))
        return python_value(with_length(values, field)[0])


def computed_values(field: Field, names: Names, rows: pa.RecordBatch) -> pa.Array:
    """Return the values of a computed column for each row.

    Raises:
        UnsupportedExpressionError, ExpressionFailedError: see `DeclaredRules.complete`.
    """
    stored = field.generated or StoredExpression("NULL")
    text = stored.text
    try:
        read, zone = read_declared(stored, names)
        value = assigned(read, field, text, zone)
    except UnsupportedExpressionError as error:
        raise UnsupportedExpressionError(
            sql=text, reason=error.reason, column=field.name
        ) from error
    return evaluated(value, rows, sql=f"column {field.name!r}, {text},")


def assigned(read: Expression, field: Field, text: str, zone: str | None) -> Expression:
    """Return an expression in the type of the column that it is assigned to.

    Raises:
        UnsupportedExpressionError: how it becomes a value of the column is not known here.
    """
    try:
        return cast(read, field.type, zone)
    except NotKnownError as error:
        raise UnsupportedExpressionError(sql=text, reason=str(error), column=field.name) from error


def _check_rows(check: Check, names: Names, rows: pa.RecordBatch) -> None:
    """Refuse rows for which the condition of a constraint is false."""
    text = check.condition.text
    try:
        condition = as_condition(text, read_declared(check.condition, names)[0])
    except UnsupportedExpressionError as error:
        raise UnsupportedExpressionError(
            sql=text, reason=error.reason, constraint=check.name
        ) from error
    holds = evaluated(condition, rows, sql=f"constraint {check.name!r}, {text},")
    broken = pc.index(holds, pa.scalar(False)).as_py()
    if broken >= 0:
        shown = sorted(columns_of(condition))
        row = {name: rows.column(name)[broken].as_py() for name in shown}
        raise CheckViolationError(constraint=check.name, rule=text, row=row)


def with_length(texts: pa.Array, field: Field) -> pa.Array:
    """Return the texts of a CHAR or VARCHAR column as Spark stores them; others as they are.

    A CHAR is padded with blanks; blanks at the end that are too many are cut off.

    Raises:
        ColumnRuleError: a text is too long.
        UnsupportedExpressionError: the length is that of a text inside of the column.
    """
    declared = declared_text(field)
    if field.type != STRING:
        if has_length(field):
            raise UnsupportedExpressionError(
                sql=declared or field.type.sql_name(),
                reason="lengths of texts inside of arrays, maps and structs are checked by Spark",
                column=field.name,
            )
        return texts
    found = _LENGTH.fullmatch(declared)
    if found is None:
        return texts
    length = int(found[2])
    lengths = pc.utf8_length(texts)
    if (pc.max(lengths).as_py() or 0) > length:
        trimmed = pc.utf8_rtrim(texts, characters=" ")
        is_long = pc.greater(pc.utf8_length(trimmed), length)
        if pc.any(is_long).as_py():
            longest = pc.max(pc.utf8_length(trimmed)).as_py()
            raise ColumnRuleError(
                column=field.name, rule=declared.upper(), value=f"{longest} characters"
            )
        cut = pc.utf8_rpad(trimmed, width=length, padding=" ")
        texts = pc.if_else(pc.greater(lengths, length), cut, texts)
    return texts if found[1] else pc.utf8_rpad(texts, width=length, padding=" ")


def _literal(field: Field, stored: StoredExpression, error: UnsupportedExpressionError) -> Value:
    """Return the value of a literal of a type that expressions do not have."""
    if not is_quoted_as_usual(stored):
        raise error
    try:
        return parse_literal(stored.text, field.type, column=field.name, time_zone=zone_of(stored))
    except (InvalidSchemaError, InvalidTimeZoneError):
        raise error from None


def _check_equal(field: Field, values: pa.Array, given: pa.Array) -> None:
    if values.equals(given):
        return
    if pa.types.is_nested(values.type):
        raise _wrong_value(field, "another value")
    wrong = pc.index(KERNELS["<=>"]([values, given], pa.bool_()), pa.scalar(False)).as_py()
    if wrong >= 0:
        found, right = given[wrong].as_py(), values[wrong].as_py()
        raise _wrong_value(field, f"{found!r} where it is {right!r}")


def _wrong_value(field: Field, value: str) -> ColumnRuleError:
    rule = f"GENERATED ALWAYS AS ({field.generated})"
    return ColumnRuleError(column=field.name, rule=rule, value=value)


def _batch(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def arrow_schema(schema: TableSchema) -> pa.Schema:
    """Return the Arrow schema of a table's whole rows."""
    return pa.schema([(field.name, to_arrow(field.type)) for field in schema.fields])
