"""Expressions of tables, which Spark evaluates under the settings of their declaration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.stored_expression import StoredExpression


def session_settings(session: PlannerSession) -> dict[str, str]:
    """Return the settings of a session that give the expressions of its statement their meaning."""
    found = session.bridge.StoredExpressions.settings(session.spark._jsparkSession)
    return dict(json.loads(found))


def with_columns(
    session: PlannerSession, rows: DataFrame, columns: Mapping[str, StoredExpression]
) -> DataFrame:
    """Return rows with further columns behind theirs: expressions on them, by name."""
    if not columns:
        return rows
    expressions = expressions_json(list(columns.values()))
    frame = session.bridge.StoredExpressions.withColumns(rows._jdf, list(columns), expressions)
    return DataFrame(frame, session.spark)


def expressions_json(expressions: Sequence[StoredExpression]) -> str:
    """Return expressions in the form in which the bridge reads them."""
    return json.dumps([{"text": e.text, "settings": dict(e.settings)} for e in expressions])
