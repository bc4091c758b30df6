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

Every step is one Arrow kernel over a column, so the cost is by column, not by row.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def json_values(values: pa.Array) -> pa.LargeStringArray:
    """Return each value as JSON, NULL as `null`."""
    text = _encoded(values)
    return text.fill_null(NULL) if text.null_count else text


def json_objects(columns: Sequence[pa.Array], names: Sequence[str]) -> pa.LargeStringArray:
    """Return each row as a JSON object with the columns in order."""
    parts: list[pa.Array | pa.Scalar] = []
    for position, (column, name) in enumerate(zip(columns, names, strict=True)):
        quoted = _quoted(pa.array([name], TEXT))[0].as_py()
        parts.append(pa.scalar(("{" if position == 0 else ",") + quoted + ":", TEXT))
        parts.append(json_values(column))
    return concat_text(*parts, pa.scalar("}", TEXT))


def concat_text(*parts: pa.Array | pa.Scalar) -> pa.LargeStringArray:
    """Return the parts of each row one after the other; NULL where one is NULL."""
    return pc.binary_join_element_wise(*parts, pa.scalar("", TEXT))


def _encoded(values: pa.Array) -> pa.LargeStringArray:
    """Return JSON text, NULL where the value is."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _struct(values)
    if pa.types.is_map(kind):
        return _map(values)
    if pa.types.is_list(kind):
        elements = json_values(values.flatten())
        return _joined(elements, _lengths(values), "[", "]", values)
    if pa.types.is_binary(kind):
        return _in_quotes(base64_text(values))
    if pa.types.is_string(kind):
        return _quoted(values.cast(TEXT))
    if pa.types.is_floating(kind):
        return _floats(values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return values.cast(TEXT)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        plain = values.cast(pa.timestamp(kind.unit)).cast(TEXT)
        return concat_text(pa.scalar('"', TEXT), plain, pa.scalar('Z"', TEXT))
    return _in_quotes(values.cast(TEXT))


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


def _struct(values: pa.StructArray) -> pa.LargeStringArray:
    names = [field.name for field in values.type]
    text = json_objects(values.flatten(), names) if names else _repeated("{}", len(values))
    return _masked(text, values)


def _map(values: pa.MapArray) -> pa.LargeStringArray:
    entries = map_entries(values)
    keys, items = entries.flatten().flatten()
    if pa.types.is_string(values.type.key_type):
        pairs = concat_text(json_values(keys), pa.scalar(":", TEXT), json_values(items))
        return _joined(pairs, _lengths(entries), "{", "}", values)
    pairs = json_objects((keys, items), ("key", "value"))
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
