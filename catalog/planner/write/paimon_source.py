"""Writes the rows of a Paimon table into a new table, by the planner or by Python workers.

Each split is read where it is written: rows never pass through the JVM.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.maintenance import compact_after_write
from table_store.catalog.planner.write.paimon_table import PaimonSplit, PaimonTable
from table_store.catalog.planner.write.python_writers import work_written
from table_store.catalog.planner.write.write_task import (
    WrittenFiles,
    answers_of,
    written_by,
)
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.write.table_writer import TableWriter, WriterContext
from table_store.storage.file_store.write.unpublished_files import commit_or_delete
from table_store.storage.log_store.logged_table import open_logged

_LOCAL_ROWS_MAX: Final = 100_000
"""As many rows take as long in the planner as it takes to start a Spark job and its workers."""

_TASKS_OF_CORE: Final = 2


@dataclass(frozen=True, slots=True)
class PaimonSource:
    """A Paimon table at its newest snapshot."""

    table: PaimonTable
    splits: tuple[PaimonSplit, ...]

    @staticmethod
    def open(path: str) -> PaimonSource:
        """Return the table in a folder; see `PaimonTable` for the errors."""
        table = PaimonTable.open(path)
        return PaimonSource(table, table.splits())

    @property
    def definition(self) -> TableDefinition:
        """See `PaimonTable.definition`."""
        return self.table.definition

    def copy_to(self, session: PlannerSession, managed: ManagedTable, name: str) -> int:
        """Write all rows into a new table as one snapshot; return how many there were.

        Rows with the same key are written once, so with another key than Paimon's they are read
        again to be counted.

        Args:
            session: whose workers write, if there are many rows.
            managed: the table.
            name: what Spark's UI calls it.

        Raises:
            ImportFailedError: a part cannot be read.
        """
        table = open_logged(managed.location)
        context = table.writer_context(managed.schema)
        if sum(split.rows for split in self.splits) <= _LOCAL_ROWS_MAX:
            written = PaimonRead(self.table, self.splits, context).run()
        else:
            written = self._written_by_workers(session, context, name)
        commit_or_delete(context, written.messages, lambda: table.commit(written.messages))
        opened = OpenedTable(table=table, schema=managed.schema, snapshot_id=None, name=name)
        compact_after_write(session, opened, written.messages, is_stream=False)
        if managed.schema.primary_key == self.definition.primary_key:
            return sum(file.row_count for message in written.messages for file in message.added)
        return sum(batch.num_rows for batch in self.table.batches(self.splits))

    def _written_by_workers(
        self, session: PlannerSession, context: WriterContext, name: str
    ) -> WrittenFiles:
        tasks = _TASKS_OF_CORE * session.spark.sparkContext.defaultParallelism
        reads = [PaimonRead(self.table, splits, context) for splits in shared(self.splits, tasks)]
        work = [pickle.dumps(read) for read in reads]
        return work_written(session, context, work, PaimonWork(), f"IMPORT {name}")


def shared(splits: Sequence[PaimonSplit], count: int) -> list[tuple[PaimonSplit, ...]]:
    """Return the splits in at most `count` groups of about the same number of rows."""
    groups: list[list[PaimonSplit]] = [[] for _ in range(min(count, len(splits)))]
    sizes = [0] * len(groups)
    for split in sorted(splits, key=lambda split: -split.rows):
        at = sizes.index(min(sizes))
        groups[at].append(split)
        sizes[at] += split.rows
    return [tuple(group) for group in groups]


@dataclass(frozen=True, slots=True)
class PaimonRead:
    """Writes the rows of some splits; it is pickled for workers."""

    table: PaimonTable
    splits: tuple[PaimonSplit, ...]
    context: WriterContext

    def run(self) -> WrittenFiles:
        """Return the files, which wait for their commit."""
        with TableWriter(self.context) as writer:
            for batch in self.table.batches(self.splits):
                writer.write(batch)
            return written_by(writer)


class PaimonWork:
    """A worker's task: run pickled reads, one in each row; answer the files that they write."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the commit messages of each read, or its error."""
        for batch in batches:
            for payload in batch.column(0).to_pylist():
                read: PaimonRead = pickle.loads(payload)
                yield from answers_of(read.run)
