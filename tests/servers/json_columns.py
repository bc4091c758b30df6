"""What a reader of a log's JSON makes of it who knows the types of the columns."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.nested_array import list_of, struct_of

_PAIR: Final = ("key", "value")


def parse_documents(documents: Sequence[bytes]) -> list[Any]:
    """JSON documents as Python values, numbers as their text."""
    parsed: list[Any] = json.loads(
        b"[" + b",".join(documents) + b"]", parse_float=str, parse_int=str, parse_constant=_refuse
    )
    if len(parsed) != len(documents):
        raise ValueError("not one JSON value per document")
    return parsed


def column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of one column, as `parse_documents` gives them, as an array of type `kind`."""
    return _decoded(pa.array(_with_pairs(values, kind), _text_type(kind)), kind)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _text_type(kind: pa.DataType) -> pa.DataType:
    """The type with all that is not nested as text, but for BOOLEAN."""
    if pa.types.is_boolean(kind):
        return kind
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _text_type(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.list_(
            pa.struct(
                [(_PAIR[0], _text_type(kind.key_type)), (_PAIR[1], _text_type(kind.item_type))]
            )
        )
    if pa.types.is_list(kind):
        return pa.list_(_text_type(kind.value_type))
    return pa.string()


def _with_pairs(values: Sequence[Any], kind: pa.DataType) -> Sequence[Any]:
    """Maps from objects to lists of pairs, wherever the type has one; other types cost nothing."""
    if not _has_text_map(kind):
        return values
    return [_pairs(value, kind) for value in values]


def _has_text_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        is_here = pa.types.is_string(kind.key_type)
        return is_here or _has_text_map(kind.key_type) or _has_text_map(kind.item_type)
    if pa.types.is_struct(kind):
        return any(_has_text_map(f.type) for f in kind)
    return pa.types.is_list(kind) and _has_text_map(kind.value_type)


def _pairs(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        found = (
            value.items() if isinstance(value, dict) else [(p["key"], p["value"]) for p in value]
        )
        return [
            {"key": _pairs(key, kind.key_type), "value": _pairs(item, kind.item_type)}
            for key, item in found
        ]
    if pa.types.is_struct(kind):
        return {f.name: _pairs(value.get(f.name), f.type) for f in kind}
    if pa.types.is_list(kind):
        return [_pairs(element, kind.value_type) for element in value]
    return value


def _decoded(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return values
    if pa.types.is_struct(kind):
        children = [_decoded(values.field(i), field.type) for i, field in enumerate(kind)]
        return struct_of(values, children, kind)
    if pa.types.is_map(kind):
        return _map(values, kind)
    if pa.types.is_list(kind):
        return list_of(values, lambda elements: _decoded(elements, kind.value_type), kind)
    if pa.types.is_binary(kind):
        texts = values.to_pylist()
        found = [None if t is None else base64.b64decode(t, validate=True) for t in texts]
        return pa.array(found, kind)
    if pa.types.is_floating(kind):
        return _floats(values, kind)
    if pa.types.is_time(kind):
        day = pc.binary_join_element_wise("1970-01-01", values, " ")
        return day.cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        plain = pc.utf8_rtrim(values, characters="Z").cast(pa.timestamp(kind.unit))
        return plain.cast(pa.int64()).cast(kind)
    return values.cast(kind)


def _map(values: pa.ListArray, kind: pa.MapType) -> pa.MapArray:
    entries = values.flatten()
    keys = _decoded(entries.field(0), kind.key_type)
    items = _decoded(entries.field(1), kind.item_type)
    lengths = values.value_lengths().fill_null(0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    mask = values.is_null() if values.null_count else None
    return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=mask)


def _floats(values: pa.StringArray, kind: pa.DataType) -> pa.Array:
    text = pc.replace_substring(values, "Infinity", "inf")
    return text.cast(kind)
