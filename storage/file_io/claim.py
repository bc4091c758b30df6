"""Claims: numbered files of which the greatest counts, so that only one of many takers succeeds.

Each change of a claim creates the file with the next number, only if it is absent, then looks
whether that is still the greatest number, and only then deletes the files before it. A process
whose listing was old may create a number that others have long passed and deleted; because it looks
afterwards, it sees that, and deletes its file again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.errors import FileAccessError, MissingFileError

_ATTEMPTS_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEntry:
    """The file that counts: its number, path and content."""

    number: int
    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim whose files are in `folder`; they are named by their numbers, from 1 on."""

    file_io: FileIO
    folder: str

    def latest(self) -> ClaimEntry | None:
        """Return the entry with the greatest number; None if nobody has ever made one.

        It is also None if others change the claim all the while; then `add` fails.
        """
        for _ in range(_ATTEMPTS_MAX):
            number = max(self._numbers(), default=0)
            if number == 0:
                return None
            path = self._path(number)
            try:
                return ClaimEntry(number=number, path=path, content=self.file_io.read_bytes(path))
            except MissingFileError:
                continue  # deleted meanwhile, because there is a later one
        return None

    def add(self, number: int, content: bytes) -> bool:
        """Make `number`, one more than the latest, the entry that counts.

        Returns:
            Whether it counts now; False if another process was faster, or has already added
            the next entry.
        """
        path = self._path(number)
        if not self.file_io.write_new(path, content):
            return False
        numbers = self._numbers()
        if max(numbers, default=0) != number:
            self.file_io.delete(path)
            return False
        with suppress(FileAccessError):  # the next entry deletes them, too
            self.file_io.delete_files([self._path(old) for old in numbers if old < number])
        return True

    def _numbers(self) -> list[int]:
        return [int(name) for name in self.file_io.names(self.folder) if name.isdecimal()]

    def _path(self, number: int) -> str:
        return join_path(self.folder, f"{number:012d}")
