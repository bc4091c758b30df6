"""Which snapshots a statement reads of its tables, as the session and their catalogs want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from table_store.catalog.bridge.shared_text import shared_name
from table_store.catalog.jobs.job_errors import NoCommonBarrierError
from table_store.catalog.meta_service.consistency import (
    Consistency,
    ConsistentReads,
    Pinned,
    barrier_number,
)
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.consistency import PinnedTable, ReadTogether
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.relations import CatalogReference
from table_store.catalog.tables.managed_table import ManagedTable

CONSISTENCY: Final = shared_name("read-consistency")
BARRIER: Final = shared_name("read-barrier")
_CATALOG_KEYS: Final = tuple(shared_name("catalog-consistency").split(","))


def read_together(session: PlannerSession, request: ReadTogether) -> Mapping[str, PinnedTable]:
    """The versions of a statement's tables, by directory; those read as they are have none.

    Raises:
        InvalidOptionError: there is no such consistency or barrier.
        NoCommonBarrierError: the tables have no barrier in common, or not the one that is set.
    """
    found: dict[str, PinnedTable] = {}
    groups: dict[tuple[str, Consistency], tuple[Warehouse, set[str]]] = {}
    for table in request.tables:
        if not isinstance(table.handle, TableHandle):
            continue
        catalog = table.relation.catalog
        consistency = consistency_of(session, catalog)
        warehouse = CatalogAccess.of(session, catalog).warehouse
        _, paths = groups.setdefault((warehouse.root, consistency), (warehouse, set()))
        paths.add(table.handle.path)
    for (_, consistency), (warehouse, paths) in groups.items():
        if request.timestamp_us is None:
            at_once = _pinned_now(session, warehouse, sorted(paths), consistency)
        else:
            until_ms = request.timestamp_us // 1_000
            at_once = _pinned_then(warehouse, sorted(paths), consistency, until_ms)
        for pinned in at_once:
            for path, at in pinned.snapshots.items():
                found[path] = PinnedTable(version=str(at), barrier=pinned.barrier)
    return found


def _pinned_now(
    session: PlannerSession, warehouse: Warehouse, tables: Sequence[str], consistency: Consistency
) -> list[Pinned]:
    text = session.conf(BARRIER)
    number = None if text is None else barrier_number(text, key=BARRIER)
    if number is None and consistency is Consistency.READ_UNCOMMITTED:
        return []
    return ConsistentReads.of(warehouse).pinned(tables, consistency, barrier=number)


def _pinned_then(
    warehouse: Warehouse, tables: Sequence[str], consistency: Consistency, until_ms: int
) -> list[Pinned]:
    """The last barrier until a time; each table as it was then where nobody asks for more."""
    reads = ConsistentReads.of(warehouse)
    if consistency is not Consistency.READ_UNCOMMITTED:
        return reads.pinned(tables, consistency, until_ms=until_ms)
    with suppress(NoCommonBarrierError):
        return reads.pinned(tables, Consistency.READ_COMMITTED, until_ms=until_ms)
    return []


def pin(session: PlannerSession, warehouse: Warehouse, table: ManagedTable | None) -> int:
    """Let a session read one barrier until it resets `BARRIER`, and return its number.

    All tables are valid there that hang together with one; without it all tables of all jobs.

    Raises:
        NoCommonBarrierError: there is none, or there are no jobs.
    """
    reads = ConsistentReads.of(warehouse)
    number = reads.last_barrier(None if table is None else table.location)
    session.set_conf(BARRIER, str(number))
    return number


def consistency_of(session: PlannerSession, catalog: CatalogReference) -> Consistency:
    """What a session wants of a catalog's tables: its own setting, else the catalog's.

    Raises:
        InvalidOptionError: there is no such consistency.
    """
    text = session.conf(CONSISTENCY)
    if text is not None:
        return Consistency.of(text, key=CONSISTENCY)
    for key in _CATALOG_KEYS:
        if key in catalog.options:
            where = f"spark.sql.catalog.{catalog.name}.{key}"
            return Consistency.of(catalog.options[key], key=where)
    return Consistency.READ_UNCOMMITTED


def check_setting(key: str, value: str) -> None:
    """Check what a session sets, if it is a setting of what it reads.

    Raises:
        InvalidOptionError: the key does not take the value.
    """
    if key == CONSISTENCY:
        Consistency.of(value, key=key)
    if key == BARRIER:
        barrier_number(value, key=key)
