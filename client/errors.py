"""What can go wrong in programs without Spark; a branch of the one tree of errors."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.storage.kernel.errors import TableStoreError


class UnsupportedExpressionError(TableStoreError):
    """An expression, or a part of one, has a meaning that only Spark knows."""

    condition = "TABLE_STORE_UNSUPPORTED_EXPRESSION"
    sql_state = "0A000"

    def __init__(
        self, *, sql: str, reason: str, column: str | None = None, constraint: str | None = None
    ) -> None:
        self.sql = sql
        self.reason = reason
        self.column = column
        where = "" if column is None else f" of column {column!r}"
        where += "" if constraint is None else f" of constraint {constraint!r}"
        super().__init__(
            f"Expression {sql!r}{where} cannot be evaluated without Spark: {reason}. "
            "Write it otherwise, or read or write through Spark."
        )


class InvalidExpressionError(TableStoreError):
    """A filter or an assigned value is no expression on the table's columns."""

    condition = "TABLE_STORE_INVALID_EXPRESSION"
    sql_state = "42601"

    def __init__(self, *, expression: str, reason: str) -> None:
        self.expression = expression
        self.reason = reason
        super().__init__(f"{expression!r} is no valid expression here: {reason}.")


class ExpressionFailedError(TableStoreError):
    """A value has no result under an expression: an overflow, or a division by zero."""

    condition = "TABLE_STORE_EXPRESSION_FAILED"
    sql_state = "22000"

    def __init__(self, *, expression: str, reason: str) -> None:
        self.expression = expression
        self.reason = reason
        super().__init__(
            f"{expression} failed: {reason}; nothing of the statement was written. Change the "
            "values, or leave out such rows."
        )


class ColumnRuleError(TableStoreError):
    """A row breaks a rule that its table declares."""

    condition = "TABLE_STORE_COLUMN_RULE_VIOLATION"
    sql_state = "23514"

    def __init__(self, *, column: str, rule: str, value: str) -> None:
        self.column = column
        self.rule = rule
        self.value = value
        super().__init__(
            f"Column {column!r} is declared as {rule}, and a row has {value}; nothing of the "
            "statement was written. Correct the row."
        )


class CheckViolationError(TableStoreError):
    """A row breaks a CHECK constraint of its table."""

    condition = "TABLE_STORE_CHECK_VIOLATION"
    sql_state = "23001"

    def __init__(self, *, constraint: str, rule: str, row: Mapping[str, object]) -> None:
        self.constraint = constraint
        self.rule = rule
        self.row = dict(row)
        values = ", ".join(f"{name} = {value!r}" for name, value in row.items())
        super().__init__(
            f"Constraint {constraint!r} demands {rule}, and a row has {values}; nothing of the "
            "statement was written. Correct the row."
        )


class InvalidRowsError(TableStoreError):
    """What was given to be written is no table of rows, or has a column that Arrow cannot hold."""

    condition = "TABLE_STORE_INVALID_ROWS"
    sql_state = "22023"

    def __init__(self, *, found: str, reason: str | None = None) -> None:
        self.reason = reason
        why = "" if reason is None else f": {reason.rstrip('.')}"
        super().__init__(
            f"Rows cannot be read from a {found}{why}. Give a table or data frame of pyarrow, "
            "polars, pandas or duckdb, or anything with the method __arrow_c_stream__."
        )


class OpenedByPathError(TableStoreError):
    """A definition cannot be changed through a table that was opened by its path."""

    condition = "TABLE_STORE_OPENED_BY_PATH"
    sql_state = "55000"

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"The definition of the table at {path!r} is changed by its name, which this program "
            "does not know. Open it by table_store.connect(warehouse).open(name)."
        )
