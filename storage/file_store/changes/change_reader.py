"""Computes the change rows of a split, labels and filters them and cuts them into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.changes.bag_change_reader import BagChangeReader
from table_store.storage.file_store.changes.change_history import for_all_versions
from table_store.storage.file_store.changes.change_labels import LABELS, labelled
from table_store.storage.file_store.changes.change_rows import without_retractions
from table_store.storage.file_store.changes.change_split import ChangeMode, ChangeSplit
from table_store.storage.file_store.changes.keyed_change_reader import KeyedChangeReader
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.model.schema import TableSchema, arrow_types
from table_store.storage.file_store.order.row_filter import matching
from table_store.storage.file_store.scan.split_reader import in_batches
from table_store.storage.kernel.predicate import Predicate


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads splits of changes of one table under one schema. It is pickled for workers cheaply.

    `labels` are the columns that the rows have besides those of the table.
    """

    files: DataFileReader
    schema: TableSchema
    mode: ChangeMode
    labels: tuple[str, ...]

    def read(
        self, split: ChangeSplit, columns: Sequence[str], predicate: Predicate | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the split's change rows that satisfy `predicate`.

        The old row of a changed key stands directly in front of its new row.

        Args:
            split: from `plan_changes` of the same table and mode.
            columns: names in the schema or in `labels`; none gives batches that only have a length.
            predicate: on any of these columns.

        Raises:
            RetractionError: the mode refuses changes that are not new rows.
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        times = {c.snapshot_id: c.time_ms for step in split.steps for c in step.commits}
        where = self._expression(predicate)
        needed = {*columns, *(predicate.columns() if predicate is not None else ())}
        for found in self._changes(split, needed, predicate):
            rows = without_retractions(found, self.mode.retractions)
            if rows.num_rows:
                answer = labelled(rows, times, needed & set(self.labels))
                if where is not None:
                    answer = matching(answer, where)
                yield from in_batches(answer, columns)

    def possible_rows(self, split: ChangeSplit) -> int:
        """Return how many rows `read` looks at, whatever the predicate: of row groups that may.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        if self.schema.primary_key:
            return KeyedChangeReader(self.files, self.schema, self.mode).possible_rows(split)
        return sum(file.row_count for file in split.files)

    def _changes(
        self, split: ChangeSplit, needed: set[str], predicate: Predicate | None
    ) -> Iterator[pa.Table]:
        shared = for_all_versions(predicate, self.schema)
        if self.schema.primary_key:
            reader = KeyedChangeReader(self.files, self.schema, self.mode)
            yield from reader.read(split, needed, shared)
            return
        names = [name for name in self.schema.column_names if name in needed]
        for step in split.steps:
            bag = BagChangeReader(self.files, self.schema, self.mode)
            yield from bag.read(step, names, self._expression(shared))

    def _expression(self, predicate: Predicate | None) -> pc.Expression | None:
        if predicate is None:
            return None
        types = arrow_types(self.schema.fields)
        return predicate.to_expression({**LABELS, **types})
