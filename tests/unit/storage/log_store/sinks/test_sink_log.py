"""Goal: what is committed goes out in order, and again only where nothing says that it is out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from table_store.storage.log_store.sinks import sink_log
from table_store.storage.log_store.sinks.sink import changed_rows
from table_store.storage.log_store.sinks.sink_log import SinkLog


@dataclass
class Listed:
    """A sink that keeps what it got, and fails while it is asked to."""

    got: list[int] = field(default_factory=list)
    fails: bool = False
    forgets: bool = False

    def check_ready(self) -> None:
        pass

    def deliver(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        for snapshot in snapshots:
            if self.fails:
                raise OSError("it fails")
            for batch in changed_rows(table, snapshot):
                self.got += batch.column("k").to_pylist()


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    schema = new_schema(fields=[Field(id=0, name="k", type=LONG)], time_ms=0)
    created = FileStoreTable.create(str(tmp_path / "t"), schema)
    return replace(created, listener=NO_LISTENER)


def add(table: FileStoreTable, *numbers: int) -> int:
    table.append(pa.table({"k": pa.array(numbers, pa.int64())}))
    last = table.snapshot_store.latest_id()
    assert last is not None
    return last


def test_each_snapshot_goes_out_once_and_in_order(table: FileStoreTable) -> None:
    sink = Listed()
    log = SinkLog(sink)
    last = [add(table, number) for number in range(3)][-1]
    assert log.follow(table, last).snapshot_id == last
    assert sink.got == [0, 1, 2]
    log.follow(table, last)
    log.follow(table, add(table, 3))
    assert sink.got == [0, 1, 2, 3]


def test_what_failed_goes_out_later(table: FileStoreTable) -> None:
    sink = Listed(fails=True)
    log = SinkLog(sink)
    with pytest.raises(OSError, match="it fails"):
        log.follow(table, add(table, 1))
    sink.fails = False
    log.follow(table, add(table, 2))
    assert sink.got == [1, 2]
    PositionFile(table.file_io, table.path).write(LogPosition(snapshot_id=1))
    log.follow(table, 2)
    assert sink.got == [1, 2, 2]


def test_rows_that_are_out_are_forgotten_when_they_are_many(
    table: FileStoreTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_log, "_HELD_ROWS_MAX", 3)
    sink = Listed(forgets=True)
    log = SinkLog(sink)
    log.follow(table, add(table, 1, 2))
    assert table.scan().to_arrow().num_rows == 2
    log.follow(table, add(table, 3))
    assert table.scan().to_arrow().num_rows == 0
    log.follow(table, add(table, 4))
    assert sink.got == [1, 2, 3, 4]
