"""Changes of a table without key, where added and deleted rows that are equal cancel out.

The count of a row may fall below zero: a deletion that found no row removes one that is added
later. So the change of a commit is the difference of the visible rows before and after it, where a
count below zero makes no visible row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.bag.bag import equality_groups
from table_store.storage.file_store.changes.change_rows import (
    VERSION_COLUMN,
    ChangeKind,
    change_rows,
)
from table_store.storage.file_store.changes.change_split import ChangeMode, Deduplication
from table_store.storage.kernel.arrays import IntArray, Mask
from table_store.storage.kernel.bounded_pieces import take_values

WEIGHT_COLUMN = "_WEIGHT"
"""Column (int8) that says by how much a stored row raises the number of its equals: 1 or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """The counts of each distinct row at each commit that touched it, by row, then commit."""

    position: IntArray
    group: IntArray
    version: IntArray
    added: IntArray
    removed: IntArray
    visible_before: IntArray
    visible_after: IntArray


def counted_changes(
    rows: pa.Table,
    columns: Sequence[str],
    mode: ChangeMode,
    *,
    is_clipped: bool,
    silent: Sequence[int] = (),
    exact: Sequence[int] = (),
) -> pa.Table:
    """Return change rows, each as often as it happened; never updates.

    Args:
        rows: `columns`, `WEIGHT_COLUMN` and `VERSION_COLUMN`; older rows have version 0.
        columns: all of the table, because rows are equal if all columns are.
        mode: with netChanges only the net change of each row is left, by the newest commits.
        is_clipped: whether counts may fall below zero; then `rows` has all older equals, too.
        silent: versions that change counts, but whose changes are not returned.
        exact: versions whose rows are the changes; the rows of version 0 include them already.
    """
    counts = _counted(rows, columns, exact, is_clipped=is_clipped)
    emitted = ~np.isin(counts.version, [0, *silent])
    differences = counts.visible_after - counts.visible_before
    is_exact = np.isin(counts.version, exact)
    differences[is_exact] = (counts.added - counts.removed)[is_exact]
    if mode.deduplication is Deduplication.NET_CHANGES:
        positions, versions, differences = _net(counts, differences, emitted)
    else:
        positions, versions, differences = (
            values[emitted] for values in (counts.position, counts.version, differences)
        )
    inserts, deletes = np.maximum(differences, 0), np.maximum(-differences, 0)
    if mode.deduplication is Deduplication.NONE:
        added, removed = counts.added[emitted], counts.removed[emitted]
        is_seen = differences == added - removed
        inserts, deletes = np.where(is_seen, added, inserts), np.where(is_seen, removed, deletes)
    at = np.concatenate([np.repeat(positions, deletes), np.repeat(positions, inserts)])
    kinds = np.repeat([ChangeKind.DELETE, ChangeKind.INSERT], [deletes.sum(), inserts.sum()])
    commits = np.concatenate([np.repeat(versions, deletes), np.repeat(versions, inserts)])
    taken = pa.table(
        [take_values(rows[name], at) for name in columns],
        schema=pa.schema([rows.schema.field(name) for name in columns]),
    )
    return change_rows(taken, kinds, commits)


def plain_changes(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return one change row for each row; its weight says whether it is an insert or a delete."""
    is_added = rows[WEIGHT_COLUMN].to_numpy() > 0
    kinds = np.where(is_added, ChangeKind.INSERT, ChangeKind.DELETE)
    return change_rows(rows.select(list(columns)), kinds, rows[VERSION_COLUMN].to_numpy())


def _counted(
    rows: pa.Table, columns: Sequence[str], exact: Sequence[int], *, is_clipped: bool
) -> _Counts:
    groups = equality_groups(rows.select(list(columns)))
    versions = rows[VERSION_COLUMN].to_numpy()
    weights = rows[WEIGHT_COLUMN].to_numpy().astype(np.int64)
    order = np.lexsort((versions, groups))
    groups, versions, weights = groups[order], versions[order], weights[order]
    is_start = np.ones(len(order), np.bool_)
    is_start[1:] = (groups[1:] != groups[:-1]) | (versions[1:] != versions[:-1])
    starts = np.flatnonzero(is_start)
    added = np.add.reduceat(np.maximum(weights, 0), starts)
    removed = np.add.reduceat(np.maximum(-weights, 0), starts)
    groups, versions = groups[starts], versions[starts]
    moved = np.where(np.isin(versions, exact), 0, added - removed)
    # A sum within a group is the sum over all rows less the sum of the groups before.
    after = np.cumsum(moved)
    is_first = np.ones(len(groups), np.bool_)
    is_first[1:] = groups[1:] != groups[:-1]
    before_group = (after - moved)[is_first]
    after = after - before_group[np.cumsum(is_first) - 1]
    before = after - moved
    if is_clipped:
        before, after = np.maximum(before, 0), np.maximum(after, 0)
    return _Counts(
        position=order[starts],
        group=groups,
        version=versions,
        added=added,
        removed=removed,
        visible_before=before,
        visible_after=after,
    )


def _net(
    counts: _Counts, differences: IntArray, emitted: Mask
) -> tuple[IntArray, IntArray, IntArray]:
    """Return position, version and difference of each row's net changes.

    They are the newest of those changes that go in the direction of the sum of all, as many as
    make up that sum.
    """
    if not emitted.any():
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing
    position, version, group, differences = (
        values[emitted] for values in (counts.position, counts.version, counts.group, differences)
    )
    is_first = np.ones(len(group), np.bool_)
    is_first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(is_first)
    number = np.cumsum(is_first) - 1
    net = np.add.reduceat(differences, starts)[number]
    agreeing = np.where(np.sign(differences) == np.sign(net), np.abs(differences), 0)
    up_to_here = np.cumsum(agreeing)
    of_newer = (up_to_here[[*(starts[1:] - 1), -1]])[number] - up_to_here
    left = np.clip(np.abs(net) - of_newer, 0, agreeing)
    is_left = left > 0
    return position[is_left], version[is_left], (np.sign(net) * left)[is_left]
