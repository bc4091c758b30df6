"""Goal: a row group is skipped only when no row in it can satisfy the condition."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store.storage.file_store.data.row_group_pruning import (
    RowGroupBounds,
    possible_row_groups,
)
from table_store.storage.kernel.predicate import In, Not

SCHEMA = pa.schema([("a", pa.int64()), ("s", pa.string())])


def bounds(low: int | None, high: int | None, *, has_nulls: bool = False) -> RowGroupBounds:
    kind = pa.int64()
    return RowGroupBounds(low=pa.scalar(low, kind), high=pa.scalar(high, kind), has_nulls=has_nulls)


GROUPS = [
    {"a": bounds(0, 9)},
    {"a": bounds(10, 19, has_nulls=True)},
    {"a": bounds(None, None, has_nulls=True)},
    {},
]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (pc.field("a") == 5, (0, 3)),
        (pc.field("a") >= 10, (1, 3)),
        (pc.field("a") < 0, (3,)),
        (~(pc.field("a") < 10), (1, 3)),
        (pc.field("a").is_null(), (1, 2, 3)),
        (pc.field("a").is_valid(), (0, 1, 3)),
        (pc.field("a").isin([3, 100]), (0, 3)),
        (In("a", (8, 3)).to_expression(), (0, 3)),
        (In("a", (12, 18)).to_expression(), (1, 3)),
        (In("a", (100, 200)).to_expression(), (3,)),
        (Not(In("a", (3, 100))).to_expression(), (0, 1, 3)),
        ((pc.field("a") == 5) | (pc.field("s") == "x"), (0, 1, 2, 3)),
        ((pc.field("a") == 5) & (pc.field("s") == "x"), (0, 3)),
    ],
)
def test_possible_row_groups(where: pc.Expression, expected: tuple[int, ...]) -> None:
    found = possible_row_groups(where, SCHEMA, GROUPS)
    assert set(expected) <= set(found)
    assert found == expected
