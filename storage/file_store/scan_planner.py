"""Which splits a scan has: pure, from the files that pruning left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from table_store.storage.file_store.bag_place import bags
from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.file_groups import Integers, bucket_numbers, partition_numbers
from table_store.storage.file_store.interval_partition import interval_partition
from table_store.storage.file_store.key_range import KeyRange, range_columns
from table_store.storage.file_store.key_sections import section_numbers
from table_store.storage.file_store.live_files import BucketFiles, LiveFiles
from table_store.storage.file_store.manifest_entry import with_stats_of
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.sorted_run import age
from table_store.storage.file_store.split import Split, SplitKind
from table_store.storage.kernel.values import Value, order_key

OPEN_COST_BYTES: Final = 4 << 20
"""What opening one more file is worth in bytes, as Spark's spark.sql.files.openCostInBytes."""

_Runs: TypeAlias = tuple[tuple[DataFile, ...], ...]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
StartsOf: TypeAlias = Callable[[DataFile], Sequence[tuple[Value, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The files of a scan: those whose rows are the answer, and splits of those to be merged.

    A scan may have 100,000 files of the first kind, so they are rows of `live`, in the order in
    which tasks best read them: bucket after bucket by key, or as they were written.
    """

    live: LiveFiles
    raw: Integers
    merges: tuple[Split, ...]


def share_bytes(size_bytes: int, parallelism: int, limit_bytes: int) -> int:
    """Return the bytes of a split: a share for each core, as Spark's own file scans have.

    A quarter is slack, so that two buckets of about the same size are two tasks on two cores, and
    one bucket is, too.
    """
    share = size_bytes * 5 // (4 * max(1, parallelism))
    return min(limit_bytes, max(OPEN_COST_BYTES, share))


def plan_scan(live: LiveFiles, moved: Collection[int], *, target_bytes: int) -> ScanPlan:
    """Return what tasks read; a merge is cut into splits of about `target_bytes` where it can be.

    Files that overlap no other run and hold no deletion are raw, whatever the rest of their
    bucket is like.

    Args:
        live: what pruning left of a snapshot.
        moved: as `bags` takes them.
        target_bytes: of one split.
    """
    live = replace(live, entries=with_stats_of(live.entries, ()))
    is_raw, order = _keyed(live) if live.schema.primary_key else _keyless(live, moved)
    merged = () if is_raw.all() else bags(live.select(~is_raw).by_bucket(), moved)
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
        for runs, keys in _cut(section, live.schema, target_bytes)
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

    A split holds files that follow each other, of one group (equal numbers that follow each
    other), and is about `target_bytes`: each file belongs where its middle lies.
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
    """Which files overlap no other of their bucket, and the order by bucket and key."""
    sections = section_numbers(live.entries, live.schema)
    is_alone = np.bincount(sections)[sections] == 1
    return is_alone & ~_with_deletions(live), np.argsort(sections, kind="stable")


def _keyless(live: LiveFiles, moved: Collection[int]) -> tuple[Mask, Integers]:
    """Which files lie in a bag without deletions, and the order of their age."""
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


def _sections(bucket: BucketFiles, schema: TableSchema) -> Iterator[_Runs]:
    """The runs of each part of a bucket that needs a merge of its own."""
    if schema.primary_key:
        for section in interval_partition(bucket.files):
            yield tuple(run.files for run in section)
    else:
        yield tuple((file,) for file in sorted(bucket.files, key=age))


def _cut(runs: _Runs, schema: TableSchema, target_bytes: int) -> Iterator[tuple[_Runs, KeyRange]]:
    """Cut one section that needs a merge into ranges of the key for several tasks."""
    ranges = key_ranges(runs, schema, target_bytes) if schema.primary_key else (KeyRange(),)
    if len(ranges) == 1:
        yield runs, KeyRange()
        return
    places = _range_places(schema)
    for keys in ranges:
        kept = tuple(
            tuple(f for f in run if _overlaps(f, places, keys.start, keys.end)) for run in runs
        )
        kept = tuple(run for run in kept if run)
        if kept:
            yield kept, keys


def key_ranges(
    runs: _Runs, schema: TableSchema, target_bytes: int, starts_of: StartsOf | None = None
) -> tuple[KeyRange, ...]:
    """Return ranges that cut the runs' keys into pieces of about `target_bytes`, at least one.

    `starts_of` are first columns of keys of a file, ascending, that cut it evenly, if it has any;
    else cuts are between files only.
    """
    bounds: list[tuple[Value, ...]] = []
    pieces = -(-sum(file.size_bytes for run in runs for file in run) // target_bytes)
    if pieces > 1 and (places := _range_places(schema)):
        bounds = _even_integers(runs, places[0], pieces)
        bounds = bounds or _starts(runs, places, pieces, starts_of or (lambda _: ()))
    return tuple(KeyRange(start, end) for start, end in pairwise([None, *bounds, None]))


def meets(file: DataFile, keys: KeyRange, schema: TableSchema) -> bool:
    """Return whether the file can hold a key of the range."""
    return _overlaps(file, _range_places(schema), keys.start, keys.end)


def _range_places(schema: TableSchema) -> list[int]:
    return [schema.primary_key.index(name) for name in range_columns(schema)]


def _even_integers(runs: _Runs, place: int, pieces: int) -> list[tuple[Value, ...]]:
    """Bounds that cut the range of an integer column evenly; none for other types."""
    keys = [
        key[place] for run in runs for file in run for key in (file.key_min, file.key_max) if key
    ]
    integers = [key for key in keys if isinstance(key, int) and not isinstance(key, bool)]
    if len(integers) < len(keys) or not keys:
        return []
    low, high = min(integers), max(integers)
    if high - low < pieces:
        return []
    return [(low + (high - low) * i // pieces,) for i in range(1, pieces)]


def _starts(
    runs: _Runs, places: Sequence[int], pieces: int, starts_of: StartsOf
) -> list[tuple[Value, ...]]:
    """Bounds at some `pieces` keys of the largest run: first ones of files, or `starts_of` them."""
    largest = max(runs, key=lambda run: sum(file.size_bytes for file in run))
    of_files = [tuple(f.key_min[place] for place in places) for f in largest if f.key_min]
    # A value that ends one file may begin the next one.
    within = list(dict.fromkeys(start for file in largest for start in starts_of(file)))
    starts = max(of_files, within, key=len)
    step = max(1, round(len(starts) / pieces))
    return starts[step::step]


def _overlaps(
    file: DataFile,
    places: Sequence[int],
    start: tuple[Value, ...] | None,
    end: tuple[Value, ...] | None,
) -> bool:
    if file.key_min is None or file.key_max is None:
        return True
    low = order_key(tuple(file.key_min[place] for place in places))
    high = order_key(tuple(file.key_max[place] for place in places))
    # A bound may name fewer columns than the key has: then only these are compared.
    is_after = start is not None and high[: len(start)] < order_key(start)
    is_before = end is not None and low[: len(end)] >= order_key(end)
    return not (is_after or is_before)
