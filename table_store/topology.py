"""Tables that jobs connect, without Spark: reads at one barrier, writes that none cuts in two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.producer_transactions import ProducerTransactions
from table_store.catalog.meta_service.versions import table_location, versions_by_name
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds

__all__ = ["transaction", "versions_together"]


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
    opened = _opened(warehouse)
    kind = Consistency.of(consistency, key="consistency")
    found = versions_by_name(
        opened, tables, kind, barrier=barrier, reads=lambda: ConsistentReads.of(opened)
    )
    return {name: version.snapshot for name, version in found.items()}


@contextmanager
def transaction(warehouse: str, name: str, tables: Sequence[str]) -> Iterator[None]:
    """Let barriers have all that is written within it, or nothing.

    Where it is left by an exception, or with its process, it stays open: barriers wait until it is
    begun again under the same name and ends, or somebody calls `sys.end_transaction`.

    Args:
        warehouse: its path.
        name: of the transaction.
        tables: that it writes, `[db.]table`.

    Raises:
        NotFoundError: there is no such table.
        InvalidOptionError: the name is empty or too long, or there are no tables.
    """
    opened = _opened(warehouse)
    notes = ProducerTransactions.of(opened)
    notes.begin(name, [table_location(opened, table) for table in tables])
    yield
    notes.end(name)


def _opened(warehouse: str) -> Warehouse:
    root = plain_path(warehouse)
    return Warehouse(file_io_for(root), root, SystemClock(), RandomIds())
