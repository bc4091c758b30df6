"""The clause WITH of a table, from its options."""

from __future__ import annotations

from collections.abc import Mapping


def with_clause(options: Mapping[str, str]) -> str:
    """The clause in SQL; a quote in a value is doubled."""
    shown = {key: value.replace("'", "''") for key, value in options.items()}
    return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in shown.items()) + ")"
