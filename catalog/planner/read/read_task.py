"""The task of a Python worker for splits that Spark's own reader cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.planner.names.row_column import ROW_COLUMN
from table_store.catalog.planner.process.worker_process import begin_task
from table_store.storage.file_store.changes.change_reader import ChangeReader
from table_store.storage.file_store.changes.change_split import ChangeSplit
from table_store.storage.file_store.scan.split import Split
from table_store.storage.file_store.scan.split_reader import SplitReader
from table_store.storage.kernel.nested_array import recast
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.row_batch import batch_of


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Reads the splits it receives as Arrow batches of exactly `schema`.

    Pickled once per scan; each worker gets its splits as rows of one binary column. `stored`
    are the columns to read from storage: all of the table's if `columns` has the whole row.
    """

    reader: SplitReader | ChangeReader | PartReader
    stored: tuple[str, ...]
    columns: tuple[str, ...]
    schema: pa.Schema
    predicate: Predicate | None
    limit: int | None

    def __call__(self, splits: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of the splits' merged rows or changes, in no particular order."""
        begin_task()
        for batch in splits:
            for payload in batch.column(0).to_pylist():
                yield from self._read(payload)

    def _read(self, payload: bytes) -> Iterator[pa.RecordBatch]:
        left = self.limit
        for batch in self._rows(payload):
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            if batch.num_rows:
                yield self._conform(batch)
            if left == 0:
                return

    def _rows(self, payload: bytes) -> Iterator[pa.RecordBatch]:
        if isinstance(self.reader, ChangeReader):
            changes = ChangeSplit.from_bytes(payload)
            return self.reader.read(changes, self.stored, self.predicate)
        if isinstance(self.reader, PartReader):
            return self.reader.read(payload, self.stored)
        return self.reader.read(Split.from_bytes(payload), self.stored, self.predicate)

    def _conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self.columns:
            return batch_of({}, batch.num_rows)  # its length is all that COUNT(*) needs
        if ROW_COLUMN in self.columns:
            batch = self._with_row(batch)
        if batch.schema == self.schema:
            return batch
        columns = zip(batch.columns, self.schema, strict=True)
        arrays = [recast(array, field.type) for array, field in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _with_row(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        row_type = self.schema.field(ROW_COLUMN).type
        names = [row_type.field(i).name for i in range(row_type.num_fields)]
        whole = batch.select(names).to_struct_array()
        arrays = [whole if name == ROW_COLUMN else batch.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(self.columns))
