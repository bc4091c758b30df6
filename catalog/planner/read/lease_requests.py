"""The request that keeps the snapshots of queries that run for long from expiring."""

from __future__ import annotations

import logging

from table_store.catalog.planner.names.catalog_access import jvm_process
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.scans import LeasedRead, LeaseReads
from table_store.storage.file_store.metadata.consumer import READER
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.logged_table import open_logged

_log = logging.getLogger(__name__)


def lease_reads(session: PlannerSession, request: LeaseReads) -> None:
    """Note queries as readers of what they read, or forget them; each costs a small file."""
    for read in request.reads:
        handle = read.table.handle
        if isinstance(handle, TableHandle):
            try:
                _lease(read, handle.path, is_over=request.is_over)
            except TableStoreError as error:
                _log.warning("a query has no lease on %s: %s", handle.path, error)


def _lease(read: LeasedRead, path: str, *, is_over: bool) -> None:
    me = jvm_process()
    host = me.host.partition(" ")[0]
    reader = f"{READER}{host}:{me.pid}:{read.execution}:{read.snapshot}"
    consumers = open_logged(path).consumers
    if is_over:
        consumers.remove(reader)
    else:
        consumers.remove_lapsed_readers()
        consumers.note(reader, read.snapshot + 1)
