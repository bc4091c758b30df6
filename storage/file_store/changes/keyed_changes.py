"""Changes of a table with key, computed from the versions of each key by vectorised kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.changes.change_rows import (
    CHANGE_COLUMN,
    VERSION_COLUMN,
    ChangeKind,
    ChangePairs,
)
from table_store.storage.file_store.model.data_file import KIND_ADD, KIND_COLUMN
from table_store.storage.file_store.order.key_order import order_by_key
from table_store.storage.kernel.arrays import IntArray, Mask


def chained_pairs(rows: pa.Table, key: Sequence[str]) -> ChangePairs:
    """Return what each commit changed, ascending by key, then by commit.

    Args:
        rows: of the older files (version 0) and of the commits, with all versions of each key,
            oldest first; a row of kind delete says that the key is gone.
        key: the key columns.
    """
    states = _States.of(rows, key)
    return _existing(states.pairs(states.versions), states.versions != 0)


def replaced_pairs(rows: pa.Table, key: Sequence[str], version: int) -> ChangePairs:
    """Return what one commit changed that replaced some files by others.

    Args:
        rows: of the files before it (version 0), then of those after it (another version).
        key: the key columns.
        version: the commit.
    """
    states = _States.of(rows, key)
    pairs = states.pairs(np.full(len(states.versions), version))
    # A key is gone if it has a row before the commit and none after it.
    is_gone = (states.versions == 0) & states.is_last
    pairs = replace(
        pairs,
        before=np.where(is_gone, pairs.after, pairs.before),
        after=np.where(is_gone, -1, pairs.after),
    )
    return _existing(pairs, (states.versions != 0) | is_gone)


def net_pairs(changes: pa.Table, key: Sequence[str]) -> ChangePairs:
    """Return for each key its row before the first of these changes and its row after the last.

    `changes` are change rows (`change_rows.emitted`), in any order.
    """
    versions = changes[VERSION_COLUMN].to_numpy()
    kinds = changes[CHANGE_COLUMN].to_numpy()
    adds = (kinds == ChangeKind.INSERT) | (kinds == ChangeKind.UPDATE_POSTIMAGE)
    order = order_by_key([changes[name] for name in key], tie_breaker=versions * 2 + adds)
    last = order.positions[order.is_last]
    is_first = np.ones(len(order.positions), np.bool_)
    is_first[1:] = order.is_last[:-1]
    first = order.positions[is_first]
    pairs = ChangePairs(
        before=np.where(adds[first], -1, first),
        after=np.where(adds[last], last, -1),
        before_versions=versions[first],
        after_versions=versions[last],
    )
    return _existing(pairs, np.ones(len(first), np.bool_))


def _existing(pairs: ChangePairs, wanted: Mask) -> ChangePairs:
    return pairs.select(wanted & ((pairs.before >= 0) | (pairs.after >= 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """The newest row of each key at each version, ascending by key, then version."""

    positions: IntArray
    versions: IntArray
    is_alive: Mask
    is_last: Mask

    @staticmethod
    def of(rows: pa.Table, key: Sequence[str]) -> _States:
        order = order_by_key([rows[name] for name in key])
        versions = rows[VERSION_COLUMN].to_numpy()[order.positions]
        is_state = order.is_last.copy()
        is_state[:-1] |= versions[1:] != versions[:-1]
        positions = order.positions[is_state]
        return _States(
            positions=positions,
            versions=versions[is_state],
            is_alive=rows[KIND_COLUMN].to_numpy()[positions] == KIND_ADD,
            is_last=order.is_last[is_state],
        )

    def pairs(self, versions: IntArray) -> ChangePairs:
        """Return each state with the one before it of the same key, as changes of `versions`."""
        before = np.full(len(self.positions), -1, np.int64)
        follows = ~self.is_last[:-1] & self.is_alive[:-1]
        before[1:] = np.where(follows, self.positions[:-1], -1)
        return ChangePairs(
            before=before,
            after=np.where(self.is_alive, self.positions, -1),
            before_versions=versions,
            after_versions=versions,
        )
