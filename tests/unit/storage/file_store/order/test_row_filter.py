"""Goal: exactly the rows for which the condition is true, sliced or copied."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store.storage.file_store.order.row_filter import (
    can_evaluate,
    matching,
    matching_places,
)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([1, 2, 3], []),
        ([5, 6], [5, 6]),
        ([1, 5, 6, 2], [5, 6]),
        ([5, 1, 6], [5, 6]),
        ([5, None, 6], [5, 6]),
        ([None, None], []),
        ([None, 5], [5]),
        ([5, 6, None], [5, 6]),
    ],
)
def test_matching(values: list[int | None], expected: list[int]) -> None:
    half = len(values) // 2
    column = pa.chunked_array([values[:half], values[half:]], pa.int64())
    rows = pa.table({"c": column, "at": pa.array(range(len(values)), pa.int64())})
    where = pc.field("c") >= 5
    found = matching(rows, where)
    assert found["c"].to_pylist() == expected
    assert [values[i] for i in found["at"].to_pylist()] == expected
    assert matching_places(rows, where).tolist() == found["at"].to_pylist()


@pytest.mark.parametrize("verdict", [True, False, None])
def test_constants_without_columns(verdict: bool | None) -> None:
    rows = pa.table({"": pa.nulls(3)}).select([])
    where = pc.scalar(pa.scalar(verdict, pa.bool_()))
    assert matching(rows, where).num_rows == (3 if verdict else 0)


def test_can_evaluate() -> None:
    schema = pa.schema([("a", pa.int64())])
    assert can_evaluate(schema, pc.field("a") > 1)
    assert not can_evaluate(schema, (pc.field("a") > 1) & (pc.field("b") > 1))
