"""Finds lost and damaged snapshots of a table, and mends the table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import CorruptFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One thing that is wrong, at `path`, and what `run` does about it."""

    problem: str
    path: str
    action: str
    run: Callable[[], object]


def find_repairs(table: FileStoreTable) -> tuple[Repair, ...]:
    """Return what is wrong with a table's snapshots, in the order in which to mend it.

    If a snapshot in the middle is lost, only the history up to it is given up, because each
    snapshot names all files of its table. Rows are given up only if the newest one is lost or
    damaged.

    Raises:
        FileAccessError: the store refused.
    """
    snapshots = table.snapshot_store
    found = (_lost_in_the_middle(snapshots), _lost_newest(snapshots))
    repairs = tuple(repair for repair in found if repair is not None)
    return repairs or tuple(r for r in (_damaged_newest(table),) if r is not None)


def _lost_in_the_middle(snapshots: SnapshotStore) -> Repair | None:
    lost = snapshots.lost_ids()
    if not lost:
        return None
    first = lost[-1] + 1
    return Repair(
        problem=f"lost snapshots: {', '.join(map(str, lost))}",
        path=snapshots.path(lost[0]),
        action=f"snapshots before {first} expire; the rows of the table stay",
        run=lambda: snapshots.expire_before(first),
    )


def _lost_newest(snapshots: SnapshotStore) -> Repair | None:
    newest, noted = max(snapshots.ids(), default=0), snapshots.hint() or 0
    if noted <= newest:
        return None
    going_on = f"snapshot {newest}" if newest else "an empty table"
    return Repair(
        problem=f"lost snapshots: {', '.join(str(i) for i in range(newest + 1, noted + 1))}",
        path=snapshots.path(noted),
        action=f"goes on with {going_on}; what was committed since is given up",
        run=lambda: snapshots.write_hint(newest, durable=True),
    )


def _damaged_newest(table: FileStoreTable) -> Repair | None:
    snapshots = table.snapshot_store
    newest = snapshots.latest_id() or 0
    good = _newest_readable(snapshots, newest)
    if good is None or good == newest:
        return None
    return Repair(
        problem=f"damaged snapshot: {newest}",
        path=snapshots.path(newest),
        action=f"rolls back to snapshot {good}, the newest that can be read",
        run=lambda: table.committer().rollback(good, commit_user=table.ids.unique()),
    )


def _newest_readable(snapshots: SnapshotStore, newest: int) -> int | None:
    for snapshot_id in range(newest, 0, -1):
        with suppress(CorruptFileError):
            return snapshots.get(snapshot_id).id
    return None
