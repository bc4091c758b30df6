"""Which splits a scan has; a pure function of the files that pruning left."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from table_store.storage.file_store.bag.bag_place import bags
from table_store.storage.file_store.metadata.live_files import BucketFiles, LiveFiles
from table_store.storage.file_store.metadata.manifest_entry import with_stats_of
from table_store.storage.file_store.model.file_groups import (
    Integers,
    bucket_numbers,
    partition_numbers,
)
from table_store.storage.file_store.model.interval_partition import interval_partition
from table_store.storage.file_store.model.key_cuts import (
    KeyAt,
    Runs,
    can_cut_unseen,
    key_ranges,
    meets,
)
from table_store.storage.file_store.model.key_range import KeyRange
from table_store.storage.file_store.model.key_sections import section_numbers
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.sorted_run import age
from table_store.storage.file_store.scan.split import Split, SplitKind
from table_store.storage.kernel.arrays import Mask

OPEN_COST_BYTES: Final = 4 << 20
"""Opening one more file costs as much as reading this, as in spark.sql.files.openCostInBytes."""

_LOOKED_INTO_MAX: Final = 8
"""Up to this many buckets, splits are cut after a look into files, which costs some 10 ms for a
bucket; with more buckets all cores have work anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The files of a scan: raw ones, whose rows are the answer, and splits of those to be merged.

    A scan may have 100,000 raw files, so they are rows of `live` and not objects. They are in the
    order in which tasks best read them: bucket after bucket by key, or as they were written.
    """

    live: LiveFiles
    raw: Integers
    merges: tuple[Split, ...]


def share_bytes(size_bytes: int, parallelism: int, limit_bytes: int) -> int:
    """Return the bytes of a split: a share for each core, as in Spark's own file scans.

    A quarter is added as slack, so that two buckets of about the same size make two tasks on two
    cores, and one bucket does, too.
    """
    share = size_bytes * 5 // (4 * max(1, parallelism))
    return min(limit_bytes, max(OPEN_COST_BYTES, share))


def plan_scan(
    live: LiveFiles, moved: Collection[int], *, target_bytes: int, key_at: KeyAt | None = None
) -> ScanPlan:
    """Return what tasks read; a merge is cut into splits of about `target_bytes` where it can be.

    Files that overlap no other run and hold no deletion are raw, whatever the rest of their
    bucket is like.

    Args:
        live: what pruning left of a snapshot.
        moved: as for `bags`.
        target_bytes: of one split.
        key_at: looks into a file for a key to cut at; asked if there are few buckets.
    """
    live = replace(live, entries=with_stats_of(live.entries, ()))
    is_raw, order = _keyed(live) if live.schema.primary_key else _keyless(live, moved)
    merged = () if is_raw.all() else bags(live.select(~is_raw).by_bucket(), moved)
    if len(merged) > _LOOKED_INTO_MAX:
        key_at = None
    splits = (
        Split(
            partition=bucket.partition,
            bucket=bucket.bucket,
            kind=SplitKind.MERGE,
            runs=runs,
            keys=keys,
            snapshot_id=live.snapshot_id,
        )
        for bucket in merged
        for section in _sections(bucket, live.schema)
        for runs, keys in _cut(section, live.schema, target_bytes, key_at)
    )
    return ScanPlan(live=live, raw=order[is_raw[order]], merges=tuple(splits))


def raw_splits(raw: LiveFiles, target_bytes: int) -> tuple[Split, ...]:
    """Return raw files as splits of one bucket each and about `target_bytes`."""
    if not raw.file_count:
        return ()
    groups = bucket_numbers(raw.entries, raw.schema)
    order = np.argsort(groups, kind="stable")
    sizes = raw.entries["size_bytes"].to_numpy()[order]
    numbers = pack(sizes, groups[order], target_bytes=target_bytes)
    files = raw.take(order).files()
    bounds = np.flatnonzero(np.diff(numbers, prepend=-1, append=numbers[-1] + 1)).tolist()
    return tuple(
        Split(
            partition=files[start].partition,
            bucket=files[start].bucket,
            kind=SplitKind.RAW,
            runs=tuple((file,) for file in files[start:end]),
            snapshot_id=raw.snapshot_id,
        )
        for start, end in pairwise(bounds)
    )


def pack(sizes: Integers, groups: Integers | None, *, target_bytes: int) -> Integers:
    """Return the number of the split of each file, from 0 and ascending.

    A split holds neighbouring files of one group, which is a sequence of equal numbers in
    `groups`, and has about `target_bytes`. If the files are laid end to end, the middle of each
    decides to which split it belongs.
    """
    costs = sizes + OPEN_COST_BYTES
    ends = np.cumsum(costs)
    is_first = np.zeros(len(sizes), np.bool_)
    if groups is not None and len(groups):
        is_first[1:] = groups[1:] != groups[:-1]
        starts = (ends - costs)[np.flatnonzero(is_first | (np.arange(len(sizes)) == 0))]
        ends = ends - starts[np.cumsum(is_first)]
    places = (ends - costs // 2) // max(1, target_bytes)
    is_first[1:] |= places[1:] != places[:-1]
    return np.cumsum(is_first)


def _keyed(live: LiveFiles) -> tuple[Mask, Integers]:
    """Return which files overlap no other of their bucket, and the order by bucket and key."""
    sections = section_numbers(live.entries, live.schema)
    is_alone = np.bincount(sections)[sections] == 1
    return is_alone & ~_with_deletions(live), np.argsort(sections, kind="stable")


def _keyless(live: LiveFiles, moved: Collection[int]) -> tuple[Mask, Integers]:
    """Return which files lie in a bag without deletions, and their order by age."""
    entries = live.entries
    order = np.lexsort([entries[name].to_numpy() for name in ("max_sequence", "min_sequence")])
    deleted = _with_deletions(live)
    if not deleted.any():
        return ~deleted, order
    buckets = bucket_numbers(entries, live.schema)
    is_merged = np.isin(buckets, buckets[deleted])
    if moved:
        partitions = partition_numbers(entries, live.schema)
        has_moved = np.isin(entries["schema_id"].to_numpy(), list(moved))
        bagged = np.intersect1d(partitions[deleted], partitions[has_moved])
        is_merged |= np.isin(partitions, bagged)
    return ~is_merged, order


def _with_deletions(live: LiveFiles) -> Mask:
    mask: Mask = live.entries["delete_count"].to_numpy() > 0
    return mask


def _sections(bucket: BucketFiles, schema: TableSchema) -> Iterator[Runs]:
    """Yield the runs of each part of a bucket that needs a merge of its own."""
    if schema.primary_key:
        for section in interval_partition(bucket.files):
            yield tuple(run.files for run in section)
    else:
        yield tuple((file,) for file in sorted(bucket.files, key=age))


def _cut(
    runs: Runs, schema: TableSchema, target_bytes: int, key_at: KeyAt | None
) -> Iterator[tuple[Runs, KeyRange]]:
    """Cut one section that needs a merge into ranges of the key for several tasks."""
    if can_cut_unseen(runs, schema, target_bytes):
        key_at = None
    ranges = key_ranges(runs, schema, target_bytes, key_at)
    if len(ranges) == 1:
        yield runs, KeyRange()
        return
    for keys in ranges:
        kept = tuple(tuple(f for f in run if meets(f, keys, schema)) for run in runs)
        kept = tuple(run for run in kept if run)
        if kept:
            yield kept, keys
