"""Goal: a compaction that fails after a statement's commit is no failure of the statement."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.write.background_compaction import (
    COMPACTION,
    BackgroundCompaction,
)
from table_store.catalog.planner.write.maintenance import compact_after_write
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from tests.fakes.failing_file_io import FailingFileIO, Fault
from tests.fakes.manual_clock import ManualClock
from tests.unit.catalog.planner.keyed_table import keyed_table, session_without_spark

SESSION = session_without_spark("maintenance")


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    return keyed_table(tmp_path, commits=8)


def test_any_failing_operation(table: FileStoreTable, caplog: pytest.LogCaptureFixture) -> None:
    """From the first operation that fails to the last: the statement's end does not come of it."""
    with table.writer() as writer:
        writer.write(pa.table({"id": [3]}))
        written = writer.prepare_commit()
    schema, before = table.schema, table.latest_snapshot()
    fail_at = failures = 0
    while FileStoreTable.open(table.path).latest_snapshot() == before:
        fail_at += 1
        file_io = FailingFileIO(LocalFileIO(), fail_at, Fault.ERROR_FOREVER)
        failing = replace(table, file_io=file_io, clock=ManualClock())
        opened = OpenedTable(table=failing, schema=schema, snapshot_id=None, name="t")
        caplog.clear()
        compact_after_write(SESSION, opened, written, is_stream=False)
        failures += "after a write failed" in caplog.text
    assert failures > 3


@pytest.mark.parametrize("deletes", [False, True])
def test_a_table_without_key_is_compacted_after_deletes(tmp_path: Path, *, deletes: bool) -> None:
    table = (
        connect(str(tmp_path))
        .create("t", TableDescriptor.for_managed().column("id", "BIGINT"))
        .storage
    )
    for number in range(6):
        table.append(pa.table({"id": [number]}))
    with table.writer() as writer:
        (writer.delete if deletes else writer.write)(pa.table({"id": [3]}))
        written = writer.prepare_commit()
    table.commit(written)
    opened = OpenedTable(table=table, schema=table.schema, snapshot_id=None, name="t")
    compact_after_write(SESSION, opened, written, is_stream=False)
    live = table.live_files(table.latest_snapshot(), table.schema)
    assert live.file_count == (1 if deletes else 7)
    left = [0, 1, 2, 4, 5] if deletes else [0, 1, 2, 3, 3, 4, 5]
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == left


def test_a_commit_that_does_not_wait_is_compacted_behind_it(
    table: FileStoreTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile further commits count, and none of them starts a second compaction."""
    gate, compact = threading.Event(), FileStoreTable.commit_compaction

    def slow(*of: Any) -> Any:
        assert gate.wait(60)
        return compact(*of)

    monkeypatch.setattr(FileStoreTable, "commit_compaction", slow)
    opened = OpenedTable(table=table, schema=table.schema, snapshot_id=None, name="t")
    for number in (8, 9):
        with table.writer() as writer:
            writer.write(pa.table({"id": [number]}))
            written = writer.prepare_commit()
        table.commit(written)
        compact_after_write(SESSION, opened, written, is_stream=True, waits=False)
    kinds = [snapshot.commit_kind for snapshot in table.snapshot_store.newest_first()]
    assert set(kinds) == {CommitKind.APPEND}
    rows = sorted(table.scan().to_arrow()["id"].to_pylist())
    gate.set()
    COMPACTION.settle(table.path)
    newest, *older = [snapshot.commit_kind for snapshot in table.snapshot_store.newest_first()]
    assert (newest, set(older)) == (CommitKind.COMPACT, {CommitKind.APPEND})
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == rows


def test_commits_that_are_too_fast_wait_for_the_compaction() -> None:
    gate, begun = threading.Event(), BackgroundCompaction()

    def held() -> None:
        gate.wait(60)

    assert begun.is_free("t")
    begun.start("t", held)
    assert begun.is_free("u")
    asked = 0
    threading.Timer(0.3, gate.set).start()
    while not begun.is_free("t"):
        asked += 1
    assert asked == 19
    assert gate.is_set()
    begun.finish()


def test_an_error_in_the_background_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It reaches no writer, and the table is compacted again."""
    begun = BackgroundCompaction()

    def failing() -> None:
        raise ZeroDivisionError

    begun.start("t", failing)
    begun.settle("t")
    assert begun.is_free("t")
    begun.finish()
    assert "compaction of t in the background failed" in caplog.text
