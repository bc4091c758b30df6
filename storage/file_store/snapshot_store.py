"""The numbered snapshot files of one table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.snapshot import Snapshot
from table_store.storage.kernel.clock import time_text
from table_store.storage.kernel.errors import (
    CorruptFileError,
    MissingFileError,
    SnapshotNotFoundError,
    TableStoreError,
)

SNAPSHOT_FOLDER: Final = "snapshot"
LATEST_HINT: Final = "LATEST"
EARLIEST_HINT: Final = "EARLIEST"
_PREFIX: Final = "snapshot-"


class SnapshotStore:
    """Reads and publishes `snapshot/snapshot-N`; N ascends by 1, the oldest may have expired.

    The files LATEST and EARLIEST hold ids where to start looking. They may be old or absent: each
    is checked against the snapshot it names, and a listing replaces it. LATEST is written after
    its snapshot, so one that is ahead of all snapshots says that the newest is lost.
    """

    def __init__(self, file_io: FileIO, table_path: str, *, folder: str = SNAPSHOT_FOLDER) -> None:
        self._file_io = file_io
        self._table_path = table_path
        self._folder = join_path(table_path, folder)

    def path(self, snapshot_id: int) -> str:
        """Return the path of one snapshot file."""
        return join_path(self._folder, f"{_PREFIX}{snapshot_id}")

    def latest_id(self) -> int | None:
        """Return the newest id, None before the first commit; three look-ups with a good hint.

        Raises:
            MissingFileError: the newest snapshot is lost; its id must not be given again.
        """
        hint = newest = self._hint(LATEST_HINT)
        if newest is None or not self._file_io.exists(self.path(newest)):
            newest = max(self.ids(), default=None)
            if hint is not None and hint > (newest or 0):
                raise MissingFileError(
                    path=self.path(hint),
                    snapshot_id=hint,
                    remedy=f"Restore it from a copy; or delete the file {LATEST_HINT} beside it to "
                    f"go on with snapshot {newest}, without what was committed since",
                )
            if newest is None:
                return None
        while self._file_io.exists(self.path(newest + 1)):
            newest += 1
        return newest

    def earliest_id(self) -> int | None:
        """Return the oldest id that is still there, None before the first commit."""
        oldest = self._hint(EARLIEST_HINT)
        if oldest is not None and self._file_io.exists(self.path(oldest)):
            while oldest > 1 and self._file_io.exists(self.path(oldest - 1)):
                oldest -= 1
            return oldest
        if self._file_io.exists(self.path(1)):
            return 1
        return min(self.ids(), default=None)

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot, None before the first commit."""
        newest = self.latest_id()
        return None if newest is None else self.get(newest)

    def earliest(self) -> Snapshot | None:
        """Return the oldest snapshot that is still there, None before the first commit."""
        oldest = self.earliest_id()
        return None if oldest is None else self.get(oldest)

    def get(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of this id.

        Raises:
            SnapshotNotFoundError: there is none, or it has expired.
            CorruptFileError: the file is damaged, or holds another id.
        """
        path = self.path(snapshot_id)
        try:
            data = self._file_io.read_bytes(path)
        except MissingFileError as error:
            raise self._not_found(f"with id {snapshot_id}") from error
        try:
            snapshot = Snapshot.from_json(data, path=path)
        except CorruptFileError as error:
            raise CorruptFileError(
                path=path, reason=error.reason, snapshot_id=snapshot_id
            ) from error
        if snapshot.id != snapshot_id:
            raise CorruptFileError(
                path=path, reason=f"it holds snapshot {snapshot.id}", snapshot_id=snapshot_id
            )
        return snapshot

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
            except SnapshotNotFoundError:  # it has just expired, and so have those before it
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
        """Return all ids in ascending order; one listing."""
        names = (status.name for status in self._file_io.list(self._folder))
        return tuple(
            sorted(
                int(name[len(_PREFIX) :])
                for name in names
                if name.startswith(_PREFIX) and name[len(_PREFIX) :].isdecimal()
            )
        )

    def newest_first(self) -> Iterator[Snapshot]:
        """Yield the snapshots from the newest to the oldest that is still there."""
        newest = self.latest_id()
        for snapshot_id in range(newest or 0, 0, -1):
            try:
                yield self.get(snapshot_id)
            except SnapshotNotFoundError:
                return

    def publish(self, snapshot: Snapshot) -> bool:
        """Create the file of `snapshot`; return False when another has this id already.

        Raises:
            FileAccessError: whether the snapshot is there is not known.
        """
        created = self._file_io.write_new(
            self.path(snapshot.id), snapshot.to_json().encode("utf-8")
        )
        if created:
            self.write_hint(LATEST_HINT, snapshot.id)
        return created

    def write_hint(self, name: str, snapshot_id: int, *, durable: bool = False) -> None:
        """Note where to start looking; a failure does no harm and is not reported."""
        with suppress(TableStoreError):
            self._file_io.write_bytes(
                join_path(self._folder, name), str(snapshot_id).encode(), durable=durable
            )

    def delete(self, snapshot_id: int) -> None:
        """Delete one snapshot file; only the expiry may call this."""
        self._file_io.delete(self.path(snapshot_id))

    def _hint(self, name: str) -> int | None:
        try:
            text = self._file_io.read_bytes(join_path(self._folder, name))
        except MissingFileError:
            return None
        return int(text) if text.isdigit() and len(text) < 20 else None

    def _not_found(self, asked: str) -> SnapshotNotFoundError:
        return SnapshotNotFoundError(
            table=self._table_path,
            asked=asked,
            earliest_id=self.earliest_id(),
            latest_id=self.latest_id(),
        )
