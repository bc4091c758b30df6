"""Merging sorted runs: the newest row of every key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.order.key_order import key_codes, order_by_codes, order_by_key
from table_store.storage.kernel.arrays import IntArray, Mask

_TABLE_SLOTS_MAX: Final = 1 << 24
"""Slots of at most 64 MiB, as much as a slice of rows; unused ones take no memory."""


def newest_per_key(
    keys: Sequence[pa.ChunkedArray | pa.Array], *, order: IntArray | None = None
) -> IntArray:
    """Return the position of the newest row of every key, ascending by key.

    Args:
        keys: key columns of the runs' rows one run after the other, oldest first. One stable
            sort over the concatenation merges them.
        order: the row with the greatest order is the newest of its key; None means position.

    Deletions are returned too: only the caller knows whether an older run still holds the row
    that they hide.
    """
    by_key = order_by_key(keys, tie_breaker=order)
    return by_key.positions[by_key.is_last]


def is_newest(keys: Sequence[pa.ChunkedArray | pa.Array]) -> Mask:
    """Return whether each row is the newest of its key; the rows come as for `newest_per_key`.

    Unlike `newest_per_key` this needs no sort if keys are numbers that lie close together, and is
    then several times faster: the runs are written, one after the other, into a table of all
    possible keys.
    """
    codes = key_codes(keys)
    if len(codes) == 1 and len(values := codes[0](None)):
        low, high = int(values.min()), int(values.max())
        if high - low < _TABLE_SLOTS_MAX:
            slots = values - low
            positions = np.arange(len(slots), dtype=np.int32)
            # The array is not initialised, because only slots that were written are read.
            newest = np.empty(high - low + 1, np.int32)
            newest[slots] = positions
            is_last: Mask = newest[slots] == positions
            return is_last
    by_key = order_by_codes(codes)
    mask = np.zeros(len(by_key.positions), np.bool_)
    mask[by_key.positions[by_key.is_last]] = True
    return mask
