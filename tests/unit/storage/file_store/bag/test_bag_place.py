"""Goal: rows of a table without key meet their deletions after their hash has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from table_store.storage.file_store.bag.bag_place import hashes_alike
from table_store.storage.file_store.model.schema_evolution import (
    FIRST,
    NewColumn,
    add_column,
    drop_column,
    move_column,
    rename_column,
    widen_column,
)
from table_store.storage.file_store.scan.split import SplitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import INTEGER, LONG, STRING
from tests.fakes.data_file_folder import make_schema

BAG = replace(make_schema({"a": INTEGER, "b": INTEGER}), options=FrozenMap({"bucket": "3"}))


def test_only_what_changes_the_hash_moves_rows() -> None:
    added = add_column(BAG, NewColumn(name="c", type=STRING), time_ms=0)
    assert hashes_alike(BAG, added)
    assert hashes_alike(BAG, move_column(added, ("c",), after=FIRST, time_ms=0))
    assert hashes_alike(BAG, rename_column(BAG, ("b",), "x", time_ms=0))
    filled = NewColumn(name="c", type=INTEGER, initial_default="7")
    assert not hashes_alike(BAG, add_column(BAG, filled, time_ms=0))
    assert not hashes_alike(added, drop_column(added, ("c",), time_ms=0))
    assert not hashes_alike(BAG, move_column(BAG, ("b",), after=FIRST, time_ms=0))
    assert not hashes_alike(BAG, widen_column(BAG, ("a",), LONG, time_ms=0))


def test_deletions_find_their_rows_before_and_after_a_compaction(tmp_path: Path) -> None:
    """Partitions are read as a whole only as long as old files and deletions are there."""
    table = FileStoreTable.create(str(tmp_path / "t"), BAG)

    def rows(start: int, end: int) -> pa.Table:
        return pa.table({"a": range(start, end), "b": [0] * (end - start)})

    table.append(rows(0, 40))
    assert table.schema_store.publish(widen_column(BAG, ("a",), LONG, time_ms=0))
    assert {split.kind for split in table.scan().splits()} == {SplitKind.RAW}
    table.delete(rows(0, 10))
    assert table.scan().count() == 30
    assert [split.kind for split in table.scan().splits()] == [SplitKind.MERGE]
    table.compact()
    assert {split.kind for split in table.scan().splits()} == {SplitKind.RAW}
    assert {file.bucket for file in table.scan().live.files()} == {0, 1, 2}
    table.delete(rows(10, 20))
    assert len(table.scan().splits()) == 3
    assert sorted(table.scan().to_arrow()["a"].to_pylist()) == list(range(20, 40))


def test_changes_name_every_deleted_row(tmp_path: Path) -> None:
    """Whether its file lies in the bucket of the deletion or in another one."""
    table = FileStoreTable.create(str(tmp_path / "t"), BAG)
    rows = pa.table({"a": range(40), "b": [0] * 40})
    table.append(rows)
    assert table.schema_store.publish(widen_column(BAG, ("a",), LONG, time_ms=0))
    table.delete(rows.slice(0, 10))
    told = table.changes(2).to_arrow()
    assert told["_change_type"].unique().to_pylist() == ["delete"]
    assert sorted(told["a"].to_pylist()) == list(range(10))
    table.compact()
    table.delete(rows.slice(10, 10))
    assert sorted(table.changes(4).to_arrow()["a"].to_pylist()) == list(range(10, 20))
