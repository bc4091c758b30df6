"""`'connector' = 'blackhole'`: rows go nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable


@dataclass(frozen=True, slots=True)
class BlackholeSink:
    """Takes rows, and does nothing with them."""

    forgets: bool = True

    def check_ready(self) -> None:
        """See `Sink`."""

    def deliver(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        """See `Sink`."""
