"""Pins keep the files of a snapshot while somebody is about to roll back to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.errors import CommitStateUnknownError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError, TableStoreError

PIN_FOLDER: Final = "pin"
_PREFIX: Final = "pin-"


@dataclass(frozen=True, slots=True)
class Pins:
    """The pins of one table: files `pin-<unique>`, each a copy of a snapshot file.

    A rollback writes the pin, checks that the snapshot has not expired, publishes a snapshot that
    needs its files, and removes the pin. An expiry lets snapshots expire, then reads the pins, then
    the snapshots published meanwhile, and then deletes files. So either it sees the pin or the new
    snapshot, or the rollback sees that its snapshot has expired;
    tests/property/test_commit_protocol.py proves it.
    """

    file_io: FileIO
    table_path: str

    @contextmanager
    def pinned(self, snapshot: Snapshot, unique: str) -> Iterator[None]:
        """Keep the files of `snapshot` while the block runs.

        The pin stays if nobody knows whether the block has published or will. Then it is removed
        as an orphan, when it is older than any running statement.

        Raises:
            FileAccessError: the store refused; the snapshot may be pinned.
        """
        path = join_path(self.table_path, PIN_FOLDER, f"{_PREFIX}{unique}")
        self.file_io.write_new(path, snapshot.to_bytes())
        try:
            yield
        except CommitStateUnknownError:
            raise
        except TableStoreError:
            self._remove(path)
            raise
        self._remove(path)

    def all(self, *, since_ms: int = 0) -> tuple[Snapshot, ...]:
        """Return the snapshots that are pinned now; it costs one listing if there are none.

        Args:
            since_ms: pins that were made before this time do not count.

        Raises:
            CorruptFileError: a pin is damaged, so that nobody knows what is needed.
        """
        found: list[Snapshot] = []
        for status in self.file_io.list(join_path(self.table_path, PIN_FOLDER)):
            if status.name.startswith(_PREFIX) and status.modified_ms >= since_ms:
                with suppress(MissingFileError):  # the pin was removed meanwhile
                    data = self.file_io.read_bytes(status.path)
                    found.append(_pinned(data, status.path))
        return tuple(found)

    def _remove(self, path: str) -> None:
        with suppress(TableStoreError):  # if this fails, the pin is removed as an orphan
            self.file_io.delete(path)


def _pinned(data: bytes, path: str) -> Snapshot:
    try:
        return Snapshot.from_bytes(data, path=path)
    except CorruptFileError as error:
        raise CorruptFileError(
            path=path,
            reason=error.reason,
            remedy="Delete it when no rollback of this table is running",
        ) from error
