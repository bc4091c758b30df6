"""A part of a range of changes that one task computes, and the form of its rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from enum import StrEnum

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.key_range import KeyRange
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.values import Value


class Deduplication(StrEnum):
    """Which changes are left out; the values are those of Spark's `deduplicationMode`."""

    NONE = "none"
    """No changes are left out: a row that a commit removes and adds again unchanged is two.

    Which rows a commit carries over so depends on its files; a condition need not read them all.
    """

    DROP_CARRYOVERS = "dropCarryovers"
    """Rows that a commit removes and adds again unchanged are left out."""

    NET_CHANGES = "netChanges"
    """Changes that a later commit of the range undoes or replaces are left out, too."""


class Retractions(StrEnum):
    """What a reader gets that cannot tell deletes and updates from new rows."""

    EMIT = "emit"
    FAIL = "fail"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMode:
    """Which changes are returned, and in which form.

    With `computes_updates` a key that has another row after a commit gives `update_preimage` and
    `update_postimage`, else `delete` and `insert`. A table without key always gives `delete` and
    `insert`, because nobody knows which row became which. `retractions` is for readers that do
    not look at the kind of a change: `ignore` leaves deletes and preimages out. With
    `compares_read_columns` a row that differs only in columns that nobody reads has not changed.
    """

    deduplication: Deduplication = Deduplication.DROP_CARRYOVERS
    computes_updates: bool = False
    retractions: Retractions = Retractions.EMIT
    compares_read_columns: bool = False


class StepKind(StrEnum):
    """How the files of a step become changes."""

    PLAIN = "plain"
    """The rows of the files are the changes, because all keys are new or no equal rows can meet."""

    COUNT = "count"
    """Equal rows are counted before and after each commit, in a table without key."""

    CHAIN = "chain"
    """The commits only add newer rows of keys to those of `base`."""

    REPLACE = "replace"
    """The step's only commit replaces `base` by the files it adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCommit:
    """What one commit did to a bucket, or to all buckets.

    The changes of a silent commit are not returned, but later commits build on it. The files of
    an exact commit hold the changed rows and nothing else.
    """

    snapshot_id: int
    time_ms: int
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    is_silent: bool = False
    is_exact: bool = False

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that the commit added or removed."""
        return (*self.removed, *self.added)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStep:
    """Commits that follow each other, and the older files that matter for their changes."""

    kind: StepKind
    base: tuple[DataFile, ...] = ()
    commits: tuple[BucketCommit, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that are read."""
        return (*self.base, *(file for commit in self.commits for file in commit.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSplit:
    """Steps of one bucket, oldest first; `keys` is the range of keys that the split covers."""

    partition: tuple[Value, ...]
    bucket: int
    steps: tuple[ChangeStep, ...]
    keys: KeyRange = field(default_factory=KeyRange)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that are read."""
        return tuple(file for step in self.steps for file in step.files)

    def to_bytes(self) -> bytes:
        """Return the split for another process of this program, without its column bounds."""
        return pickle.dumps(
            replace(self, steps=tuple(map(_slim_step, self.steps))), pickle.HIGHEST_PROTOCOL
        )

    @staticmethod
    def from_bytes(data: bytes) -> ChangeSplit:
        """Return what `to_bytes` wrote; only for bytes from this program's own driver."""
        split = pickle.loads(data)
        if not isinstance(split, ChangeSplit):
            raise TypeError(f"not a split of changes: {type(split).__name__}")
        return split


def _slim_step(step: ChangeStep) -> ChangeStep:
    commits = tuple(
        replace(commit, added=_slim(commit.added), removed=_slim(commit.removed))
        for commit in step.commits
    )
    return replace(step, base=_slim(step.base), commits=commits)


def _slim(files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    return tuple(replace(file, stats=FrozenMap()) for file in files)
