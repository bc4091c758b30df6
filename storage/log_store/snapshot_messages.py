"""The messages of a log for the changes of one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_rows import ChangeKind
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.model.bucket import bucket_columns, bucket_ids
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.encoding.debezium_json import LogMessages, encode_changes
from table_store.storage.log_store.log_settings import KafkaSettings

_ROWS_TOGETHER: Final = 64 * 1024
_PREIMAGE: Final = ChangeKind.UPDATE_PREIMAGE.name.lower()


def snapshot_messages(
    table: FileStoreTable, snapshot: Snapshot, settings: KafkaSettings
) -> Iterator[tuple[int, LogMessages]]:
    """Yield the messages of one snapshot with their buckets; changes of a key are in order."""
    schema = table.schema_store.get(snapshot.schema_id)
    mode = ChangeMode(computes_updates=bool(schema.primary_key))
    scan = table.changes(snapshot.id, snapshot.id, mode=mode, labels=(CHANGE_TYPE,), schema=schema)
    hashed = bucket_columns(schema)
    for rows in _whole_updates(scan.to_batches(), scan.arrow_schema):
        if not settings.keeps_preimages:
            rows = rows.filter(pc.not_equal(rows[CHANGE_TYPE], _PREIMAGE))
        if settings.partitions == 1:
            yield 0, encode_changes(rows, schema)
            continue
        buckets = bucket_ids(rows, hashed, settings.partitions)
        for bucket in np.unique(buckets).tolist():
            yield bucket, encode_changes(rows.filter(pa.array(buckets == bucket)), schema)


def _whole_updates(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows in larger pieces; a preimage and its postimage stay in the same piece."""
    pending: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        pending.append(batch)
        count += batch.num_rows
        if count >= _ROWS_TOGETHER and batch[CHANGE_TYPE][-1].as_py() != _PREIMAGE:
            yield pa.Table.from_batches(pending, schema=schema)
            pending, count = [], 0
    if pending:
        yield pa.Table.from_batches(pending, schema=schema)
