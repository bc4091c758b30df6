"""Reads the files of a split, merges their runs and filters the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag.bag_reader import BagReader
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.model.data_file import KIND_ADD, KIND_COLUMN, DataFile
from table_store.storage.file_store.model.schema import TableSchema, arrow_types
from table_store.storage.file_store.order.merge import is_newest
from table_store.storage.file_store.order.merge_slices import RunRows, merge_slices
from table_store.storage.file_store.scan.pruning import conjuncts
from table_store.storage.file_store.scan.split import Split, SplitKind
from table_store.storage.kernel.arrays import IntArray
from table_store.storage.kernel.bounded_pieces import PIECE_BYTES_MAX, take_values
from table_store.storage.kernel.predicate import Predicate, conjunction
from table_store.storage.kernel.row_batch import BATCH_ROWS, lengths

_POSITION: Final = "_POSITION"


@dataclass(frozen=True, slots=True)
class SplitReader:
    """Reads splits of one table under one schema. It is pickled for workers cheaply."""

    files: DataFileReader
    schema: TableSchema

    def read(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the split's rows that satisfy `predicate`, in any order.

        Memory is bounded by slices, whatever the size of the split.

        Args:
            split: from a scan of the same table.
            columns: names in the schema; none at all gives batches that only have a length.
            predicate: on any columns of the schema.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        if split.kind is SplitKind.RAW:
            yield from self._raw(split, columns, predicate)
        elif self.schema.primary_key:
            yield from self._newest(split, columns, predicate)
        else:
            yield from self._bag(split, columns, predicate)

    def possible_rows(self, split: Split, predicate: Predicate | None) -> int:
        """Return how many rows lie in row groups whose bounds allow keys that are asked for.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        of_key, _ = self._key_condition(split, predicate)
        where = self._expression(of_key)
        columns = () if of_key is None else sorted(of_key.columns())
        return sum(self.files.possible_rows(file, columns, where) for file in split.files)

    def _key_condition(
        self, split: Split, predicate: Predicate | None
    ) -> tuple[Predicate | None, Predicate | None]:
        """What is asked of the keys of a split, and what of its merged rows.

        A condition on the key alone is true for all versions of a row or for none. All others
        must wait for the merge: an older version may satisfy them while the newest does not.
        """
        key = set(self.schema.primary_key)
        terms = () if predicate is None else conjuncts(predicate)
        of_key = [term for term in terms if term.columns() <= key]
        rest = conjunction([term for term in terms if not term.columns() <= key])
        within = split.keys.to_predicate(self.schema)
        return conjunction(of_key if within is None else [within, *of_key]), rest

    def _raw(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None
    ) -> Iterator[pa.RecordBatch]:
        wanted = _with_needed(columns, predicate)
        where = self._expression(predicate)
        for file in split.files:
            for batch in self.files.read(file, wanted, where=where, snapshot_id=split.snapshot_id):
                yield batch.select(list(columns))

    def _newest(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None
    ) -> Iterator[pa.RecordBatch]:
        key = self.schema.primary_key
        of_key, rest = self._key_condition(split, predicate)
        where = self._expression(of_key)
        wanted = tuple(dict.fromkeys([*_with_needed(columns, rest), *key]))
        runs = [
            RunRows(
                sum(file.row_count for file in run),
                self._run(run, wanted, where, split.snapshot_id),
            )
            for run in split.runs
        ]
        for rows in merge_slices(runs, key):
            newest = is_newest([rows[name] for name in key])
            alive = np.flatnonzero(newest & (rows[KIND_COLUMN].to_numpy() == KIND_ADD))
            answer = _answer(rows, self._satisfying(rows, alive, rest), columns)
            del rows  # or else they stay in memory beside the next slice
            yield from answer

    def _bag(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None
    ) -> Iterator[pa.RecordBatch]:
        reader = BagReader(self.files, self.schema)
        where = self._expression(predicate)
        for rows in reader.surviving(split.files, where=where, snapshot_id=split.snapshot_id):
            yield from in_batches(rows, columns)

    def _run(
        self,
        run: Sequence[DataFile],
        columns: Sequence[str],
        where: pc.Expression | None,
        snapshot_id: int | None,
    ) -> Iterator[pa.RecordBatch]:
        for file in run:
            yield from self.files.read(
                file, columns, with_kinds=True, where=where, snapshot_id=snapshot_id
            )

    def _satisfying(self, rows: pa.Table, alive: IntArray, rest: Predicate | None) -> IntArray:
        where = self._expression(rest)
        if rest is None or where is None:
            return alive
        needed = rows.select(sorted(rest.columns())).take(pa.array(alive))
        numbered = needed.append_column(_POSITION, pa.array(alive))
        positions: IntArray = numbered.filter(where)[_POSITION].to_numpy()
        return positions

    def _expression(self, predicate: Predicate | None) -> pc.Expression | None:
        if predicate is None:
            return None
        return predicate.to_expression(arrow_types(self.schema.fields))


def _answer(rows: pa.Table, alive: IntArray, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if not columns:
        yield from lengths(len(alive))
        return
    # It goes column by column, so that only one column is in memory more than twice.
    taken = {name: take_values(rows[name], alive) for name in columns}
    del rows
    yield from in_batches(pa.table(taken), columns)


def in_batches(rows: pa.Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the columns of the rows; without columns, batches that only have a length."""
    if columns:
        rows = rows.select(list(columns))
        whole = rows.combine_chunks() if rows.nbytes <= PIECE_BYTES_MAX else rows
        yield from whole.to_batches(BATCH_ROWS)
    else:
        yield from lengths(rows.num_rows)


def under_schema(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches as rows of `schema`; batches that only have a length stay as they are."""
    for batch in batches:
        # There is no cast: the types are right, and a cast would refuse a NULL variant.
        yield (
            pa.RecordBatch.from_arrays(batch.columns, schema=schema) if batch.num_columns else batch
        )


def few_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows_max: int
) -> pa.Table | None:
    """Return the batches as one table; None if they have more rows, of which no more are read."""
    found, count = [], 0
    for batch in batches:
        found.append(batch)
        count += batch.num_rows
        if count > rows_max:
            return None
    return pa.Table.from_batches(found, schema=schema)


def _with_needed(columns: Sequence[str], predicate: Predicate | None) -> list[str]:
    needed = sorted(predicate.columns()) if predicate is not None else []
    return list(dict.fromkeys([*columns, *needed]))
