"""Smallest value, greatest value and number of NULLs of a column, computed in Arrow."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.data_file import ColumnStats
from table_store.storage.kernel.values import Value, order_key, python_value

BOUND_BYTES_MAX: Final = 64
"""Longer strings and binary values are shortened to bounds, so that manifests stay small."""

_CODE_POINT_MAX: Final = 0x10FFFF


def column_bounds(values: pa.ChunkedArray) -> ColumnStats:
    """Return the exact bounds in one pass; a NaN is greater than all other numbers."""
    if values.null_count == len(values):
        return ColumnStats(min=None, max=None, null_count=values.null_count)
    pair = pc.min_max(values)
    low, high = python_value(pair["min"]), python_value(pair["max"])
    if pa.types.is_floating(values.type):
        # Arrow ignores NaN, and returns crossed-over infinities if there is nothing else.
        is_nan = pc.is_nan(values)
        if pc.any(is_nan).as_py():
            high = float("nan")
            if pc.min(is_nan).as_py():
                low = high
    return ColumnStats(min=low, max=high, null_count=values.null_count)


def merged_bounds(one: ColumnStats, other: ColumnStats) -> ColumnStats:
    """Return the exact bounds of both together."""
    lows = [value for value in (one.min, other.min) if value is not None]
    highs = [value for value in (one.max, other.max) if value is not None]
    return ColumnStats(
        min=min(lows, key=_order, default=None),
        max=max(highs, key=_order, default=None),
        null_count=one.null_count + other.null_count,
    )


def shortened_bounds(stats: ColumnStats) -> ColumnStats:
    """Return the bounds with long strings and binary values shortened; those are not exact."""
    low, high = _lower_bound(stats.min), _upper_bound(stats.max)
    if low is stats.min and high is stats.max:
        return stats
    return ColumnStats(min=low, max=high, null_count=stats.null_count, exact=False)


def _order(value: Value) -> tuple[Any, ...]:
    return order_key((value,))


def _lower_bound(value: Value) -> Value:
    if isinstance(value, bytes):
        return value if len(value) <= BOUND_BYTES_MAX else value[:BOUND_BYTES_MAX]
    if isinstance(value, str):
        return value if _is_short(value) else _cut(value)
    return value


def _upper_bound(value: Value) -> Value:
    """Return the least short value above all values with the start of `value`, if there is one."""
    if isinstance(value, bytes) and len(value) > BOUND_BYTES_MAX:
        prefix = value[:BOUND_BYTES_MAX].rstrip(b"\xff")
        return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
    if isinstance(value, str) and not _is_short(value):
        text = _cut(value).rstrip(chr(_CODE_POINT_MAX))
        if not text:
            return None
        following = ord(text[-1]) + 1
        # Surrogates are no characters, so the next character after U+D7FF is U+E000.
        return text[:-1] + chr(0xE000 if following == 0xD800 else following)
    return value


def _is_short(text: str) -> bool:
    return len(text) * 4 <= BOUND_BYTES_MAX or len(text.encode()) <= BOUND_BYTES_MAX


def _cut(text: str) -> str:
    return text.encode()[:BOUND_BYTES_MAX].decode(errors="ignore")
