"""Settings of Spark under which an expression was declared, as Python needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.frozen_map import FrozenMap

TIME_ZONE: Final = "spark.sql.session.timeZone"
UTC: Final = "UTC"
_QUOTING: Final = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.parser.escapedStringLiterals",
)


def settings_in(zone: str | None) -> Mapping[str, str]:
    """Return the settings of a session that differs from Spark's defaults in its zone alone."""
    return FrozenMap() if zone in (None, UTC) else FrozenMap({TIME_ZONE: str(zone)})


def zone_of(expression: StoredExpression) -> str:
    """Return the time zone that an expression was declared in."""
    return expression.settings.get(TIME_ZONE, UTC)


def other_settings(expression: StoredExpression) -> dict[str, str]:
    """Return the settings that differ from Spark's defaults, without the zone."""
    return {key: value for key, value in expression.settings.items() if key != TIME_ZONE}


def is_quoted_as_usual(expression: StoredExpression) -> bool:
    """Whether a parser with Spark's defaults splits the text into the same tokens."""
    if not any(expression.settings.get(key) == "true" for key in _QUOTING):
        return True
    return '"' not in expression.text and "\\" not in expression.text
