"""The numbered snapshots of one table: which of them exist, and how one is added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.metadata.retention_floor import RetentionFloor
from table_store.storage.file_store.metadata.snapshot_files import SnapshotFiles
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import time_text
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FileAccessError,
    FormatVersionError,
    MissingFileError,
    TableStoreError,
)

SNAPSHOT_FOLDER: Final = "snapshot"
LATEST_HINT: Final = "LATEST"
_HINT_VERSION: Final = 2


class Publication(Enum):
    """The outcome of an attempt to add a snapshot."""

    PUBLISHED = "it is the snapshot of its id"
    TAKEN = "another has its id, or had it until it expired"
    UNCLEAR = "its id has expired: either it was there before, or the id was another's"


class SnapshotStore:
    """Reads and publishes `snapshot/snapshot-N`; N ascends by 1 without gaps above the floor.

    Ids below the table's `RetentionFloor` have expired, whether there is a file or not. The file
    LATEST holds an id at which the search for the newest begins. It may be old, absent or damaged:
    the search checks that its snapshot exists, and else lists the folder. LATEST is written after
    its snapshot, so if it names a later one than all that exist, the newest snapshot is lost.
    """

    def __init__(self, file_io: FileIO, table_path: str) -> None:
        self._file_io = file_io
        self._table_path = table_path
        self._folder = join_path(table_path, SNAPSHOT_FOLDER)
        self._files = SnapshotFiles(file_io, self._folder)
        self._floor = RetentionFloor(file_io, table_path)

    def path(self, snapshot_id: int) -> str:
        """Return the path of one snapshot file."""
        return self._files.path(snapshot_id)

    def latest_id(self) -> int | None:
        """Return the newest id, None before the first commit; five look-ups with a good hint.

        Raises:
            MissingFileError: the newest snapshot is lost, and its id must not be used again; or
                one in the middle is lost, and the search would miss those after it.
        """
        newest = self._newest_by_hint()
        if newest is None or newest < self._floor.read():
            return self._newest_listed()
        return newest

    def earliest_id(self) -> int | None:
        """Return the oldest id that counts, None before the first commit."""
        floor = self._floor.read() or 1
        return floor if self._files.exists(floor) else min(self.ids(), default=None)

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot, None before the first commit; fails as `latest_id`."""
        newest = self._newest_by_hint()
        if newest is not None:
            with suppress(MissingFileError):  # the snapshot has expired meanwhile
                snapshot = self._files.get(newest)
                # The floor is read last, because the file may be one that had expired and that a
                # slow writer has created again.
                if newest >= self._floor.read():
                    return snapshot
        while (newest := self._newest_listed()) is not None:
            with suppress(SnapshotNotFoundError):
                return self.get(newest)
        return None

    def get(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of this id.

        Raises:
            SnapshotNotFoundError: it does not exist yet, or it has expired.
            MissingFileError: its file is lost.
            CorruptFileError: the file is damaged, or holds another id.
        """
        return self.between(snapshot_id, snapshot_id)[0]

    def between(self, first_id: int, last_id: int) -> tuple[Snapshot, ...]:
        """Return the snapshots of these ids, oldest first; one read each.

        Raises:
            SnapshotNotFoundError, MissingFileError, CorruptFileError: see `get`.
        """
        found: list[Snapshot] = []
        for snapshot_id in range(first_id, last_id + 1):
            try:
                found.append(self._files.get(snapshot_id))
            except MissingFileError as error:
                raise self._absent(snapshot_id) from error
        if found and first_id < self._floor.read():  # read after the snapshots, see `latest`
            raise self._not_found(f"with id {first_id}")
        return tuple(found)

    def at_timestamp(self, timestamp_ms: int) -> Snapshot:
        """Return the newest snapshot committed at or before `timestamp_ms`; O(log n) reads.

        Raises:
            SnapshotNotFoundError: the table had no snapshot then, or it has expired.
        """
        low, high = self.earliest_id(), self.latest_id()
        found: Snapshot | None = None
        while low is not None and high is not None and low <= high:
            middle_id = (low + high) // 2
            try:
                middle = self.get(middle_id)
            except SnapshotNotFoundError:  # it has just expired, and so have all before it
                low = middle_id + 1
                continue
            if middle.time_ms <= timestamp_ms:
                found, low = middle, middle_id + 1
            else:
                high = middle_id - 1
        if found is None:
            raise self._not_found(f"at or before {time_text(timestamp_ms * 1000)}")
        return found

    def ids(self) -> tuple[int, ...]:
        """Return all ids that count in ascending order; two listings."""
        ids = self._files.ids()
        floor = self._floor.read()
        return tuple(snapshot_id for snapshot_id in ids if snapshot_id >= floor)

    def known_id(self) -> int:
        """Return an id that was given out, as notes beside the snapshots tell; 0 if none does."""
        return max(self.hint() or 0, self._floor.read())

    def lost_ids(self, known_id: int = 0) -> tuple[int, ...]:
        """Return the ids below the newest, and up to `known_id`, whose snapshots are lost."""
        first, ids = self._floor.read() or 1, self.ids()
        missing = sorted(set(range(first, max((known_id, *ids)) + 1)) - set(ids))
        # A listing may miss a snapshot that is committed meanwhile, so each absent one is looked
        # up. Others may have expired meanwhile, so the floor is read again.
        absent = [i for i in missing if not self._files.exists(i)]
        floor = self._floor.read() if absent else 0
        return tuple(i for i in absent if i >= floor)

    def newest_first(self) -> Iterator[Snapshot]:
        """Yield the snapshots from the newest to the oldest that is still there."""
        newest = self.latest_id()
        for snapshot_id in range(newest or 0, 0, -1):
            try:
                yield self.get(snapshot_id)
            except SnapshotNotFoundError:
                return

    def publish(self, snapshot: Snapshot) -> Publication:
        """Add `snapshot`, durable, unless another one has or had its id.

        Raises:
            FileAccessError: nobody knows whether it was added, if `may_have_happened`.
        """
        if snapshot.id < self._floor.read() or not self._files.create(snapshot):
            return Publication.TAKEN
        try:
            floor = self._floor.read()
        except TableStoreError as error:
            raise FileAccessError(
                path=self.path(snapshot.id), operation="look at", reason=str(error)
            ) from error
        if snapshot.id < floor:
            with suppress(TableStoreError):  # nobody reads the file, and the next expiry deletes it
                self._files.delete([snapshot.id])
            return Publication.UNCLEAR
        self.write_hint(snapshot.id)
        return Publication.PUBLISHED

    def write_hint(self, snapshot_id: int, *, durable: bool = False) -> None:
        """Note where the search for the newest begins; a failure does no harm and is ignored.

        With `durable=True` all names in the folder survive a power cut, and a failure is an error.
        """
        path = join_path(self._folder, LATEST_HINT)
        data = to_checked_json({"id": snapshot_id}, version=_HINT_VERSION)
        with suppress(*() if durable else (TableStoreError,)):
            self._file_io.write_bytes(path, data, durable=durable)

    def hint(self) -> int | None:
        """Return the id that LATEST holds; None if the file is absent or damaged."""
        path = join_path(self._folder, LATEST_HINT)
        try:
            data = self._file_io.read_bytes(path)
            if data.isdigit() and len(data) < 20:  # in version 1 the file is a bare number
                return int(data)
            return from_checked_json(
                data, lambda item: int(item["id"]), path=path, version=_HINT_VERSION, noun="hint"
            )
        except (MissingFileError, CorruptFileError, FormatVersionError):
            return None

    def has_expired(self, snapshot_id: int) -> bool:
        """Return whether the id has expired, which is for ever."""
        return snapshot_id < self._floor.read()

    def expire_before(self, snapshot_id: int) -> None:
        """Let the ids below this one expire for ever, and delete their files.

        Raises:
            FileAccessError: they may have expired or not; the next expiry deletes files that stay.
        """
        self._floor.raise_to(snapshot_id)
        self._files.delete([i for i in self._files.ids() if i < snapshot_id])

    def _newest_by_hint(self) -> int | None:
        """Return the newest id, searched from the hint on; None if the hint does not lead to it.

        The caller reads the floor after that.
        """
        hint = newest = self.hint()
        if hint is None or newest is None or not self._files.exists(newest):
            return None
        while self._files.exists(newest + 1):
            newest += 1
        # Commits leave the hint at most a little behind. From far behind, the search may stop
        # at a gap.
        is_doubtful = newest > hint + 1 or self._files.exists(newest + 2)
        return None if is_doubtful else newest

    def _newest_listed(self) -> int | None:
        expected = self.known_id()
        lost = self.lost_ids()
        if lost:
            raise self._lost(lost[0])
        newest = max(self.ids(), default=0)
        if newest >= expected:
            return newest or None
        if self._floor.read() > expected:
            return self._newest_listed()  # all listed snapshots have expired meanwhile
        going_on = f"snapshot {newest}" if newest else "an empty table"
        raise MissingFileError(
            path=self.path(expected),
            snapshot_id=expected,
            remedy=f"Restore it from a copy; or CALL sys.repair(table => ...) to go on with "
            f"{going_on}, without what was committed since (with dry_run => true it only tells "
            "what it would do)",
        )

    def _absent(self, snapshot_id: int) -> TableStoreError:
        """Return the error that says why an id has no file."""
        if snapshot_id in self.lost_ids():
            return self._lost(snapshot_id)
        return self._not_found(f"with id {snapshot_id}")

    def _lost(self, snapshot_id: int) -> MissingFileError:
        return MissingFileError(
            path=self.path(snapshot_id),
            snapshot_id=snapshot_id,
            remedy="Restore it from a copy; or CALL sys.repair(table => ...) to give up the "
            "history up to it (with dry_run => true it only tells what it would do); the newest "
            "rows stay",
        )

    def _not_found(self, asked: str) -> SnapshotNotFoundError:
        ids = self.ids()
        return SnapshotNotFoundError(
            table=self._table_path,
            asked=asked,
            earliest_id=min(ids, default=None),
            latest_id=max(ids, default=None),
        )
