"""Numbered snapshot files in a folder: the table's own, or the copies in the archive."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import CorruptFileError

_PREFIX: Final = "snapshot-"


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """Reads, creates and deletes `snapshot-N` in `folder`."""

    file_io: FileIO
    folder: str

    def path(self, snapshot_id: int) -> str:
        """Return the path of one snapshot file."""
        return join_path(self.folder, f"{_PREFIX}{snapshot_id}")

    def exists(self, snapshot_id: int) -> bool:
        """Return whether there is a file of this id."""
        return self.file_io.exists(self.path(snapshot_id))

    def ids(self) -> tuple[int, ...]:
        """Return all ids in ascending order; one listing."""
        names = self.file_io.names(self.folder)
        return tuple(
            sorted(
                int(name[len(_PREFIX) :])
                for name in names
                if name.startswith(_PREFIX) and name[len(_PREFIX) :].isdecimal()
            )
        )

    def get(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of this id.

        Raises:
            MissingFileError: there is no such file.
            CorruptFileError: the file is damaged, or holds another id.
        """
        path = self.path(snapshot_id)
        data = self.file_io.read_bytes(path)
        try:
            snapshot = Snapshot.from_bytes(data, path=path)
        except CorruptFileError as error:
            raise CorruptFileError(
                path=path, reason=error.reason, snapshot_id=snapshot_id
            ) from error
        if snapshot.id != snapshot_id:
            raise CorruptFileError(
                path=path, reason=f"it holds snapshot {snapshot.id}", snapshot_id=snapshot_id
            )
        return snapshot

    def create(self, snapshot: Snapshot) -> bool:
        """Create the file of `snapshot`; return False if there is one of this id already.

        Raises:
            FileAccessError: nobody knows whether it was created, if `may_have_happened`.
        """
        return self.file_io.write_new(self.path(snapshot.id), snapshot.to_bytes())

    def delete(self, snapshot_ids: Collection[int]) -> None:
        """Delete the files of these ids; they stay deleted after a power cut."""
        self.file_io.delete_files([self.path(i) for i in snapshot_ids], durable=True)
