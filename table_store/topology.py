"""Reads tables that jobs connect at one barrier, without Spark; see docs/sql.md."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.versions import versions_by_name
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds

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
    found = versions_by_name(
        opened, tables, kind, barrier=barrier, reads=lambda: ConsistentReads.of(opened)
    )
    return {name: version.snapshot for name, version in found.items()}
