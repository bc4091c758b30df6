"""Tells the log of a table which snapshots were committed and which expire."""

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
        """Ask the log, so that no change is committed which it cannot take now.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: it cannot take any.
        """
        log_store(schema).check_ready()

    def log_offsets(self, schema: TableSchema) -> Mapping[int, int]:
        """Return where the log ended when its position was noted last."""
        return log_store(schema).offsets(self.table)

    def on_commit(self, snapshot: Snapshot, schema: TableSchema) -> None:
        """Bring the log up to date. Never raises: after a failure the next commit does it."""
        try:
            log_store(schema).follow(self.table, snapshot.id)
        except Exception as error:  # noqa: BLE001 - an edge: the commit has already happened
            _log.warning(
                "snapshot %d of %s is committed, but the log lags behind until the next commit or "
                "CALL sys.relay_log: %s",
                snapshot.id,
                self.table.path,
                error,
            )

    def before_expiry(self, first_retained: int) -> None:
        """Bring the changes of the snapshots that expire into the log.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: the log failed or refused.
            FileAccessError: the store refused; calling it again goes on.
        """
        self.catch_up()
        log_store(self.table.schema).keep(self.table, first_retained)

    def catch_up(self) -> LogPosition:
        """Bring all missing changes into the log; return how far it has come.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: the log failed or refused.
        """
        last_id = self.table.snapshot_store.latest_id() or 0
        return log_store(self.table.schema).follow(self.table, last_id)
