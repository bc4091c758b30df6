"""The LSM levels of one bucket as sorted runs, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.sorted_run import SortedRun, age, key_min
from table_store.storage.kernel.errors import CorruptFileError


@dataclass(frozen=True, slots=True)
class LevelRun:
    """One sorted run and the level it is on."""

    level: int
    run: SortedRun

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return self.run.size_bytes


@dataclass(frozen=True, slots=True)
class Levels:
    """Runs of a bucket from new to old: every file of level 0 by itself, then each level.

    Invariant: all rows of a run are newer than all rows of the same key in the runs behind it.
    """

    runs: tuple[LevelRun, ...]

    @property
    def top_level(self) -> int:
        """The highest level that holds files; -1 for an empty bucket."""
        return max((r.level for r in self.runs), default=-1)


def levels_of(files: Sequence[DataFile]) -> Levels:
    """Return the levels that the files of one bucket make up.

    Raises:
        CorruptFileError: files of one level above 0 overlap.
    """
    fresh = sorted((f for f in files if f.level == 0), key=age, reverse=True)
    runs = [LevelRun(0, SortedRun((f,))) for f in fresh]
    for level in sorted({f.level for f in files if f.level > 0}):
        on_level = sorted((f for f in files if f.level == level), key=_key_then_age)
        runs.append(LevelRun(level, SortedRun(tuple(on_level))))
    if any(f.level < 0 for f in files):
        raise CorruptFileError(path=files[0].name, reason="a file has a negative level")
    return Levels(tuple(runs))


def _key_then_age(file: DataFile) -> tuple[object, ...]:
    return (*key_min(file), age(file)) if file.key_min is not None else (age(file),)
