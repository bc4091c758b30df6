"""Rows of snapshots that were read before, while none of the files they were read from changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from tests.campaign.history import Rows

Mark: TypeAlias = tuple[str, int, int]
"""Name of a file, its size, and its time of change in nanoseconds, which a copy keeps."""

_FOLDERS: Final = ("manifest", "bucket-0")


@dataclass(frozen=True, slots=True)
class Marks:
    """What tells whether the files of a table are those of an earlier look."""

    snapshots: frozenset[Mark]
    schemas: frozenset[Mark]
    others: frozenset[Mark]

    @staticmethod
    def of(path: Path) -> Marks:
        """Look at the files of the table at `path`."""
        return Marks(
            snapshots=frozenset(_marks(path / "snapshot")),
            schemas=frozenset(_marks(path / "schema")),
            others=frozenset(mark for folder in _FOLDERS for mark in _marks(path / folder)),
        )


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Rows by the files that they were read from; copies of a table share one object.

    Reading a snapshot is a function of its own file, the schemas, and the files that the snapshot
    refers to. So it need not be read again while all of these are there, and unchanged.
    """

    _rows: dict[tuple[Mark, frozenset[Mark]], tuple[frozenset[Mark], Rows]] = field(
        default_factory=dict
    )

    def get(self, marks: Marks, snapshot: str, read: Callable[[], tuple[Rows, Set[str]]]) -> Rows:
        """Return the rows of the snapshot in the file of this name.

        `read` returns the rows and the names of the files that the snapshot refers to.
        """
        own = next((mark for mark in marks.snapshots if mark[0] == snapshot), None)
        if own is None:
            return read()[0]
        known = self._rows.get((own, marks.schemas))
        if known is None or not known[0] <= marks.others:
            rows, names = read()
            files = frozenset(mark for mark in marks.others if mark[0] in names)
            known = self._rows[own, marks.schemas] = (files, rows)
        return known[1]


def _marks(folder: Path) -> Iterator[Mark]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            stat = entry.stat()
            yield entry.name, stat.st_size, stat.st_mtime_ns
