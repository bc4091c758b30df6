"""Which splits a scan has: pure, from the files that pruning left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.interval_partition import interval_partition
from table_store.storage.file_store.live_files import BucketFiles
from table_store.storage.file_store.sorted_run import key_max, key_min
from table_store.storage.file_store.split import Split, SplitKind
from table_store.storage.kernel.values import Value

# What opening one more file is worth in bytes, as Spark's spark.sql.files.openCostInBytes.
OPEN_COST_BYTES = 4 << 20


def plan_splits(
    buckets: Sequence[BucketFiles],
    *,
    has_key: bool,
    target_bytes: int,
    snapshot_id: int | None,
) -> tuple[Split, ...]:
    """Return the splits of a scan, each of about `target_bytes` or less where it can be cut.

    Files that overlap no other run and hold no deletion are raw, whatever the rest of their
    bucket is like.
    """
    splits: list[Split] = []
    for bucket in buckets:
        planned = _keyed(bucket, target_bytes) if has_key else _keyless(bucket, target_bytes)
        for kind, runs, key_from, key_to in planned:
            splits.append(
                Split(
                    partition=bucket.partition,
                    bucket=bucket.bucket,
                    kind=kind,
                    runs=runs,
                    snapshot_id=snapshot_id,
                    key_from=key_from,
                    key_to=key_to,
                )
            )
    return tuple(splits)


_Runs = tuple[tuple[DataFile, ...], ...]
_Planned = tuple[SplitKind, _Runs, Value, Value]


def _keyed(bucket: BucketFiles, target_bytes: int) -> Iterator[_Planned]:
    raw: list[DataFile] = []
    for section in interval_partition(bucket.files):
        runs = tuple(run.files for run in section)
        if len(runs) == 1 and not any(file.delete_count for file in runs[0]):
            raw.extend(runs[0])
        else:
            yield from _cut(runs, target_bytes)
    yield from _packed(raw, target_bytes)


def _keyless(bucket: BucketFiles, target_bytes: int) -> Iterator[_Planned]:
    files = sorted(bucket.files, key=lambda file: (file.min_sequence, file.name))
    if any(file.delete_count for file in files):
        yield SplitKind.MERGE, tuple((file,) for file in files), None, None
    else:
        yield from _packed(files, target_bytes)


def _packed(files: Sequence[DataFile], target_bytes: int) -> Iterator[_Planned]:
    """Raw files side by side, in their order, until a split is full."""
    pack: list[DataFile] = []
    size = 0
    for file in files:
        cost = file.size_bytes + OPEN_COST_BYTES
        if pack and size + cost > target_bytes:
            yield SplitKind.RAW, tuple((f,) for f in pack), None, None
            pack, size = [], 0
        pack.append(file)
        size += cost
    if pack:
        yield SplitKind.RAW, tuple((f,) for f in pack), None, None


def _cut(runs: _Runs, target_bytes: int) -> Iterator[_Planned]:
    """One section by ranges of an integer key; other keys stay in one piece."""
    files = [file for run in runs for file in run]
    pieces = -(-sum(file.size_bytes for file in files) // target_bytes)
    lows = [file.key_min[0] for file in files if file.key_min]
    highs = [file.key_max[0] for file in files if file.key_max]
    low, high = min(lows, default=None), max(highs, default=None)  # type: ignore[type-var]
    if pieces < 2 or type(low) is not int or type(high) is not int or high - low < pieces:
        yield SplitKind.MERGE, runs, None, None
        return
    bounds = [low + (high - low) * i // pieces for i in range(1, pieces)]
    for start, end in zip([None, *bounds], [*bounds, None], strict=True):
        kept = tuple(tuple(file for file in run if _overlaps(file, start, end)) for run in runs)
        yield SplitKind.MERGE, tuple(run for run in kept if run), start, end


def _overlaps(file: DataFile, start: int | None, end: int | None) -> bool:
    low, high = key_min(file)[0], key_max(file)[0]
    return (end is None or bool(low < end)) and (start is None or bool(high >= start))
