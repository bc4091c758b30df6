"""A part of a snapshot that one task reads."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from enum import StrEnum

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.key_range import KeyRange
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.values import Value


class SplitKind(StrEnum):
    """How a split's files become rows."""

    RAW = "raw"
    """The files' rows are the answer: nothing overlaps, nothing is deleted."""

    MERGE = "merge"
    """Runs hide or delete rows of each other and must be merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Files of one bucket that are read together.

    `runs` are oldest first; the files of a run are in key order and disjoint. In a table
    without key every run is one file. `keys` is the range of keys that the split covers, if a
    bucket is divided among several tasks.
    """

    partition: tuple[Value, ...]
    bucket: int
    kind: SplitKind
    runs: tuple[tuple[DataFile, ...], ...]
    snapshot_id: int | None
    keys: KeyRange = field(default_factory=KeyRange)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files, oldest run first."""
        return tuple(file for run in self.runs for file in run)

    @property
    def row_count(self) -> int:
        """Stored rows, superseded ones and deletions included."""
        return sum(file.row_count for file in self.files)

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.size_bytes for file in self.files)

    def to_bytes(self) -> bytes:
        """Return the split for another process of this program, without its column bounds."""
        slim = tuple(tuple(replace(file, stats=FrozenMap()) for file in run) for run in self.runs)
        return pickle.dumps(replace(self, runs=slim), pickle.HIGHEST_PROTOCOL)

    @staticmethod
    def from_bytes(data: bytes) -> Split:
        """Return what `to_bytes` wrote; only for bytes from this program's own driver."""
        split = pickle.loads(data)
        if not isinstance(split, Split):
            raise TypeError(f"not a split: {type(split).__name__}")
        return split
