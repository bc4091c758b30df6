"""The LSM levels of one bucket as sorted runs, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.sorted_run import SortedRun, age, key_max, key_min
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
    """Runs of a bucket from new to old: one for each write on level 0, then one for each level.

    Invariant: all rows of a run are newer than all rows of the same key in the runs behind it.
    """

    runs: tuple[LevelRun, ...]


def levels_of(files: Sequence[DataFile]) -> Levels:
    """Return the levels that the files of one bucket make up.

    Raises:
        CorruptFileError: files of one level above 0 overlap.
    """
    fresh = sorted((f for f in files if f.level == 0), key=age, reverse=True)
    runs = [LevelRun(0, run) for run in _written_together(fresh)]
    for level in sorted({f.level for f in files if f.level > 0}):
        on_level = sorted((f for f in files if f.level == level), key=_key_then_age)
        runs.append(LevelRun(level, SortedRun(tuple(on_level))))
    if any(f.level < 0 for f in files):
        raise CorruptFileError(path=files[0].name, reason="a file has a negative level")
    return Levels(tuple(runs))


def _written_together(newest_first: Sequence[DataFile]) -> Iterator[SortedRun]:
    """Put the files that tasks of one statement wrote side by side into one run.

    Only such files have sequence numbers that overlap, because each commit continues the numbers
    of the one before.
    """
    together: list[DataFile] = []
    for file in newest_first:
        if together and not all(_side_by_side(file, other) for other in together):
            yield SortedRun(tuple(sorted(together, key=key_min)))
            together = []
        together.append(file)
    if together:
        yield SortedRun(tuple(sorted(together, key=key_min)))


def _side_by_side(one: DataFile, other: DataFile) -> bool:
    if one.key_min is None or other.key_min is None:
        return False
    is_same_time = one.min_sequence <= other.max_sequence and other.min_sequence <= one.max_sequence
    return is_same_time and (key_max(one) < key_min(other) or key_max(other) < key_min(one))


def _key_then_age(file: DataFile) -> tuple[object, ...]:
    return (*key_min(file), age(file)) if file.key_min is not None else (age(file),)
