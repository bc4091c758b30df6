"""Expires what a table keeps of its past, behind a commit, so that no statement waits for it.

That are snapshots, and the directories that the table had until REPLACE TABLE gave it another one.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from table_store.catalog.names.name_record import TableTarget
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.named_relation import temporary_identifier
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.kernel.errors import TableStoreError

_log = logging.getLogger(__name__)


class BackgroundExpiry:
    """Expires the past of tables that were written, one table after the other."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="expiry")
        self._waiting: set[str] = set()
        self._lock = Lock()

    def after_commit(
        self, session: PlannerSession, relation: RelationReference, opened: OpenedTable
    ) -> None:
        """Schedule the expiry of the table's past; for a `write-only` table, do nothing.

        Args:
            session: that has written it.
            relation: its name.
            opened: as it was written.
        """
        path = opened.table.path
        if StorageSettings.of(opened.schema).is_write_only:
            return
        with self._lock:
            if path in self._waiting:
                return
            self._waiting.add(path)
        self._threads.submit(self._expire, session, relation, opened)

    def finish(self) -> None:
        """Wait for the expiry that runs; queued tables are left to their next commit."""
        self._threads.shutdown(cancel_futures=True)

    def _expire(
        self, session: PlannerSession, relation: RelationReference, opened: OpenedTable
    ) -> None:
        table = opened.table
        with self._lock:
            self._waiting.discard(table.path)
        try:
            table.expire_snapshots()
            _expire_generations(session, relation, table.path)
        except (TableStoreError, OSError) as error:
            # The rows are committed; the next commit, or CALL sys.expire_snapshots, tries again.
            _log.warning("snapshots of %s could not expire: %s", table.path, error)


def _expire_generations(session: PlannerSession, relation: RelationReference, path: str) -> None:
    """Remove the directories that a table no longer needs; it costs a read of the name's record.

    A table that is only being made, at `path`, has none: then they are those of the table that it
    is to replace.
    """
    access, identifier = CatalogAccess.of(session, relation.catalog), relation.identifier
    if identifier is None:
        return
    lifecycle = access.lifecycle
    if access.temporary.holds(path):
        lifecycle, identifier = access.temporary.lifecycle(), temporary_identifier(identifier)
    record = lifecycle.warehouse.find(identifier)
    if record is None or not isinstance(record.target, TableTarget) or not record.target.previous:
        return
    managed = lifecycle.loaded(record)
    settings = StorageSettings.of(managed.schema)
    if not settings.is_write_only:
        kept = settings.expiry(lifecycle.warehouse.clock.now_ms())
        lifecycle.forget_generations(managed, until_ms=kept.older_than_ms)


EXPIRY = BackgroundExpiry()
"""The instance of this planner process."""
