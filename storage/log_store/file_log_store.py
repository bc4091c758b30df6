"""The log of a table on files.

As long as the snapshots are there, readers compute the changes from them. So creating the table
makes no log, and a commit writes nothing to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.kept_changes import KeptChanges
from table_store.storage.log_store.log_position import LogPosition


@dataclass(frozen=True, slots=True)
class FileLogStore:
    """Implements `LogStore` beside the table's data."""

    def check_settings(self) -> None:
        """See `LogStore`."""

    def create(self) -> None:
        """See `LogStore`."""

    def drop(self) -> None:
        """See `LogStore`; kept changes are deleted with the table's folder."""

    def set_retention(self) -> None:
        """See `LogStore`; there is nothing to do, because every expiry reads the options."""

    def check_ready(self) -> None:
        """See `LogStore`."""

    def offsets(self, table: FileStoreTable) -> Mapping[int, int]:  # noqa: ARG002
        """See `LogStore`."""
        return FrozenMap()

    def follow(self, table: FileStoreTable, last_id: int) -> LogPosition:  # noqa: ARG002
        """See `LogStore`."""
        return LogPosition(snapshot_id=last_id)

    def keep(self, table: FileStoreTable, first_retained: int) -> None:
        """See `LogStore`."""
        KeptChanges(table).keep(first_retained)
