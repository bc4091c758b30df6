"""Expires snapshots after a commit, on a background thread, so that no statement waits for it."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError

_log = logging.getLogger(__name__)


class BackgroundExpiry:
    """Expires the snapshots of tables that were written, one table after the other."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="expiry")
        self._waiting: set[str] = set()
        self._lock = Lock()

    def after_commit(self, table: FileStoreTable, schema: TableSchema) -> None:
        """Schedule the expiry of the table's snapshots; for a `write-only` table, do nothing."""
        if StorageSettings.of(schema).is_write_only:
            return
        with self._lock:
            if table.path in self._waiting:
                return
            self._waiting.add(table.path)
        self._threads.submit(self._expire, table)

    def finish(self) -> None:
        """Wait for the expiry that runs; queued tables are left to their next commit."""
        self._threads.shutdown(cancel_futures=True)

    def _expire(self, table: FileStoreTable) -> None:
        with self._lock:
            self._waiting.discard(table.path)
        try:
            table.expire_snapshots()
        except (TableStoreError, OSError) as error:
            # The rows are committed; the next commit, or CALL sys.expire_snapshots, tries again.
            _log.warning("snapshots of %s could not expire: %s", table.path, error)


EXPIRY = BackgroundExpiry()
"""The instance of this planner process."""
