"""Who hears of the snapshots of a table in the process that commits them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.snapshot import Snapshot


class CommitListener(Protocol):
    """Hears of every commit of one table, before and after it is published."""

    def log_offsets(self, schema: TableSchema) -> Mapping[int, int]:
        """Return, by bucket, offsets of the log behind which the next snapshot's changes are."""
        ...

    def on_commit(self, snapshot: Snapshot) -> None:
        """Take note of a published snapshot. Never raises: the commit has happened."""
        ...

    def before_expiry(self) -> None:
        """Take what is still needed of old snapshots; an error keeps them all."""
        ...
