"""Reads change rows of a bucket with key by merging the runs of older files and of commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.changes.change_rows import (
    VERSION_COLUMN,
    ChangeKind,
    change_rows,
    emitted,
)
from table_store.storage.file_store.changes.change_split import (
    BucketCommit,
    ChangeMode,
    ChangeSplit,
    ChangeStep,
    Deduplication,
    StepKind,
)
from table_store.storage.file_store.changes.keyed_changes import (
    chained_pairs,
    net_pairs,
    replaced_pairs,
)
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.key_range import range_columns
from table_store.storage.file_store.model.levels import levels_of
from table_store.storage.file_store.model.schema import TableSchema, arrow_types
from table_store.storage.file_store.model.sorted_run import age, key_max, key_min
from table_store.storage.file_store.order.merge_slices import RunRows, merge_slices
from table_store.storage.kernel.predicate import Comparison, In, Predicate, conjunction
from table_store.storage.kernel.types import (
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
)
from table_store.storage.kernel.values import python_values

LOOKUP_ROWS_MAX: Final = 10_000
"""Most changed keys that are searched one by one in the older files; more, by their range."""

# Types of which every value is a literal of just that type.
_LOOKED_UP: Final = (BYTE, SHORT, INTEGER, LONG, DATE, STRING)


@dataclass(frozen=True, slots=True)
class KeyedChangeReader:
    """Streams change rows in slices of the key range, so memory is bounded.

    It holds all changes of the split only for netChanges over commits that replaced files.
    """

    files: DataFileReader
    schema: TableSchema
    mode: ChangeMode

    def read(
        self, split: ChangeSplit, needed: set[str], of_key: Predicate | None
    ) -> Iterator[pa.Table]:
        """Yield change rows with at least the `needed` columns of the table.

        `of_key` looks at the key alone.
        """
        names = self.schema.column_names
        is_plain = [step.kind for step in split.steps] == [StepKind.PLAIN]
        compares = self.mode.computes_updates or (self.mode.deduplication is not Deduplication.NONE)
        if is_plain or not compares or self.mode.compares_read_columns:
            # Rows are not compared with each other in other columns, so these are not read.
            names = tuple(n for n in names if n in needed or n in self.schema.primary_key)
        terms = [t for t in (of_key, split.keys.to_predicate(self.schema)) if t is not None]
        if self.mode.deduplication is Deduplication.NET_CHANGES:
            yield from self._net(split, names, terms)
            return
        for step in split.steps:
            yield from self._step(step, names, terms, self.mode)

    def possible_rows(self, split: ChangeSplit) -> int:
        """Return how many rows are looked at: of older files, those near to changed keys."""
        within = split.keys.to_predicate(self.schema)
        terms = [] if within is None else [within]
        return sum(self._step_rows(step, terms) for step in split.steps)

    def _step_rows(self, step: ChangeStep, terms: Sequence[Predicate]) -> int:
        near = list(terms)
        if step.kind is StepKind.CHAIN and step.base:
            near.extend(self._range(step))
        columns = sorted({name for term in near for name in term.columns()})
        where = self._expression(near)
        changed = sum(file.row_count for commit in step.commits for file in commit.files)
        return changed + sum(self.files.possible_rows(f, columns, where) for f in step.base)

    def _net(
        self, split: ChangeSplit, names: Sequence[str], terms: Sequence[Predicate]
    ) -> Iterator[pa.Table]:
        held: list[pa.Table] = []
        for step in split.steps:
            # Unchanged rows are left out, or else a row's last change would seem too late.
            for rows in self._step(step, names, terms, ChangeMode()):
                if step.kind is StepKind.PLAIN and len(split.steps) == 1:
                    yield rows
                elif len(split.steps) == 1:
                    # All versions of a key are in one slice.
                    yield self._net_of(rows, names)
                else:
                    held.append(rows)
        if held:
            yield self._net_of(pa.concat_tables(held), names)

    def _net_of(self, changes: pa.Table, names: Sequence[str]) -> pa.Table:
        return emitted(changes, net_pairs(changes, self.schema.primary_key), names, self.mode)

    def _step(
        self,
        step: ChangeStep,
        names: Sequence[str],
        terms: Sequence[Predicate],
        mode: ChangeMode,
    ) -> Iterator[pa.Table]:
        if step.kind is StepKind.PLAIN:
            yield from self._plain(step.commits[0], names, terms)
            return
        key = self.schema.primary_key
        silent = [commit.snapshot_id for commit in step.commits if commit.is_silent]
        for rows in merge_slices(list(self._runs(step, names, terms)), key):
            if step.kind is StepKind.REPLACE:
                pairs = replaced_pairs(rows, key, step.commits[0].snapshot_id)
            else:
                pairs = chained_pairs(rows, key)
            if silent:
                pairs = pairs.select(~np.isin(pairs.after_versions, silent))
            if len(pairs.before):
                yield emitted(rows, pairs, names, mode)

    def _plain(
        self, commit: BucketCommit, names: Sequence[str], terms: Sequence[Predicate]
    ) -> Iterator[pa.Table]:
        where = self._expression(terms)
        for file in commit.added if not commit.is_silent else ():
            for batch in self.files.read(file, names, where=where):
                kinds = np.full(batch.num_rows, ChangeKind.INSERT)
                versions = np.full(batch.num_rows, commit.snapshot_id)
                yield change_rows(pa.Table.from_batches([batch]), kinds, versions)

    def _runs(
        self, step: ChangeStep, names: Sequence[str], terms: Sequence[Predicate]
    ) -> Iterator[RunRows]:
        """Yield sorted runs from old to new: the older files as version 0, then the commits."""
        base_terms = list(terms)
        if step.kind is StepKind.CHAIN and step.base:
            base_terms.extend(self._lookup(step, terms))
        for run in reversed(levels_of(step.base).runs):
            yield self._run(run.run.files, 0, names, base_terms)
        for commit in step.commits:
            if step.kind is StepKind.REPLACE:
                for run in reversed(levels_of(commit.added).runs):
                    yield self._run(run.run.files, commit.snapshot_id, names, terms)
            else:
                for file in sorted(commit.added, key=age):
                    yield self._run((file,), commit.snapshot_id, names, terms)

    def _run(
        self,
        files: Sequence[DataFile],
        version: int,
        names: Sequence[str],
        terms: Sequence[Predicate],
    ) -> RunRows:
        where = self._expression(terms)

        def batches() -> Iterator[pa.RecordBatch]:
            for file in files:
                for batch in self.files.read(file, names, with_kinds=True, where=where):
                    versions = pa.repeat(pa.scalar(version, pa.int64()), batch.num_rows)
                    yield batch.append_column(VERSION_COLUMN, versions)

        return RunRows(sum(file.row_count for file in files), batches())

    def _lookup(self, step: ChangeStep, terms: Sequence[Predicate]) -> Iterator[Predicate]:
        """Yield conditions that the keys of all changed rows satisfy and few other keys do."""
        yield from self._range(step)
        changed = [file for commit in step.commits for file in commit.added]
        columns = range_columns(self.schema)
        looked_up = [n for n in columns if self.schema.field_named(n).type in _LOOKED_UP]
        if not looked_up or sum(file.row_count for file in changed) > LOOKUP_ROWS_MAX:
            return
        where = self._expression(terms)
        keys = pa.concat_tables(
            [self.files.read_table(f, self.schema.primary_key, where=where) for f in changed]
        )
        for name in looked_up:
            yield In(name, tuple(python_values(pa.chunked_array([pc.unique(keys[name])]))))

    def _range(self, step: ChangeStep) -> Iterator[Predicate]:
        """Yield the bounds of the keys of all changed rows."""
        changed = [file for commit in step.commits for file in commit.added]
        columns = range_columns(self.schema)
        if not columns:
            return
        place = self.schema.primary_key.index(columns[0])
        low, high = min(changed, key=key_min).key_min, max(changed, key=key_max).key_max
        # Keys are ordered by their first column first; partition columns are constant here.
        if low is not None and high is not None and self._leads(place):
            yield Comparison(columns[0], ">=", low[place])
            yield Comparison(columns[0], "<=", high[place])

    def _leads(self, place: int) -> bool:
        before = self.schema.primary_key[:place]
        return all(name in self.schema.partition_keys for name in before)

    def _expression(self, terms: Sequence[Predicate]) -> pc.Expression | None:
        predicate = conjunction(terms)
        if predicate is None:
            return None
        return predicate.to_expression(arrow_types(self.schema.fields))
