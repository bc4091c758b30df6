"""Merging sorted runs: the newest row of every key."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from table_store.storage.file_store.key_order import IntArray, order_by_key


def newest_per_key(
    keys: Sequence[pa.ChunkedArray | pa.Array], *, order: IntArray | None = None
) -> IntArray:
    """Return the position of the newest row of every key, ascending by key.

    Args:
        keys: key columns of the runs' rows one run after the other, oldest first. One stable
            sort over the concatenation merges them.
        order: of the rows with one key the greatest is the newest; None is the position.

    Deletions are returned too: only the caller knows whether an older run still holds the row
    that they hide.
    """
    by_key = order_by_key(keys, tie_breaker=order)
    return by_key.positions[by_key.is_last]
