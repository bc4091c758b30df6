"""Which bucket the rows of a table without key lie in after its columns have changed.

A row's bucket follows from the hash of the whole row, and so does the bucket of a deletion.
Dropping, moving or widening a column, or adding one with a default, changes the hash of rows that
are already stored: then a row and its deletion may lie in two buckets. Until a compaction has put
the rows of the old files into their new buckets, all buckets of a partition that has deletions are
therefore read, and compacted, as one bag.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from table_store.storage.file_store.metadata.live_files import BucketFiles
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.bucket import bucket_columns
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.kernel.types import DataType


def hashes_alike(written: TableSchema, current: TableSchema) -> bool:
    """Whether a row written under one definition has the same hash under the other.

    A NULL does not change the hash, so a new column that is NULL in the old rows does not matter.
    """
    if current.primary_key:
        return True
    known = {field.id for field in written.fields}
    added = [field for field in current.fields if field.id not in known]
    if any(field.initial_default is not None for field in added):
        return False
    return _hashed(written) == [item for item in _hashed(current) if item[0] in known]


def moved_schemas(schemas: SchemaStore, ids: Iterable[int], current: TableSchema) -> frozenset[int]:
    """Return the schemas whose files may hold rows that belong into other buckets today."""
    if current.primary_key or StorageSettings.of(current).bucket_count == 1:
        return frozenset()
    others = set(ids) - {current.id}
    return frozenset(i for i in others if not hashes_alike(schemas.get(i), current))


def bags(buckets: Sequence[BucketFiles], moved: Collection[int]) -> tuple[BucketFiles, ...]:
    """Return the groups of files within which rows and their deletions meet.

    Args:
        buckets: all of a snapshot, or what pruning left of them.
        moved: ids of the schemas under which rows had other hashes than today.
    """
    if not moved:
        return tuple(buckets)
    partitions: dict[tuple[object, ...], list[BucketFiles]] = {}
    for bucket in buckets:
        partitions.setdefault(bucket.partition, []).append(bucket)
    return tuple(bag for group in partitions.values() for bag in _bags_of_partition(group, moved))


def moves_rows(files: Collection[DataFile], moved: Collection[int]) -> bool:
    """Whether a rewrite of these files has to compute the bucket of each row."""
    return _has_moved(files, moved) or len({file.bucket for file in files}) > 1


def _has_moved(files: Iterable[DataFile], moved: Collection[int]) -> bool:
    return any(file.schema_id in moved for file in files)


def _bags_of_partition(
    group: Sequence[BucketFiles], moved: Collection[int]
) -> Sequence[BucketFiles]:
    files = tuple(file for bucket in group for file in bucket.files)
    if not _has_moved(files, moved) or not any(file.delete_count for file in files):
        return group
    return [BucketFiles(partition=group[0].partition, bucket=group[0].bucket, files=files)]


def _hashed(schema: TableSchema) -> list[tuple[int, DataType]]:
    fields = (schema.field_named(name) for name in bucket_columns(schema))
    return [(field.id, field.type) for field in fields]
