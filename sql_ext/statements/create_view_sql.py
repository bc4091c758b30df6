"""Writes a statement of ours about a materialized view as SQL that Spark 4.2 parses."""

from __future__ import annotations

from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.names.identifier import quoted_parts
from table_store.catalog.planner.protocol.view_clauses import VIEW_CLAUSES
from table_store.sql_ext.statements.view_statements import DefineMaterializedView


def render_define_view(statement: DefineMaterializedView) -> str:
    """Return Spark's own CREATE MATERIALIZED VIEW, in which our clauses are a property."""
    words = ["CREATE MATERIALIZED VIEW"]
    if statement.if_not_exists:
        words.append("IF NOT EXISTS")
    lines = [" ".join([*words, quoted_parts(statement.name)])]
    if statement.typed_columns:
        lines.append("(\n  " + ",\n  ".join(statement.typed_columns) + "\n)")
    lines.extend(statement.kept)
    properties = {**dict(statement.properties), VIEW_CLAUSES: statement.clauses.to_property()}
    pairs = (f"{string_literal(k)} = {string_literal(v)}" for k, v in properties.items())
    lines.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + "\n)")
    lines.append("AS " + statement.query)
    return "\n".join(lines)
