"""Up to where the rows of a source are out: how many, which only rises.

The positions of a source are a chain of files `position/<place>` in the table's directory, from 1
on. Each is created once, only if nobody else was faster, and before a barrier names its rows; the
last one counts. So all jobs agree which rows are out, whoever has looked, and an epoch that is
repeated after a crash reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import FileAccessError, MissingFileError

POSITION_FOLDER: Final = "position"
POSITION_VERSION: Final = 2
STRETCHES_MAX: Final = 1_000
_KEPT: Final = 3


@dataclass(frozen=True, slots=True)
class Stretch:
    """From the row `first` on, rows come one after the other; the first one at `begin_ms`."""

    first: int
    begin_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A position.

    Attributes:
        rows: how many rows are out; those of a smaller position are among them.
        at_ms: when it was looked, ms since 1970.
        stretches: from which row on rows came without a pause, rising; never empty.
    """

    rows: int
    at_ms: int
    stretches: tuple[Stretch, ...]

    def to_bytes(self) -> bytes:
        """Return the content of the file; `from_bytes` is its inverse."""
        stretches = [[stretch.first, stretch.begin_ms] for stretch in self.stretches]
        item = {"rows": self.rows, "at": self.at_ms, "stretches": stretches}
        return to_checked_json(item, version=POSITION_VERSION)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> Position:
        """Return what `to_bytes` wrote.

        Raises:
            CorruptFileError: it is no position, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return from_checked_json(
            data, _from_json, path=path, version=POSITION_VERSION, noun="position"
        )


@dataclass(frozen=True, slots=True)
class PositionStore:
    """The positions of the source whose table is in a directory."""

    file_io: FileIO
    path: str

    def last(self) -> Position | None:
        """Return the last position; None before the first one. Costs a list and a read.

        Raises:
            CorruptFileError: it is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        return self._last()[1]

    def advanced(self, following: Callable[[Position | None], Position | None]) -> Position | None:
        """Publish what follows the last position, durable, and return what is the last one then.

        Fails as `last`.

        Args:
            following: takes the last position; None if it stays the last one.
        """
        while True:
            place, last = self._last()
            new = following(last)
            if new is None:
                return last
            if self.file_io.write_new(self._path(place + 1), new.to_bytes()):
                old = [self._path(at) for at in self._places() if at <= place + 1 - _KEPT]
                with suppress(FileAccessError):  # the next one deletes them, too
                    self.file_io.delete_files(old)

    def _last(self) -> tuple[int, Position | None]:
        while places := self._places():
            path = self._path(places[-1])
            with suppress(MissingFileError):  # later ones have come meanwhile
                return places[-1], Position.from_bytes(self.file_io.read_bytes(path), path=path)
        return 0, None

    def _places(self) -> list[int]:
        entries = self.file_io.list(join_path(self.path, POSITION_FOLDER))
        return sorted(int(status.name) for status in entries if status.name.isdecimal())

    def _path(self, place: int) -> str:
        return join_path(self.path, POSITION_FOLDER, f"{place:012d}")


def _from_json(item: Mapping[str, Any]) -> Position:
    stretches = tuple(Stretch(int(first), int(begin_ms)) for first, begin_ms in item["stretches"])
    if not stretches:
        raise ValueError("it has no stretches")
    return Position(rows=int(item["rows"]), at_ms=int(item["at"]), stretches=stretches)
