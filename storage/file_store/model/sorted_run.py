"""Files that can be read one after the other in key order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.kernel.errors import CorruptFileError
from table_store.storage.kernel.values import order_key


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files in ascending key order, ranges disjoint; for a table without key any files.

    Invariant: `files[i].key_max < files[i + 1].key_min`, so a reader opens one file at a time
    (source: LevelDB doc/impl.md, "Compactions").
    """

    files: tuple[DataFile, ...]

    def __post_init__(self) -> None:
        for before, after in pairwise(self.files):
            if before.key_max is not None and not key_max(before) < key_min(after):
                raise CorruptFileError(
                    path=after.name,
                    reason=f"its key range meets that of {before.name!r} in the same sorted run",
                )

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(f.size_bytes for f in self.files)

    @property
    def row_count(self) -> int:
        """Stored rows of all files."""
        return sum(f.row_count for f in self.files)


def key_min(file: DataFile) -> tuple[Any, ...]:
    """Return the least key of a file in a form that Python orders as Spark does."""
    return order_key(file.key_min or ())


def key_max(file: DataFile) -> tuple[Any, ...]:
    """Return the greatest key of a file in a form that Python orders as Spark does."""
    return order_key(file.key_max or ())


def age(file: DataFile) -> tuple[int, int, str]:
    """Return what sorts the files of one bucket from old to new."""
    return file.min_sequence, file.max_sequence, file.name
