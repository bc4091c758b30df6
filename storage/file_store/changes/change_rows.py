"""Change rows while they are computed: what happened to a row, and by which commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.file_store.bag.bag import equal_rows
from table_store.storage.file_store.changes.change_split import (
    ChangeMode,
    Deduplication,
    Retractions,
)
from table_store.storage.file_store.model.errors import RetractionError
from table_store.storage.kernel.arrays import IntArray, Mask
from table_store.storage.kernel.bounded_pieces import take_values

CHANGE_COLUMN: Final = "_CHANGE"
"""Column with a `ChangeKind` (int8), behind the columns of the table."""

VERSION_COLUMN: Final = "_VERSION"
"""Column with the id of the snapshot (int64), the last one."""


class ChangeKind(IntEnum):
    """What happened to a row."""

    INSERT = 0
    DELETE = 1
    UPDATE_PREIMAGE = 2
    UPDATE_POSTIMAGE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePairs:
    """Changes as pairs of positions in a table: the row before and the row after.

    A position of -1 means that there is no such row; each pair has at least one row. The versions
    are those of the commits that removed the old row and added the new one.
    """

    before: IntArray
    after: IntArray
    before_versions: IntArray
    after_versions: IntArray

    def select(self, mask: Mask) -> ChangePairs:
        """Return the pairs where `mask` is true."""
        return ChangePairs(
            before=self.before[mask],
            after=self.after[mask],
            before_versions=self.before_versions[mask],
            after_versions=self.after_versions[mask],
        )


def emitted(
    rows: pa.Table, pairs: ChangePairs, columns: Sequence[str], mode: ChangeMode
) -> pa.Table:
    """Return change rows, the old row of a change directly in front of the new one.

    Args:
        rows: to which the pairs point; has `columns`.
        pairs: the changes.
        columns: of the answer, in front of kind and version.
        mode: whether pairs of equal rows are left out, and whether pairs are updates.
    """
    has_both = (pairs.before >= 0) & (pairs.after >= 0)
    is_equal = np.zeros(len(has_both), np.bool_)
    drops = mode.deduplication is not Deduplication.NONE
    if (drops or mode.computes_updates) and has_both.any():
        left, right = (
            _taken(rows, positions[has_both], columns) for positions in (pairs.before, pairs.after)
        )
        is_equal[has_both] = equal_rows(left, right)
    if drops and is_equal.any():
        pairs, has_both = pairs.select(~is_equal), has_both[~is_equal]
        is_equal = is_equal[~is_equal]
    is_update = has_both & ~is_equal & mode.computes_updates
    positions = np.column_stack([pairs.before, pairs.after]).ravel()
    before_kinds = np.where(is_update, ChangeKind.UPDATE_PREIMAGE, ChangeKind.DELETE)
    after_kinds = np.where(is_update, ChangeKind.UPDATE_POSTIMAGE, ChangeKind.INSERT)
    kinds = np.column_stack([before_kinds, after_kinds]).ravel()
    versions = np.column_stack([pairs.before_versions, pairs.after_versions]).ravel()
    is_row = positions >= 0
    return change_rows(_taken(rows, positions[is_row], columns), kinds[is_row], versions[is_row])


def without_retractions(rows: pa.Table, retractions: Retractions) -> pa.Table:
    """Return change rows for a reader that takes every row as a new one.

    Raises:
        RetractionError: the reader wants an error if there is a row that is not new.
    """
    if retractions is Retractions.EMIT:
        return rows
    kinds = rows[CHANGE_COLUMN].to_numpy()
    if retractions is Retractions.IGNORE:
        adds = np.isin(kinds, (ChangeKind.INSERT, ChangeKind.UPDATE_POSTIMAGE))
        return rows if adds.all() else rows.filter(pa.array(adds))
    at = np.flatnonzero(kinds != ChangeKind.INSERT)
    if len(at):
        raise RetractionError(
            snapshot_id=rows[VERSION_COLUMN][int(at[0])].as_py(),
            change_type=ChangeKind(kinds[at[0]]).name.lower(),
        )
    return rows


def change_rows(
    rows: pa.Table, kinds: npt.NDArray[np.integer], versions: npt.NDArray[np.integer]
) -> pa.Table:
    """Return the rows with their kinds and versions behind their columns."""
    return rows.append_column(CHANGE_COLUMN, pa.array(kinds.astype(np.int8))).append_column(
        VERSION_COLUMN, pa.array(versions.astype(np.int64))
    )


def _taken(rows: pa.Table, positions: IntArray, columns: Sequence[str]) -> pa.Table:
    # It goes column by column, so that only one column is in memory more than twice.
    return pa.table(
        [take_values(rows[name], positions) for name in columns],
        schema=pa.schema([rows.schema.field(name) for name in columns]),
    )
