"""Manifests: immutable files of entries, written once, merged, read through a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.metadata.columnar_file import ContentKind, decode_columnar
from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.counter import Counter
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError

MANIFEST_FOLDER: Final = "manifest"

MANIFEST_ENTRIES_MAX: Final = 50_000
"""Most entries of one manifest. With more, there are fewer files to open, but readers of one
partition or bucket can skip less."""

DECODED_BYTES_MAX: Final = 64 << 20
STORED_BYTES_MAX: Final = 96 << 20
_CHOSEN_BYTES_MAX: Final = 8 << 20

_COLUMN_BYTES: Final = 1_000
"""A column's field, its arrays and their padding; measured with manifests of 1 to 9 rows."""


class ManifestCache:
    """Manifests and lists by path, decoded and as they are stored, which is a tenth as large.

    So even a table whose decoded manifests do not all fit is read from the store only once.
    `chosen` holds the parts that scans took of small manifests and small snapshots. The cache is
    safe because the name of a manifest or list is never used twice.
    """

    def __init__(
        self,
        decoded_bytes_max: int = DECODED_BYTES_MAX,
        stored_bytes_max: int = STORED_BYTES_MAX,
    ) -> None:
        self.decoded: Final = BoundedCache[pa.Table](decoded_bytes_max, held_bytes)
        self.stored: Final = BoundedCache[bytes](stored_bytes_max, len)
        self.chosen: Final = BoundedCache[pa.Table](_CHOSEN_BYTES_MAX, held_bytes)


def held_bytes(table: pa.Table) -> int:
    """Return about how much memory a table takes: of a small one most is not its values."""
    return int(table.get_total_buffer_size() + _COLUMN_BYTES * table.num_columns)


PROCESS_CACHE: Final = ManifestCache()
"""The cache that all tables of this process share."""

_HITS: Final = Counter("metadata_cache_hits")
_MISSES: Final = Counter("metadata_cache_misses")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataReader:
    """Reads the columnar metadata files of one table, each one from storage only once."""

    file_io: FileIO
    table_path: str
    cache: ManifestCache

    def read(self, name: str, *, kind: ContentKind, snapshot_id: int | None = None) -> pa.Table:
        """Return the table in file `manifest/<name>`.

        Raises:
            MissingFileError: it does not exist.
            CorruptFileError: it is damaged.
        """
        path = join_path(self.table_path, MANIFEST_FOLDER, name)
        held = self.cache.decoded.get(path)
        if held is not None:
            _HITS.add()
            return held
        data = self.cache.stored.get(path)
        if data is not None:
            _HITS.add()
        else:
            _MISSES.add()
            try:
                data = self.file_io.read_bytes(path)
            except MissingFileError as error:
                raise MissingFileError(path=path, snapshot_id=snapshot_id) from error
            self.cache.stored.put(path, data)
        table = decode_columnar(data, path=path, kind=kind, snapshot_id=snapshot_id)
        if kind is ContentKind.MANIFEST and "name" not in table.column_names:
            raise CorruptFileError(path=path, reason="no file names", snapshot_id=snapshot_id)
        self.cache.decoded.put(path, table)
        return table


def live_entries(entries: pa.Table) -> pa.Table:
    """Return the entries of the files that are live after all changes, in order of addition.

    `entries` begins with the table's first change. For each name the last entry counts.
    """
    kinds = _kinds(entries)
    if (kinds == FileKind.ADD).all():
        return entries
    _, last = _first_and_last(entries)
    return entries.take(pa.array(np.sort(last[kinds[last] == FileKind.ADD])))


def merge_entries(entries: pa.Table, *, from_start: bool) -> pa.Table:
    """Return the net effect of consecutive changes: per name at most a deletion and an addition.

    With `from_start` nothing came before, so only live files remain. Otherwise the deletion of
    a file that was added before these changes stays, even if they add the same name again
    (a file that changed its level). Without it, a later deletion would cancel only that addition,
    and the earlier entry would be live again.
    """
    if from_start:
        return live_entries(entries)
    first, last = _first_and_last(entries)
    kinds = _kinds(entries)
    deleted_before = first[kinds[first] == FileKind.DELETE]
    added = last[kinds[last] == FileKind.ADD]
    return entries.take(pa.array(np.sort(np.concatenate([deleted_before, added]))))


def split_entries(entries: pa.Table, partition_count: int) -> tuple[pa.Table, ...]:
    """Return tables of at most `MANIFEST_ENTRIES_MAX` rows, sorted by partition and bucket.

    Because they are sorted, the parts cover narrow ranges. The sort is stable and the changes of
    one file share partition and bucket, so their order stays. Small tables are returned unchanged.
    """
    if entries.num_rows <= MANIFEST_ENTRIES_MAX:
        return (entries,) if entries.num_rows else ()
    keys = [f"partition_{i}" for i in range(partition_count)] + ["bucket"]
    position = pa.array(np.arange(entries.num_rows))
    order = pc.sort_indices(
        entries.append_column("position", position),
        sort_keys=[(key, "ascending") for key in (*keys, "position")],
    )
    ordered = entries.take(order)
    return tuple(
        ordered.slice(start, MANIFEST_ENTRIES_MAX)
        for start in range(0, ordered.num_rows, MANIFEST_ENTRIES_MAX)
    )


def _kinds(entries: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    kinds: np.ndarray[tuple[int], np.dtype[np.int8]] = entries["kind"].to_numpy()
    return kinds


def _first_and_last(
    entries: pa.Table,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return for each distinct name the row of its first and of its last entry."""
    names = entries["name"].combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    rows = np.arange(len(codes), dtype=np.int64)
    last = np.empty(len(names.dictionary), dtype=np.int64)
    last[codes] = rows  # for equal codes the last assignment wins
    first = np.empty_like(last)
    first[codes[::-1]] = rows[::-1]
    return first, last
