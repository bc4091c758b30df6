"""Goal: a tag keeps its snapshot readable, whatever expires, until it is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.storage.file_io.file_io import FileStatus
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.metadata.pin import Pins
from table_store.storage.file_store.metadata.snapshot_store import Publication, SnapshotStore
from table_store.storage.file_store.metadata.tag import Tags
from table_store.storage.file_store.model.errors import InvalidTagError, SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import AlreadyExistsError, CorruptFileError, NotFoundError

EXPIRE_ALL = ExpireOptions(older_than_ms=2**60, retain_min=1, retain_max=1, expire_max=1000)


@pytest.fixture(params=["key", "bag"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> FileStoreTable:
    described = TableDescriptor.for_managed().column("id", "BIGINT").column("n", "BIGINT")
    described = described.primary_key("id") if request.param == "key" else described
    found = connect(str(tmp_path)).create("t", described).storage
    for number in range(6):
        found.append(pa.table({"id": range(number + 1), "n": [number] * (number + 1)}))
        found.compact()
    return found


def rows(table: FileStoreTable, version: int | None = None) -> list[dict[str, Any]]:
    by = [("id", "ascending"), ("n", "ascending")]
    found: list[dict[str, Any]] = table.scan(version=version).to_arrow().sort_by(by).to_pylist()
    return found


def test_it_outlives_its_snapshot(table: FileStoreTable) -> None:
    before, newest = rows(table, 5), rows(table)
    table.tags.create("a/b é", 5, "x")
    expired = table.expire_snapshots(EXPIRE_ALL)
    assert 5 in expired.snapshot_ids
    assert rows(table, 5) == before
    assert [(tag.name, tag.snapshot.id) for tag in table.tags.all()] == [("a/b é", 5)]
    remove_orphans(table)
    assert rows(table, 5) == before
    table.append(pa.table({"id": [99], "n": [99]}))
    table.expire_snapshots(EXPIRE_ALL)
    assert rows(table, 5) == before
    table.tags.delete("a/b é")
    with pytest.raises(SnapshotNotFoundError):
        rows(table, 5)
    assert remove_orphans(table)
    assert rows(table) == [*newest, {"id": 99, "n": 99}]


def remove_orphans(table: FileStoreTable) -> tuple[FileStatus, ...]:
    return remove_orphan_files(table.file_io, table.path, table.schema_store, older_than_ms=2**60)


@pytest.mark.parametrize("name", ["", "12", "a\nb", "x" * 300, "é" * 80])
def test_names(name: str, table: FileStoreTable) -> None:
    with pytest.raises(InvalidTagError):
        table.tags.create(name, 1, "x")


def test_what_is_refused(table: FileStoreTable) -> None:
    table.tags.create("a", 1, "x")
    with pytest.raises(AlreadyExistsError, match="delete it"):
        table.tags.create("a", 2, "y")
    for unknown in ("b", "A"):
        with pytest.raises(NotFoundError, match="Known: a"):
            table.tags.get(unknown)
        with pytest.raises(NotFoundError):
            table.tags.delete(unknown)
    with pytest.raises(SnapshotNotFoundError):
        table.tags.create("c", 99, "z")
    assert not Pins(table.file_io, table.path).all()


@pytest.mark.parametrize("when", ["before the pin", "behind the pin"])
def test_an_expiry_in_the_middle(when: str, table: FileStoreTable) -> None:
    """Either the tag is refused, or it keeps its files."""
    pinned, before = Pins.pinned, rows(table, 3)

    @contextmanager
    def interrupted(self: Pins, *arguments: Any) -> Iterator[None]:
        if when == "before the pin":
            table.expire_snapshots(EXPIRE_ALL)
        with pinned(self, *arguments):
            if when == "behind the pin":
                table.expire_snapshots(EXPIRE_ALL)
            yield

    with mock.patch.object(Pins, "pinned", interrupted), pytest.raises(SnapshotNotFoundError):
        table.tags.create("t", 3, "x")
    assert table.tags.all() == ()
    assert before


def test_an_expiry_that_reads_the_pins_before_the_tag_is_there(table: FileStoreTable) -> None:
    """The tag comes between the reading of pins and of tags, and its pin is gone."""
    before, read = rows(table, 3), Tags.all
    kept = table.snapshot_store.get(3).to_bytes()

    def late(self: Tags) -> Any:
        if table.snapshot_store.has_expired(3):
            self.file_io.write_new(f"{table.path}/tag/tag-t", kept)
        return read(self)

    with mock.patch.object(Tags, "all", late):
        table.expire_snapshots(EXPIRE_ALL)
    assert rows(table, 3) == before


def test_a_rollback_to_an_expired_snapshot(table: FileStoreTable) -> None:
    before = rows(table, 3)
    table.tags.create("t", 3, "x")
    table.expire_snapshots(EXPIRE_ALL)
    table.committer().rollback(3, commit_user="back")
    assert rows(table) == before
    table.tags.delete("t")
    table.append(pa.table({"id": [99], "n": [99]}))
    table.expire_snapshots(EXPIRE_ALL)
    remove_orphans(table)
    assert rows(table) == [*before, {"id": 99, "n": 99}]
    with pytest.raises(SnapshotNotFoundError):
        table.committer().rollback(3, commit_user="again")


@pytest.mark.parametrize("is_expired", [False, True])
def test_a_tag_that_is_deleted_while_a_rollback_goes_to_it(
    is_expired: bool, table: FileStoreTable
) -> None:
    """Who deletes files has read the pins just before the rollback made its own."""
    before, publish = rows(table, 3), SnapshotStore.publish
    table.tags.create("t", 3, "x")
    if is_expired:
        table.expire_snapshots(EXPIRE_ALL)

    def deleted(_: Pins, **__: int) -> tuple[Snapshot, ...]:
        table.tags.delete("t")
        return ()

    def interrupted(self: SnapshotStore, snapshot: Snapshot) -> Publication:
        with mock.patch.object(Pins, "all", deleted):
            if is_expired:
                remove_orphans(table)
            else:
                table.expire_snapshots(EXPIRE_ALL)
        return publish(self, snapshot)

    with mock.patch.object(SnapshotStore, "publish", interrupted):
        table.committer().rollback(3, commit_user="back")
    assert rows(table) == before


def test_a_damaged_tag_stops_what_deletes_files(table: FileStoreTable) -> None:
    table.tags.create("t", 3, "x")
    Path(table.path, "tag", "tag-t").write_bytes(b"{}")
    ids = table.snapshot_store.ids()
    with pytest.raises(CorruptFileError, match="tag-t"):
        remove_orphans(table)
    with pytest.raises(CorruptFileError, match="tag-t"):
        table.expire_snapshots(EXPIRE_ALL)
    assert table.snapshot_store.ids() == ids
