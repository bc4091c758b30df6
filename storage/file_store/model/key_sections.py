"""Which files overlap by key, for all buckets of a table at once, vectorised."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.file_groups import Integers, bucket_numbers
from table_store.storage.file_store.model.schema import TableSchema


def section_numbers(entries: pa.Table, schema: TableSchema) -> Integers:
    """Return a number per file; files of one bucket share it if a chain of overlaps joins them.

    These are the sections of `interval_partition`, for a table with key; it costs about 1 µs a
    file. A file without a key range counts as overlapping all others of its bucket.
    """
    count = entries.num_rows
    if not count:
        return np.empty(0, dtype=np.int64)
    groups = bucket_numbers(entries, schema)
    low, high = _key_ranks(entries, len(schema.primary_key))
    order = np.lexsort((low, groups))
    width = int(high.max(initial=0)) + 2
    # The ranges of each bucket are shifted apart, so that one running maximum serves all.
    starts = groups[order] * width + low[order]
    ends = np.maximum.accumulate(groups[order] * width + high[order])
    first_of_section = np.ones(count, dtype=np.bool_)
    first_of_section[1:] = starts[1:] > ends[:-1]
    numbers = np.empty(count, dtype=np.int64)
    numbers[order] = np.cumsum(first_of_section)
    return numbers


def _key_ranks(entries: pa.Table, key_count: int) -> tuple[Integers, Integers]:
    """Return the ranks of the least and greatest key of each file among all of these keys."""
    count = entries.num_rows
    names = [f"key_{i}" for i in range(key_count)]
    if "key_min_0" not in entries.column_names:
        return np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    keys = pa.table(
        {
            name: pa.chunked_array(
                [*entries[f"key_min_{i}"].chunks, *entries[f"key_max_{i}"].chunks],
                entries[f"key_min_{i}"].type,
            )
            for i, name in enumerate(names)
        }
    )
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in names])
    ordered = keys.take(order)
    differs = np.zeros(2 * count, dtype=np.bool_)
    for column in (ordered[name].combine_chunks() for name in names):
        before, after = column.slice(0, 2 * count - 1), column.slice(1)
        different = pc.fill_null(pc.not_equal(before, after), True)
        if pa.types.is_floating(column.type):
            both_nan = pc.and_(pc.is_nan(before), pc.is_nan(after))
            different = pc.and_not(different, pc.fill_null(both_nan, False))
        differs[1:] |= different.to_numpy(zero_copy_only=False)
    ranks = np.empty(2 * count, dtype=np.int64)
    ranks[order.to_numpy()] = np.cumsum(differs)
    low, high = ranks[:count], ranks[count:]
    unknown = entries["key_min_0"].is_null().to_numpy()
    low[unknown], high[unknown] = 0, 2 * count
    return low, high
