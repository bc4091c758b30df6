"""Goal: with `log.retention` and no brokers, changes outlive their snapshots for that time.

What the kept changes say is checked by tests/property/test_change_history.py.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.expiry.orphan_files import find_orphan_files
from table_store.storage.file_store.model.errors import ChangesNotAvailableError
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.log_store.kept_changes import KeptChanges
from table_store.storage.log_store.log_listener import LogListener
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed
from tests.fakes.manual_clock import ManualClock
from tests.fakes.pausing_file_io import PausingFileIO

HOUR_MS = 3_600_000
NEVER_YOUNG = 1 << 50


def new_table(folder: Path, clock: ManualClock, **options: str) -> FileStoreTable:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").primary_key("id")
    for key, value in options.items():
        descriptor = descriptor.option(key.replace("_", "."), value)
    return with_clock(connect(str(folder)).create("t", descriptor).storage, clock)


def with_clock(table: FileStoreTable, clock: ManualClock) -> FileStoreTable:
    table = replace(table, clock=clock)
    return replace(table, listener=LogListener(table))


def commit_hourly(table: FileStoreTable, clock: ManualClock, commits: int) -> None:
    for _ in range(commits):
        clock.time_ms += HOUR_MS
        table.append(pa.table({"id": pa.array([clock.time_ms], pa.int64())}))


def keep_newest(table: FileStoreTable) -> None:
    table.expire_snapshots(ExpireOptions(older_than_ms=NEVER_YOUNG, retain_min=1, retain_max=1))


def names_in(table: FileStoreTable) -> set[str]:
    return {path.name for path in Path(table.path, "log").glob("snapshot-*")}


def told(table: FileStoreTable, first: int) -> list[int]:
    changes = table.changes(first).to_arrow()
    return sorted(set(changes["_commit_version"].to_pylist()))


def test_changes_are_kept_as_long_as_the_option_says(tmp_path: Path) -> None:
    clock = ManualClock()
    table = new_table(tmp_path, clock, log_retention="3 h")
    commit_hourly(table, clock, 5)
    keep_newest(table)
    assert names_in(table) == {"snapshot-2", "snapshot-3", "snapshot-4", "snapshot-5"}
    assert told(table, 2) == [2, 3, 4, 5]
    with pytest.raises(ChangesNotAvailableError, match="versions 2 to 5"):
        table.changes(1)
    commit_hourly(table, clock, 1)
    keep_newest(table)
    assert told(table, 4) == [4, 5, 6]
    orphans = find_orphan_files(
        table.file_io, table.path, table.schema_store, older_than_ms=NEVER_YOUNG
    )
    assert orphans == ()


def test_without_the_option_nothing_is_written(tmp_path: Path) -> None:
    clock = ManualClock()
    table = new_table(tmp_path, clock)
    commit_hourly(table, clock, 3)
    keep_newest(table)
    assert not Path(table.path, "log").exists()
    with pytest.raises(ChangesNotAvailableError, match="only snapshot 3 is left"):
        table.changes(2)


def test_damage_is_a_gap_and_does_not_stop_the_expiry(tmp_path: Path) -> None:
    clock = ManualClock()
    table = new_table(tmp_path, clock, log_retention="9 h")
    commit_hourly(table, clock, 2)
    before = table.live_files(table.latest_snapshot(), table.schema).names()
    commit_hourly(table, clock, 1)
    (lost,) = {*table.live_files(table.latest_snapshot(), table.schema).names()} - {*before}
    commit_hourly(table, clock, 2)
    next(Path(table.path).rglob(lost)).unlink()
    keep_newest(table)
    assert table.snapshot_store.ids() == (5,)
    assert told(table, 4) == [4, 5]
    with pytest.raises(ChangesNotAvailableError, match="versions 4 to 5"):
        table.changes(2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("fault", [Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.ERROR_BEFORE])
def test_an_expiry_that_dies_anywhere_loses_no_change(tmp_path: Path, fault: Fault) -> None:
    for fail_at in count(3, 9):
        clock = ManualClock()
        table = new_table(tmp_path / str(fail_at), clock, log_retention="9 h")
        commit_hourly(table, clock, 3)
        before = table.changes().to_arrow()
        failing = FailingFileIO(LocalFileIO(table.path), fail_at, fault)
        with suppress(Killed, TableStoreError):
            keep_newest(with_clock(replace(table, file_io=failing), clock))
        assert table.changes(1).to_arrow().sort_by("id") == before.sort_by("id")
        keep_newest(table)
        assert table.snapshot_store.ids() == (3,)
        assert table.changes(1).to_arrow().sort_by("id") == before.sort_by("id")
        if not failing.reached:
            break
    assert fail_at > 50


def test_an_expiry_that_stands_still_beside_another_reports_no_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for at in count(21, 2):
        clock = ManualClock()
        table = new_table(tmp_path / str(at), clock, log_retention="9 h")
        commit_hourly(table, clock, 2)
        alias = tmp_path / f"{at}-alias"  # for a process that has no file in its cache
        alias.symlink_to(table.path)
        io = PausingFileIO(str(alias), partial(keep_newest, table), at=at)
        keep_newest(with_clock(replace(table, file_io=io, path=str(alias)), clock))
        assert "are lost" not in caplog.text, at
        assert told(table, 1) == [1, 2]
        if not io.has_paused:
            break


def test_changes_that_another_expiry_keeps_first_leave_no_file(tmp_path: Path) -> None:
    clock = ManualClock()
    table = new_table(tmp_path, clock, log_retention="9 h")
    commit_hourly(table, clock, 3)

    class Interfering(RandomIds):
        done = False

        def unique(self) -> str:
            if not self.done:
                self.done = True
                KeptChanges(table).keep(2)
            return super().unique()

    KeptChanges(replace(table, ids=Interfering())).keep(2)
    assert names_in(table) == {"snapshot-1", "snapshot-2"}
    orphans = find_orphan_files(
        table.file_io, table.path, table.schema_store, older_than_ms=NEVER_YOUNG
    )
    assert orphans == ()
    assert told(table, 1) == [1, 2, 3]
