"""Goal: rows are ordered by key as Spark orders them, for every type that a key may have."""

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.order.key_order import key_codes, order_by_key
from table_store.storage.file_store.order.merge import is_newest, newest_per_key
from table_store.storage.kernel.types import parse_type, to_arrow

NAN = float("nan")
MOMENT = dt.datetime.fromisoformat("2026-11-21T05:34:50.123456")
ASCENDING: dict[str, list[Any]] = {
    "boolean": [False, True],
    "byte": [-128, -1, 0, 127],
    "short": [-32768, 0, 5],
    "integer": [-(2**31), -1, 0, 2**31 - 1],
    "long": [-(2**63), -1, 0, 1, 2**63 - 1],
    "float": [-math.inf, -1.5, 0.0, 1.5, math.inf, NAN],
    "double": [-math.inf, -1e300, -5e-324, 0.0, 5e-324, 1e300, math.inf, NAN],
    "decimal(12,2)": [Decimal("-3.50"), Decimal("0.00"), Decimal("0.01"), Decimal("9.99")],
    "decimal(38,2)": [-(10**35), Decimal("-0.01"), 0, 2**62, 2**63, 2**64, 2**64 + 1, 10**35],
    "date": [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
    "timestamp": [dt.datetime.fromisoformat("0001-01-01"), MOMENT],
    "timestamp_ntz": [MOMENT, MOMENT + dt.timedelta(microseconds=1)],
    "time(6)": [dt.time(0), dt.time(12, 30), dt.time(23, 59, 59, 999999)],
    "string": ["", "\0", "a", "a\0", "a\0b", "ab", "abcdefgh", "abcdefghi", "b", "ü", "€", "😀"],
    "binary": [b"", b"\0", b"\0" * 8, b"\0" * 9, b"\x7f", b"\x80", b"\xff" * 16, b"\xff" * 17],
}


@pytest.mark.parametrize(("name", "values"), list(ASCENDING.items()))
def test_orders_every_type(name: str, values: list[Any]) -> None:
    arrow = to_arrow(parse_type(name))
    shuffled = [*values, *values]
    random.Random(7).shuffle(shuffled)
    halves = [pa.array(shuffled[:3], arrow), pa.array([values[0], *shuffled[3:]], arrow).slice(1)]
    column = pa.chunked_array(halves)
    ordered = column.take(pa.array(order_by_key([column]).positions))
    expected = pa.array([value for value in values for _ in range(2)], arrow)
    assert str(ordered.combine_chunks()) == str(expected)
    newest = newest_per_key([column])
    assert len(newest) == len(values)
    assert np.flatnonzero(is_newest([column])).tolist() == sorted(newest.tolist())


def test_zeros_and_nans_are_one_value_each() -> None:
    other_nan = np.array([0x7FF8000000000001], np.int64).view(np.float64)[0]
    column = pa.array(np.array([0.0, NAN, -0.0, other_nan, -NAN]))
    assert newest_per_key([column]).tolist() == [2, 4]


def test_dictionary_columns_are_ordered_by_what_they_encode() -> None:
    column = pa.array(["b", "a", "c", "a"]).dictionary_encode()
    assert order_by_key([column]).positions.tolist() == [1, 3, 0, 2]


def test_no_rows() -> None:
    for name in ASCENDING:
        empty = pa.chunked_array([], to_arrow(parse_type(name)))
        assert newest_per_key([empty, empty]).tolist() == []
        assert is_newest([empty, empty]).tolist() == []


def test_the_greatest_order_is_the_newest() -> None:
    keys = pa.array([1, 2, 1, 1, 2])
    assert newest_per_key([keys]).tolist() == [3, 4]
    assert newest_per_key([keys], order=np.array([5, 9, 7, 6, 8])).tolist() == [2, 1]


def test_long_texts_have_few_codes() -> None:
    texts = ["a" * 100_000, "a" * 100_000 + "\0", "b", "a" * 99_999, "a" * 100_000]
    for column in (pa.array(texts), pa.array(texts[:2]), pa.array(texts[:1])):
        assert len(key_codes([column])) < 40
    assert order_by_key([pa.array(texts)]).positions.tolist() == [3, 0, 4, 1, 2]
    assert newest_per_key([pa.array(texts)]).tolist() == [3, 4, 1, 2]


LONG_TEXT = st.tuples(
    st.sampled_from(["", "b"]),
    st.sampled_from([200, 248, 256, 1030, 1300]),
    st.text("\0ab", max_size=9),
).map(lambda parts: parts[0] + "a" * parts[1] + parts[2])
TEXT = (
    st.text(alphabet="\0aä", max_size=20)
    | st.sampled_from(["prefix-one", "prefix-two-long"])
    | LONG_TEXT
)
INTEGER = st.sampled_from([0, 1, -1, 2**40, -(2**62), 2**63 - 1, -(2**63)])
LONG_DECIMAL = st.integers(-(10**37), 10**37).map(Decimal) | st.sampled_from([Decimal(0)])
ROWS = st.lists(st.tuples(TEXT, INTEGER, st.integers(-3, 3), LONG_DECIMAL), max_size=40)
COLUMNS = st.permutations(range(4)).flatmap(lambda p: st.integers(1, 4).map(lambda n: p[:n]))


@given(ROWS, COLUMNS, st.randoms(use_true_random=False))
def test_any_columns_order_as_python_orders_tuples(
    rows: list[tuple[Any, ...]], columns: list[int], chance: random.Random
) -> None:
    arrays = [
        pa.array([row[0] for row in rows], pa.string()),
        pa.array([row[1] for row in rows], pa.int64()),
        pa.array([row[2] for row in rows], pa.int32()),
        pa.array([row[3] for row in rows], pa.decimal128(38, 0)),
    ]
    tie_breaker = [chance.randrange(5) for _ in rows]

    def key(i: int) -> list[Any]:
        row = rows[i]
        return [row[c].encode() if c == 0 else row[c] for c in columns]

    keys = [arrays[c] for c in columns]
    expected = sorted(range(len(rows)), key=lambda i: (key(i), tie_breaker[i]))
    found = order_by_key(keys, tie_breaker=np.array(tie_breaker, np.int64))
    assert found.positions.tolist() == expected
    newest = {tuple(key(i)): i for i in expected}
    assert found.positions[found.is_last].tolist() == list(newest.values())
