"""The least snapshot id that counts, so that expired snapshots never come back.

A table's snapshot file is created only if its name is free, but expiry frees names. Imagine a
writer that stands still between reading snapshot i and creating i+1, while i+1 is committed by
another and expires: it would find the name free and put the table back into the past. So expiry
first raises this floor, and whoever finds or creates a snapshot reads the floor afterwards: a
file below the floor is no snapshot.
tests/property/test_commit_protocol.py proves it over all interleavings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path

FLOOR_FOLDER: Final = "expiry"
_PREFIX: Final = "earliest-"


@dataclass(frozen=True, slots=True)
class RetentionFloor:
    """A number of one table that only rises: the greatest N of the empty files `earliest-N`.

    If one file were replaced again and again, a slow writer could put an old number back. With
    several names that cannot happen, because only the lower ones are ever deleted. The two
    greatest stay, because a listing may miss a file that is created at that moment, and must then
    find the one before it.
    """

    file_io: FileIO
    table_path: str

    def read(self) -> int:
        """Return the floor, or 0 if nothing has expired; it costs one short listing."""
        return max(self._marks(), default=0)

    def raise_to(self, snapshot_id: int) -> None:
        """Make sure that the floor is at least `snapshot_id`, durable on return.

        Raises:
            FileAccessError: the store refused; nobody knows whether the floor was raised.
        """
        self.file_io.write_new(self._path(snapshot_id), b"")
        self.file_io.delete_files([self._path(mark) for mark in sorted(self._marks())[:-2]])

    def _marks(self) -> list[int]:
        names = self.file_io.names(join_path(self.table_path, FLOOR_FOLDER))
        return [int(n[len(_PREFIX) :]) for n in names if _is_mark(n)]

    def _path(self, snapshot_id: int) -> str:
        return join_path(self.table_path, FLOOR_FOLDER, f"{_PREFIX}{snapshot_id}")


def _is_mark(name: str) -> bool:
    return name.startswith(_PREFIX) and name[len(_PREFIX) :].isdecimal()
