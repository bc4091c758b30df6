"""Reads change rows of a bucket without key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag.bag import are_among, row_hashes
from table_store.storage.file_store.bag.bag_reader import DELETED_ROWS_MAX
from table_store.storage.file_store.changes.bag_changes import (
    WEIGHT_COLUMN,
    counted_changes,
    plain_changes,
)
from table_store.storage.file_store.changes.change_rows import VERSION_COLUMN
from table_store.storage.file_store.changes.change_split import (
    BucketCommit,
    ChangeMode,
    ChangeStep,
    StepKind,
)
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.model.bucket import bucket_columns
from table_store.storage.file_store.model.data_file import KIND_ADD, KIND_COLUMN
from table_store.storage.file_store.model.schema import TableSchema


@dataclass(frozen=True, slots=True)
class BagChangeReader:
    """Streams changes; rows that must be counted are held, a part of the hashes at a time."""

    files: DataFileReader
    schema: TableSchema
    mode: ChangeMode

    def read(
        self, step: ChangeStep, columns: Sequence[str], where: pc.Expression | None
    ) -> Iterator[pa.Table]:
        """Yield change rows with at least `columns`, among which are the columns of `where`."""
        if step.kind is StepKind.PLAIN:
            for commit in step.commits:
                for rows in self._rows(commit, columns, where):
                    yield plain_changes(rows, columns)
            return
        count = sum(file.row_count for commit in step.commits for file in commit.files)
        parts = max(1, -(-count // DELETED_ROWS_MAX))
        for part in range(parts):
            yield from self._counted(step, where, part, parts)

    def _counted(
        self, step: ChangeStep, where: pc.Expression | None, part: int, parts: int
    ) -> Iterator[pa.Table]:
        names = self.schema.column_names
        hashed = bucket_columns(self.schema)
        changed = [
            self._part_of(rows, part, parts)
            for commit in step.commits
            for rows in self._rows(commit, names, where)
        ]
        if not any(rows.num_rows for rows in changed):
            return
        is_clipped = any(file.delete_count for file in step.files)
        if is_clipped:
            # Of the older rows only those matter that equal a changed one.
            hashes = np.unique(np.concatenate([row_hashes(rows, hashed) for rows in changed]))
            before = BucketCommit(snapshot_id=0, time_ms=0, added=step.base)
            changed += [
                rows.filter(pa.array(are_among(row_hashes(rows, hashed), hashes)))
                for rows in self._rows(before, names, where)
            ]
        yield counted_changes(
            pa.concat_tables(changed),
            names,
            self.mode,
            is_clipped=is_clipped,
            silent=[commit.snapshot_id for commit in step.commits if commit.is_silent],
            exact=[commit.snapshot_id for commit in step.commits if commit.is_exact],
        )

    def _part_of(self, rows: pa.Table, part: int, parts: int) -> pa.Table:
        if parts == 1:
            return rows
        # The low bits of the hash chose the bucket, so other bits divide the rows of one bucket.
        hashes = row_hashes(rows, bucket_columns(self.schema)) >> np.uint32(15)
        return rows.filter(pa.array(hashes % parts == part))

    def _rows(
        self, commit: BucketCommit, columns: Sequence[str], where: pc.Expression | None
    ) -> Iterator[pa.Table]:
        """Yield the rows of the commit's files, each with its weight and the version."""
        for files, sign in ((commit.removed, -1), (commit.added, 1)):
            for file in files:
                for batch in self.files.read(file, columns, with_kinds=True, where=where):
                    rows = pa.Table.from_batches([batch])
                    is_add = rows[KIND_COLUMN].to_numpy() == KIND_ADD
                    weights = np.where(is_add, sign, -sign).astype(np.int8)
                    versions = np.full(rows.num_rows, commit.snapshot_id)
                    yield (
                        rows.drop_columns([KIND_COLUMN])
                        .append_column(WEIGHT_COLUMN, pa.array(weights))
                        .append_column(VERSION_COLUMN, pa.array(versions))
                    )
