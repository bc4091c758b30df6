"""Goal: a column from Arrow becomes what Spark stores of the same values, or is refused by name.

What Spark does was recorded from Spark 4.2: INSERT BY NAME and `df.writeTo(…).append()`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.model.errors import (
    DuplicateMapKeyError,
    NaiveTimestampError,
    NullKeyError,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.write.conformed_column import conformed
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
    to_arrow,
)

NAIVE = dt.datetime.fromisoformat("2024-07-01 12:00")


def struct(**fields: DataType) -> StructType:
    return StructType(tuple(StructField(name=name, type=kind) for name, kind in fields.items()))


AB = struct(a=INTEGER, b=STRING)
AB_ARROW = pa.struct([("a", pa.int32()), ("b", pa.string())])


def conform(values: pa.Array, kind: DataType, zone: str | None = None) -> pa.Array:
    found = conformed(values, Field(id=0, name="x", type=kind), zone)
    found.validate(full=True)
    assert found.type == to_arrow(kind)
    return found


WRAPPED: dict[str, tuple[Callable[[DataType], DataType], Callable[[pa.Array], pa.Array]]] = {
    "plain": (lambda kind: kind, lambda values: values),
    "struct": (
        lambda kind: struct(f=kind),
        lambda values: pa.StructArray.from_arrays([values], ["F"]),
    ),
    "array": (ArrayType, lambda values: pa.ListArray.from_arrays(range(len(values) + 1), values)),
    "large array": (
        ArrayType,
        lambda values: pa.LargeListArray.from_arrays(range(len(values) + 1), values),
    ),
    "view": (
        ArrayType,
        lambda values: pa.ListViewArray.from_arrays(range(len(values)), [1] * len(values), values),
    ),
    "fixed array": (ArrayType, lambda values: pa.FixedSizeListArray.from_arrays(values, 1)),
    "map value": (
        lambda kind: MapType(key=STRING, value=kind),
        lambda values: pa.MapArray.from_arrays(
            pa.array(range(len(values) + 1), pa.int32()), pa.array(["k"] * len(values)), values
        ),
    ),
    "struct in array in struct": (
        lambda kind: struct(l=ArrayType(struct(f=kind))),
        lambda values: pa.StructArray.from_arrays(
            [
                pa.ListArray.from_arrays(
                    range(len(values) + 1), pa.StructArray.from_arrays([values], ["f"])
                )
            ],
            ["l"],
        ),
    ),
}


@pytest.mark.parametrize("place", WRAPPED)
@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        (pa.array(["1"]), INTEGER, "INT takes no such values"),
        (pa.array([True]), INTEGER, "INT takes no such values"),
        (pa.array([1]), BOOLEAN, "BOOLEAN takes no such values"),
        (pa.array([1]), STRING, "STRING takes no such values"),
        (pa.array(["a"]), BINARY, "BINARY takes no such values"),
        (pa.array([b"a"]), STRING, "STRING takes no such values"),
        (pa.array([1e39]), FLOAT, "beyond the range"),
        (pa.array([0.125]), DecimalType(5, 2), "Rescaling"),
        (pa.array([2**31]), INTEGER, "not in range"),
        (pa.array([1.5]), INTEGER, "truncated"),
        (pa.array([NAIVE], pa.timestamp("ns", "UTC")).cast(pa.int64()), TIMESTAMP, "no such"),
        (pa.array([1], pa.timestamp("ns", "UTC")), TIMESTAMP, "lose data"),
        (pa.array([1], pa.duration("s")), LONG, "BIGINT takes no such values"),
        (pa.array([1]), struct(a=LONG), "takes no such values"),
        (pa.array([{"a": 1}]), LONG, "BIGINT takes no such values"),
        (pa.array([[1]]), LONG, "BIGINT takes no such values"),
        (pa.array([1]), ArrayType(LONG), "takes no such values"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), AB, "takes no such values"),
    ],
)
def test_what_does_not_fit_is_refused_at_any_depth(
    place: str, values: pa.Array, kind: DataType, reason: str
) -> None:
    wrap_kind, wrap = WRAPPED[place]
    with pytest.raises(InvalidSchemaError, match=f"do not fit.*{reason}"):
        conform(wrap(values), wrap_kind(kind))


@pytest.mark.parametrize("place", WRAPPED)
@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        (pa.array([1, 2**31 - 1]), INTEGER, [1, 2**31 - 1]),
        (pa.array([0.1, 1.5]), DecimalType(5, 2), [Decimal("0.10"), Decimal("1.50")]),
        (pa.array([np.uint64(7)]), BYTE, [7]),
        (pa.array([0.1]), FLOAT, [float(np.float32(0.1))]),
        (pa.array([Decimal("0.10")], pa.decimal64(18, 2)), FLOAT, [float(np.float32(0.1))]),
        (pa.array([Decimal("7.00")], pa.decimal32(9, 2)), LONG, [7]),
        (pa.array([Decimal("7.00")], pa.decimal256(76, 2)), DecimalType(3, 1), [Decimal("7.0")]),
        (pa.array([Decimal("700")], pa.decimal128(5, -2)), LONG, [700]),
        (pa.array(["a"], pa.large_string()), STRING, ["a"]),
        (pa.array(["a", None], pa.string_view()), STRING, ["a", None]),
        (pa.array([b"a"], pa.binary_view()), BINARY, [b"a"]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), STRING, ["x", "y", "x"]),
        (pa.array([None, None]), STRING, [None, None]),
        (pa.array([None]), AB, [None]),
        (pa.array([None]), ArrayType(AB), [None]),
        (pa.array([1, 0, None], pa.int8()).cast(pa.bool8()), BOOLEAN, [True, False, None]),
        (pa.array([b"0" * 16]).cast(pa.binary(16)).cast(pa.uuid()), BINARY, [b"0" * 16]),
        (pa.array(['{"a": 1}']).cast(pa.json_()), STRING, ['{"a": 1}']),
    ],
)
def test_what_fits_is_stored_at_any_depth(
    place: str, values: pa.Array, kind: DataType, stored: list[Any]
) -> None:
    wrap_kind, wrap = WRAPPED[place]
    expected = wrap(pa.array(stored, to_arrow(kind)))
    found = conform(wrap(values), wrap_kind(kind))
    assert repr(found.to_pylist()).lower() == repr(expected.to_pylist()).lower()


@pytest.mark.parametrize(
    ("fields", "column", "reason"),
    [
        (["a"], "x.b", "rows must have all fields of a struct"),
        (["b"], "x.a", "rows must have all fields of a struct"),
        ([], "x.a", "rows must have all fields of a struct"),
        (["a", "b", "c"], "x.c", "the struct has no such field; it has a, b"),
        (["a", "bb"], "x.bb", "the struct has no such field; it has a, b"),
        (["a", "A", "b"], "x.A", "rows have it twice"),
        (["a", "a", "b"], "x.a", "rows have it more than once: a, a"),
    ],
)
def test_other_fields_are_refused(fields: list[str], column: str, reason: str) -> None:
    values = pa.StructArray.from_arrays([pa.array([1])] * len(fields), names=fields)
    for wrap_kind, wrap in WRAPPED.values():
        if not fields:
            values = pa.array([{}], pa.struct([]))
        with pytest.raises(InvalidSchemaError) as raised:
            conform(wrap(values), wrap_kind(AB))
        assert (raised.value.reason, raised.value.column.rpartition(".")[2]) == (  # type: ignore[union-attr]
            reason,
            column.rpartition(".")[2],
        )


def test_fields_are_found_in_any_case_and_order() -> None:
    for wrap_kind, wrap in WRAPPED.values():
        values = pa.StructArray.from_arrays([pa.array(["x"]), pa.array([1])], names=["B", "A"])
        found = conform(wrap(values), wrap_kind(AB))
        expected = wrap(pa.array([{"a": 1, "b": "x"}], AB_ARROW))
        assert repr(found.to_pylist()).lower() == repr(expected.to_pylist()).lower()


def test_a_place_inside_is_named() -> None:
    deep = struct(s=ArrayType(MapType(key=STRING, value=struct(f=INTEGER))))
    inner = pa.map_(pa.string(), pa.struct([("f", pa.string())]))
    values = pa.array([{"s": [[("k", {"f": "1"})]]}], pa.struct([("s", pa.list_(inner))]))
    with pytest.raises(InvalidSchemaError) as raised:
        conform(values, deep)
    assert raised.value.column == "x.s.element.value.f"
    keys = pa.array([[({"f": "1"}, 1)]], pa.map_(pa.struct([("f", pa.string())]), pa.int64()))
    with pytest.raises(InvalidSchemaError) as raised:
        conform(keys, MapType(key=struct(f=INTEGER), value=LONG))
    assert raised.value.column == "x.key.f"
    with pytest.raises(NaiveTimestampError, match=r"'x\.element\.t'"):
        conform(pa.array([[{"t": NAIVE}]]), ArrayType(struct(t=TIMESTAMP)))
    found = conform(pa.array([[{"t": NAIVE}]]), ArrayType(struct(t=TIMESTAMP)), "Europe/Berlin")
    assert found.to_pylist()[0][0]["t"].timestamp() == NAIVE.timestamp() - 7200


def test_what_nulls_hide_is_no_value() -> None:
    hidden = pa.array([1, 2**40, 3])
    in_struct = pa.StructArray.from_arrays([hidden], ["a"], mask=pa.array([False, True, False]))
    assert conform(in_struct, struct(a=INTEGER)).to_pylist() == [{"a": 1}, None, {"a": 3}]
    for in_list in (
        pa.ListArray.from_arrays([0, 1, 2, 3], hidden, mask=pa.array([False, True, False])),
        pa.FixedSizeListArray.from_arrays(hidden, 1, mask=pa.array([False, True, False])),
    ):
        assert conform(in_list, ArrayType(INTEGER)).to_pylist() == [[1], None, [3]]
    offsets = pa.array([0, 1, 2, 3], pa.int32())
    is_null = pa.array([False, True, False])
    in_map = pa.MapArray.from_arrays(offsets, hidden, hidden, mask=is_null)
    kind = MapType(key=INTEGER, value=INTEGER)
    assert conform(in_map, kind).to_pylist() == [[(1, 1)], None, [(3, 3)]]
    outside = pa.array([[2**40], [1, 2], None, [3], [2**40]])[1:4]
    assert conform(outside, ArrayType(INTEGER)).to_pylist() == [[1, 2], None, [3]]


def test_categories_and_runs_that_no_row_has_need_not_fit() -> None:
    indices = pa.array([1, None, 1, 3], pa.uint8())
    encoded = pa.DictionaryArray.from_arrays(indices, pa.array([1000, 5, 2**40, None]))
    assert conform(encoded, BYTE).to_pylist() == [5, None, 5, None]
    with pytest.raises(InvalidSchemaError, match="do not fit"):
        conform(pa.DictionaryArray.from_arrays([0], pa.array([1000])), BYTE)
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 5, 7], pa.array([1000, 5, None, 2000]))
    assert conform(runs.slice(2, 3), BYTE).to_pylist() == [5, None, None]
    assert conform(runs.slice(2, 0), BYTE).to_pylist() == []
    structs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([{"A": 1}, None]))
    assert conform(structs, struct(a=BYTE)).to_pylist() == [{"a": 1}, {"a": 1}, None]


def maps(entries: list[Any], key: pa.DataType) -> pa.Array:
    return pa.array(entries, pa.map_(key, pa.int64()))


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (maps([[("a", 1), ("b", 2)], [("a", 1), ("a", 2)]], pa.string()), STRING),
        (maps([None, [], [(1, 1), (2, 2), (1, 3)]], pa.int64()), LONG),
        (maps([[(0.0, 1), (-0.0, 2)]], pa.float64()), DOUBLE),
        (maps([[(math.nan, 1), (-math.nan, 2)]], pa.float64()), DOUBLE),
        (maps([[(0.1, 1), (0.1 + 1e-12, 2)]], pa.float64()), FLOAT),
        (maps([[({"d": 0.0}, 1), ({"d": -0.0}, 1)]], pa.struct([("d", pa.float64())])), None),
        (maps([[({"d": None}, 1), ({"d": None}, 1)]], pa.struct([("d", pa.float64())])), None),
    ],
)
def test_a_key_twice_is_refused(values: pa.Array, key: DataType | None) -> None:
    kind = MapType(key=key or struct(d=DOUBLE), value=LONG)
    for wrap_kind, wrap in WRAPPED.values():
        with pytest.raises(DuplicateMapKeyError) as raised:
            conform(wrap(values), wrap_kind(kind))
        assert raised.value.column.startswith("x")


def test_the_key_that_is_there_twice_is_named() -> None:
    values = maps([[("a", 1), ("b", 2)], [("a", 1), ("c", 2), ("c", 3)]], pa.string())
    with pytest.raises(DuplicateMapKeyError, match="Column 'x' has a map with the key 'c' twice"):
        conform(values, MapType(key=STRING, value=LONG))


def test_keys_of_maps_are_one_zero_and_one_nan() -> None:
    found = conform(
        maps([[(-0.0, 1)], [(-math.nan, 2)], [(1.5, 3)]], pa.float64()),
        MapType(key=DOUBLE, value=LONG),
    )
    assert repr(found.to_pylist()) == "[[(0.0, 1)], [(nan, 2)], [(1.5, 3)]]"
    inside = maps([[({"d": -0.0}, 1)]], pa.struct([("d", pa.float64())]))
    found = conform(inside, MapType(key=struct(d=DOUBLE), value=LONG))
    assert repr(found.to_pylist()) == "[[({'d': -0.0}, 1)]]"


def test_a_key_that_is_null_is_refused() -> None:
    """Arrow refuses NULL itself as a key, but not a category that is NULL."""
    keys = pa.DictionaryArray.from_arrays([0, 1], pa.array(["a", None]))
    values = pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), keys, pa.array([1, 2]))
    for wrap_kind, wrap in WRAPPED.values():
        with pytest.raises(NullKeyError, match=r"'x.*key'"):
            conform(wrap(values), wrap_kind(MapType(key=STRING, value=LONG)))


@pytest.mark.parametrize(
    ("precision", "stored"),
    [(0, "12:34:56"), (3, "12:34:56.789"), (5, "12:34:56.78992"), (6, "12:34:56.789923")],
)
def test_a_time_loses_the_digits_that_its_type_lacks(precision: int, stored: str) -> None:
    time = dt.time(12, 34, 56, 789923)
    for unit in ("us", "ns"):
        values = pa.array([time, None], pa.time64(unit))
        found = conform(values, TimeType(precision))
        assert found.to_pylist() == [dt.time.fromisoformat(stored), None]
    with pytest.raises(InvalidSchemaError, match="lose data"):
        conform(pa.array([1], pa.time64("ns")), TimeType(precision))


def test_a_variant_is_taken_in_its_two_parts() -> None:
    parts = pa.struct([("Metadata", pa.binary()), ("value", pa.large_binary())])
    values = pa.array([{"Metadata": b"\x01\x00\x00", "value": b"\x00"}, None], parts)
    expected = [{"value": b"\x00", "metadata": b"\x01\x00\x00"}, None]
    assert conform(values, VARIANT).to_pylist() == expected
    assert conform(pa.array([[None]]), ArrayType(VARIANT)).to_pylist() == [[None]]
