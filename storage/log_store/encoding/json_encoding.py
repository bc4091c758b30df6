"""JSON text of whole Arrow columns, exact for every type a table can hold.

| type | JSON |
| --- | --- |
| BOOLEAN, integers | `true`, `12` |
| FLOAT, DOUBLE | shortest number that reads back the same; `"NaN"`, `"Infinity"`, `"-Infinity"` |
| DECIMAL, DATE, TIME | text: `"1.50"`, `"2026-01-31"`, `"12:00:00.000000"` |
| TIMESTAMP_NTZ, TIMESTAMP | text: `"2026-01-31 12:00:00.000000"`, with `Z` (UTC) the latter |
| STRING | text |
| BINARY | text, base64 |
| VARIANT | object of `value` and `metadata`, base64 |
| STRUCT, ARRAY | object, array |
| MAP | object where keys are STRING, else array of objects of `key` and `value` |

With `FLINK` as Flink's format `json` has them: DECIMAL as a number, seconds of a time without zeros
at the end.

Every step is one Arrow kernel over a column, so the cost is by column, not by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.nested_array import map_entries
from table_store.storage.log_store.encoding.base64_text import base64_text

TEXT: Final = pa.large_string()
NULL: Final = "null"

_CONTROL_PATTERN: Final = r"[\x00-\x1f]"
_SHORT_ESCAPES: Final = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """Where readers differ.

    Attributes:
        has_numbers: whether DECIMAL is a number.
        has_short_times: whether seconds have no more digits than they need.
        separator: between the day and the time.
    """

    has_numbers: bool
    has_short_times: bool
    separator: str = " "


EXACT: Final = JsonStyle(has_numbers=False, has_short_times=False)
FLINK: Final = JsonStyle(has_numbers=True, has_short_times=True)


def json_values(values: pa.Array, style: JsonStyle = EXACT) -> pa.LargeStringArray:
    """Return each value as JSON, NULL as `null`."""
    text = _encoded(values, style)
    return text.fill_null(NULL) if text.null_count else text


def json_objects(
    columns: Sequence[pa.Array], names: Sequence[str], style: JsonStyle = EXACT
) -> pa.LargeStringArray:
    """Return each row as a JSON object with the columns in order."""
    parts: list[pa.Array | pa.Scalar] = []
    for position, (column, name) in enumerate(zip(columns, names, strict=True)):
        quoted = _quoted(pa.array([name], TEXT))[0].as_py()
        parts.append(pa.scalar(("{" if position == 0 else ",") + quoted + ":", TEXT))
        parts.append(json_values(column, style))
    return concat_text(*parts, pa.scalar("}", TEXT))


def concat_text(*parts: pa.Array | pa.Scalar) -> pa.LargeStringArray:
    """Return the parts of each row one after the other; NULL where one is NULL."""
    return pc.binary_join_element_wise(*parts, pa.scalar("", TEXT))


def _encoded(values: pa.Array, style: JsonStyle) -> pa.LargeStringArray:
    """Return JSON text, NULL where the value is."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _struct(values, style)
    if pa.types.is_map(kind):
        return _map(values, style)
    if pa.types.is_list(kind):
        elements = json_values(values.flatten(), style)
        return _joined(elements, _lengths(values), "[", "]", values)
    if pa.types.is_binary(kind):
        return _in_quotes(base64_text(values))
    if pa.types.is_string(kind):
        return _quoted(values.cast(TEXT))
    if pa.types.is_floating(kind):
        return _floats(values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return values.cast(TEXT)
    if pa.types.is_decimal(kind) and style.has_numbers:
        return values.cast(TEXT)
    if pa.types.is_timestamp(kind):
        end = '"' if kind.tz is None else 'Z"'
        return concat_text(pa.scalar('"', TEXT), _times(values, style), pa.scalar(end, TEXT))
    return _in_quotes(values.cast(TEXT))


def _times(values: pa.TimestampArray, style: JsonStyle) -> pa.LargeStringArray:
    text = values.cast(pa.timestamp(values.type.unit)).cast(TEXT)
    if style.has_short_times:
        text = without_zeros(text)
    return text if style.separator == " " else pc.replace_substring(text, " ", style.separator)


def without_zeros(text: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return times as text without zeros at the end of a second, nor a point."""
    has_fraction = pc.match_substring(text, ".")
    return pc.if_else(has_fraction, pc.replace_substring_regex(text, r"\.?0*$", ""), text)


def _in_quotes(text: pa.Array) -> pa.LargeStringArray:
    return concat_text(pa.scalar('"', TEXT), text, pa.scalar('"', TEXT))


def _quoted(text: pa.LargeStringArray) -> pa.LargeStringArray:
    escaped = pc.replace_substring(text, "\\", "\\\\")
    escaped = pc.replace_substring(escaped, '"', '\\"')
    if pc.any(pc.match_substring_regex(escaped, _CONTROL_PATTERN)).as_py():
        for code in range(0x20):
            short = _SHORT_ESCAPES.get(code, f"\\u{code:04x}")
            escaped = pc.replace_substring(escaped, chr(code), short)
    return _in_quotes(escaped)


def _floats(values: pa.Array) -> pa.LargeStringArray:
    text = values.cast(TEXT)
    if pc.all(pc.is_finite(values), skip_nulls=True).as_py():
        return text
    text = pc.if_else(pc.is_nan(values), '"NaN"', text)
    text = pc.if_else(pc.equal(values, np.inf), '"Infinity"', text)
    return pc.if_else(pc.equal(values, -np.inf), '"-Infinity"', text)


def _struct(values: pa.StructArray, style: JsonStyle) -> pa.LargeStringArray:
    names = [field.name for field in values.type]
    text = json_objects(values.flatten(), names, style) if names else _repeated("{}", len(values))
    return _masked(text, values)


def _map(values: pa.MapArray, style: JsonStyle) -> pa.LargeStringArray:
    entries = map_entries(values)
    keys, items = entries.flatten().flatten()
    if pa.types.is_string(values.type.key_type):
        pairs = concat_text(
            json_values(keys, style), pa.scalar(":", TEXT), json_values(items, style)
        )
        return _joined(pairs, _lengths(entries), "{", "}", values)
    pairs = json_objects((keys, items), ("key", "value"), style)
    return _joined(pairs, _lengths(entries), "[", "]", values)


def _lengths(lists: pa.ListArray) -> pa.Array:
    return lists.value_lengths().fill_null(0)


def _joined(
    elements: pa.LargeStringArray, lengths: pa.Array, start: str, end: str, values: pa.Array
) -> pa.LargeStringArray:
    counts = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]))
    lists = pa.LargeListArray.from_arrays(offsets, elements)
    text = concat_text(
        pa.scalar(start, TEXT), pc.binary_join(lists, pa.scalar(",", TEXT)), pa.scalar(end, TEXT)
    )
    return _masked(text, values)


def _repeated(text: str, count: int) -> pa.LargeStringArray:
    return pa.repeat(pa.scalar(text, TEXT), count)


def _masked(text: pa.LargeStringArray, values: pa.Array) -> pa.LargeStringArray:
    if not values.null_count:
        return text
    return pc.if_else(values.is_null(), pa.scalar(None, TEXT), text)
