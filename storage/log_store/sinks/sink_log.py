"""The log of a table whose rows a sink takes: which snapshots are out."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.model.scope import WHOLE_TABLE
from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER, CommitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from table_store.storage.log_store.log_store import is_logged, snapshots_after
from table_store.storage.log_store.sinks.sink import Sink

_HELD_ROWS_MAX: Final = 100_000
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@dataclass(frozen=True, slots=True)
class SinkLog:
    """Implements `LogStore` as the way of a table's changes to its sink."""

    sink: Sink

    def check_settings(self) -> None:
        """See `LogStore`; options of a connector are fixed when the table is created."""

    def create(self) -> None:
        """See `LogStore`; what rows go to is not the table's."""

    def drop(self) -> None:
        """See `LogStore`; what is out stays."""

    def set_retention(self) -> None:
        """See `LogStore`."""

    def check_ready(self) -> None:
        """See `LogStore`."""
        self.sink.check_ready()

    def offsets(self, table: FileStoreTable) -> Mapping[int, int]:  # noqa: ARG002
        """See `LogStore`."""
        return FrozenMap()

    def follow(self, table: FileStoreTable, last_id: int) -> LogPosition:
        """See `LogStore`; after a death, changes may go out again that were not noted as out."""
        with _locks[table.path]:
            positions = PositionFile(table.file_io, table.path)
            noted = positions.read()
            after = snapshots_after(table, noted.snapshot_id, last_id)
            missing = [snapshot for snapshot in after if is_logged(snapshot)]
            if missing:
                self.sink.deliver(table, missing)
            done = replace(noted, snapshot_id=max(noted.snapshot_id, last_id))
            if done != noted:
                positions.write(done)
            if missing and self.sink.forgets:
                _forget(table)
            return done

    def keep(self, table: FileStoreTable, first_retained: int) -> None:
        """See `LogStore`; nobody reads changes that are out."""


def _forget(table: FileStoreTable) -> None:
    """Remove the rows of a table, if they are many; changes that came meanwhile still go out."""
    latest = table.latest_snapshot()
    if latest is None or latest.total_record_count < _HELD_ROWS_MAX:
        return
    replace(table, listener=NO_LISTENER).committer().commit(
        (),
        kind=CommitKind.OVERWRITE,
        commit_user=table.ids.unique(),
        commit_identifier=BATCH_IDENTIFIER,
        overwrite=WHOLE_TABLE,
        track_changes=False,
        operation="TRUNCATE",
    )
