"""Barriers by event time: roots of one group advance together.

Of each root in a group, `scan.watermark.alignment.group`, a barrier takes the newest snapshot whose
watermark is at most `max-drift` ahead of the slowest of the group, which is what Apache Flink calls
watermark alignment. What is ahead waits in the root, and comes with a later barrier. A group has
the roots that hang together by jobs. What an earlier barrier has taken stays taken, and so does the
first snapshot that a root has: before it there is nothing to be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Final, TypeAlias

from table_store.catalog.jobs.ledger import Barrier, Head, Ledger
from table_store.catalog.meta_service.one_moment import HangingTables, Heads
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import OptionScope, OptionValues
from table_store.storage.options.table_options import TABLE_OPTIONS
from table_store.storage.options.watermark_options import (
    WATERMARK_ALIGNMENT_GROUP,
    WATERMARK_ALIGNMENT_MAX_DRIFT,
    WATERMARK_IDLE_TIMEOUT,
)

_MS: Final = timedelta(milliseconds=1)

Look: TypeAlias = Callable[[str], tuple[FileStoreTable, Head] | None]
"""Returns the table in a directory, and what it is; None if there is none."""


@dataclass
class EventTime:
    """Holds roots of a warehouse back to what a barrier at `now_ms` takes of them.

    Where no root is in a group, only their options are read.
    """

    warehouse: Warehouse
    now_ms: int
    look: Look
    _slowest: dict[tuple[str, frozenset[str]], float] = field(default_factory=dict)

    def taken(self, table: FileStoreTable, head: Head) -> Head:
        """Return what a barrier takes of a table that is `head` now.

        Costs, in a group, a look at the jobs and the last barrier once, a look at the others of the
        group, and a search among the snapshots since the last barrier.

        Raises:
            CorruptFileError: the registry, the ledger or a snapshot is damaged.
        """
        values = _values(table)
        group = values.get(WATERMARK_ALIGNMENT_GROUP)
        if group is None or not head.snapshot:
            return head
        roots = self._hanging.roots_with([table.path])
        if table.path not in roots:
            return head
        if (group, roots) not in self._slowest:
            watermarks = [self._watermark(group, path) for path in roots]
            self._slowest[group, roots] = min(watermarks, default=math.inf)
        drift_ms = values.get(WATERMARK_ALIGNMENT_MAX_DRIFT) / _MS
        snapshot = self._newest(table, head, self._slowest[group, roots] + drift_ms)
        return replace(head, snapshot=snapshot)

    @cached_property
    def _hanging(self) -> HangingTables:
        return HangingTables.of(self.warehouse)

    @cached_property
    def _last(self) -> Barrier | None:
        return Ledger.of(self.warehouse).latest()

    def _watermark(self, group: str, path: str) -> float:
        """The watermark of a root; of one that does not hold the others back, more than any."""
        seen = self.look(path)
        if seen is None:
            return math.inf
        table, head = seen
        values = _values(table)
        if values.get(WATERMARK_ALIGNMENT_GROUP) != group:
            return math.inf
        snapshot = table.snapshot_store.get(head.snapshot) if head.snapshot else None
        since_ms = self.now_ms - (table.created_ms if snapshot is None else snapshot.time_ms)
        idle = values.get(WATERMARK_IDLE_TIMEOUT)
        if idle is not None and since_ms >= idle / _MS:
            return math.inf
        return _of(snapshot)

    def _newest(self, table: FileStoreTable, head: Head, limit: float) -> int:
        """The newest snapshot that is not ahead; at least what is taken already, or is the first.

        Watermarks never go back, so it is searched by halves.
        """
        store = table.snapshot_store
        if _of(store.get(head.snapshot)) <= limit:
            return head.snapshot
        low, high = self._taken_before(table, head), head.snapshot - 1
        while low < high:
            middle = (low + high + 1) // 2
            if _of(store.get(middle)) <= limit:
                low = middle
            else:
                high = middle - 1
        return low

    def _taken_before(self, table: FileStoreTable, head: Head) -> int:
        root = None if self._last is None else self._last.roots.get(table.path)
        is_known = root is not None and root.head.created_ms == head.created_ms
        taken = root.head.snapshot if root is not None and is_known else 0
        return max(taken, table.snapshot_store.earliest_id() or head.snapshot)


def taken_at_event_time(warehouse: Warehouse, heads: Heads) -> Heads:
    """Return what a barrier takes of roots that are `heads` now; fails as `EventTime.taken`."""
    tables: dict[str, FileStoreTable] = {}

    def look(path: str) -> tuple[FileStoreTable, Head] | None:
        try:
            if path not in tables:
                tables[path] = open_logged(path)
            return tables[path], heads.get(path) or Head.of(tables[path])
        except (MissingFileError, NotFoundError):
            return None

    event_time = EventTime(warehouse, warehouse.clock.now_ms(), look)
    return {
        path: head if (seen := look(path)) is None else event_time.taken(*seen)
        for path, head in heads.items()
    }


def _values(table: FileStoreTable) -> OptionValues:
    return TABLE_OPTIONS.parse(table.schema.options, OptionScope.TABLE)


def _of(snapshot: Snapshot | None) -> float:
    """The watermark of a snapshot in ms; less than any where no row has a time."""
    known = None if snapshot is None else snapshot.watermark
    return -math.inf if known is None else known
