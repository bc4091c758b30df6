"""Rows of a split: files read, runs merged, what is left filtered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag import surviving
from table_store.storage.file_store.data_file import KIND_ADD, KIND_COLUMN
from table_store.storage.file_store.data_file_reader import DataFileReader
from table_store.storage.file_store.merge import newest_per_key
from table_store.storage.file_store.merge_slices import merge_slices
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.split import Split, SplitKind
from table_store.storage.kernel.predicate import And, Predicate

BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class SplitReader:
    """Reads splits of one table under one schema. Cheap to pickle: it goes to workers."""

    files: DataFileReader
    schema: TableSchema

    def read(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the split's rows that satisfy `predicate`, in no promised order.

        Args:
            split: of the table and schema of this reader.
            predicate: on any columns, also on some that are not asked for.
            columns: names in the schema; none at all gives batches that only have a length.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        if split.kind is SplitKind.RAW:
            yield from self._raw(split, columns, predicate)
        elif self.schema.primary_key:
            for piece in merge_slices(
                self.files, self.schema, split.runs, key_from=split.key_from, key_to=split.key_to
            ):
                yield from self._newest(split, columns, predicate, piece.where)
        else:
            yield from self._bag(split, columns, predicate)

    def _raw(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None
    ) -> Iterator[pa.RecordBatch]:
        wanted = _with_needed(columns, predicate)
        where = None if predicate is None else predicate.to_expression()
        for file in split.files:
            for batch in self.files.read(file, wanted, where=where, snapshot_id=split.snapshot_id):
                yield batch.select(list(columns))

    def _newest(
        self,
        split: Split,
        columns: Sequence[str],
        predicate: Predicate | None,
        within: pc.Expression | None,
    ) -> Iterator[pa.RecordBatch]:
        key = self.schema.primary_key
        of_key = _conjuncts(predicate, set(key))
        rest = _conjuncts(predicate, None, excluded=set(key))
        wanted = [*_with_needed(columns, rest), *key]
        where = _all([within, _expression(of_key)])
        rows = self._read_all(split, list(dict.fromkeys(wanted)), where)
        if not rows.num_rows:
            return
        newest = newest_per_key([rows[name] for name in key])
        kinds = rows[KIND_COLUMN].to_numpy()
        alive = newest[kinds[newest] == KIND_ADD]
        yield from _answer(rows, alive, columns, rest)

    def _bag(
        self, split: Split, columns: Sequence[str], predicate: Predicate | None
    ) -> Iterator[pa.RecordBatch]:
        # A delete takes away a row that equals it in every column, and rows equal in every
        # column satisfy the same predicates: the whole of it applies before the counting.
        names = self.schema.column_names
        where = None if predicate is None else predicate.to_expression()
        rows = self._read_all(split, names, where)
        kinds = rows[KIND_COLUMN].to_numpy()
        alive = surviving(rows.select(list(names)), kinds)
        yield from _answer(rows, alive, columns, None)

    def _read_all(
        self, split: Split, columns: Sequence[str], where: pc.Expression | None
    ) -> pa.Table:
        """The runs' rows one after the other, oldest run first, with their kinds."""
        return pa.concat_tables(
            [
                self.files.read_table(
                    file, columns, with_kinds=True, where=where, snapshot_id=split.snapshot_id
                )
                for file in split.files
            ]
        )


def _answer(
    rows: pa.Table, alive: np.ndarray, columns: Sequence[str], rest: Predicate | None
) -> Iterator[pa.RecordBatch]:
    if rest is not None:
        needed = rows.select(sorted(rest.columns())).take(pa.array(alive))
        numbered = needed.append_column("__position", pa.array(alive))
        alive = numbered.filter(rest.to_expression())["__position"].to_numpy()
    if not columns:
        for start in range(0, len(alive), BATCH_ROWS):
            length = min(BATCH_ROWS, len(alive) - start)
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * length, pa.struct([])))
        return
    chosen = rows.select(list(columns)).combine_chunks()
    for start in range(0, len(alive), BATCH_ROWS):
        piece = chosen.take(pa.array(alive[start : start + BATCH_ROWS]))
        yield from piece.combine_chunks().to_batches()


def _with_needed(columns: Sequence[str], predicate: Predicate | None) -> list[str]:
    needed = sorted(predicate.columns()) if predicate is not None else []
    return list(dict.fromkeys([*columns, *needed]))


def _conjuncts(
    predicate: Predicate | None, within: set[str] | None, *, excluded: set[str] | None = None
) -> Predicate | None:
    """The terms of a conjunction on columns of `within` alone, or not on `excluded` alone."""
    chosen: Predicate | None = None
    for term in _terms(predicate):
        inside = within is None or set(term.columns()) <= within
        if inside and not (excluded is not None and set(term.columns()) <= excluded):
            chosen = term if chosen is None else And(chosen, term)
    return chosen


def _terms(predicate: Predicate | None) -> list[Predicate]:
    if predicate is None:
        return []
    if isinstance(predicate, And):
        return [*_terms(predicate.left), *_terms(predicate.right)]
    return [predicate]


def _expression(predicate: Predicate | None) -> pc.Expression | None:
    return None if predicate is None else predicate.to_expression()


def _all(expressions: Sequence[pc.Expression | None]) -> pc.Expression | None:
    known = [expression for expression in expressions if expression is not None]
    if not known:
        return None
    whole = known[0]
    for expression in known[1:]:
        whole = whole & expression
    return whole
