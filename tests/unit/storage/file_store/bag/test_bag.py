"""Goal: a delete takes away exactly one equal row, whatever the columns' types."""

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.bag.bag import Deletions, equality_groups

NAN = float("nan")
LIST = pa.list_(pa.int32())
NESTED = pa.struct([("a", pa.list_(pa.string())), ("b", pa.float64())])
MAP = pa.map_(pa.string(), pa.int64())
DISTINCT: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False, None]),
    (pa.int8(), [1, -1, None]),
    (pa.float32(), [0.0, NAN, 1.5, None]),
    (pa.float64(), [0.0, NAN, 1.5, None]),
    (pa.decimal128(12, 2), [Decimal("1.50"), Decimal("1.51"), None]),
    (pa.decimal128(38, 0), [Decimal(10**37), Decimal(-1), None]),
    (pa.string(), ["", "a", "a\0", None]),
    (pa.binary(), [b"", b"\0", None]),
    (pa.date32(), [dt.date(2020, 8, 8), None]),
    (pa.timestamp("us", "UTC"), [0, 1, None]),
    (pa.timestamp("us"), [0, 1, None]),
    (pa.time64("us"), [0, 1, None]),
    (LIST, [[], [1], [1, 2], [None], [2, 1], None]),
    (MAP, [[], [("a", 1)], [("a", None)], [("a", 1), ("b", 2)], None]),
    (
        NESTED,
        [
            {"a": [], "b": 0.0},
            {"a": None, "b": NAN},
            {"a": ["x", None], "b": None},
            {"a": None, "b": None},
            None,
        ],
    ),
]


@pytest.mark.parametrize(("arrow", "values"), DISTINCT)
def test_equal_values_of_every_type_are_one_group(arrow: pa.DataType, values: list[Any]) -> None:
    column = pa.chunked_array([pa.array(values, arrow), pa.array([None, *values], arrow).slice(1)])
    groups = equality_groups(pa.table({"c": column})).tolist()
    count = len(values)
    assert len(set(groups[:count])) == count
    assert groups[:count] == groups[count:]


def test_zeros_and_nans_are_one_group_each() -> None:
    other_nan = np.array([0x7FF8000000000001], np.int64).view(np.float64)[0]
    rows = pa.table({"c": np.array([0.0, NAN, -0.0, other_nan])})
    groups = equality_groups(rows)
    assert groups[0] == groups[2] != groups[1] == groups[3]
    assert Deletions(rows.slice(2), ["c"]).surviving(rows.slice(0, 2)).tolist() == []


def test_no_rows() -> None:
    rows = pa.table({"c": pa.array([1, 2])})
    assert Deletions(rows.slice(0, 0), ["c"]).surviving(rows).tolist() == [0, 1]
    deletions = Deletions(rows, ["c"])
    assert deletions.surviving(rows.slice(0, 0)).tolist() == []
    assert deletions.unused().tolist() == [0, 1]


ROWS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", None])), max_size=25)


@given(ROWS, st.lists(ROWS, max_size=3), st.booleans())
def test_counts_are_those_of_a_multiset(
    deleted: list[tuple[Any, ...]], parts: list[list[tuple[Any, ...]]], is_hashed: bool
) -> None:
    def table(rows: list[tuple[Any, ...]]) -> pa.Table:
        return pa.table(
            {
                "i": pa.array([row[0] for row in rows], pa.int64()),
                "s": pa.array([row[1] for row in rows], pa.string()),
            }
        )

    deletions = Deletions(table(deleted), ["i", "s"] if is_hashed else [])
    found: Counter[tuple[Any, ...]] = Counter()
    for part in parts:
        found.update(part[i] for i in deletions.surviving(table(part)).tolist())
    adds = Counter(row for part in parts for row in part)
    assert found == adds - Counter(deleted)
    unused = Counter(deleted[i] for i in deletions.unused().tolist())
    assert unused == Counter(deleted) - adds
