"""Whether Spark is told that splits are buckets, so that it need not shuffle by the key."""

from __future__ import annotations

from table_store.catalog.planner.protocol.scans import BucketedBy
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.scan.scan import Scan


def bucketed_by(scan: Scan, parallelism: int) -> BucketedBy | None:
    """The key column and the number of buckets; None if Spark had better shuffle.

    With this answer each bucket is one task. To keep enough cores busy, there must be at least
    half as many buckets as cores, or a bucket must be no larger than a task of a plain scan.
    Spark cannot express buckets by several columns.
    """
    schema = scan.schema
    count = StorageSettings.of(schema).bucket_count
    if len(schema.primary_key) != 1 or count < 2:
        return None
    if 2 * count < parallelism and scan.live.size_bytes > count * scan.target_bytes:
        return None
    return BucketedBy(column=schema.primary_key[0], buckets=count)
