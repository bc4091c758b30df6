"""Reads tables that jobs connect at one barrier, without Spark; see docs/sql.md."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.log_store.logged_table import open_logged

__all__ = ["versions_together"]


def versions_together(
    warehouse: str,
    tables: Sequence[str],
    *,
    consistency: str = "RepeatableRead",
    barrier: int | None = None,
) -> dict[str, int]:
    """Return the versions with which tables are read together, for `scan(version=…)`.

    Args:
        warehouse: its path.
        tables: names, `[db.]table`.
        consistency: `RepeatableRead`, `ReadCommitted` or `ReadUncommitted`.
        barrier: its number, if it is a certain one.

    Returns:
        A snapshot's id for each name; 0 for a table without one. That of a table that no job
        reads or writes is the newest.

    Raises:
        NotFoundError: there is no such table.
        NoCommonBarrierError: the tables have no barrier in common.
        InvalidOptionError: there is no such consistency.
    """
    root = plain_path(warehouse)
    opened = Warehouse(file_io_for(root), root, SystemClock(), RandomIds())
    kind = Consistency.of(consistency, key="consistency")
    paths = {name: _location(opened, name) for name in tables}
    found: dict[str, int] = {}
    if barrier is not None or kind is not Consistency.READ_UNCOMMITTED:
        reads = ConsistentReads.of(opened)
        for pinned in reads.pinned(paths.values(), kind, barrier=barrier):
            found |= pinned.snapshots
    return {name: found[p] if p in found else _newest(p) for name, p in paths.items()}


def _location(warehouse: Warehouse, name: str) -> str:
    namespace, _, table = name.rpartition(".")
    identifier = Identifier(namespace or DEFAULT_NAMESPACE, table)
    return warehouse.location(warehouse.require(identifier, RelationKind.TABLE))


def _newest(path: str) -> int:
    latest = open_logged(path).latest_snapshot()
    return 0 if latest is None else latest.id
