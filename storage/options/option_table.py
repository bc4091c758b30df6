"""The table of all options as Markdown, for the documents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from table_store.storage.options.options import INTEGER_MAX, Option, OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_UNITS = ((1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb"))
_TIMES = (
    (timedelta(days=1), "d"),
    (timedelta(hours=1), "h"),
    (timedelta(minutes=1), "min"),
    (timedelta(seconds=1), "s"),
    (timedelta(milliseconds=1), "ms"),
)


def option_table() -> str:
    """Return one row for each option and for each prefix, in the order of their declaration."""
    return "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    yield "| Option | Default | Type | Given to | Meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for option in TABLE_OPTIONS:
        values = " · ".join(f"`{v}`" for v in option.type.allowed) or option.type.name
        fixed = "" if option.mutable else " Fixed at creation."
        yield _row(option.key, _default(option), values, _places(option.scopes), option.doc + fixed)
    for prefix in TABLE_OPTIONS.prefixes:
        yield _row(f"{prefix.prefix}*", "–", "String", _places(prefix.scopes), prefix.doc)


def _row(key: str, *cells: str) -> str:
    return f"| `{key}` | {' | '.join(cells)} |"


def _places(scopes: frozenset[OptionScope]) -> str:
    return ", ".join(s.value for s in OptionScope if s in scopes)


def _default(option: Option[Any]) -> str:
    value = option.default
    if value is None:
        return option.derived_default or "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value == INTEGER_MAX:
        return "no limit"
    if isinstance(value, timedelta):
        return _largest_unit(value)
    if option.type.name == "MemorySize":
        size, unit = next(((s, u) for s, u in _UNITS if value % s == 0), (1, "bytes"))
        return f"`{value // size} {unit}`"
    return f"`{value}`"


def _largest_unit(value: timedelta) -> str:
    unit, word = next((u, w) for u, w in _TIMES if not value % u)
    return f"`{value // unit} {word}`"
