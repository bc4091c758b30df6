"""DELETE, UPDATE and the upsert of some columns: statements that read rows and then change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from table_store.client.declared_rules import (
    DeclaredRules,
    arrow_schema,
    assigned,
    with_length,
)
from table_store.client.errors import InvalidExpressionError
from table_store.client.expressions.evaluation import evaluated
from table_store.client.expressions.expression import Expression
from table_store.client.expressions.sql_reader import Names
from table_store.client.expressions.sql_text import read_expression
from table_store.client.filters import RowFilter, names_of, shown_value
from table_store.client.partial_rows import check_key, with_stored
from table_store.client.value_literal import value_literal
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.model.data_file import KIND_ADD
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.scan.stored_keys import StoredKeys, keys_predicate
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.key_check import KIND_CLAIM, KeyCheck
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.file_store.write.unpublished_files import commit_or_delete
from table_store.storage.kernel.errors import InvalidSchemaError

_Assignment: TypeAlias = tuple[Field, Expression, str]


@dataclass(frozen=True, slots=True)
class RowStatement:
    """A statement on one table. If others change it meanwhile, it is run again on their result.

    Its result is that of a statement that came after them; it is repeated as often as
    'commit.max-retries' says.
    """

    table: FileStoreTable
    schema: TableSchema
    zone: str | None

    def delete(self, where: RowFilter) -> Committed | NoChange:
        """Delete the rows that satisfy a condition.

        Raises:
            CommitConflictError: others changed the table in all attempts.
            ExpressionFailedError: the condition has no result for a row.
        """
        key = self.schema.primary_key

        def write(snapshot: Snapshot | None, writer: TableWriter) -> None:
            for rows in self._rows(snapshot, where, key or self.schema.column_names):
                writer.delete(rows)

        return self._repeated("DELETE", write)

    def update(self, values: Mapping[str, object], where: RowFilter) -> Committed | NoChange:
        """Set columns of the rows that satisfy a condition; computed columns follow.

        Args:
            values: SQL text of an expression on the old row, or a value that is no text.
            where: which rows.

        Raises:
            InvalidSchemaError: there is no such column, or it is computed, or set twice.
            DuplicateKeyError: two rows would have one key, which 'duplicate-key' forbids.
            InvalidExpressionError, UnsupportedExpressionError: a value is no expression on the
                table's columns, or one that only Spark evaluates.
            ColumnRuleError, ExpressionFailedError: a row would break a rule, or has no result.
            CommitConflictError: others changed the table in all attempts.
        """
        changes = self._assignments(values)
        rules = DeclaredRules(self.schema, self.zone)
        assigned_fields = {field.name for field, _, _ in changes}
        moves = any(
            field.name in assigned_fields or field.generated is not None
            for field in self.schema.key_fields
        )

        def write(snapshot: Snapshot | None, writer: TableWriter) -> None:
            for rows in self._rows(snapshot, where, self.schema.column_names):
                new = rules.computed(_with_values(rows, changes))
                if moves:
                    _move(writer, rows, new)
                    continue
                if not self.schema.primary_key:
                    writer.delete(rows)
                writer.write(new)

        return self._repeated("UPDATE", write, moves=moves)

    def upsert(self, rows: pa.Table) -> Committed | NoChange:
        """Write rows with the key and some columns; rows that exist keep their other columns.

        Args:
            rows: the columns that are given, in the table's names and types.

        Raises:
            InvalidSchemaError: the key is not there, or is a floating-point number; or a new row
                lacks a column that is NOT NULL and has no default.
            CommitConflictError: others changed the table in all attempts.
        """
        check_key(self.schema, rows.column_names)
        rules = DeclaredRules(self.schema, self.zone)

        def write(snapshot: Snapshot | None, writer: TableWriter) -> None:
            stored = self._stored(snapshot, rows)
            for batch in with_stored(rules, rows, stored).to_batches():
                writer.write(rules.computed(batch))

        return self._repeated("UPSERT", write)

    def _stored(self, snapshot: Snapshot | None, rows: pa.Table) -> pa.Table:
        """Return the rows of the table that may have the keys of `rows`."""
        where = keys_predicate(self.schema, rows)
        if snapshot is None:
            return arrow_schema(self.schema).empty_table()
        return self.table.scan(None, where, version=snapshot.id, schema=self.schema).to_arrow()

    def _assignments(self, values: Mapping[str, object]) -> list[_Assignment]:
        if not values:
            raise InvalidExpressionError(expression="{}", reason="there is no column to set")
        names = names_of(self.schema, self.zone)
        changes: list[_Assignment] = []
        for name, value in values.items():
            field = self.schema.field_named(name)
            if any(field == other for other, _, _ in changes):
                raise InvalidSchemaError(reason="UPDATE sets it twice", column=field.name)
            if field.generated is not None:
                raise InvalidSchemaError(
                    reason="it is computed, so UPDATE cannot set it", column=field.name
                )
            changes.append((field, *_assignment(field, value, names)))
        return changes

    def _rows(
        self, snapshot: Snapshot | None, where: RowFilter, columns: tuple[str, ...]
    ) -> Iterator[pa.RecordBatch]:
        if snapshot is None:
            return
        needed = list(dict.fromkeys([*columns, *sorted(where.columns)]))
        scan = self.table.scan(needed, where.pushed, version=snapshot.id, schema=self.schema)
        for batch in scan.to_batches():
            rows = where.holding(batch)
            if rows.num_rows:
                yield rows.select(list(columns))

    def _repeated(
        self,
        operation: str,
        write: Callable[[Snapshot | None, TableWriter], None],
        *,
        moves: bool = False,
    ) -> Committed | NoChange:
        retry = StorageSettings.of(self.schema).retry
        for number in range(retry.max_retries + 1):
            try:
                return self._attempt(operation, write, moves=moves)
            except CommitConflictError:
                if number == retry.max_retries or self.table.schema.id != self.schema.id:
                    raise
                self.table.clock.sleep_ms(retry.wait_ms(number, hash(self.table.ids.unique())))
        raise AssertionError("a statement is tried at least once")

    def _attempt(
        self,
        operation: str,
        write: Callable[[Snapshot | None, TableWriter], None],
        *,
        moves: bool,
    ) -> Committed | NoChange:
        table = self.table
        snapshot = table.latest_snapshot()
        context = table.writer_context(self.schema)
        if moves and StorageSettings.of(self.schema).refuses_duplicates:
            stored = StoredKeys.of(table.file_io, table.path, self.schema, snapshot)
            context = replace(context, key_check=KeyCheck(table=table.path, stored=stored))
        with TableWriter(context) as writer:
            write(snapshot, writer)
            messages = writer.prepare_commit()
        return commit_or_delete(
            writer.context,
            messages,
            lambda: table.committer(self.schema).commit(
                messages,
                kind=CommitKind.APPEND,
                commit_user=table.ids.unique(),
                read_snapshot_id=0 if snapshot is None else snapshot.id,
                operation=operation,
                expected_schema_id=self.schema.id,
            ),
        )


def _assignment(field: Field, value: object, names: Names) -> tuple[Expression, str]:
    text = value if isinstance(value, str) else shown_value(value)
    if isinstance(value, str):
        read = read_expression(value, names)
    else:
        read = value_literal(value, shown=text)
    return assigned(read, field, text, names.zone), text


def _move(writer: TableWriter, old: pa.RecordBatch, new: pa.RecordBatch) -> None:
    """Write rows whose keys may have changed, after the deletion of the rows that they replace."""
    count = new.num_rows
    writer.delete(old, order=np.full(count, -1))
    kind = KIND_ADD if writer.context.key_check is None else KIND_CLAIM
    writer.write(new, kinds=np.full(count, kind, np.int8), order=np.zeros(count, np.int64))


def _with_values(rows: pa.RecordBatch, changes: Sequence[_Assignment]) -> pa.RecordBatch:
    """Return the rows with the columns set, each computed from the old row."""
    new = {
        field.name: with_length(evaluated(read, rows, sql=text), field)
        for field, read, text in changes
    }
    columns = [new.get(name, rows.column(name)) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)
