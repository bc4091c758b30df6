"""Which splits a scan has: pure, from the files that pruning left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.interval_partition import interval_partition
from table_store.storage.file_store.key_range import KeyRange, range_columns
from table_store.storage.file_store.live_files import BucketFiles
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.sorted_run import age
from table_store.storage.file_store.split import Split, SplitKind
from table_store.storage.kernel.values import Value, order_key

OPEN_COST_BYTES: Final = 4 << 20
"""What opening one more file is worth in bytes, as Spark's spark.sql.files.openCostInBytes."""

_Runs: TypeAlias = tuple[tuple[DataFile, ...], ...]
StartsOf: TypeAlias = Callable[[DataFile], Sequence[tuple[Value, ...]]]


@dataclass(frozen=True, slots=True)
class _Planned:
    kind: SplitKind
    runs: _Runs
    keys: KeyRange = field(default_factory=KeyRange)


def share_bytes(size_bytes: int, parallelism: int, limit_bytes: int) -> int:
    """Return the bytes of a split: a share for each core, as Spark's own file scans have.

    A quarter is slack, so that two buckets of about the same size are two tasks on two cores, and
    one bucket is, too.
    """
    share = size_bytes * 5 // (4 * max(1, parallelism))
    return min(limit_bytes, max(OPEN_COST_BYTES, share))


def plan_splits(
    buckets: Sequence[BucketFiles],
    schema: TableSchema,
    *,
    target_bytes: int,
    snapshot_id: int | None,
) -> tuple[Split, ...]:
    """Return the splits of a scan, each of about `target_bytes` or less where it can be cut.

    Files that overlap no other run and hold no deletion are raw, whatever the rest of their
    bucket is like.
    """
    splits: list[Split] = []
    for bucket in buckets:
        if schema.primary_key:
            planned = _keyed(bucket, schema, target_bytes)
        else:
            planned = _keyless(bucket, target_bytes)
        splits.extend(
            Split(
                partition=bucket.partition,
                bucket=bucket.bucket,
                kind=plan.kind,
                runs=plan.runs,
                keys=plan.keys,
                snapshot_id=snapshot_id,
            )
            for plan in planned
        )
    return tuple(splits)


def _keyed(bucket: BucketFiles, schema: TableSchema, target_bytes: int) -> Iterator[_Planned]:
    raw: list[DataFile] = []
    for section in interval_partition(bucket.files):
        runs = tuple(run.files for run in section)
        if len(runs) == 1 and not any(file.delete_count for file in runs[0]):
            raw.extend(runs[0])
        else:
            yield from _cut(runs, schema, target_bytes)
    yield from _packed(raw, target_bytes)


def _keyless(bucket: BucketFiles, target_bytes: int) -> Iterator[_Planned]:
    files = sorted(bucket.files, key=age)
    if any(file.delete_count for file in files):
        yield _Planned(SplitKind.MERGE, tuple((file,) for file in files))
    else:
        yield from _packed(files, target_bytes)


def _packed(files: Sequence[DataFile], target_bytes: int) -> Iterator[_Planned]:
    """Raw files side by side, in their order, until a split is full."""
    pack: list[DataFile] = []
    size = 0
    for file in files:
        cost = file.size_bytes + OPEN_COST_BYTES
        if pack and size + cost > target_bytes:
            yield _Planned(SplitKind.RAW, tuple((f,) for f in pack))
            pack, size = [], 0
        pack.append(file)
        size += cost
    if pack:
        yield _Planned(SplitKind.RAW, tuple((f,) for f in pack))


def _cut(runs: _Runs, schema: TableSchema, target_bytes: int) -> Iterator[_Planned]:
    """Cut one section that needs a merge into ranges of the key for several tasks."""
    ranges = key_ranges(runs, schema, target_bytes)
    if len(ranges) == 1:
        yield _Planned(SplitKind.MERGE, runs)
        return
    places = _range_places(schema)
    for keys in ranges:
        kept = tuple(
            tuple(f for f in run if _overlaps(f, places, keys.start, keys.end)) for run in runs
        )
        kept = tuple(run for run in kept if run)
        if kept:
            yield _Planned(SplitKind.MERGE, kept, keys)


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
