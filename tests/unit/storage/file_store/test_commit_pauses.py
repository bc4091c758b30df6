"""Goal: a process may stand still anywhere, for ever so long, and nothing is lost by it.

Whoever stands still is run over a file system that lets others commit and expire in between; what
is there afterwards is compared with what each was told.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.changes.change_range import ChangeRange
from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.metadata.pin import Pins
from table_store.storage.file_store.model.errors import (
    ChangesNotAvailableError,
    CommitConflictError,
    CommitStateUnknownError,
    SnapshotNotFoundError,
)
from table_store.storage.file_store.model.scope import WHOLE_TABLE
from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER, CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.repair import find_repair
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import FileAccessError, MissingFileError
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed
from tests.fakes.metadata_table import MetadataTable, make_file
from tests.fakes.pausing_file_io import PausingFileIO

P1 = ("p1",)
KEEP_ONE = ExpireOptions(older_than_ms=10**15, retain_min=1)


def append(table: MetadataTable, name: str) -> Committed:
    messages = table.write(make_file(name, partition=P1))
    result = table.commit.commit(messages, kind=CommitKind.APPEND, commit_user=table.ids.unique())
    assert isinstance(result, Committed)
    return result


def overwrite_by(table: MetadataTable, *names: str) -> None:
    table.commit.commit(
        table.write(*(make_file(name, partition=P1) for name in names)),
        kind=CommitKind.OVERWRITE,
        commit_user=table.ids.unique(),
        overwrite=WHOLE_TABLE,
    )


def a_table(path: Path, *names: str) -> MetadataTable:
    table = MetadataTable(str(path)).create()
    for name in names:
        append(table, name)
    return table


def others(path: Path) -> Callable[[], None]:
    """Three commits, and an expiry of all but the last."""

    def run() -> None:
        table = MetadataTable(str(path))
        for name in ("x", "y", "z"):
            append(table, name)
        table.expiry.expire(KEEP_ONE)

    return run


def check_readable(path: Path) -> set[str]:
    """Return the live files, after a look that all of them are there."""
    table = MetadataTable(str(path))
    names = table.names()
    assert names <= {file.name for file in path.glob("p=*/bucket-0/*")}
    return names


@pytest.mark.parametrize("identifier", [BATCH_IDENTIFIER, 7])
def test_a_writer_that_stands_still_beside_an_expiry(tmp_path: Path, identifier: int) -> None:
    """At every operation: it commits once, is refused, or does not know; nothing else is lost."""
    told: set[str] = set()
    for at in itertools.count(1):
        path = tmp_path / str(at)
        a_table(path, "a", "b")
        io = PausingFileIO(str(path), others(path), at=at)
        slow = MetadataTable(str(path), file_io=io)
        before = io.operations
        mine: set[str] | None
        try:
            slow.commit.commit(
                slow.write(make_file("mine", partition=P1)),
                kind=CommitKind.APPEND,
                commit_user="me",
                commit_identifier=identifier,
            )
            mine = {"mine"}
            told.add("committed")
        except CommitStateUnknownError:
            mine = None
            told.add("unknown")
        if not io.has_paused:
            assert before < at
            break
        names = check_readable(path)
        expected = {"a", "b", "x", "y", "z"}
        assert names - {"mine"} == expected
        assert mine is None or names == expected | mine
        assert append(MetadataTable(str(path)), "later").snapshot.id > 5
    # With ascending identifiers the latest snapshot always tells.
    assert told == ({"committed"} if identifier == 7 else {"committed", "unknown"})


def test_a_snapshot_put_back_by_a_dead_writer_is_none(tmp_path: Path) -> None:
    """It dies between creating a snapshot whose id has expired, and noticing it."""
    a_table(tmp_path, "a", "b")
    io = PausingFileIO(str(tmp_path), others(tmp_path), path_part="snapshot/snapshot-3")
    slow = MetadataTable(str(tmp_path), file_io=io)
    create = io.write_new

    def dies_after(path: str, data: bytes, *, private: bool = False) -> bool:
        create(path, data, private=private)
        raise Killed

    io.write_new = dies_after  # type: ignore[method-assign]
    with pytest.raises(Killed):
        append(slow, "mine")
    back = tmp_path / "snapshot" / "snapshot-3"
    assert back.exists(), "else this tests nothing"
    for hint in (b"3", b"2", b""):
        (tmp_path / "snapshot" / "LATEST").write_bytes(hint)
        fresh = MetadataTable(str(tmp_path))
        assert (fresh.snapshots.latest_id(), fresh.snapshots.earliest_id()) == (5, 5)
        assert fresh.names() == {"a", "b", "x", "y", "z"}
        with pytest.raises(SnapshotNotFoundError):
            fresh.snapshots.get(3)
    append(fresh, "c")
    fresh.expiry.expire(KEEP_ONE)
    assert not back.exists()


def test_a_floor_never_sinks(tmp_path: Path) -> None:
    """An expiry that stood still raises the floor to less than another did: nothing changes."""
    a_table(tmp_path, "a", "b", "c")
    io = PausingFileIO(str(tmp_path), others(tmp_path), path_part="expiry/earliest-3")
    MetadataTable(str(tmp_path), file_io=io).expiry.expire(KEEP_ONE)
    assert io.has_paused
    assert MetadataTable(str(tmp_path)).snapshots.earliest_id() == 6
    assert check_readable(tmp_path) == {"a", "b", "c", "x", "y", "z"}


@pytest.mark.parametrize("cleans", [False, True])
def test_a_rollback_that_stands_still_beside_an_expiry(tmp_path: Path, *, cleans: bool) -> None:
    """At every operation: the rows are back with all their files, or it says why not."""
    told: set[str] = set()
    for at in itertools.count(1):
        path = tmp_path / str(at)
        table = a_table(path, "a")
        overwrite_by(table, "b")

        def meanwhile(table: MetadataTable = table) -> None:
            table.expiry.expire(KEEP_ONE)
            if cleans:  # with an age that spares what this test has just written: pins
                remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=10**12)

        io = PausingFileIO(str(path), meanwhile, at=at)
        try:
            MetadataTable(str(path), file_io=io).commit.rollback(1, commit_user="r")
            told.add("rolled back")
            assert check_readable(path) == {"a"}
        except SnapshotNotFoundError:
            told.add("expired")
            assert check_readable(path) == {"b"}
        if not io.has_paused:
            break
        assert not list(path.glob("pin/*"))
    assert told == {"rolled back", "expired"}


def test_a_cleaner_that_stands_still_beside_an_expiry(tmp_path: Path) -> None:
    """At every operation: no snapshot needs what it takes, though those it knew have expired."""
    for at in itertools.count(1):
        path = tmp_path / str(at)
        a_table(path, "a", "b")
        left_over = path / "manifest" / "manifest-left-over"
        left_over.write_bytes(b"")
        for file in path.rglob("*"):
            os.utime(file, (10**8, 10**8))
        io = PausingFileIO(str(path), others(path), at=at)
        table = MetadataTable(str(path), file_io=io)
        with suppress(MissingFileError):  # what it was reading has expired; nothing is deleted
            remove_orphan_files(io, table.path, table.schemas, older_than_ms=10**12)
            assert not left_over.exists()
        if not io.has_paused:
            break
        assert check_readable(path) == {"a", "b", "x", "y", "z"}


@pytest.mark.parametrize("folder", ["consumer", "expiry", "log", "pin", "schema", "snapshot"])
def test_what_a_dead_writer_left_goes_with_the_orphans(tmp_path: Path, folder: str) -> None:
    table = a_table(tmp_path, "a")
    left_over = tmp_path / folder / ".tmp-left-over"
    left_over.parent.mkdir(exist_ok=True)
    left_over.write_bytes(b"")
    remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=10**15)
    assert not left_over.exists()
    assert check_readable(tmp_path) == {"a"}


def test_what_a_dead_rollback_pinned_goes_with_the_orphans(tmp_path: Path) -> None:
    table = a_table(tmp_path, "a")
    target = table.snapshots.get(1)
    with pytest.raises(Killed), Pins(table.io, table.path).pinned(target, "dead"):
        raise Killed
    overwrite_by(table, "b")
    table.expiry.expire(KEEP_ONE)
    data = tmp_path / "p=p1" / "bucket-0" / "a"
    assert data.exists()
    young = remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=10**12)
    assert not young
    removed = remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=10**15)
    assert {"pin-dead", "a"} <= {status.name for status in removed}
    assert not data.exists()


def late_put(root: Path) -> FailingFileIO:
    """The first put of the second snapshot times out, and lands when it is told to."""
    return FailingFileIO(LocalFileIO(str(root)), fault=Fault.LATE, fail_in="snapshot/snapshot-2")


@pytest.mark.parametrize("then", ["fails", "conflict"])
def test_what_was_unknown_once_stays_so(tmp_path: Path, then: str) -> None:
    """The first put times out and lands late; what the second attempt meets says nothing of it."""
    table = a_table(tmp_path, "a")
    io = late_put(tmp_path)
    slow = MetadataTable(str(tmp_path), file_io=io)

    def second_attempt(milliseconds: int) -> None:
        if then == "fails":
            io._fail_at, io._fault = io.operations + 8, Fault.ERROR_FOREVER
        elif then == "conflict":
            table.commit.commit(
                [], kind=CommitKind.OVERWRITE, commit_user="o", overwrite=WHOLE_TABLE
            )

    slow.clock.sleep_ms = second_attempt  # type: ignore[assignment,method-assign]
    with pytest.raises(CommitStateUnknownError, match="timeout"):
        slow.commit.commit(
            slow.write(make_file("mine", partition=P1)),
            kind=CommitKind.APPEND,
            commit_user="me",
            read_snapshot_id=1,
        )
    has_landed = io.land()
    assert has_landed is (then == "fails")
    assert check_readable(tmp_path) == ({"a", "mine"} if has_landed else set())


def test_a_late_put_and_its_repetition_are_one_commit(tmp_path: Path) -> None:
    a_table(tmp_path, "a")
    io = late_put(tmp_path)
    slow = MetadataTable(str(tmp_path), file_io=io)
    assert append(slow, "mine").snapshot.id == 2
    assert io.land() is False, "it is there already"
    assert check_readable(tmp_path) == {"a", "mine"}


def test_a_winner_that_cannot_be_read_leaves_the_state_unknown(tmp_path: Path) -> None:
    """It may be this very commit, by a request that was repeated on the way."""
    a_table(tmp_path, "a")
    broken: list[str] = []
    io = PausingFileIO(
        str(tmp_path),
        lambda: append(MetadataTable(str(tmp_path)), "other"),
        path_part="snapshot/snapshot-2",
    )
    read = io.read_bytes

    def fails_once(path: str) -> bytes:
        if path.endswith("snapshot-2") and not broken:
            broken.append(path)
            raise FileAccessError(path=path, operation="read", reason="EIO")
        return read(path)

    io.read_bytes = fails_once  # type: ignore[method-assign]
    assert append(MetadataTable(str(tmp_path), file_io=io), "mine").snapshot.id == 3
    assert broken
    assert check_readable(tmp_path) == {"a", "other", "mine"}


def test_a_commit_makes_sure_of_its_files(tmp_path: Path) -> None:
    table = a_table(tmp_path, "a")
    messages = table.write(make_file("b", partition=P1))
    table.io.delete(table.file_path(make_file("b", partition=P1)))
    commit = FileStoreTable.open(table.path).commit
    with pytest.raises(CommitConflictError, match=r"bucket-0/b.*deleted as an orphan"):
        commit(messages)
    assert check_readable(tmp_path) == {"a"}


@pytest.mark.parametrize(
    ("lost", "hint"),
    [
        ([4], b"1"),
        ([4], b"2"),
        ([4], b"3"),
        ([4], None),
        ([4, 5], b"1"),
        ([4, 5], None),
        ([2, 5], b"1"),
        ([2, 5], b"4"),
        ([6], b"junk"),
    ],
)
def test_a_gap_is_noticed_and_named(tmp_path: Path, lost: list[int], hint: bytes | None) -> None:
    """Nobody takes the snapshot before it for the newest, or what is needed for an orphan."""
    names = [f"f{i}" for i in range(1, 8)]
    a_table(tmp_path, *names)
    for i in lost:
        (tmp_path / "snapshot" / f"snapshot-{i}").unlink()
    assert check_readable(tmp_path) == set(names), "each snapshot tells all files"
    latest = tmp_path / "snapshot" / "LATEST"
    latest.unlink() if hint is None else latest.write_bytes(hint)
    table = MetadataTable(str(tmp_path))
    named = pytest.raises(
        MissingFileError, match=rf"snapshot-({'|'.join(map(str, lost))})'.*repair"
    )
    with named:
        table.snapshots.latest()
    with named:
        table.commit.commit([], kind=CommitKind.APPEND, commit_user="u")
    with named:
        table.snapshots.get(lost[0])
    with named:
        remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=10**15)
    assert len(list(tmp_path.glob("p=*/bucket-0/*"))) == 7


def test_a_gap_expires_like_a_snapshot(tmp_path: Path) -> None:
    a_table(tmp_path, *(f"f{i}" for i in range(1, 8)))
    (tmp_path / "snapshot" / "snapshot-4").unlink()
    table = MetadataTable(str(tmp_path))
    assert table.expiry.expire(KEEP_ONE).snapshot_ids == (1, 2, 3, 4, 5, 6)
    assert (table.snapshots.latest_id(), table.snapshots.earliest_id()) == (7, 7)
    assert len(check_readable(tmp_path)) == 7


@pytest.mark.parametrize(
    ("lost", "damaged", "rows", "left", "problem"),
    [
        ("4", "", 7, [5, 6, 7], "lost snapshots: 4"),
        ("24", "", 7, [5, 6, 7], "lost snapshots: 2, 4"),
        ("7", "", 6, [8], "lost snapshots: 7"),
        ("67", "", 5, [8], "lost snapshots: 6, 7"),
        ("1234567", "", 0, [8], "lost snapshots: 1, 2, 3, 4, 5, 6, 7"),
        ("", "7", 6, [8], "damaged snapshots: 7"),
        ("", "4", 7, [5, 6, 7], "damaged snapshots: 4"),
        ("", "1234567", 0, [8], "damaged snapshots: 1, 2, 3, 4, 5, 6, 7"),
        ("37", "56", 4, [8], "lost snapshots: 3, 7; damaged snapshots: 5, 6"),
        ("", "", 7, [1, 2, 3, 4, 5, 6, 7], None),
    ],
)
def test_repair(
    tmp_path: Path, lost: str, damaged: str, rows: int, left: list[int], problem: str | None
) -> None:
    """What it would do changes nothing; what it does leaves a table that works."""
    a_table(tmp_path, *(f"f{i}" for i in range(1, 8)))
    harm(tmp_path, lost, damaged)
    table = FileStoreTable.open(str(tmp_path))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    found = find_repair(table)
    assert (found and found.problem) == problem
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    if found is not None:
        found.run()
    assert find_repair(table) is None
    fresh = MetadataTable(str(tmp_path))
    assert len(check_readable(tmp_path)) == rows
    assert list(fresh.snapshots.ids()) == left
    assert [snapshot.id for snapshot in fresh.snapshots.newest_first()] == left[::-1]
    remove_orphan_files(fresh.io, fresh.path, fresh.schemas, older_than_ms=10**15)
    assert append(fresh, "g").snapshot.id == left[-1] + 1
    assert len(check_readable(tmp_path)) == rows + 1
    fresh.expiry.expire(KEEP_ONE)
    assert len(check_readable(tmp_path)) == rows + 1


def harm(path: Path, lost: str, damaged: str) -> None:
    """Each digit is the id of a snapshot."""
    for i in lost:
        (path / "snapshot" / f"snapshot-{i}").unlink()
    for i in damaged:
        (path / "snapshot" / f"snapshot-{i}").write_bytes(b"!")


@pytest.mark.parametrize(("lost", "damaged"), [("7", ""), ("", "7")])
def test_no_id_is_given_out_again(tmp_path: Path, lost: str, damaged: str) -> None:
    """Who knows the snapshot that is gone neither takes a later one for it nor skips one."""
    a_table(tmp_path, *(f"f{i}" for i in range(1, 8)))
    table = FileStoreTable.open(str(tmp_path))
    table.consumers.note("stream", 10)
    harm(tmp_path, lost, damaged)
    repair = find_repair(table)
    assert repair is not None
    repair.run()
    newest = table.latest_snapshot()
    assert newest is not None
    assert newest.id == 10, "after all that the consumer has read"
    for known in (6, 7, 9):
        with pytest.raises(SnapshotNotFoundError):
            table.snapshot(version=known)
        with pytest.raises(ChangesNotAvailableError):
            table.changes(known + 1)
    append(MetadataTable(str(tmp_path)), "g")
    assert table.changes(11).range == ChangeRange(first_id=11, last_id=11)


def test_a_tag_has_a_lost_snapshot(tmp_path: Path) -> None:
    """Its rows are read, also from the repaired table, which goes on with them."""
    a_table(tmp_path, *(f"f{i}" for i in range(1, 8)))
    table = FileStoreTable.open(str(tmp_path))
    for i in (3, 7):
        table.tags.create(f"at {i}", i, f"unique-{i}")
    tagged = {i: table.tags.get(f"at {i}").snapshot for i in (3, 7)}
    harm(tmp_path, "37", "")
    (tmp_path / "snapshot" / "LATEST").unlink()
    for _ in range(2):
        assert {i: table.snapshot(version=i) for i in (3, 7)} == tagged
        repair = find_repair(table)
        if repair is not None:
            repair.run()
    assert len(check_readable(tmp_path)) == 7
    assert table.snapshot_store.ids() == (8,)


@pytest.mark.parametrize("fault", [Fault.KILL_BEFORE, Fault.KILL_AFTER])
def test_a_repair_that_is_cut_off_goes_on(tmp_path: Path, fault: Fault) -> None:
    """It may die anywhere; another one that has found the same agrees with it."""
    for number in itertools.count(1):
        path = tmp_path / str(number)
        a_table(path, *(f"f{i}" for i in range(1, 8)))
        harm(path, "7", "5")
        failing = FailingFileIO(LocalFileIO(str(path)), fail_at=number, fault=fault)
        repair = find_repair(FileStoreTable.open(str(path)))
        assert repair is not None
        with suppress(Killed):
            replace(repair, table=FileStoreTable(failing, str(path))).run()
        repair.run()
        assert find_repair(FileStoreTable.open(str(path))) is None
        assert len(check_readable(path)) == 6
        assert MetadataTable(str(path)).snapshots.ids() == (8,)
        if not failing.reached:
            return
