"""The least snapshot id that counts: what expiry has taken away never comes back.

A table's snapshot file is created only if its name is free, and expiry frees names. A writer that
stood still between reading snapshot i and creating i+1, while i+1 was committed by another and
expired, would find the name free and put the table back. So expiry first raises this floor, and
whoever finds or creates a snapshot looks at it afterwards: one below the floor is no snapshot.
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

    A file that is replaced could be put back by a slow writer; the greatest of several names
    cannot, because only lower ones are ever deleted. The two greatest stay: a listing that runs
    while one is created may miss it, and shall find the one before.
    """

    file_io: FileIO
    table_path: str

    def read(self) -> int:
        """Return the floor; 0 where nothing has expired. One listing of one name."""
        return max(self._marks(), default=0)

    def raise_to(self, snapshot_id: int) -> None:
        """Make sure that the floor is at least `snapshot_id`, durable on return.

        Raises:
            FileAccessError: it may be raised or not.
        """
        self.file_io.write_new(self._path(snapshot_id), b"")
        self.file_io.delete_files([self._path(mark) for mark in sorted(self._marks())[:-2]])

    def _marks(self) -> list[int]:
        names = (s.name for s in self.file_io.list(join_path(self.table_path, FLOOR_FOLDER)))
        return [int(n[len(_PREFIX) :]) for n in names if _is_mark(n)]

    def _path(self, snapshot_id: int) -> str:
        return join_path(self.table_path, FLOOR_FOLDER, f"{_PREFIX}{snapshot_id}")


def _is_mark(name: str) -> bool:
    return name.startswith(_PREFIX) and name[len(_PREFIX) :].isdecimal()
