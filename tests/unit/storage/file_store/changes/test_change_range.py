"""Goal: bounds of a range of changes mean what Spark says, and lie inside of the history."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.changes.change_range import (
    ChangeBound,
    ChangeHistory,
    ChangeRange,
    as_bound,
)
from table_store.storage.file_store.expiry.expire import SnapshotExpiry
from table_store.storage.file_store.model.errors import (
    ChangesNotAvailableError,
    InvalidChangeRangeError,
    UntrackedChangesError,
)
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import INTEGER
from tests.fakes.manual_clock import ManualClock

T0 = 1_700_000_000_000


def table_of(path: Path, *, commits: int) -> FileStoreTable:
    """A table with a commit every second."""
    schema = new_schema(fields=[Field(id=0, name="a", type=INTEGER)], time_ms=0)
    made = FileStoreTable.create(str(path / "t"), schema)
    clock = ManualClock(T0)
    table = FileStoreTable(made.file_io, made.path, clock=clock)
    for i in range(commits):
        table.append(pa.table({"a": pa.array([i], pa.int32())}))
        clock.sleep_ms(1000)
    return table


def expired(table: FileStoreTable, *, left: int) -> FileStoreTable:
    SnapshotExpiry(table.file_io, table.path, table.schema_store).expire(
        ExpireOptions(older_than_ms=T0 * 2, retain_min=left, retain_max=left, expire_max=99)
    )
    return table


def history_of(table: FileStoreTable) -> ChangeHistory:
    return ChangeHistory(table.snapshot_store, "t")


def version(number: int, *, exclusive: bool = False) -> ChangeBound:
    return ChangeBound(version=number, is_inclusive=not exclusive)


def time(offset_ms: int, *, exclusive: bool = False) -> ChangeBound:
    return ChangeBound(timestamp_us=(T0 + offset_ms) * 1000, is_inclusive=not exclusive)


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        (None, None, 1, 4),
        (version(2), None, 2, 4),
        (version(2, exclusive=True), version(3), 3, 3),
        (version(2), version(3, exclusive=True), 2, 2),
        (version(4, exclusive=True), None, 5, 4),
        (version(3, exclusive=True), version(3), 4, 3),
        (version(0, exclusive=True), version(1), 1, 1),
        (version(0), version(0), 1, 0),
        (time(0), None, 1, 4),
        (time(0, exclusive=True), None, 2, 4),
        (time(500), time(2000), 2, 3),
        (time(500), time(2000, exclusive=True), 2, 2),
        (time(500), time(600), 2, 1),
        (time(3000), time(99_000), 4, 4),
    ],
)
def test_bounds(
    start: ChangeBound | None, end: ChangeBound | None, first: int, last: int, tmp_path: Path
) -> None:
    """Four commits, at 0, 1, 2 and 3 seconds."""
    found = history_of(table_of(tmp_path, commits=4)).resolve(start, end)
    assert found == ChangeRange(first_id=first, last_id=last)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (version(5), None),
        (version(-1), None),
        (version(1), version(5)),
        (time(-1), None),
        (time(3001), None),
        (None, time(-1)),
    ],
)
def test_outside_of_the_history(
    start: ChangeBound, end: ChangeBound | None, tmp_path: Path
) -> None:
    """The error says what there is."""
    with pytest.raises(ChangesNotAvailableError, match=r"versions 1 to 4, committed from 2023"):
        history_of(table_of(tmp_path, commits=4)).resolve(start, end)


@pytest.mark.parametrize(("start", "end"), [(version(3), version(2)), (time(2000), time(1999))])
def test_start_after_end(start: ChangeBound, end: ChangeBound, tmp_path: Path) -> None:
    """Refused, whether the bounds are there or not."""
    with pytest.raises(InvalidChangeRangeError):
        history_of(table_of(tmp_path, commits=1)).resolve(start, end)


def test_expired(tmp_path: Path) -> None:
    """The oldest snapshot left is where changes are told from; its own are gone."""
    history = history_of(expired(table_of(tmp_path, commits=4), left=2))
    assert history.resolve(None, None) == ChangeRange(first_id=4, last_id=4)
    assert history.resolve(version(3, exclusive=True), None) == ChangeRange(first_id=4, last_id=4)
    assert history.resolve(time(2500), None) == ChangeRange(first_id=4, last_id=4)
    for start in (version(3), version(0), version(1, exclusive=True), time(2000), time(1500)):
        with pytest.raises(ChangesNotAvailableError, match=r"versions 4 to 4.*have expired"):
            history.resolve(start, None)
    with pytest.raises(ChangesNotAvailableError):
        history.resolve(None, version(2))


def test_no_snapshot_yet(tmp_path: Path) -> None:
    """No changes, and no version but that of the empty table."""
    history = history_of(table_of(tmp_path, commits=0))
    assert history.resolve(None, None).last_id == 0
    assert history.resolve(version(0, exclusive=True), None).last_id == 0
    with pytest.raises(ChangesNotAvailableError, match="no snapshot yet"):
        history.resolve(as_bound(1), None)


def test_untracked_commits(tmp_path: Path) -> None:
    """An error by default; skipped, later changes still build on what they changed."""
    schema = new_schema(
        fields=[Field(id=0, name="a", type=INTEGER), Field(id=0, name="b", type=INTEGER)],
        primary_key=["a"],
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path / "k"), schema)

    def write(b: int, *, is_tracked: bool) -> None:
        writer = table.writer()
        writer.write(pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([b], pa.int32())}))
        table.commit(writer.prepare_commit(), track_changes=is_tracked)

    for b, is_tracked in ((1, True), (2, False), (3, True)):
        write(b, is_tracked=is_tracked)
    with pytest.raises(UntrackedChangesError, match="Snapshot 2"):
        table.changes().to_arrow()
    told = table.changes(skips_untracked=True, columns=["b", "_change_type", "_commit_version"])
    assert [tuple(row.values()) for row in told.to_arrow().to_pylist()] == [
        (1, "insert", 1),
        (2, "delete", 3),
        (3, "insert", 3),
    ]


def test_the_table_s_option_counts_for_every_statement(tmp_path: Path) -> None:
    """Also for those that write no row; a compaction needs no tracking."""
    schema = new_schema(
        fields=[Field(id=0, name="a", type=INTEGER)],
        options={"change-tracking": "false"},
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    rows = pa.table({"a": pa.array([1], pa.int32())})
    table.append(rows)
    table.append(rows)
    table.compact()
    table.overwrite(rows)
    for number in (1, 2, 4):
        with pytest.raises(UntrackedChangesError, match=f"Snapshot {number}"):
            table.changes(number, number).to_arrow()
    assert table.changes(3, 3).to_arrow().num_rows == 0
