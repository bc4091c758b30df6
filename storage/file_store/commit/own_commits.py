"""What a committer has committed already: a repeated commit is not made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.commit.commit_plan import Changes
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER, Snapshot
from table_store.storage.kernel.errors import CorruptFileError

BATCH_LOOKBACK: Final = 10
"""How many snapshots are searched for an earlier commit of a batch statement that does not say
when it began. With more, commits get slower as the history grows."""


@dataclass(frozen=True, slots=True)
class OwnCommits:
    """Finds the snapshot of a commit in the history of its table."""

    snapshots: SnapshotStore

    def earlier(
        self, latest: Snapshot | None, changes: Changes, since: int | None
    ) -> Committed | NoChange | None:
        """Return the outcome when this user and identifier have committed before.

        A batch statement's commit is searched behind the snapshot `since`; None: among the last
        `BATCH_LOOKBACK`.
        """
        if latest is None:
            return None
        if changes.commit_identifier != BATCH_IDENTIFIER:
            last = latest.commit_identifiers.get(changes.commit_user)
            if last is None or last < changes.commit_identifier:
                return None
            since = 0
        elif since is None:
            since = max(0, latest.id - BATCH_LOOKBACK)
        own = self.find(latest, changes, since)
        if own is not None:
            return Committed(snapshot=own, repeated=True)
        if changes.commit_identifier != BATCH_IDENTIFIER:
            return NoChange(snapshot=latest)
        return None

    def find(self, latest: Snapshot | None, changes: Changes, after_id: int) -> Snapshot | None:
        """Return the snapshot that the changes made, behind `after_id`; None if none is there."""
        if latest is None or latest.id <= after_id:
            return None
        if changes.made(latest):
            return latest
        for snapshot_id in range(latest.id - 1, after_id, -1):
            try:
                snapshot = self.snapshots.get(snapshot_id)
            except SnapshotNotFoundError:
                return None
            except CorruptFileError:
                continue  # a later rollback has skipped this damaged snapshot
            if changes.made(snapshot):
                return snapshot
        return None
