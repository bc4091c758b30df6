"""Writes a CREATE TABLE of ours as SQL that Spark 4.2 parses."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.sql_ext.statements.statements import (
    ComputedColumn,
    CreateTable,
    PhysicalColumn,
    TableConstraint,
    TableElement,
)
from table_store.storage.options.kafka_source_options import METADATA

WATERMARK_COLUMN = "watermark.column"
WATERMARK_EXPRESSION = "watermark.expression"


def render_create_table(
    statement: CreateTable,
    computed_types: Mapping[str, str],
    extra_properties: Mapping[str, str],
) -> str:
    """Return the statement in Spark's own grammar; its columns stay in the order written.

    Args:
        statement: as parsed; its name and properties may have been replaced.
        computed_types: Spark's type of every computed column, by its name as written.
        extra_properties: added unless the statement sets the key itself.

        A temporary table is written as an ordinary one: the caller must keep it to its session, and
        may give it another name with `dataclasses.replace`.

    Raises:
        KeyError: a computed column has no type.
    """
    lines = [_header(statement)]
    if statement.elements:
        elements = (_element(element, computed_types) for element in statement.elements)
        lines.append("(\n  " + ",\n  ".join(elements) + "\n)")
    if statement.like is not None:
        lines.append("LIKE " + quoted_parts(statement.like))
    lines.extend(statement.clauses)
    properties = _properties(statement, extra_properties)
    if properties:
        pairs = (f"{string_literal(k)} = {string_literal(v)}" for k, v in properties.items())
        lines.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + "\n)")
    if statement.query is not None:
        lines.append("AS " + statement.query)
    return "\n".join(lines)


def _header(statement: CreateTable) -> str:
    words = ["REPLACE TABLE" if statement.replace_only else "CREATE"]
    if not statement.replace_only:
        words.append("OR REPLACE TABLE" if statement.or_replace else "TABLE")
    if statement.if_not_exists:
        words.append("IF NOT EXISTS")
    return " ".join([*words, quoted_parts(statement.name)])


def _element(element: TableElement, computed_types: Mapping[str, str]) -> str:
    match element:
        case PhysicalColumn():
            return element.definition
        case TableConstraint():
            return element.definition
        case ComputedColumn():
            name = quoted(element.name)
            generated = f"GENERATED ALWAYS AS ({element.expression})"
            column = f"{name} {computed_types[element.name]} {generated}"
            if element.comment is None:
                return column
            return f"{column} COMMENT {string_literal(element.comment)}"


def _properties(statement: CreateTable, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of the statement, then those that the caller adds."""
    properties = dict(statement.options) | dict(statement.properties)
    for name, key in statement.metadata:
        properties[METADATA.prefix + name] = key
    if statement.watermark is not None:
        properties[WATERMARK_COLUMN] = statement.watermark.column
        properties[WATERMARK_EXPRESSION] = statement.watermark.expression
    for key, value in extra.items():
        properties.setdefault(key, value)
    return properties
