"""Which versions of tables, by name, are read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The version of a table: a snapshot's id, 0 for none, and the barrier where it is that."""

    snapshot: int
    barrier: int | None


def versions_by_name(
    warehouse: Warehouse,
    names: Sequence[str],
    consistency: Consistency,
    *,
    barrier: int | None,
    reads: Callable[[], ConsistentReads],
) -> dict[str, Version]:
    """Return the version of each table; that of one which no job reads or writes is the newest.

    Args:
        warehouse: of the tables.
        names: `[namespace.]table`.
        consistency: which barrier it is.
        barrier: its number, if it is a certain one.
        reads: of the warehouse; not called where each table is read as it is.

    Raises:
        NotFoundError: there is no such table.
        InvalidIdentifierError: there can be no such table.
        WrongRelationKindError: it is a view, or a foreign table.
        NoCommonBarrierError: the tables have no barrier in common.
    """
    paths = {name: table_location(warehouse, name) for name in names}
    found: dict[str, Version] = {}
    if barrier is not None or consistency is not Consistency.READ_UNCOMMITTED:
        for pinned in reads().pinned(paths.values(), consistency, barrier=barrier):
            for path, snapshot in pinned.snapshots.items():
                found[path] = Version(snapshot=snapshot, barrier=pinned.barrier)
    return {name: found.get(path) or _newest(path) for name, path in paths.items()}


def table_location(warehouse: Warehouse, name: str) -> str:
    """Return the directory of the table `[namespace.]table`; fails as `versions_by_name`."""
    namespace, _, table = name.rpartition(".")
    identifier = Identifier(namespace or DEFAULT_NAMESPACE, table)
    return warehouse.location(warehouse.require(identifier, RelationKind.TABLE))


def _newest(path: str) -> Version:
    latest = open_logged(path).latest_snapshot()
    return Version(snapshot=0 if latest is None else latest.id, barrier=None)
