"""Tells the log of a table what is committed and what expires."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_position import LogPosition
from table_store.storage.log_store.log_stores import log_store

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogListener:
    """The listener of a table's commits whose log follows them."""

    table: FileStoreTable

    def before_commit(self, schema: TableSchema) -> None:
        """Ask the log, so that no change is committed that cannot be told now.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: it cannot.
        """
        log_store(schema).check_ready()

    def log_offsets(self, schema: TableSchema) -> Mapping[int, int]:
        """Return where the log ended when its position was noted last."""
        return log_store(schema).offsets(self.table)

    def on_commit(self, snapshot: Snapshot, schema: TableSchema) -> None:
        """Follow; a failure is logged, and leaves the changes to the next commit. Never raises."""
        try:
            log_store(schema).follow(self.table, snapshot.id)
        except Exception as error:  # noqa: BLE001 - the commit has happened, whatever this is
            _log.warning(
                "snapshot %d of %s is committed, but the log lags behind until the next commit or "
                "CALL sys.relay_log: %s",
                snapshot.id,
                self.table.path,
                error,
            )

    def before_expiry(self, first_retained: int) -> None:
        """Bring into the log what can only be told while its snapshots are there.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: of the log.
            FileAccessError: the store refused; calling it again goes on.
        """
        self.catch_up()
        log_store(self.table.schema).keep(self.table, first_retained)

    def catch_up(self) -> LogPosition:
        """Bring all that is missing into the log; return how far it has come.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: of the log.
        """
        last_id = self.table.snapshot_store.latest_id() or 0
        return log_store(self.table.schema).follow(self.table, last_id)
