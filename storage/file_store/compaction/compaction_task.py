"""Runs one picked compaction: reads the runs, merges them and replaces them by one run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.bag.bag_place import bags, moves_rows
from table_store.storage.file_store.bag.bag_reader import BagReader
from table_store.storage.file_store.compaction.compaction_picker import CompactionUnit
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.data.data_file_writer import DataFileWriter
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.bucket import bucket_columns, bucket_ids
from table_store.storage.file_store.model.data_file import (
    KIND_ADD,
    KIND_COLUMN,
    SEQUENCE_COLUMN,
    CommitMessage,
    DataFile,
)
from table_store.storage.file_store.model.interval_partition import interval_partition
from table_store.storage.file_store.model.key_cuts import key_ranges, meets
from table_store.storage.file_store.model.key_range import KeyRange
from table_store.storage.file_store.model.levels import Levels, levels_of
from table_store.storage.file_store.model.schema import arrow_types
from table_store.storage.file_store.model.sorted_run import SortedRun, age
from table_store.storage.file_store.order.merge import newest_per_key
from table_store.storage.file_store.order.merge_slices import RunRows, merge_slices
from table_store.storage.file_store.write.table_writer import WriterContext
from table_store.storage.kernel.bounded_pieces import take_values
from table_store.storage.kernel.values import Value

_FULL_SHARE: Final = 0.7
"""A file with at least this share of the target size is not worth rewriting (Paimon's
compaction.small-file-ratio)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTask:
    """The compaction of one bucket, or of a part of its keys; it is pickled for workers.

    With `moves_rows` each row is put into the bucket that its hash gives today: the unit may hold
    files of several buckets, and files may be written to other buckets than those.
    `keys` is the range of keys that this task rewrites. Of several tasks that share a bucket only
    one `replaces_files`.
    """

    partition: tuple[Value, ...]
    bucket: int
    unit: CompactionUnit
    files: DataFileReader
    context: WriterContext
    moves_rows: bool = False
    keys: KeyRange = field(default_factory=KeyRange)
    replaces_files: bool = True

    def split(self, target_bytes: int) -> tuple[CompactionTask, ...]:
        """Return tasks for disjoint ranges of the key, to be run side by side.

        Each rewrites about `target_bytes`; row groups that lie in two ranges are read twice. The
        messages of all these tasks together do the same as the message of this task. To find the
        ranges, some keys of the files are read.

        Raises:
            MissingFileError: a file is gone: another compaction has replaced it.
            CorruptFileError: a file cannot be read.
        """
        schema = self.context.schema
        runs = tuple(run.files for group in self._sorted_out()[1] for run in group)
        if not schema.primary_key or self.moves_rows or not runs:
            return (self,)
        return tuple(
            replace(self, keys=keys, replaces_files=number == 0)
            for number, keys in enumerate(
                key_ranges(runs, schema, target_bytes, self.files.range_key_at)
            )
        )

    def run(self) -> CommitMessage:
        """Write the merged run and return the message that replaces the old runs by it.

        The message of a task without `replaces_files` only adds its part of the run. Rows keep
        their sequence numbers. A file only moves to the new level if it overlaps no other, has
        nothing to drop and is large enough. Slices of the key range bound the memory.

        Raises:
            MissingFileError: a file is gone: another compaction has replaced it.
            CorruptFileError: a file cannot be read; nothing is changed.
        """
        moved, rewritten = self._sorted_out()
        added: list[DataFile] = []
        with ExitStack() as undo:
            for runs in rewritten:
                writers: dict[int, DataFileWriter] = {}
                for rows in self._merged(runs):
                    for bucket, part in self._by_bucket(rows):
                        if bucket not in writers:
                            writers[bucket] = self._writer(bucket)
                            undo.callback(writers[bucket].abort)
                        _write(writers[bucket], part, self.context.schema.column_names)
                added.extend(file for writer in writers.values() for file in writer.close())
            undo.pop_all()
        if not self.replaces_files:
            return CommitMessage(partition=self.partition, bucket=self.bucket, added=tuple(added))
        to_level = self.unit.output_level
        in_place = {file.name for file in moved if file.level == to_level}
        added.extend(replace(f, level=to_level) for f in moved if f.name not in in_place)
        removed = [file for file in self.unit.files if file.name not in in_place]
        for run in self.unit.raised:
            added.extend(replace(file, level=run.level) for file in run.run.files)
            removed.extend(run.run.files)
        return CommitMessage(
            partition=self.partition,
            bucket=self.bucket,
            added=tuple(added),
            removed=tuple(sorted(removed, key=age)),
        )

    def _sorted_out(self) -> tuple[list[DataFile], list[tuple[SortedRun, ...]]]:
        """Return the files to move, and the runs to rewrite, with neighbouring sections joined."""
        moved: list[DataFile] = []
        groups: list[list[tuple[SortedRun, ...]]] = [[]]
        for section in self._sections():
            only = _only_file([section])
            if only is not None and self._is_full(only):
                moved.append(only)
                groups.append([])
            else:
                groups[-1].append(section)
        rewritten = []
        for group in groups:
            only = _only_file(group)
            if only is not None and not self._drops_from(only):
                moved.append(only)
            elif group:
                rewritten.append(reduce(_side_by_side, group))
        return moved, rewritten

    def _sections(self) -> Sequence[tuple[SortedRun, ...]]:
        files = self.unit.files
        if self.context.schema.primary_key:
            return interval_partition(files)
        oldest_first = sorted(files, key=age)
        if any(file.delete_count for file in files):
            return [(SortedRun(tuple(oldest_first)),)]
        return [(SortedRun((file,)),) for file in oldest_first]

    def _is_full(self, file: DataFile) -> bool:
        """Whether a file that overlaps no other is not worth rewriting."""
        is_large = file.size_bytes >= self.context.files.target_size_bytes * _FULL_SHARE
        return is_large and not self._drops_from(file)

    def _drops_from(self, file: DataFile) -> bool:
        return bool(file.delete_count) and (
            self.unit.drop_deletes or not self.context.schema.primary_key
        )

    def _merged(self, runs: Sequence[SortedRun]) -> Iterator[pa.Table]:
        schema = self.context.schema
        if not schema.primary_key:
            reader = BagReader(self.files, schema)
            files = [file for run in runs for file in run.files]
            # A deletion that removed no row stays, because it removes one that is added later.
            yield from reader.surviving(files, with_sequences=True, with_unused=True)
            return
        rows_of = [RunRows(run.row_count, self._read(run)) for run in runs]
        for rows in merge_slices(rows_of, schema.primary_key):
            kept = newest_per_key([rows[name] for name in schema.primary_key])
            if self.unit.drop_deletes:
                kept = kept[rows[KIND_COLUMN].to_numpy()[kept] == KIND_ADD]
            columns = [take_values(column, kept) for column in rows.columns]
            yield pa.Table.from_arrays(columns, schema=rows.schema)

    def _read(self, run: SortedRun) -> Iterator[pa.RecordBatch]:
        schema = self.context.schema
        within = self.keys.to_predicate(schema)
        where = None
        if within is not None:
            where = within.to_expression(arrow_types(schema.fields))
        for file in run.files:
            if within is None or meets(file, self.keys, schema):
                yield from self.files.read(
                    file,
                    schema.column_names,
                    with_kinds=True,
                    with_sequences=True,
                    where=where,
                )

    def _by_bucket(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        if not self.moves_rows:
            yield self.bucket, rows
            return
        columns = bucket_columns(self.context.schema)
        buckets = bucket_ids(rows, columns, self.context.bucket_count)
        for bucket in np.unique(buckets).tolist():
            yield bucket, rows.filter(pa.array(buckets == bucket))

    def _writer(self, bucket: int) -> DataFileWriter:
        return DataFileWriter(
            file_io=self.context.file_io,
            table_path=self.context.table_path,
            schema=self.context.schema,
            partition=self.partition,
            bucket=bucket,
            level=self.unit.output_level,
            options=self.context.files,
            clock=self.context.clock,
            ids=self.context.ids,
        )


def picked_tasks(
    live: LiveFiles,
    pick: Callable[[Levels], CompactionUnit | None],
    *,
    files: DataFileReader,
    context: WriterContext,
    moved: Collection[int],
) -> tuple[CompactionTask, ...]:
    """Return the compactions that `pick` chooses in the buckets of `live`.

    `moved` are ids of the schemas under which rows had other buckets than today.
    """
    picked = ((bucket, pick(levels_of(bucket.files))) for bucket in bags(live.by_bucket(), moved))
    return tuple(
        CompactionTask(
            partition=bucket.partition,
            bucket=bucket.bucket,
            unit=unit.described_by(live.with_stats((*unit.files, *unit.raised_files))),
            files=files,
            context=context,
            moves_rows=moves_rows(unit.files, moved),
        )
        for bucket, unit in picked
        if unit is not None
    )


def _only_file(sections: Sequence[Sequence[SortedRun]]) -> DataFile | None:
    files = [file for section in sections for run in section for file in run.files]
    return files[0] if len(files) == 1 else None


def _side_by_side(before: Sequence[SortedRun], after: Sequence[SortedRun]) -> tuple[SortedRun, ...]:
    """Return the runs of two sections as those of one; all keys of the second are greater.

    Any run of the one may be joined with any run of the other, because they share no key.
    """
    count = max(len(before), len(after))
    empty = SortedRun(())
    padded = [[*runs, *[empty] * (count - len(runs))] for runs in (before, after)]
    return tuple(SortedRun(a.files + b.files) for a, b in zip(*padded, strict=True))


def _write(writer: DataFileWriter, rows: pa.Table, columns: Sequence[str]) -> None:
    kinds = rows[KIND_COLUMN].to_numpy()
    writer.write(
        rows.select(list(columns)),
        kinds=kinds if kinds.any() else None,
        sequences=rows[SEQUENCE_COLUMN].to_numpy(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """What a compaction did to the number and size of a table's files."""

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int

    @classmethod
    def of(cls, before: LiveFiles, after: LiveFiles) -> CompactionResult:
        """Compare two selections of live files."""
        return cls(
            files_before=before.file_count,
            files_after=after.file_count,
            bytes_before=before.size_bytes,
            bytes_after=after.size_bytes,
        )
