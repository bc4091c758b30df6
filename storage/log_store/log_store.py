"""What the log of a table can do, wherever it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_position import LogPosition


class LogStore(Protocol):
    """The log of one table: it is created and dropped with the table and follows its snapshots.

    A snapshot is published first; afterwards its changes come into the log, in the order of the
    snapshots, each once, as far as `follow` was asked to go. Failures are `LogUnavailableError`
    (may be tried again), `LogRefusedError` and `TopicNotFoundError`.
    """

    def check_settings(self) -> None:
        """Check the options of the table, without asking any broker.

        Raises:
            InvalidOptionError: an option is not known, or its value is of another type.
        """
        ...

    def create(self) -> None:
        """Make the log, empty.

        Raises:
            InvalidOptionError: see `check_settings`.
            TopicExistsError: there is one already, and it cannot be taken over.
        """
        ...

    def drop(self) -> None:
        """Remove the log; one that is gone is fine."""
        ...

    def set_retention(self) -> None:
        """Make the log keep changes for as long as the options say now."""
        ...

    def check_ready(self) -> None:
        """Check that the log could take the changes of a snapshot that is published now."""
        ...

    def offsets(self, table: FileStoreTable) -> Mapping[int, int]:
        """Return for each bucket an offset in the log before the next snapshot's changes.

        It reads a small file at most. A log without offsets returns none.
        """
        ...

    def follow(self, table: FileStoreTable, last_id: int) -> LogPosition:
        """Bring the changes of all snapshots up to `last_id` into the log.

        Returns how far the log has come, which may be farther. Several processes may call this at
        once. If nothing is missing, it reads a small file at most.
        """
        ...

    def keep(self, table: FileStoreTable, first_retained: int) -> None:
        """Keep the changes that need the snapshots before `first_retained`, which will expire.

        Changes older than `log.retention` are removed.
        """
        ...


def is_logged(snapshot: Snapshot) -> bool:
    """Whether the changes of a snapshot belong into a log."""
    return snapshot.change_tracking and snapshot.commit_kind is not CommitKind.COMPACT


def snapshots_after(table: FileStoreTable, after_id: int, last_id: int) -> Iterator[Snapshot]:
    """Yield the snapshots after `after_id`; an expired one is in the log already."""
    for snapshot_id in range(after_id + 1, last_id + 1):
        try:
            yield table.snapshot_store.get(snapshot_id)
        except SnapshotNotFoundError:
            earliest = table.snapshot_store.earliest_id() or 0
            if snapshot_id >= earliest:
                raise
