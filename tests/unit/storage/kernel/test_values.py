"""Goal: values keep type and content through JSON, and order as Spark orders them."""

from __future__ import annotations

import datetime as dt
import json
import math
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.model.data_file import ColumnStats, CommitMessage
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.values import (
    Value,
    order_key,
    python_value,
    python_values,
    value_from_json,
    value_to_json,
)
from tests.fakes.metadata_table import make_file

values: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    # `fold` tells apart what only local times have twice; columns have no such thing.
    st.datetimes().map(lambda v: v.replace(fold=0)),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda v: v.replace(fold=0)),
    st.times().map(lambda v: v.replace(fold=0)),
)


def same(one: Value, other: Value) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other and repr(one) == repr(other)


@given(values)
def test_json_keeps_value_and_type(value: Value) -> None:
    text = json.dumps(value_to_json(value), allow_nan=False)
    assert same(value_from_json(json.loads(text)), value)


@pytest.mark.parametrize("item", [[], {}, {"x": "1"}, {"date": 1}, {"date": "1", "time": "2"}, 1.5])
def test_other_json_is_refused(item: object) -> None:
    with pytest.raises(TableStoreError):
        value_from_json(item)


@given(st.lists(values, max_size=3), st.dictionaries(st.integers(1, 99), values, max_size=3))
def test_commit_messages_cross_processes(key: list[Value], bounds: dict[int, Value]) -> None:
    stats = {
        i: ColumnStats(min=v, max=v, null_count=i, exact=i % 2 == 0) for i, v in bounds.items()
    }
    file = make_file("f", partition=tuple(key), stats=stats)
    message = CommitMessage(partition=tuple(key), bucket=3, added=(file,), removed=(file, file))
    again = CommitMessage.from_json(message.to_json())
    assert repr(again) == repr(message)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"partition":[],"bucket":true}', "nonsense"])
def test_other_texts_are_no_commit_messages(text: str) -> None:
    with pytest.raises(TableStoreError):
        CommitMessage.from_json(text)


@pytest.mark.parametrize(
    "ascending",
    [
        [-math.inf, -1.0, 0.0, 1.0, math.inf, math.nan],
        ["", "Z", "a", "é", "日", "🦊"],
        [-800_000, dt.date(1, 1, 1), dt.date(1970, 1, 1), 1, dt.date(9999, 12, 31), 3_000_000],
        [-1, dt.datetime(1970, 1, 1, tzinfo=dt.UTC), 1],
        [b"", b"\x00", b"\x7f", b"\xff"],
    ],
)
def test_values_order_as_in_spark(ascending: list[Value]) -> None:
    for low, high in pairwise(ascending):
        assert order_key((low,)) < order_key((high,))
        assert not order_key((high,)) < order_key((low,))


def test_nan_equals_nan_in_order() -> None:
    assert order_key((math.nan,)) == order_key((-math.nan,))


def test_a_frozen_map_is_a_mapping_that_can_be_hashed() -> None:
    one, other = FrozenMap({"a": 1, "b": 2}), FrozenMap([("b", 2), ("a", 1)])
    assert one == other == {"a": 1, "b": 2}
    assert hash(one) == hash(other)
    assert list(one) == ["a", "b"]
    assert "FrozenMap" in repr(one)


@pytest.mark.parametrize(
    ("kind", "near", "far"),
    [
        (pa.date32(), dt.date(2026, 1, 1), 2932897),
        (pa.timestamp("us"), dt.datetime.fromisoformat("2026-01-01"), 253402300800000000),
        (pa.timestamp("us", "UTC"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), -(2**62)),
    ],
)
def test_a_value_is_the_same_whatever_is_beside_it(
    kind: pa.DataType, near: dt.date, far: int
) -> None:
    """Python has no year 10000: such a day is a number, and the others stay days."""
    column = pa.chunked_array([[near], [far, None]], kind)
    assert python_values(column) == [near, far, None]
    assert python_values(column) == [python_value(scalar) for scalar in column]
    assert python_values(column[:1]) == [near]
