"""Writes rows in steps: any number of them becomes visible by one commit."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from table_store.client.arrow_rows import Rows, batches_of
from table_store.client.declared_rules import DeclaredRules
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter, WriterContext


@dataclass(frozen=True, slots=True)
class Writer:
    """One writer, to be used by `with` in one thread.

    It spills what does not fit into `write-buffer-size`. Nothing is visible before the commit.
    """

    rules: DeclaredRules
    inner: TableWriter

    @staticmethod
    def of(table: FileStoreTable, rules: DeclaredRules) -> Writer:
        """Return a writer of a table, under the schema of the rules."""
        return Writer(rules, table.writer(rules.schema))

    @property
    def context(self) -> WriterContext:
        """What the writer works with."""
        return self.inner.context

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *raised: object) -> None:
        """Delete the files that `prepare_commit` has not returned."""
        self.inner.abort()

    def write(self, rows: Rows) -> None:
        """Take rows, completed and checked as `Table.append` says."""
        for batch in batches_of(rows):
            self.inner.write(self.rules.complete(batch))

    def delete(self, rows: Rows) -> None:
        """Delete rows: by their key alone, or, in a table without key, one equal row for each."""
        for batch in batches_of(rows):
            self.inner.delete(pa.RecordBatch.from_pydict(self.rules.conformed(batch)))

    def prepare_commit(self) -> tuple[CommitMessage, ...]:
        """Write the rows that are held, and return what `Table.commit` publishes."""
        return self.inner.prepare_commit()
