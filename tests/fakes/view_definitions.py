"""Views whose definitions tests store, compare and damage."""

from __future__ import annotations

from typing import Final

from table_store.catalog.names.name_record import ViewDefinition

FULL_VIEW: Final = ViewDefinition(
    query_text="SELECT 1 AS a",
    current_catalog="table_store",
    current_namespace=("default",),
    sql_configs={"spark.sql.ansi.enabled": "true"},
    schema_mode="BINDING",
    query_column_names=("a",),
    columns='{"type":"struct","fields":[]}',
    properties={"owner": "x"},
)
"""One with something in every field."""


def plain_view(query_text: str = "SELECT 1") -> ViewDefinition:
    """A view with nothing but its query."""
    return ViewDefinition(
        query_text=query_text,
        current_catalog=None,
        current_namespace=(),
        sql_configs={},
        schema_mode=None,
        query_column_names=(),
        columns="",
        properties={},
    )
