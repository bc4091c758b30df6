"""Goal: expiry and cleaning remove what nothing needs, and nothing else."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.expiry.orphan_files import (
    find_orphan_files,
    remove_orphan_files,
)
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError
from tests.fakes.failing_file_io import FailingFileIO
from tests.fakes.metadata_table import MetadataTable, make_file
from tests.fakes.pausing_file_io import PausingFileIO

P1 = ("p1",)
FAR_FUTURE_MS = 10**15


def history(path: Path, commits: int) -> MetadataTable:
    """Make commits 1000 ms apart, each replacing the file of the one before."""
    table = MetadataTable(str(path)).create()
    for i in range(commits):
        file = make_file(f"f{i}", partition=P1, keys=(0, 9))
        message = CommitMessage(
            partition=P1, bucket=0, added=(file,), removed=table.live().files(with_stats=True)
        )
        table.write(file)
        table.commit.commit([message], kind=CommitKind.COMPACT, commit_user=f"u{i}")
        table.clock.time_ms += 1000
    return table


def data_files(path: Path) -> set[str]:
    return {f.name for f in (path / "p=p1" / "bucket-0").iterdir()}


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=1), [8]),
        (ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=3), [6, 7, 8]),
        (ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=0), [8]),
        (ExpireOptions(older_than_ms=0, retain_min=1), [1, 2, 3, 4, 5, 6, 7, 8]),
        (ExpireOptions(older_than_ms=0, retain_min=1, retain_max=2), [7, 8]),
        (ExpireOptions(older_than_ms=0, retain_min=4, retain_max=2), [5, 6, 7, 8]),
        (ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=1, expire_max=2), list(range(3, 9))),
        (
            ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=1, needed_from_id=5),
            [5, 6, 7, 8],
        ),
        (
            ExpireOptions(older_than_ms=1_700_000_002_000, retain_min=1),
            [3, 4, 5, 6, 7, 8],
        ),
    ],
)
def test_what_stays(tmp_path: Path, options: ExpireOptions, left: list[int]) -> None:
    table = history(tmp_path, 8)
    result = table.expiry.expire(options)
    assert list(table.snapshots.ids()) == left
    assert list(result.snapshot_ids) == list(range(1, left[0]))
    assert data_files(tmp_path) == {f"f{i - 1}" for i in left}
    fresh = MetadataTable(str(tmp_path))
    assert fresh.snapshots.earliest_id() == left[0]
    for i in left:
        assert fresh.names(i) == {f"f{i - 1}"}
    with pytest.raises(SnapshotNotFoundError, match=f"{left[0]} to 8"):
        fresh.snapshots.get(0)


def test_what_a_rollback_brought_back_stays(tmp_path: Path) -> None:
    """However long after it: before, behind and in the part of the history that expires."""
    table = history(tmp_path, 4)
    table.commit.rollback(2, commit_user="r")
    for i in range(4, 8):
        file = make_file(f"f{i}", partition=P1, keys=(20 + i, 20 + i))
        table.commit.commit(table.write(file), kind=CommitKind.APPEND, commit_user=f"a{i}")
    expected = {i: table.names(i) for i in range(1, 10)}
    for first in (3, 5, 7):
        options = ExpireOptions(older_than_ms=0, retain_min=1, retain_max=10 - first)
        table.expiry.expire(options)
        fresh = MetadataTable(str(tmp_path))
        for i in range(first, 10):
            assert fresh.names(i) == expected[i]
            assert expected[i] <= data_files(tmp_path)
    assert data_files(tmp_path) == {"f1", "f4", "f5", "f6", "f7"}


def test_an_expiry_touches_as_many_files_with_many_snapshots_as_with_few(tmp_path: Path) -> None:
    """Else a stream, after each of whose batches one expires, would pay for all that are kept."""
    touched = []
    for commits in (10, 60):
        path = tmp_path / str(commits)
        history(path, commits)
        files = FailingFileIO(LocalFileIO(str(path)))
        table = MetadataTable(str(path), file_io=files)
        table.expiry.expire(ExpireOptions(older_than_ms=0, retain_min=1, retain_max=commits - 1))
        touched.append(files.operations)
    assert touched[0] == touched[1] > 0


@pytest.mark.parametrize(
    ("retained", "with_rollback"), [((5, 2), False), ((2, 5), False), ((5, 2), True)]
)
def test_two_at_once_each_leave_what_is_needed(
    tmp_path: Path, retained: tuple[int, int], with_rollback: bool
) -> None:
    """Whenever the other one begins and ends: neither fails, the snapshots that stay are whole."""
    of_one, of_other = (
        ExpireOptions(older_than_ms=0, retain_min=1, retain_max=n) for n in retained
    )
    table = history(tmp_path / "whole", 3)
    for i in range(3, 8):
        file = make_file(f"f{i}", partition=P1, keys=(20 + i, 20 + i))
        table.commit.commit(table.write(file), kind=CommitKind.APPEND, commit_user=f"a{i}")
    if with_rollback:
        table.commit.rollback(5, commit_user="r")
    latest = table.snapshots.latest_id() or 0
    expected = {i: table.names(i) for i in range(1, latest + 1)}
    at, is_reached = 1, True
    while is_reached:
        path = tmp_path / str(at)
        shutil.copytree(tmp_path / "whole", path)
        other = partial(MetadataTable(str(path)).expiry.expire, of_other)
        files = PausingFileIO(str(path), other, at=at)
        MetadataTable(str(path), file_io=files).expiry.expire(of_one)
        is_reached = files.has_paused
        fresh = MetadataTable(str(path))
        left = fresh.snapshots.ids()
        stay = min(retained) if is_reached else retained[0]
        assert left == tuple(range(latest - stay + 1, latest + 1)), at
        for i in left:
            assert fresh.names(i) == expected[i], at
            assert expected[i] <= data_files(path), at
        at += 1
    assert at > 20


@pytest.mark.parametrize("damage", ["base", "delta"])
def test_what_a_damaged_list_refers_to_stays(tmp_path: Path, damage: str) -> None:
    """The oldest snapshot to stay cannot say which manifests the later ones share with it."""
    table = MetadataTable(str(tmp_path)).create()
    for i in range(9):
        file = make_file(f"f{i}", partition=P1, keys=(i, i))
        table.commit.commit(table.write(file), kind=CommitKind.APPEND, commit_user=f"a{i}")
    expected = {i: table.names(i) for i in range(7, 10)}
    oldest = table.snapshots.get(6)
    name = oldest.base_manifest_list if damage == "base" else oldest.delta_manifest_list
    (tmp_path / "manifest" / name).write_bytes(b"")
    MetadataTable(str(tmp_path)).expiry.expire(
        ExpireOptions(older_than_ms=0, retain_min=1, retain_max=4)
    )
    fresh = MetadataTable(str(tmp_path))
    assert fresh.snapshots.ids() == (6, 7, 8, 9)
    for i in expected:
        assert fresh.names(i) == expected[i]


def test_nothing_to_expire(tmp_path: Path) -> None:
    options = ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=1)
    assert MetadataTable(str(tmp_path)).create().expiry.expire(options).snapshot_ids == ()


def test_expiry_leaves_no_orphans_and_no_metadata_behind(tmp_path: Path) -> None:
    table = history(tmp_path, 30)
    table.expiry.expire(ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=2))
    assert find_orphan_files(table.io, table.path, table.schemas, older_than_ms=FAR_FUTURE_MS) == ()
    assert len(os.listdir(tmp_path / "manifest")) < 30


def test_a_damaged_old_snapshot_does_not_stop_expiry(tmp_path: Path) -> None:
    table = history(tmp_path, 5)
    (tmp_path / "manifest" / table.snapshots.get(2).delta_manifest_list).unlink()
    MetadataTable(str(tmp_path)).expiry.expire(
        ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=1)
    )
    assert table.snapshots.ids() == (5,)
    assert "f4" in data_files(tmp_path)


def test_only_old_unreferenced_files_of_ours_are_orphans(tmp_path: Path) -> None:
    table = history(tmp_path, 3)
    lost = make_file("lost", partition=P1)
    table.write(lost, make_file("young", partition=P1))
    for path in (
        "manifest/manifest-lost-0",
        "snapshot/.tmp-1-snapshot-9",
        "p=p1/bucket-0/.tmp-2",
        "notes.txt",
        "p=p1/notes.txt",
        "log/bucket-0/changes",
        "schema/schema-old-copy",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name != "young":
            os.utime(file, (1000, 1000))
    removed = remove_orphan_files(
        table.io, table.path, table.schemas, older_than_ms=1_000_000_000_000
    )
    assert {s.path.removeprefix(f"{tmp_path}/") for s in removed} == {
        "manifest/manifest-lost-0",
        "snapshot/.tmp-1-snapshot-9",
        "p=p1/bucket-0/.tmp-2",
        "p=p1/bucket-0/lost",
    }
    assert data_files(tmp_path) == {"f0", "f1", "f2", "young"}
    for i in (1, 2, 3):
        assert MetadataTable(str(tmp_path)).names(i) == {f"f{i - 1}"}


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_cleaning_stops_when_it_cannot_know_what_is_needed(tmp_path: Path, damage: str) -> None:
    table = history(tmp_path, 3)
    table.write(make_file("lost", partition=P1))
    victim = tmp_path / "manifest" / table.snapshots.get(2).base_manifest_list
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises((MissingFileError, CorruptFileError)):
        remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=FAR_FUTURE_MS)
    assert "lost" in data_files(tmp_path)
