"""What each commit of a range did to each bucket: the manifests, read once and grouped."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace
from itertools import compress
from operator import not_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag.bag import equality_groups
from table_store.storage.file_store.bag.bag_place import bags
from table_store.storage.file_store.changes.change_archive import ChangeArchive
from table_store.storage.file_store.changes.change_range import is_tracked
from table_store.storage.file_store.changes.change_split import BucketCommit
from table_store.storage.file_store.metadata.live_files import (
    LiveFiles,
    read_delta,
    read_live_files,
)
from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.file_store.metadata.manifest_file import MetadataReader
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.scan.pruning import conjuncts, prune
from table_store.storage.kernel.arrays import Mask
from table_store.storage.kernel.predicate import Predicate, conjunction
from table_store.storage.kernel.values import Value, order_key


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A commit in one bucket, with the fact that decides how its changes are computed.

    `is_newer` says that the commit only added files, and that all their rows are newer than the
    rows before.
    """

    commit: BucketCommit
    is_compaction: bool
    is_newer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketHistory:
    """A bucket in which rows changed: its files before the range, and the commits, oldest first.

    `kept` are commits before `base`, from the archive, whose files hold only the changed rows.
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
        return sum(file.size_bytes for c in (*self.kept, *commits) for file in c.files)


_BucketKey = tuple[tuple[object, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grouping:
    """Which files share a history: those of a bucket, or of a whole partition."""

    partition_columns: Sequence[str]
    is_by_bucket: bool

    @staticmethod
    def of(schema: TableSchema, stored_under: Set[int], moved: Collection[int]) -> _Grouping:
        """Return the grouping for files that were written under definitions of these ids."""
        return _Grouping(
            partition_columns=[f"partition_{i}" for i in range(len(schema.partition_keys))],
            is_by_bucket=stored_under.isdisjoint(moved),
        )

    def places(self, entries: pa.Table) -> pa.Table:
        """Return the columns of manifest entries that tell groups apart."""
        bucket = entries["bucket"] if self.is_by_bucket else pc.multiply(entries["bucket"], 0)
        return entries.select(self.partition_columns).append_column("bucket", bucket)

    def key_of(self, file: DataFile) -> _BucketKey:
        # The values are made fit for a dict, because a NaN does not equal itself.
        partition = tuple(
            None if value is None else order_key((value,)) for value in file.partition
        )
        return partition, file.bucket if self.is_by_bucket else 0

    def parts(self, commit: BucketCommit) -> dict[_BucketKey, BucketCommit]:
        """Return the commit's part in each group that it changed."""
        files: dict[_BucketKey, tuple[list[DataFile], list[DataFile]]] = {}
        for of_kind, changed in enumerate((commit.removed, commit.added)):
            for file in changed:
                files.setdefault(self.key_of(file), ([], []))[of_kind].append(file)
        return {
            key: replace(commit, removed=tuple(removed), added=tuple(added))
            for key, (removed, added) in files.items()
        }


def read_histories(
    reader: MetadataReader,
    before: Snapshot | None,
    snapshots: Sequence[Snapshot],
    schema: TableSchema,
    predicate: Predicate | None,
    moved: Collection[int] = (),
    kept: Sequence[BucketCommit] = (),
) -> tuple[BucketHistory, ...]:
    """Return the buckets that the commits of `snapshots` changed, without compactions.

    All buckets of a partition count as one if a row and its deletion may lie in two of them.

    Args:
        reader: of the table's manifests.
        before: the snapshot before the first; None is the empty table.
        snapshots: consecutive, oldest first.
        schema: under which the rows are to be read.
        predicate: from `for_all_versions`; files that cannot satisfy it are left out.
        moved: ids of the schemas under which rows without key had other hashes, see `bag_place`.
        kept: the commits up to `before` that the archive has, oldest first, each of all buckets.

    Raises:
        MissingFileError: a manifest is gone, because its snapshot has expired meanwhile.
        CorruptFileError: a manifest is damaged.
    """
    deltas = [_delta(reader, snapshot, schema, predicate) for snapshot in snapshots]
    changed = [
        delta.entries
        for s, delta in zip(snapshots, deltas, strict=True)
        if s.commit_kind is not CommitKind.COMPACT and delta.file_count
    ]
    if not (changed or kept):
        return ()
    live = read_live_files(reader, before, schema)
    stored_under = {file.schema_id for commit in kept for file in commit.files}
    stored_under = stored_under.union(*(of.schema_ids for of in (live, *deltas)))
    grouping = _Grouping.of(schema, stored_under, moved)
    touched = pa.concat_tables(map(grouping.places, [live.entries.slice(0, 0), *changed]))
    live = prune(live.select(_are_in(grouping.places(live.entries), touched)), predicate)
    base: dict[_BucketKey, list[DataFile]] = {}
    for file in live.files():
        base.setdefault(grouping.key_of(file), []).append(file)
    kept_parts: dict[_BucketKey, list[BucketCommit]] = {}
    for commit in kept:
        for key, part in grouping.parts(commit).items():
            kept_parts.setdefault(key, []).append(part)
    changes: dict[_BucketKey, list[FileChange]] = {}
    first_sequence = 1 if before is None else before.next_sequence
    for snapshot, delta in zip(snapshots, deltas, strict=True):
        delta = delta.select(_are_in(grouping.places(delta.entries), touched))
        for key, part in grouping.parts(_commit_of(snapshot, delta)).items():
            changes.setdefault(key, []).append(_file_change(snapshot, part, first_sequence))
        first_sequence = snapshot.next_sequence
    return tuple(
        BucketHistory(
            partition=_partition_of(kept_parts.get(key, ()), changes.get(key, ())),
            bucket=key[1],
            base=tuple(base.get(key, ())),
            changes=tuple(changes.get(key, ())),
            kept=tuple(kept_parts.get(key, ())),
        )
        for key in dict.fromkeys([*kept_parts, *changes])
    )


def snapshot_histories(
    reader: MetadataReader,
    snapshot: Snapshot,
    schema: TableSchema,
    predicate: Predicate | None,
    moved: Collection[int] = (),
) -> tuple[BucketHistory, ...]:
    """Return the history of a table whose only commit has added all files of a snapshot."""
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


def kept_commits(
    archive: ChangeArchive,
    snapshots: Sequence[Snapshot],
    schema: TableSchema,
    predicate: Predicate | None,
) -> tuple[BucketCommit, ...]:
    """Return the commits of some `snapshots` as the archive has them, each of all buckets.

    Args:
        archive: of the table.
        snapshots: of the archive, oldest first.
        schema: under which the rows are to be read.
        predicate: from `for_all_versions`; files that cannot satisfy it are left out.

    Raises:
        MissingFileError, CorruptFileError: a manifest of the archive is gone or damaged.
    """
    commits = []
    for snapshot in snapshots:
        removed, added = archive.delta(snapshot, schema, predicate)
        commits.append(
            BucketCommit(
                snapshot_id=snapshot.id,
                time_ms=snapshot.time_ms,
                added=added,
                removed=removed,
                is_exact=True,
            )
        )
    return tuple(commits)


def for_all_versions(predicate: Predicate | None, schema: TableSchema) -> Predicate | None:
    """Return the part of a condition that is true for all versions of a row or for none.

    With key it is the part that looks at the key alone. Without key it is the part that looks at
    columns of the table, because equal rows have equal columns.
    """
    if predicate is None:
        return None
    names = set(schema.primary_key) or set(schema.column_names)
    return conjunction([t for t in conjuncts(predicate) if t.columns() <= names])


def _delta(
    reader: MetadataReader, snapshot: Snapshot, schema: TableSchema, predicate: Predicate | None
) -> LiveFiles:
    entries = read_delta(reader, snapshot, schema)
    return prune(LiveFiles(snapshot_id=snapshot.id, schema=schema, entries=entries), predicate)


def _commit_of(snapshot: Snapshot, delta: LiveFiles) -> BucketCommit:
    is_added = [kind == FileKind.ADD for kind in delta.entries["kind"].to_pylist()]
    files = delta.files()
    return BucketCommit(
        snapshot_id=snapshot.id,
        time_ms=snapshot.time_ms,
        added=tuple(compress(files, is_added)),
        removed=tuple(compress(files, map(not_, is_added))),
        is_silent=not is_tracked(snapshot),
    )


def _file_change(snapshot: Snapshot, commit: BucketCommit, first_sequence: int) -> FileChange:
    return FileChange(
        commit=commit,
        is_compaction=snapshot.commit_kind is CommitKind.COMPACT,
        is_newer=not commit.removed
        and all(file.min_sequence >= first_sequence for file in commit.added),
    )


def _partition_of(kept: Sequence[BucketCommit], changes: Sequence[FileChange]) -> tuple[Value, ...]:
    commit = kept[0] if kept else changes[0].commit
    return commit.files[0].partition


def _are_in(entries: pa.Table, others: pa.Table) -> Mask:
    groups = equality_groups(pa.concat_tables([others, entries]))
    return np.isin(groups[others.num_rows :], groups[: others.num_rows])
