"""Rows under the CHECK constraints of a table, which Spark evaluates."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from table_store.catalog.definition.declared_type import compared_sql
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.names.stored_expressions import expressions_json
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError


def checked_rows(
    session: PlannerSession, rows: DataFrame, checks: Sequence[Check], kind: str | None = None
) -> DataFrame:
    """The same rows; to read one that breaks a constraint is Spark's own error.

    If there is a column `kind`, rows in which it is 1 are to be deleted, and may break any.
    """
    if not checks:
        return rows
    names, conditions = [c.name for c in checks], expressions_json([c.condition for c in checks])
    frame = session.bridge.CheckedRows.of(rows._jdf, names, conditions, kind)
    return DataFrame(frame, session.spark)


def check_conditions(session: PlannerSession, schema: TableSchema, checks: Sequence[Check]) -> None:
    """Return quietly if the conditions of constraints mean something for rows of the table.

    Raises:
        InvalidSchemaError: one has a subquery, or not the same result each time, or no column.
        CapturedException: Spark cannot resolve one, or it is no condition.
    """
    if not checks:
        return
    columns = ", ".join(
        f"CAST(NULL AS {compared_sql(field)}) AS {quoted(field.name)}" for field in schema.fields
    )
    rows = session.spark.sql(f"SELECT {columns} LIMIT 0")
    names, conditions = [c.name for c in checks], expressions_json([c.condition for c in checks])
    refusal = session.bridge.CheckedRows.refusal(rows._jdf, names, conditions)
    if refusal is not None:
        raise InvalidSchemaError(reason=f"constraint {refusal}")
