"""What each commit of a range did to each bucket: the manifests, read once and grouped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag import row_groups
from table_store.storage.file_store.bag_place import bags
from table_store.storage.file_store.change_archive import ChangeArchive
from table_store.storage.file_store.change_range import is_tracked
from table_store.storage.file_store.change_split import BucketCommit
from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.key_order import MaskArray
from table_store.storage.file_store.live_files import LiveFiles, read_delta, read_live_files
from table_store.storage.file_store.manifest_entry import FileKind
from table_store.storage.file_store.manifest_file import MetadataReader
from table_store.storage.file_store.pruning import conjuncts, prune
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.split_reader import conjunction
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.values import Value, order_key


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A commit in one bucket, with what decides how its changes are found.

    `is_newer` says that it only added files whose rows are all newer than those before.
    """

    commit: BucketCommit
    is_compaction: bool
    is_newer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketHistory:
    """A bucket in which rows changed: its files before the range, and the commits, oldest first.

    `kept` are commits from before `base`, which name the rows they changed and nothing else.
    """

    partition: tuple[Value, ...]
    bucket: int
    base: tuple[DataFile, ...]
    changes: tuple[FileChange, ...]
    kept: tuple[BucketCommit, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of the files that the commits added or removed."""
        commits = [change.commit for change in self.changes if not change.is_compaction]
        return sum(
            file.size_bytes for c in (*self.kept, *commits) for file in (*c.added, *c.removed)
        )


_BucketKey = tuple[tuple[object, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grouping:
    """Which files share a history: those of a bucket, or of a whole partition."""

    partition_columns: Sequence[str]
    is_by_bucket: bool

    def places(self, entries: pa.Table) -> pa.Table:
        """The columns of manifest entries that tell groups apart."""
        bucket = entries["bucket"] if self.is_by_bucket else pc.multiply(entries["bucket"], 0)
        return entries.select(self.partition_columns).append_column("bucket", bucket)

    def key_of(self, file: DataFile) -> _BucketKey:
        # Values that Python can look up: a NaN does not equal itself.
        partition = tuple(
            None if value is None else order_key((value,)) for value in file.partition
        )
        return partition, file.bucket if self.is_by_bucket else 0


def read_histories(
    reader: MetadataReader,
    before: Snapshot | None,
    snapshots: Sequence[Snapshot],
    schema: TableSchema,
    predicate: Predicate | None,
    moved: Collection[int] = (),
) -> tuple[BucketHistory, ...]:
    """Return the buckets that the commits of `snapshots` changed, compactions apart.

    The buckets of a partition are one where rows and their deletions may lie in several.

    Args:
        reader: of the table's manifests.
        before: the snapshot before the first; None is the empty table.
        snapshots: consecutive, oldest first.
        schema: under which the rows are to be read.
        predicate: from `for_all_versions`; files that cannot satisfy it are left out.
        moved: ids of the schemas under which rows without key had other hashes, see `bag_place`.

    Raises:
        MissingFileError: a manifest is gone, for its snapshot has expired meanwhile.
        CorruptFileError: a manifest is damaged.
    """
    deltas = [
        prune(
            LiveFiles(snapshot_id=s.id, schema=schema, entries=read_delta(reader, s, schema)),
            predicate,
        )
        for s in snapshots
    ]
    changed = [
        delta.entries
        for s, delta in zip(snapshots, deltas, strict=True)
        if s.commit_kind is not CommitKind.COMPACT and delta.file_count
    ]
    if not changed:
        return ()
    live = read_live_files(reader, before, schema)
    grouping = _Grouping(
        partition_columns=[f"partition_{i}" for i in range(len(schema.partition_keys))],
        is_by_bucket=not any(
            schema_id in moved
            for entries in (live.entries, *(delta.entries for delta in deltas))
            for schema_id in entries["schema_id"].unique().to_pylist()
        ),
    )
    touched = pa.concat_tables([grouping.places(entries) for entries in changed])
    live = prune(live.select(_are_in(grouping.places(live.entries), touched)), predicate)
    base: dict[_BucketKey, list[DataFile]] = {}
    for file in live.files():
        base.setdefault(grouping.key_of(file), []).append(file)
    changes: dict[_BucketKey, list[FileChange]] = {}
    first_sequence = 1 if before is None else before.next_sequence
    for snapshot, delta in zip(snapshots, deltas, strict=True):
        delta = delta.select(_are_in(grouping.places(delta.entries), touched))
        for key, change in _bucket_changes(snapshot, delta, first_sequence, grouping):
            changes.setdefault(key, []).append(change)
        first_sequence = snapshot.next_sequence
    return tuple(
        BucketHistory(
            partition=_any_file([change.commit for change in of_bucket]).partition,
            bucket=key[1],
            base=tuple(base.get(key, ())),
            changes=tuple(of_bucket),
        )
        for key, of_bucket in changes.items()
    )


def snapshot_histories(
    reader: MetadataReader,
    snapshot: Snapshot,
    schema: TableSchema,
    predicate: Predicate | None,
    moved: Collection[int] = (),
) -> tuple[BucketHistory, ...]:
    """Return a snapshot as if its commit had made all of it, in the place of nothing."""
    live = prune(read_live_files(reader, snapshot, schema), predicate)
    return tuple(
        BucketHistory(
            partition=files.partition,
            bucket=files.bucket,
            base=(),
            changes=(
                FileChange(
                    commit=BucketCommit(
                        snapshot_id=snapshot.id, time_ms=snapshot.time_ms, added=files.files
                    ),
                    is_compaction=False,
                    is_newer=False,
                ),
            ),
        )
        for files in bags(live.by_bucket(), moved)
    )


def with_kept(
    histories: Sequence[BucketHistory],
    archive: ChangeArchive,
    snapshots: Sequence[Snapshot],
    schema: TableSchema,
    predicate: Predicate | None,
) -> tuple[BucketHistory, ...]:
    """Return the histories with what the archive has kept of snapshots before them.

    Args:
        histories: from `read_histories`.
        archive: of the table.
        snapshots: of the archive, oldest first.
        schema: under which the rows are to be read.
        predicate: from `for_all_versions`; files that cannot satisfy it are left out.

    Raises:
        MissingFileError, CorruptFileError: of the archive's manifests.
    """
    grouping = _Grouping(partition_columns=(), is_by_bucket=True)
    kept: dict[_BucketKey, list[BucketCommit]] = {}
    for snapshot in snapshots:
        delta: dict[_BucketKey, tuple[list[DataFile], list[DataFile]]] = {}
        for of_kind, files in enumerate(archive.delta(snapshot, schema, predicate)):
            for file in files:
                delta.setdefault(grouping.key_of(file), ([], []))[of_kind].append(file)
        for key, (removed, added) in delta.items():
            kept.setdefault(key, []).append(
                BucketCommit(
                    snapshot_id=snapshot.id,
                    time_ms=snapshot.time_ms,
                    added=tuple(added),
                    removed=tuple(removed),
                )
            )
    later = [
        replace(history, kept=tuple(kept.pop(grouping.key_of(_any_file(_commits_of(history))), ())))
        for history in histories
    ]
    alone = [
        BucketHistory(
            partition=_any_file(commits).partition,
            bucket=key[1],
            base=(),
            changes=(),
            kept=tuple(commits),
        )
        for key, commits in kept.items()
    ]
    return (*alone, *later)


def _commits_of(history: BucketHistory) -> list[BucketCommit]:
    return [change.commit for change in history.changes]


def for_all_versions(predicate: Predicate | None, schema: TableSchema) -> Predicate | None:
    """Return the part of a condition that holds for all rows of a key, or for none.

    Without key that is all that looks at columns of the table: equal rows satisfy it alike.
    """
    if predicate is None:
        return None
    names = set(schema.primary_key) or set(schema.column_names)
    return conjunction([t for t in conjuncts(predicate) if t.columns() <= names])


def _bucket_changes(
    snapshot: Snapshot, delta: LiveFiles, first_sequence: int, grouping: _Grouping
) -> list[tuple[_BucketKey, FileChange]]:
    kinds = delta.entries["kind"].to_numpy() if delta.file_count else []
    added: dict[_BucketKey, list[DataFile]] = {}
    removed: dict[_BucketKey, list[DataFile]] = {}
    for kind, file in zip(kinds, delta.files(), strict=True):
        of_kind = added if kind == FileKind.ADD else removed
        of_kind.setdefault(grouping.key_of(file), []).append(file)
    found = []
    for key in dict.fromkeys([*removed, *added]):
        commit = BucketCommit(
            snapshot_id=snapshot.id,
            time_ms=snapshot.time_ms,
            added=tuple(added.get(key, ())),
            removed=tuple(removed.get(key, ())),
            is_silent=not is_tracked(snapshot),
        )
        change = FileChange(
            commit=commit,
            is_compaction=snapshot.commit_kind is CommitKind.COMPACT,
            is_newer=not commit.removed
            and all(file.min_sequence >= first_sequence for file in commit.added),
        )
        found.append((key, change))
    return found


def _any_file(commits: Sequence[BucketCommit]) -> DataFile:
    commit = commits[0]
    return (*commit.added, *commit.removed)[0]


def _are_in(entries: pa.Table, others: pa.Table) -> MaskArray:
    groups = row_groups(pa.concat_tables([others, entries]))
    return np.isin(groups[others.num_rows :], groups[: others.num_rows])
