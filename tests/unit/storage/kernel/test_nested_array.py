"""Goal: recast arrays hold the same values and NULLs, at every depth and in every slice."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.kernel.nested_array import map_entries, recast, recast_column

_LEAVES: list[tuple[pa.DataType, pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.time64("us"), pa.time64("ns"), st.times()),
    (pa.int32(), pa.int64(), st.integers(-9, 9)),
    (pa.binary(), pa.binary(), st.binary(max_size=3)),
]
_Case = tuple[pa.DataType, pa.DataType, st.SearchStrategy[Any]]


def _or_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, st.none())


def _list(of: _Case) -> _Case:
    return pa.list_(of[0]), pa.list_(of[1]), st.lists(_or_null(of[2]), max_size=3)


def _map(of: _Case) -> _Case:
    entries = st.lists(st.tuples(st.text(max_size=1), _or_null(of[2])), max_size=3)
    return pa.map_(pa.string(), of[0]), pa.map_(pa.string(), of[1]), entries


def _struct(of: _Case) -> _Case:
    """A field that may be NULL, and a required one."""
    kinds = [
        pa.struct([pa.field("a", kind), pa.field("b", kind, nullable=False)]) for kind in of[:2]
    ]
    return kinds[0], kinds[1], st.fixed_dictionaries({"a": _or_null(of[2]), "b": of[2]})


_CASES = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.tuples(st.sampled_from([_list, _map, _struct]), inner).map(
        lambda pair: pair[0](pair[1])
    ),
    max_leaves=3,
)


@given(st.data())
@settings(max_examples=300)
def test_values_and_nulls_stay(data: st.DataObject) -> None:
    before, after, values = data.draw(_CASES)
    rows = data.draw(st.lists(_or_null(values), min_size=1, max_size=6))
    start = data.draw(st.integers(0, len(rows)))
    array = pa.array(rows, before).slice(start)
    again = recast(array, after)
    again.validate(full=True)
    assert again.type == after
    assert again.to_pylist() == array.to_pylist()
    assert recast(again.slice(1), before).to_pylist() == array.slice(1).to_pylist()


def test_a_null_struct_with_required_fields_below_a_time() -> None:
    variant = pa.struct([pa.field("value", pa.binary(), nullable=False)])
    before = pa.struct([("v", variant), ("t", pa.time64("us"))])
    after = pa.struct([("v", variant), ("t", pa.time64("ns"))])
    rows = [{"v": None, "t": dt.time(1)}, {"v": {"value": b"x"}, "t": None}]
    parts = pa.array([None, b"x"])
    variants = pa.StructArray.from_arrays([parts], fields=list(variant), mask=parts.is_null())
    times = pa.array([dt.time(1), None], pa.time64("us"))
    column = pa.chunked_array(
        [pa.StructArray.from_arrays([variants, times], fields=list(before))] * 2
    )
    assert recast_column(column, after).to_pylist() == rows * 2
    with pytest.raises(pa.ArrowInvalid):
        column.cast(after)  # if Arrow does it one day, this module may go


def test_fields_of_a_struct_go_by_their_names() -> None:
    """A query that reads one field of a struct asks for a struct of that field alone."""
    variant = pa.struct([pa.field("value", pa.binary(), nullable=False)])
    before = pa.struct([("n", pa.int32()), ("v", variant), ("t", pa.string())])
    parts = pa.array([None, b"x", b"y"])
    variants = pa.StructArray.from_arrays([parts], fields=list(variant), mask=parts.is_null())
    children = [pa.array([1, 2, 3], pa.int32()), variants, pa.array(["a", "b", "c"])]
    rows = pa.StructArray.from_arrays(
        children, fields=list(before), mask=pa.array([False, False, True])
    )
    one = recast(rows, pa.struct([("v", variant)]))
    assert one.to_pylist() == [{"v": None}, {"v": {"value": b"x"}}, None]
    two = recast(rows.slice(1), pa.struct([("t", pa.string()), ("n", pa.int64())]))
    assert two.to_pylist() == [{"t": "b", "n": 2}, None]


def test_maps_are_lists_of_entries() -> None:
    maps = pa.array(
        [[("a", 1)], [("b", 2), ("c", None)], None, []], pa.map_(pa.string(), pa.int8())
    )
    entries = map_entries(maps.slice(1))
    assert entries.to_pylist() == [
        [{"key": "b", "value": 2}, {"key": "c", "value": None}],
        None,
        [],
    ]


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        recast(pa.array([[300]], pa.list_(pa.int32())), pa.list_(pa.int8()))
