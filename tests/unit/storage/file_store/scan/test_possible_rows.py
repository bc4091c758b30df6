"""How many rows may have the keys that are asked for: no fewer than are found, near keys few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.predicate import And, Comparison, In
from table_store.storage.kernel.types import LONG

ROWS = 600_000
GROUP_ROWS = 262_144
CHANGED = 100


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> FileStoreTable:
    """A run of three row groups, and one of changed rows."""
    path: Path = tmp_path_factory.mktemp("possible")
    schema = new_schema(
        fields=[Field(id=i, name=n, type=LONG, nullable=n != "k") for i, n in enumerate("kv")],
        primary_key=["k"],
        partition_keys=(),
        options={"bucket": "1", "write-only": "true"},
        time_ms=0,
    )
    table = FileStoreTable.create(str(path / "t"), schema)
    keys = np.arange(ROWS)
    table.upsert(pa.table({"k": keys, "v": keys}))
    table.upsert(pa.table({"k": keys[:CHANGED], "v": -keys[:CHANGED]}))
    return table


@pytest.mark.parametrize(
    ("keys", "possible"),
    [
        (range(50, 1050), GROUP_ROWS + CHANGED),
        (range(400_000, 401_000), GROUP_ROWS),
        (range(0, ROWS, 600), ROWS + CHANGED),
    ],
)
def test_rows_of_row_groups_with_the_keys(
    table: FileStoreTable, keys: range, possible: int
) -> None:
    scan = table.scan(predicate=And(In("k", tuple(keys)), Comparison("v", "!=", 7)))
    assert scan.possible_rows(scan.plan()) == possible
    expected = [(k, -k if k < CHANGED else k) for k in keys]
    found = scan.to_arrow()
    assert sorted(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True)) == expected


def test_other_conditions_do_not_count(table: FileStoreTable) -> None:
    scan = table.scan(predicate=Comparison("v", "=", 7))
    assert scan.possible_rows(scan.plan()) == ROWS + CHANGED


def test_changes_look_at_what_is_near_to_changed_keys(table: FileStoreTable) -> None:
    scan = table.changes(2, columns=["k", "v"])
    splits = scan.splits()
    assert scan.possible_rows(splits) == GROUP_ROWS + CHANGED
    count = 2 * (CHANGED - 1)  # 0 is -0
    found = scan.few_rows(splits, count)
    assert found is not None
    assert found.num_rows == count
    assert scan.few_rows(splits, count - 1) is None
