"""Runs one picked compaction: reads the runs, merges them, writes one run in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag import net
from table_store.storage.file_store.compaction_picker import CompactionUnit
from table_store.storage.file_store.data_file import (
    KIND_ADD,
    KIND_COLUMN,
    SEQUENCE_COLUMN,
    CommitMessage,
    DataFile,
)
from table_store.storage.file_store.data_file_reader import DataFileReader
from table_store.storage.file_store.data_file_writer import DataFileWriter
from table_store.storage.file_store.merge import newest_per_key
from table_store.storage.file_store.merge_slices import merge_slices
from table_store.storage.file_store.sorted_run import age
from table_store.storage.file_store.table_writer import WriterContext
from table_store.storage.kernel.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTask:
    """What a compaction of one bucket needs; goes to workers."""

    partition: tuple[Value, ...]
    bucket: int
    unit: CompactionUnit
    files: DataFileReader
    context: WriterContext

    def run(self) -> CommitMessage:
        """Write the merged run and return the message that puts it in the place of the old ones.

        Rows keep their sequence numbers. Memory is bounded by slices of the key range.

        Raises:
            MissingFileError: a file is gone: another compaction has replaced it.
            CorruptFileError: a file cannot be read; nothing is changed.
        """
        writer = DataFileWriter(
            file_io=self.context.file_io,
            table_path=self.context.table_path,
            schema=self.context.schema,
            partition=self.partition,
            bucket=self.bucket,
            level=self.unit.output_level,
            options=self.context.files,
            clock=self.context.clock,
            ids=self.context.ids,
        )
        try:
            if self.context.schema.primary_key:
                self._merge_by_key(writer)
            else:
                self._merge_bag(writer)
            added = writer.close()
        except BaseException:
            writer.abort()
            raise
        return CommitMessage(
            partition=self.partition, bucket=self.bucket, added=added, removed=self._old
        )

    @property
    def _old(self) -> tuple[DataFile, ...]:
        return tuple(sorted(self.unit.files, key=age))

    def _merge_by_key(self, writer: DataFileWriter) -> None:
        key = self.context.schema.primary_key
        runs = tuple(run.run.files for run in reversed(self.unit.runs))
        for piece in merge_slices(self.files, self.context.schema, runs):
            rows = pa.concat_tables([self._read(file, piece.where) for file in piece.files])
            if not rows.num_rows:
                continue
            kept = newest_per_key([rows[name] for name in key])
            if self.unit.drop_deletes:
                kept = kept[rows[KIND_COLUMN].to_numpy()[kept] == KIND_ADD]
            self._write(writer, rows, kept)

    def _merge_bag(self, writer: DataFileWriter) -> None:
        has_deletes = any(file.delete_count for file in self._old)
        if not has_deletes:
            for file in self._old:
                rows = self._read(file, None)
                self._write(writer, rows, np.arange(rows.num_rows))
            return
        rows = pa.concat_tables([self._read(file, None) for file in self._old])
        names = list(self.context.schema.column_names)
        kept, _ = net(rows.select(names), rows[KIND_COLUMN].to_numpy())
        self._write(writer, rows, kept)

    def _read(self, file: DataFile, where: pc.Expression | None) -> pa.Table:
        return self.files.read_table(
            file,
            self.context.schema.column_names,
            with_kinds=True,
            with_sequences=True,
            where=where,
        )

    def _write(self, writer: DataFileWriter, rows: pa.Table, kept: np.ndarray) -> None:
        if not len(kept):
            return
        chosen = rows.take(pa.array(kept))
        kinds = chosen[KIND_COLUMN].to_numpy()
        writer.write(
            chosen.select(list(self.context.schema.column_names)),
            kinds=kinds if kinds.any() else None,
            sequences=chosen[SEQUENCE_COLUMN].to_numpy(),
        )
