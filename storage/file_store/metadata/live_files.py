"""The files that make up one snapshot, as columns; only wanted files become objects."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.metadata.columnar_file import ContentKind
from table_store.storage.file_store.metadata.manifest_entry import (
    align_entries,
    concat_entries,
    entry_types,
    files_from_entries,
    with_stats_of,
)
from table_store.storage.file_store.metadata.manifest_file import MetadataReader, live_entries
from table_store.storage.file_store.metadata.manifest_list import ManifestMeta, list_from_table
from table_store.storage.file_store.metadata.watermark import (
    carried_times,
    greatest_times,
    latest_of,
    watermark_at,
)
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.values import Value, python_values


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFiles:
    """The files of one bucket, and the sums of their counts."""

    partition: tuple[Value, ...]
    bucket: int
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSummary:
    """What one partition holds.

    `record_count` counts stored rows, deletions included; `last_modified_ms` is the time at which
    its newest file was written. `watermark` is that of the rows in its files, in milliseconds.
    """

    partition: tuple[Value, ...]
    bucket_count: int
    file_count: int
    record_count: int
    size_bytes: int
    last_modified_ms: int
    compacted: bool
    watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFiles:
    """Live files of a snapshot, or a selection of them, one row of `entries` each.

    Columns are described in `manifest_entry`. Methods that return a selection are vectorised and
    cost about 20 ns for each file and column that they touch.
    """

    snapshot_id: int | None
    schema: TableSchema
    entries: pa.Table

    @property
    def file_count(self) -> int:
        """Number of files."""
        return int(self.entries.num_rows)

    @property
    def record_count(self) -> int:
        """Stored rows, deletions and superseded versions included."""
        return self._sum("row_count")

    @property
    def delete_count(self) -> int:
        """Stored rows that are deletions."""
        return self._sum("delete_count")

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return self._sum("size_bytes")

    @property
    def schema_ids(self) -> frozenset[int]:
        """Ids of the definitions that the files were written under."""
        return frozenset(self.entries["schema_id"].unique().to_pylist())

    def names(self) -> list[str]:
        """Return the file names."""
        names: list[str] = self.entries["name"].to_pylist()
        return names

    def select(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> LiveFiles:
        """Return the files where `mask` is true."""
        entries = self.entries if mask.all() else self.entries.filter(pa.array(mask))
        return LiveFiles(snapshot_id=self.snapshot_id, schema=self.schema, entries=entries)

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> LiveFiles:
        """Return these files, in this order."""
        entries = self.entries.take(pa.array(rows))
        return LiveFiles(snapshot_id=self.snapshot_id, schema=self.schema, entries=entries)

    def in_scope(self, scope: Scope | None) -> LiveFiles:
        """Return the files in the scope; None is the whole table."""
        return self if scope is None else self.select(scope.mask(self.entries, self.schema))

    def files(self, *, with_stats: bool = False) -> tuple[DataFile, ...]:
        """Return an object per file, in no particular order.

        It costs 5 µs a file, and about 1 µs more for each column with statistics, which are
        needed only to write the files into a manifest again.
        """
        return files_from_entries(self.entries, self.schema, with_stats=with_stats)

    def with_stats(self, files: Collection[DataFile]) -> dict[str, DataFile]:
        """Return some of the files by name, now with their column statistics."""
        names = pa.array([file.name for file in files], pa.string())
        found = self.select(pc.is_in(self.entries["name"], names).to_numpy())
        return {file.name: file for file in found.files(with_stats=True)}

    def by_bucket(self) -> tuple[BucketFiles, ...]:
        """Return the files grouped by partition and bucket, in the order of first occurrence."""
        groups: dict[tuple[tuple[Value, ...], int], list[DataFile]] = {}
        for file in self.files():
            groups.setdefault((file.partition, file.bucket), []).append(file)
        return tuple(
            BucketFiles(partition=partition, bucket=bucket, files=tuple(files))
            for (partition, bucket), files in groups.items()
        )

    def partitions(self) -> tuple[PartitionSummary, ...]:
        """Return a summary per partition; for a table without partitions at most one.

        A partition counts as compacted when no bucket holds more than one sorted run: all
        files are above level 0 and on one level.
        """
        keys = [f"partition_{i}" for i in range(len(self.schema.partition_keys))]
        if not self.file_count:
            return ()
        times = greatest_times(self.schema, self.entries)
        if times is None:
            times = pa.nulls(self.file_count, pa.int64())
        entries = self.entries.append_column("time", times)
        entries = entries.append_column("carried", carried_times(self.entries))
        grouped = entries.group_by([*keys, "bucket"], use_threads=False).aggregate(
            [
                ("time", "max"),
                ("carried", "max"),
                ("row_count", "sum"),
                ("size_bytes", "sum"),
                ("name", "count"),
                ("created_ms", "max"),
                ("level", "min"),
                ("level", "max"),
            ]
        )
        single = pc.or_(
            pc.and_(
                pc.greater(grouped["level_min"], 0),
                pc.equal(grouped["level_min"], grouped["level_max"]),
            ),
            pc.equal(grouped["name_count"], 1),
        )
        per_partition = (
            grouped.append_column("single", single)
            .group_by(keys, use_threads=False)
            .aggregate(
                [
                    ("bucket", "count"),
                    ("name_count", "sum"),
                    ("row_count_sum", "sum"),
                    ("size_bytes_sum", "sum"),
                    ("created_ms_max", "max"),
                    ("single", "all"),
                    ("time_max", "max"),
                    ("carried_max", "max"),
                ]
            )
        )
        count = per_partition.num_rows
        values = [python_values(per_partition[key]) for key in keys]
        partitions = list(zip(*values, strict=True)) if values else [()] * count
        return tuple(
            PartitionSummary(
                partition=partition,
                bucket_count=row["bucket_count"],
                file_count=row["name_count_sum"],
                record_count=row["row_count_sum_sum"],
                size_bytes=row["size_bytes_sum_sum"],
                last_modified_ms=row["created_ms_max_max"],
                compacted=row["single_all"],
                watermark=latest_of(
                    watermark_at(self.schema, row["time_max_max"]), row["carried_max_max"]
                ),
            )
            for partition, row in zip(
                partitions, per_partition.drop_columns(keys).to_pylist(), strict=True
            )
        )

    def _sum(self, column: str) -> int:
        return int(pc.sum(self.entries[column]).as_py() or 0)


def manifests_of(
    reader: MetadataReader, snapshot: Snapshot
) -> tuple[tuple[ManifestMeta, ...], tuple[ManifestMeta, ...]]:
    """Return the manifests of the base and of the delta list, oldest first.

    Raises:
        MissingFileError: a list does not exist.
        CorruptFileError: a list is damaged.
    """
    base, delta = (
        list_from_table(reader.read(name, kind=ContentKind.MANIFEST_LIST, snapshot_id=snapshot.id))
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    )
    return base, delta


def read_entries(
    reader: MetadataReader,
    manifests: Sequence[ManifestMeta],
    schema: TableSchema,
    *,
    snapshot_id: int | None = None,
    stats_of: Collection[int] | None = None,
) -> pa.Table:
    """Return the entries of the manifests in order, with the types of `schema`.

    With `stats_of` only the bounds of columns with these field ids are returned, and nothing else
    of the manifests stays in memory. For small manifests such entries are cached.

    Raises:
        MissingFileError: a manifest does not exist.
        CorruptFileError: a manifest is damaged.
    """
    types = entry_types(schema)

    def stored(manifest: ManifestMeta) -> pa.Table:
        return reader.read(manifest.name, kind=ContentKind.MANIFEST, snapshot_id=snapshot_id)

    if stats_of is None:
        return concat_entries([align_entries(stored(manifest), types) for manifest in manifests])
    tables = []
    for manifest in manifests:
        name = f"{reader.table_path}/{manifest.name}#{schema.id}#{sorted(stats_of)}"
        entries = reader.cache.chosen.get(name)
        if entries is None:
            found = with_stats_of(stored(manifest), stats_of)
            # The rows are copied, or else each column would keep the whole decoded file in memory.
            entries = align_entries(found.take(pa.array(np.arange(found.num_rows))), types)
            reader.cache.chosen.put(name, entries)
        tables.append(entries)
    return concat_entries(tables)


def read_live_files(
    reader: MetadataReader, snapshot: Snapshot | None, schema: TableSchema
) -> LiveFiles:
    """Return the live files of a snapshot under `schema`; None is the table before any commit.

    Raises:
        MissingFileError: a manifest or list does not exist.
        CorruptFileError: a manifest or list is damaged.
    """
    if snapshot is None:
        return live_files_of(None, schema, None)
    base, delta = manifests_of(reader, snapshot)
    entries = read_entries(reader, [*base, *delta], schema, snapshot_id=snapshot.id)
    return live_files_of(snapshot.id, schema, entries)


def live_files_of(
    snapshot_id: int | None, schema: TableSchema, entries: pa.Table | None
) -> LiveFiles:
    """Return the files that are live after these changes, which are all since the first."""
    if entries is None or not entries.num_rows:
        entries = _no_entries(schema)
    return LiveFiles(snapshot_id=snapshot_id, schema=schema, entries=live_entries(entries))


def read_delta(reader: MetadataReader, snapshot: Snapshot, schema: TableSchema) -> pa.Table:
    """Return the entries that this snapshot's commit made: deletions, then additions.

    Raises:
        MissingFileError: a manifest or list does not exist.
        CorruptFileError: a manifest or list is damaged.
    """
    _, delta = manifests_of(reader, snapshot)
    entries = read_entries(reader, delta, schema, snapshot_id=snapshot.id)
    return entries if entries.num_rows else _no_entries(schema)


def _no_entries(schema: TableSchema) -> pa.Table:
    return pa.table({name: pa.array([], t) for name, t in entry_types(schema).items()})
