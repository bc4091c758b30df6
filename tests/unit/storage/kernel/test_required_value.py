"""Goal: a required part of a value that is NULL is found at any depth, and nothing else is."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.data.data_file_writer import physical_schema
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.required_value import has_required, missing_part
from table_store.storage.kernel.types import (
    LONG,
    STRING,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)


def _struct(fields: list[tuple[DataType, bool]]) -> StructType:
    return StructType(
        tuple(
            StructField(name=f"f{number}", type=kind, nullable=nullable, id=number)
            for number, (kind, nullable) in enumerate(fields)
        )
    )


_VALUES = st.none() | st.integers(0, 3)
_KINDS: st.SearchStrategy[DataType] = st.recursive(
    st.just(LONG),
    lambda inner: (
        st.builds(ArrayType, inner, st.booleans())
        | st.builds(MapType, key=st.just(STRING), value=inner, value_contains_null=st.booleans())
        | st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3).map(_struct)
    ),
    max_leaves=5,
)


def _values(kind: DataType) -> st.SearchStrategy[Any]:
    match kind:
        case ArrayType(element):
            return st.none() | st.lists(_values(element), max_size=3)
        case MapType(value=value):
            keys = st.sampled_from(["a", "b", "c"])
            return st.none() | st.dictionaries(keys, _values(value), max_size=2)
        case StructType(fields):
            return st.none() | st.fixed_dictionaries({f.name: _values(f.type) for f in fields})
    return _VALUES


def _is_missing(value: Any, kind: DataType) -> bool:
    """Whether a part of a value, as Python has it, is None and must not be."""
    if value is None:
        return False
    match kind:
        case ArrayType(element, contains_null):
            parts = [(each, element, contains_null) for each in value]
        case MapType(value=inner, value_contains_null=nullable):
            parts = [(each, inner, nullable) for each in value.values()]
        case StructType(fields):
            parts = [(value[f.name], f.type, f.nullable) for f in fields]
        case _:
            parts = []
    return any(
        (part is None and not nullable) or _is_missing(part, inner)
        for part, inner, nullable in parts
    )


def _stored(values: list[Any], kind: DataType) -> pa.Array:
    """Return the values as storage holds them, where every part may be NULL."""
    column = Field(id=0, name="x", type=kind)
    schema = TableSchema(fields=(column,), highest_field_id=9, time_ms=0)
    arrow = physical_schema(schema).field("x").type
    return pa.array([_entries(value, kind) for value in values], arrow)


def _entries(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    match kind:
        case ArrayType(element):
            return [_entries(each, element) for each in value]
        case MapType(value=inner):
            return [(key, _entries(each, inner)) for key, each in value.items()]
        case StructType(fields):
            return {f.name: _entries(value[f.name], f.type) for f in fields}
    return value


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_missing_is_found(data: st.DataObject) -> None:
    kind = data.draw(_KINDS)
    values = data.draw(st.lists(_values(kind), max_size=5))
    start = data.draw(st.integers(0, len(values)))
    shown = values[start:]
    found = missing_part(_stored(values, kind).slice(start), kind, "x")
    assert (found is not None) == any(_is_missing(value, kind) for value in shown)
    assert found is None or has_required(kind)


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (_struct([(LONG, True), (LONG, False)]), {"f0": 1, "f1": None}, "x.f1"),
        (ArrayType(LONG, False), [1, None], "x.element"),
        (MapType(key=STRING, value=LONG, value_contains_null=False), {"a": None}, "x.value"),
        (
            ArrayType(_struct([(ArrayType(LONG, False), True)])),
            [{"f0": [None]}],
            "x.element.f0.element",
        ),
    ],
)
def test_the_path_is_named(kind: DataType, value: Any, path: str) -> None:
    assert missing_part(_stored([None, value], kind), kind, "x") == path
    assert missing_part(_stored([None, value], kind).slice(0, 1), kind, "x") is None


def test_a_field_of_a_key_is_named() -> None:
    kind = MapType(key=_struct([(LONG, False)]), value=LONG)
    inner = pa.map_(pa.struct([("f0", pa.int64())]), pa.int64())
    assert missing_part(pa.array([[({"f0": None}, 1)]], inner), kind, "x") == "x.key.f0"


def test_what_null_hides_is_not_missing() -> None:
    hidden = pa.array([None, 1], pa.int64())
    is_null = pa.array([True, False])
    in_list = pa.ListArray.from_arrays([0, 1, 2], hidden, mask=is_null)
    assert missing_part(in_list, ArrayType(LONG, False), "x") is None
    in_struct = pa.StructArray.from_arrays([hidden], ["f0"], mask=is_null)
    assert missing_part(in_struct, _struct([(LONG, False)]), "x") is None
    offsets = pa.array([0, 1, 2], pa.int32())
    in_map = pa.MapArray.from_arrays(offsets, pa.array(["a", "b"]), hidden, mask=is_null)
    kind = MapType(key=STRING, value=LONG, value_contains_null=False)
    assert missing_part(in_map, kind, "x") is None


def test_both_parts_of_a_variant_are_required() -> None:
    parts = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
    whole = pa.array([None, {"value": b"", "metadata": b""}], parts)
    assert missing_part(whole, VARIANT, "x") is None
    half = pa.array([{"value": b"", "metadata": None}], parts)
    assert missing_part(half, VARIANT, "x") == "x"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (LONG, False),
        (VARIANT, True),
        (MapType(key=STRING, value=LONG), False),
        (MapType(key=_struct([(LONG, False)]), value=LONG), True),
        (ArrayType(ArrayType(LONG, False)), True),
        (ArrayType(ArrayType(LONG)), False),
    ],
)
def test_which_types_have_required_parts(kind: DataType, expected: bool) -> None:
    assert has_required(kind) is expected
