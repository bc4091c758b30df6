"""Reads the files of a bucket without key in which rows were deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag.bag import Deletions, row_hashes
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.model.bucket import bucket_columns
from table_store.storage.file_store.model.data_file import (
    KIND_ADD,
    KIND_COLUMN,
    KIND_DELETE,
    DataFile,
)
from table_store.storage.file_store.model.schema import TableSchema

DELETED_ROWS_MAX: Final = 1_000_000
"""How many deleted rows are held at a time. If there are more, the hashes are divided into parts,
and the files are read once for each part."""

_ADDS_BYTES: Final = 64 << 20
_Read: TypeAlias = Callable[[DataFile], Iterator[pa.Table]]


@dataclass(frozen=True, slots=True)
class BagReader:
    """Streams the rows that no delete has removed, in bounded memory whatever the bucket holds."""

    files: DataFileReader
    schema: TableSchema

    def surviving(
        self,
        files: Sequence[DataFile],
        *,
        where: pc.Expression | None = None,
        with_sequences: bool = False,
        with_unused: bool = False,
        snapshot_id: int | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows that stay, whole, with `_VALUE_KIND` behind the columns.

        Args:
            files: of one bucket, in any order.
            where: which rows to read; equal rows all satisfy it, or none of them does.
            with_sequences: add `_SEQUENCE_NUMBER` behind the kind.
            with_unused: yield also the deletions that removed no row: they remove one that is
                added later.
            snapshot_id: for error messages only.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file is damaged.
        """

        def read(file: DataFile) -> Iterator[pa.Table]:
            batches = self.files.read(
                file,
                self.schema.column_names,
                with_kinds=True,
                with_sequences=with_sequences,
                where=where,
                snapshot_id=snapshot_id,
            )
            return _gathered(batches)

        count = sum(file.delete_count for file in files)
        parts = max(1, -(-count // DELETED_ROWS_MAX))
        for part in range(parts):
            yield from self._surviving_part(files, read, part, parts, with_unused)

    def _surviving_part(
        self,
        files: Sequence[DataFile],
        read: _Read,
        part: int,
        parts: int,
        with_unused: bool,
    ) -> Iterator[pa.Table]:
        hashed = bucket_columns(self.schema)
        names = list(self.schema.column_names)
        deleted = [
            self._part_of(_of_kind(rows, KIND_DELETE), part, parts)
            for file in files
            if file.delete_count
            for rows in read(file)
        ]
        gone = pa.concat_tables(deleted) if deleted else None
        deletions = None if gone is None else Deletions(gone.select(names), hashed)
        for file in files:
            if file.delete_count == file.row_count:
                continue
            for rows in read(file):
                adds = self._part_of(_of_kind(rows, KIND_ADD), part, parts)
                if deletions is not None:
                    alive = deletions.surviving(adds.select(names))
                    adds = adds if len(alive) == adds.num_rows else adds.take(pa.array(alive))
                if adds.num_rows:
                    yield adds
        if with_unused and gone is not None and deletions is not None:
            unused = deletions.unused()
            if len(unused):
                yield gone.take(pa.array(unused))

    def _part_of(self, rows: pa.Table, part: int, parts: int) -> pa.Table:
        if parts == 1:
            return rows
        # The low bits of the hash chose the bucket, so other bits divide the rows of one bucket.
        hashes = row_hashes(rows, bucket_columns(self.schema)) >> np.uint32(15)
        return rows.filter(pa.array(hashes % parts == part))


def _of_kind(rows: pa.Table, kind: int) -> pa.Table:
    is_kind = rows[KIND_COLUMN].to_numpy() == kind
    return rows if is_kind.all() else rows.filter(pa.array(is_kind))


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size_bytes = 0
    for batch in batches:
        held.append(batch)
        size_bytes += batch.nbytes
        if size_bytes >= _ADDS_BYTES:
            yield pa.Table.from_batches(held)
            held, size_bytes = [], 0
    if held:
        yield pa.Table.from_batches(held)
