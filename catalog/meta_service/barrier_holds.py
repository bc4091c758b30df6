"""Keeps the snapshots of the last barrier at which all tables are valid that hang together.

Where one branch is slow, the others go on, and their snapshots of that barrier would expire. So
every table has a consumer of its own that stands at it. The barrier only rises: one that was noted
long ago keeps too much, and never too little.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from table_store.catalog.jobs.job_errors import NoCommonBarrierError
from table_store.catalog.jobs.ledger import Ledger
from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.observed_job import observed_jobs, topology_of
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.logged_table import open_logged

HOLD: Final = "barrier:all"
"""The consumer that stands at the barrier."""

_PAUSE_MS: Final = 60_000

_log = logging.getLogger(__name__)


def hold_barriers(warehouse: Warehouse) -> None:
    """Note at all tables of jobs which snapshot is to stay.

    It costs a look at all jobs, and a small file to read for each table, and to write for each one
    whose barrier has risen. What cannot be read is left out.

    Raises:
        CorruptFileError: the registry or the ledger is damaged.
    """
    jobs = [one for one in observed_jobs(JobRegistry.of(warehouse)) if one.track.taken]
    reads = ConsistentReads(Ledger.of(warehouse), jobs)
    for group in sorted({*topology_of(jobs).components.values()}, key=min):
        with suppress(NoCommonBarrierError):
            for pinned in reads.pinned(group, Consistency.REPEATABLE_READ):
                for path, snapshot in pinned.snapshots.items():
                    _note(path, snapshot)


def _note(path: str, snapshot: int) -> None:
    try:
        # A consumer keeps the snapshot before the next one that it reads.
        open_logged(path).consumers.note(HOLD, snapshot + 1)
    except TableStoreError as error:
        _log.warning("no barrier of %s is held: %s", path, error)


@dataclass(slots=True)
class BarrierHolds:
    """Holds the barriers of warehouses, once a minute and when a table is new to this process."""

    _due_ms: dict[str, int] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def renew(self, warehouse: Warehouse, tables: Iterable[str]) -> None:
        """Hold the barriers, unless that was done a short time ago.

        Args:
            warehouse: whose barriers they are.
            tables: the directories of tables that jobs of this process write.
        """
        if not self._is_due(warehouse, {*tables}):
            return
        try:
            hold_barriers(warehouse)
        except TableStoreError as error:
            _log.warning("no barriers are held: %s", error)

    def _is_due(self, warehouse: Warehouse, tables: Collection[str]) -> bool:
        now_ms = warehouse.clock.now_ms()
        with self._lock:
            is_new = not self._known.issuperset(tables)
            if not is_new and now_ms < self._due_ms.get(warehouse.root, 0):
                return False
            self._known.update(tables)
            self._due_ms[warehouse.root] = now_ms + _PAUSE_MS
            return True


BARRIER_HOLDS: Final = BarrierHolds()
"""Those of this process."""
