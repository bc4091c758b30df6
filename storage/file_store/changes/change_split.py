"""A part of a range of changes that one task works out, and how its rows are to look."""

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
    """None: a row that a commit takes away and adds again as it was is two changes."""

    DROP_CARRYOVERS = "dropCarryovers"
    """Such rows."""

    NET_CHANGES = "netChanges"
    """Also those that a later commit of the range takes back or overtakes."""


class Retractions(StrEnum):
    """What becomes of changes that are not new rows, where nothing tells them apart."""

    TELL = "tell"
    FAIL = "fail"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMode:
    """How changes are told.

    With `computes_updates` a key that has another row after a commit is `update_preimage` and
    `update_postimage`, else `delete` and `insert`. Without key a change of a row is always the
    latter: nothing tells which row became which. `retractions` is for readers that do not look at
    the kind of a change: `ignore` leaves deletes and preimages out.
    """

    deduplication: Deduplication = Deduplication.DROP_CARRYOVERS
    computes_updates: bool = False
    retractions: Retractions = Retractions.TELL


class StepKind(StrEnum):
    """How the files of a step become changes."""

    PLAIN = "plain"
    """The rows of the files are the changes: new keys, or no key and nothing to set off."""

    COUNT = "count"
    """Equal rows are counted before and after each commit (no key)."""

    CHAIN = "chain"
    """Commits put newer rows of keys over those of `base`."""

    REPLACE = "replace"
    """The one commit puts the files it adds in the place of `base`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCommit:
    """What one commit did to a bucket, or to all of them.

    A silent one is not told, but later ones build on it. Of an exact one the files have the rows
    that changed and nothing else.
    """

    snapshot_id: int
    time_ms: int
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    is_silent: bool = False
    is_exact: bool = False

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that it changed."""
        return (*self.removed, *self.added)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStep:
    """Commits that follow each other, and the files from before them that matter."""

    kind: StepKind
    base: tuple[DataFile, ...] = ()
    commits: tuple[BucketCommit, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that are read."""
        return (*self.base, *(file for commit in self.commits for file in commit.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSplit:
    """Steps of one bucket, oldest first; `keys` is the part of the key that the split has."""

    partition: tuple[Value, ...]
    bucket: int
    steps: tuple[ChangeStep, ...]
    keys: KeyRange = field(default_factory=KeyRange)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that are read."""
        return tuple(file for step in self.steps for file in step.files)

    def to_bytes(self) -> bytes:
        """Return the split for another process of this program; column bounds stay behind."""
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
