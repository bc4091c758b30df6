"""What the log of a table can do, wherever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_position import LogPosition


class LogStore(Protocol):
    """The log of one table: it comes and goes with the table, and follows its snapshots.

    A snapshot is published first, its changes come into the log behind it: in the order of the
    snapshots, each once, as far as `follow` was asked to go. Failures are `LogUnavailableError`
    (may be tried again), `LogRefusedError` and `TopicNotFoundError`.
    """

    def check_settings(self) -> None:
        """Return quietly if the options of the table can be; asks nobody else.

        Raises:
            InvalidOptionError: one is not known, or its value is of another type.
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
        """Let the log keep changes for as long as the options say by now."""
        ...

    def check_ready(self) -> None:
        """Return quietly if a snapshot that is published now could be told."""
        ...

    def offsets(self, table: FileStoreTable) -> Mapping[int, int]:
        """Return, by bucket, offsets of the log behind which the next snapshot's changes are.

        Costs a small file at most. A log without offsets has none.
        """
        ...

    def follow(self, table: FileStoreTable, last_id: int) -> LogPosition:
        """Bring the changes of all snapshots up to `last_id` into the log.

        Returns how far it has come, which may be farther. Several processes may do it at once.
        Costs a small file at most where nothing is missing.
        """
        ...

    def keep(self, table: FileStoreTable, first_retained: int) -> None:
        """Take what can only be told while the snapshots before `first_retained` are there.

        What is older than `log.retention` goes.
        """
        ...


def is_told(snapshot: Snapshot) -> bool:
    """Whether the changes of a snapshot belong into a log."""
    return snapshot.change_tracking and snapshot.commit_kind is not CommitKind.COMPACT
