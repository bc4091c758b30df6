"""Snapshots that must not lose their files, because somebody is about to bring them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import (
    CommitStateUnknownError,
    CorruptFileError,
    MissingFileError,
    TableStoreError,
)

PIN_FOLDER: Final = "pin"
_PREFIX: Final = "pin-"


@dataclass(frozen=True, slots=True)
class Pins:
    """The pins of one table: files `pin-<unique>`, each a copy of a snapshot file.

    Who pins writes the pin, looks whether the snapshot still counts, publishes what needs its
    files, and removes the pin. An expiry lets snapshots expire, then reads the pins, then the
    snapshots that were published meanwhile, then deletes files. So it sees one or the other, or
    the snapshot does not count any more; tests/property/test_commit_protocol.py proves it.
    """

    file_io: FileIO
    table_path: str

    @contextmanager
    def pinned(self, snapshot: Snapshot, unique: str) -> Iterator[None]:
        """Keep the files of `snapshot` while the block runs.

        The pin stays when nobody knows whether the block has published or will; it is removed
        with the orphans, which no running statement is as old as.

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
        """Return the snapshots that are pinned now; one listing where there is none.

        Args:
            since_ms: pins that were made before this time do not count.

        Raises:
            CorruptFileError: a pin is damaged, so that nobody knows what is needed.
        """
        found: list[Snapshot] = []
        for status in self.file_io.list(join_path(self.table_path, PIN_FOLDER)):
            if status.name.startswith(_PREFIX) and status.modified_ms >= since_ms:
                with suppress(MissingFileError):  # removed meanwhile
                    data = self.file_io.read_bytes(status.path)
                    found.append(_pinned(data, status.path))
        return tuple(found)

    def _remove(self, path: str) -> None:
        with suppress(TableStoreError):  # then it goes with the orphans
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
