"""Which files Spark's own Parquet reader can read without a Python worker, and in which parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.planner.protocol.scans import RawSplits
from table_store.catalog.planner.read.arrow_answer import arrow_streams
from table_store.storage.file_store.data.data_file_writer import ROW_GROUP_ROWS_MAX
from table_store.storage.file_store.metadata.file_paths import paths_in_table
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.file_groups import Integers
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.scan.scan_planner import pack
from table_store.storage.file_store.scan.split import Split
from table_store.storage.file_store.table import FileStoreTable

_PARTS: Final = pa.schema(
    [
        ("split", pa.int32()),
        ("bucket", pa.int32()),
        ("path", pa.string()),
        ("start", pa.int64()),
        ("length", pa.int64()),
        ("size", pa.int64()),
    ]
)
_BATCH_PARTS: Final = 1 << 16
_UNCOMPRESSED_PARTS_MAX: Final = 512


class StoredColumns:
    """Decides which files Spark can read in one scan; checks each schema of the files once."""

    def __init__(self, table: FileStoreTable, schema: TableSchema, columns: Sequence[str]) -> None:
        self._table = table
        self._schema = schema
        self._columns = columns
        self._are_stored = set(columns) <= set(schema.column_names)
        self._judged: dict[int, bool] = {}

    def can_read(self, split: Split) -> bool:
        """Whether Spark can read the requested columns from the split's files as they are.

        For a split that needs a merge, Spark must also be told which rows of the files are live.
        """
        return self._are_stored and all(
            file.format == "parquet" and self._readable(file.schema_id) for file in split.files
        )

    def readable(self, live: LiveFiles) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For each file, whether Spark can read the requested columns from it."""
        schemas = [i for i in live.schema_ids if self._are_stored and self._readable(i)]
        entries = live.entries
        mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = pc.and_(
            pc.equal(entries["format"], "parquet"),
            pc.is_in(entries["schema_id"], pa.array(schemas, pa.int64())),
        ).to_numpy()
        return mask

    def _readable(self, schema_id: int) -> bool:
        if schema_id not in self._judged:
            written = self._table.schema_store.get(schema_id)
            self._judged[schema_id] = written.id == self._schema.id or all(
                _is_same_column(written, self._schema, name) for name in self._columns
            )
        return self._judged[schema_id]


def raw_answer(
    live: LiveFiles,
    rows: Integers,
    table_path: str,
    *,
    part_bytes: int,
    pack_bytes: int,
    by_bucket: bool,
) -> RawSplits:
    """Raw splits as the bridge needs them, with a row for each part of a file that one task reads.

    Args:
        live: the files of a table, some of which are raw.
        rows: row numbers of the raw files in `live`, in the order in which tasks read them.
        table_path: the table's location.
        part_bytes: a larger file is cut into parts.
        pack_bytes: target size of a split.
        by_bucket: whether a split has files of one bucket only.
    """
    parts = _parts(live, rows, part_bytes, pack_bytes, by_bucket=by_bucket)
    batches = (_described(batch, live, rows) for batch in parts.to_batches(_BATCH_PARTS))
    is_compressed = parts.num_rows > _UNCOMPRESSED_PARTS_MAX
    return RawSplits(
        root=table_path.rstrip("/"),
        parts=arrow_streams(_PARTS, batches, is_compressed=is_compressed),
    )


def _parts(
    live: LiveFiles, rows: Integers, part_bytes: int, pack_bytes: int, *, by_bucket: bool
) -> pa.Table:
    """For each row of the answer: its split, its file's index in `rows`, part number and count.

    Before the answer, only these numbers are in memory, even for a million files.
    """
    sizes, row_counts, buckets = (
        live.entries[name].to_numpy()[rows] for name in ("size_bytes", "row_count", "bucket")
    )
    counts = _part_counts(row_counts, sizes, part_bytes)
    file = np.repeat(np.arange(len(sizes)), counts)
    part = np.arange(len(file)) - np.repeat(np.cumsum(counts) - counts, counts)
    start, end = _bounds(sizes[file], part, counts[file])
    splits = pack(end - start, buckets[file] if by_bucket else None, target_bytes=pack_bytes)
    columns = {"split": splits, "file": file, "part": part, "of": counts[file]}
    return pa.table({name: pa.array(c.astype(np.int32)) for name, c in columns.items()})


def _bounds(size: Integers, part: Integers, of: Integers) -> tuple[Integers, Integers]:
    """The offsets at which parts of files begin and end."""
    return size * part // of, size * (part + 1) // of


def _described(parts: pa.RecordBatch, live: LiveFiles, rows: Integers) -> pa.RecordBatch:
    """The rows of the answer for a batch of `_parts`, which is ordered by file."""
    place = parts["file"].to_numpy()
    first = int(place[0])
    some = rows[first : int(place[-1]) + 1]
    file = pa.array(place - first)
    stored = live.entries.select(["bucket", "size_bytes"]).take(pa.array(some)).take(file)
    size = stored["size_bytes"].to_numpy()
    start, end = _bounds(size, parts["part"].to_numpy(), parts["of"].to_numpy())
    bucket, path = stored["bucket"].combine_chunks(), paths_in_table(live, some).take(file)
    columns = [parts["split"], bucket, path, *(pa.array(c) for c in (start, end - start, size))]
    return pa.RecordBatch.from_arrays(columns, schema=_PARTS)


def _part_counts(row_counts: Integers, sizes: Integers, part_bytes: int) -> Integers:
    """The number of parts into which each file is cut, so that several tasks can read it.

    Spark's reader reads the row groups whose midpoint lies in its part, so there are at most as
    many parts as full row groups.
    """
    groups = -(-row_counts // ROW_GROUP_ROWS_MAX)
    return np.maximum(1, np.minimum(groups, -(-sizes // max(1, part_bytes))))


def _is_same_column(written: TableSchema, schema: TableSchema, name: str) -> bool:
    """Whether matching columns by name, as Spark does, finds the same column as matching by id."""
    field = schema.field_named(name)
    old = written.field_with_id(field.id)
    if old is None:
        is_name_free = all(other.name.lower() != name.lower() for other in written.fields)
        return is_name_free and field.initial_default is None
    return old.name == field.name and old.type == field.type
