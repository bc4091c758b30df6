"""Reads the expressions of a table's definition, with the meaning that they had when declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from table_store.catalog.definition.declared_settings import (
    is_quoted_as_usual,
    other_settings,
    zone_of,
)
from table_store.client.errors import UnsupportedExpressionError
from table_store.client.expressions.expression import Expression, Literal
from table_store.client.expressions.sql_reader import Names
from table_store.client.expressions.sql_text import read_expression
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import InvalidTimeZoneError
from table_store.storage.kernel.time_zone import find_zone

_WITHOUT_EFFECT: Final = ("spark.sql.timeType.enabled",)
"""Settings that change no expression that Python evaluates."""


def read_declared(stored: StoredExpression, names: Names) -> tuple[Expression, str | None]:
    """Return what a stored expression means, and the time zone in which it means that.

    The zone is None if it is known to Spark alone. A literal means the same under all settings.

    Raises:
        InvalidExpressionError: the text is no expression, or names no column.
        UnsupportedExpressionError: only Spark evaluates it, or the settings of its declaration.
    """
    zone = _known_zone(zone_of(stored))
    others = {
        key: value for key, value in other_settings(stored).items() if key not in _WITHOUT_EFFECT
    }
    if is_quoted_as_usual(stored):
        read = read_expression(stored.text, replace(names, zone=zone))
        if isinstance(read, Literal) or not others:
            return read, zone
    settings = ", ".join(f"{key} = {value}" for key, value in others.items())
    raise UnsupportedExpressionError(sql=stored.text, reason=f"it was declared with {settings}")


def _known_zone(name: str) -> str | None:
    try:
        find_zone(name)
    except InvalidTimeZoneError:
        return None
    return name
