"""Which snapshots a range of changes is made of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from table_store.storage.file_store.changes.change_archive import ChangeArchive
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.errors import (
    ChangesNotAvailableError,
    InvalidChangeRangeError,
    SnapshotNotFoundError,
    UntrackedChangesError,
)
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.kernel.clock import time_text
from table_store.storage.kernel.errors import MissingFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBound:
    """An end of a range: the id of a snapshot, or a time in microseconds since 1970 (UTC).

    Version 0 is the empty table before the first commit.
    """

    version: int | None = None
    timestamp_us: int | None = None
    is_inclusive: bool = True

    def __post_init__(self) -> None:
        if (self.version is None) == (self.timestamp_us is None):
            raise ValueError("a bound is either a version or a time")

    def __str__(self) -> str:
        """Return the bound as errors name it."""
        if self.version is not None:
            return f"version {self.version}"
        return f"timestamp {time_text(self.timestamp_us or 0)}"


def as_bound(version: int | ChangeBound | None) -> ChangeBound | None:
    """Return a bound for the id of a snapshot, which is inclusive."""
    return ChangeBound(version=version) if isinstance(version, int) else version


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRange:
    """The changes of the snapshots `first_id` to `last_id`; empty if `first_id` is greater."""

    first_id: int
    last_id: int


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """The part of a table's history whose changes can be read.

    The changes of a snapshot are read from it and the one before, or from the archive.
    """

    snapshots: SnapshotStore
    table: str
    archive: ChangeArchive | None = None

    def archived(self) -> range:
        """Return the ids whose changes are only in the archive."""
        return self._archived(self.snapshots.earliest_id())

    def _archived(self, earliest: int | None) -> range:
        if self.archive is None or earliest is None or earliest == 1:
            return range(0)
        kept = self.archive.ids()
        return range(kept.start, earliest + 1) if earliest in kept else range(0)

    def get(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot that is there or whose changes are kept.

        Raises:
            SnapshotNotFoundError: there is neither.
        """
        try:
            return self.snapshots.get(snapshot_id)
        except SnapshotNotFoundError:
            if self.archive is not None and snapshot_id in self.archive.ids():
                with suppress(MissingFileError):  # the archive has removed it meanwhile
                    return self.archive.snapshots.get(snapshot_id)
            raise

    def resolve(self, start: ChangeBound | None, end: ChangeBound | None) -> ChangeRange:
        """Return the snapshots between two bounds; None is the history's own end.

        A time in which nothing was committed is an empty range. An end later than the latest
        snapshot is allowed for times only.

        Raises:
            InvalidChangeRangeError: the start lies after the end.
            ChangesNotAvailableError: a bound lies outside of the history, which the error names.
        """
        _check_order(start, end)
        (earliest, known), latest = self._beginning(), self.snapshots.latest_id()
        if earliest is None or latest is None:
            return self._of_empty_table(start, end)
        first = known if start is None else self._first(start, earliest, known)
        last = latest if end is None else self._last(end, earliest, latest)
        return ChangeRange(first_id=first, last_id=last)

    def load(self, changes: ChangeRange) -> tuple[Snapshot, ...]:
        """Return the snapshots of a range, oldest first; one read each.

        Raises:
            SnapshotNotFoundError: one has expired meanwhile.
        """
        return self.snapshots.between(changes.first_id, changes.last_id)

    def _of_empty_table(self, start: ChangeBound | None, end: ChangeBound | None) -> ChangeRange:
        for bound in (start, end):
            if bound is not None and bound.version != 0:
                raise self._unavailable(bound)
        return ChangeRange(first_id=1, last_id=0)

    def _beginning(self) -> tuple[int | None, int]:
        """Return the oldest snapshot that is left, and the first whose changes can be read."""
        earliest = self.snapshots.earliest_id()
        if earliest is None or earliest == 1:
            return earliest, 1
        kept = self._archived(earliest)
        return (kept.start, kept.start) if kept else (earliest, earliest + 1)

    def _first(self, start: ChangeBound, earliest: int, known: int) -> int:
        latest = self.snapshots.latest_id() or 0
        if start.version is not None:
            first = start.version + (0 if start.is_inclusive and start.version > 0 else 1)
            if not known <= first or start.version > latest:
                raise self._unavailable(start)
            return first
        time_us = start.timestamp_us or 0
        first = self._count_before(time_us, earliest, latest, or_at=not start.is_inclusive)
        is_early = time_us < self.get(earliest).time_ms * 1000
        is_late = time_us > self.snapshots.get(latest).time_ms * 1000
        if is_early or is_late or first < known:
            raise self._unavailable(start)
        return first

    def _last(self, end: ChangeBound, earliest: int, latest: int) -> int:
        if end.version is not None:
            if not (0 if earliest == 1 else earliest) <= end.version <= latest:
                raise self._unavailable(end)
            return end.version - (0 if end.is_inclusive else 1)
        time_us = end.timestamp_us or 0
        if time_us < self.get(earliest).time_ms * 1000:
            raise self._unavailable(end)
        return self._count_before(time_us, earliest, latest, or_at=end.is_inclusive) - 1

    def _count_before(self, time_us: int, earliest: int, latest: int, *, or_at: bool) -> int:
        """Return the id of the first snapshot that is not before (or at) a time; O(log n) reads."""
        low, high = earliest, latest + 1
        while low < high:
            middle = (low + high) // 2
            found_us = self.get(middle).time_ms * 1000
            if found_us < time_us or (or_at and found_us == time_us):
                low = middle + 1
            else:
                high = middle
        return low

    def _unavailable(self, bound: ChangeBound) -> ChangesNotAvailableError:
        (earliest, known), latest = self._beginning(), self.snapshots.latest()
        if earliest is None or latest is None:
            available = "it has no snapshot yet"
        elif known > latest.id:
            available = (
                f"only snapshot {latest.id} is left, those before it have expired, so nothing "
                "tells what it changed"
            )
        else:
            first = self.get(known)
            gone = "" if earliest == 1 else "; those before have expired"
            available = (
                f"available are the versions {first.id} to {latest.id}, committed from "
                f"{time_text(first.time_ms * 1000)} to {time_text(latest.time_ms * 1000)}{gone}"
            )
        return ChangesNotAvailableError(table=self.table, asked=f"at {bound}", available=available)


def check_tracked(snapshots: Sequence[Snapshot], table: str) -> None:
    """Check that every commit which changed rows was made with change tracking.

    Raises:
        UntrackedChangesError: one was not.
    """
    for snapshot in snapshots:
        if not is_tracked(snapshot):
            raise UntrackedChangesError(
                table=table, snapshot_id=snapshot.id, operation=snapshot.operation
            )


def is_tracked(snapshot: Snapshot) -> bool:
    """Whether readers of changes shall see the commit; they see no compaction."""
    return snapshot.change_tracking or snapshot.commit_kind is CommitKind.COMPACT


def _check_order(start: ChangeBound | None, end: ChangeBound | None) -> None:
    if start is None or end is None:
        return
    versions, times = (start.version, end.version), (start.timestamp_us, end.timestamp_us)
    for low, high in (versions, times):
        if low is not None and high is not None and low > high:
            raise InvalidChangeRangeError(start=str(start), end=str(end))
