"""Gives the expressions of a new table's definition the settings under which they are declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.frozen_map import FrozenMap

_Change: TypeAlias = Callable[[str, StoredExpression], StoredExpression]
"""Gets what an expression is in its table, which is unique there, and the expression."""


def has_expressions(definition: TableDefinition) -> bool:
    """Whether there is a default, a computed column, a CHECK constraint or a watermark."""
    of_columns = any(f.default or f.generated for f in definition.columns)
    return of_columns or bool(definition.checks) or definition.watermark is not None


def declared_under(definition: TableDefinition, settings: Mapping[str, str]) -> TableDefinition:
    """Return the same definition, all of whose expressions have these settings of Spark."""
    return _changed(
        definition, lambda _, expression: replace(expression, settings=FrozenMap(settings))
    )


def declared_like(definition: TableDefinition, source: TableSchema) -> TableDefinition:
    """Return the definition with the settings that the same expressions of a source have."""
    known: dict[str, StoredExpression | None] = {
        **{f"default of {f.name}": f.default for f in source.fields},
        **{f"column {f.name}": f.generated for f in source.fields},
        **{f"constraint {c.name}": c.condition for c in source.checks},
        "watermark": source.watermark and source.watermark[1],
    }

    def declared(role: str, expression: StoredExpression) -> StoredExpression:
        found = known.get(role)
        return found if found and found.text == expression.text else expression

    return _changed(definition, declared)


def _changed(definition: TableDefinition, change: _Change) -> TableDefinition:
    columns = (
        replace(
            f,
            default=f.default and change(f"default of {f.name}", f.default),
            generated=f.generated and change(f"column {f.name}", f.generated),
        )
        for f in definition.columns
    )
    checks = (
        replace(c, condition=change(f"constraint {c.name}", c.condition)) for c in definition.checks
    )
    watermark = definition.watermark
    if watermark is not None:
        watermark = (watermark[0], change("watermark", watermark[1]))
    return replace(definition, columns=tuple(columns), checks=tuple(checks), watermark=watermark)
