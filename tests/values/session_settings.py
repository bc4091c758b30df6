"""Settings of sessions that change what statements mean."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

from tests.values.edges import ZONES

_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "spark.sql.session.timeZone": ZONES,
    "spark.sql.ansi.enabled": ("true", "false"),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("false", "true"),
    "spark.sql.ansi.enforceReservedKeywords": ("false", "false", "true"),
    "spark.sql.caseSensitive": ("false", "false", "true"),
    "spark.sql.parser.escapedStringLiterals": ("false", "true"),
    "spark.sql.timestampType": ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"),
    "spark.sql.legacy.literal.pickMinimumPrecision": ("true", "false"),
    "spark.sql.legacy.parseNullPartitionSpecAsStringLiteral": ("false", "true"),
}


def draw_settings(dice: random.Random) -> dict[str, str]:
    """A value for each setting."""
    return {key: dice.choice(values) for key, values in _SETTINGS.items()}
