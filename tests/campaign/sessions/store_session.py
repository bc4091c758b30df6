"""A session without Spark: what statements do to storage, which model them for what they compute.

It takes the steps that the planner takes: a name is looked up, then the schema and the newest
snapshot; what UPDATE, DELETE, MERGE and INSERT OVERWRITE write is committed against that snapshot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from table_store.catalog.definition.table_change import AddColumn, DropColumn, RenameColumn
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.storage.file_store.model.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    SnapshotNotFoundError,
)
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.scope import WHOLE_TABLE
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.file_store.write.unpublished_files import commit_or_delete
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    InvalidSchemaError,
    MissingFileError,
    NotFoundError,
    TableStoreError,
)
from table_store.storage.kernel.types import INTEGER
from table_store.storage.log_store.logged_table import known_table
from tests.campaign.sessions.database import Content, Row
from tests.campaign.sessions.ended import Ended, Outcome, timed
from tests.campaign.sessions.statement import Answer, Change, Statement

_OF_LATER: Final = 10**15
_COLUMN: Final = re.compile(r"ALTER TABLE (\w+) (ADD|DROP|RENAME) COLUMN (\w+)(?: TO)? ?(\w+)?")
_RENAME: Final = re.compile(r"ALTER TABLE (\w+) RENAME TO (\w+)")


class _NotFittingError(Exception):
    """A statement names a column that is not there."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A table as a statement sees it from its beginning to its end."""

    table: FileStoreTable
    schema: TableSchema
    snapshot_id: int

    def content(self) -> Content:
        """Read its rows."""
        names = self.schema.column_names
        rows: list[Row] = []
        if self.snapshot_id:
            scan = self.table.scan(version=self.snapshot_id, schema=self.schema)
            columns = [column.to_pylist() for column in scan.to_arrow().columns]
            rows = list(zip(*columns, strict=True))
        return Content.empty(names, has_key=bool(self.schema.primary_key)).holding(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSession:
    """One of several sessions over a warehouse.

    Attributes:
        definition: what CREATE TABLE makes.
        compacts: whether each commit is followed by a compaction.
    """

    number: int
    lifecycle: TableLifecycle
    definition: TableDefinition
    compacts: bool = False

    def run(self, one: Statement) -> Ended:
        """Run a statement; any other error than those that follow from other sessions is raised."""
        return timed(self.number, one, lambda: self._ended(one))

    def _ended(self, one: Statement) -> tuple[Outcome, Answer | None, str]:
        try:
            return Outcome.DONE, self._done(one), ""
        except CommitStateUnknownError as error:
            return Outcome.UNKNOWN, None, str(error)
        except (NotFoundError, AlreadyExistsError) as error:
            return Outcome.NO_TABLE, None, str(error)
        except (InvalidSchemaError, _NotFittingError) as error:
            return Outcome.NOT_FITTING, None, str(error)
        except (CommitConflictError, MissingFileError, SnapshotNotFoundError) as error:
            return Outcome.REFUSED, None, str(error)

    def _done(self, one: Statement) -> Answer | None:
        if one.defines is not None:
            self._define(one)
        elif one.reads is not None:
            answer: Answer = _fitting(one.reads(self._seen(one.name).content()))
            return answer
        elif one.copies is not None:
            self._copy(one)
        elif one.is_of_columns:
            self._alter(one)
        elif one.sql.startswith("ALTER"):
            self._seen(one.name).table.compact()
        elif one.sql.startswith("CALL"):
            options = ExpireOptions(older_than_ms=_OF_LATER, retain_max=1)
            self._seen(one.name).table.expire_snapshots(options)
        elif one.sql.startswith(("INSERT INTO", "a stream")):
            self._insert(one)
        elif one.sql.startswith("TRUNCATE"):
            seen = self._seen(one.name)
            self._commit(seen, (), kind=CommitKind.OVERWRITE, overwrite=WHOLE_TABLE)
        else:
            self._change(one, one.changes[0])
        return None

    # -- names -------------------------------------------------------------------------------------

    def _define(self, one: Statement) -> None:
        name = _identifier(one.name)
        renamed = _RENAME.fullmatch(one.sql)
        if renamed:
            self.lifecycle.rename(name, _identifier(renamed[2]))
        elif one.sql.startswith("DROP"):
            if not self.lifecycle.drop(name):
                raise NotFoundError(kind="table", name=one.name)
        elif one.sql.startswith("CREATE OR REPLACE"):
            self.lifecycle.replace(name, self.definition, or_create=True)
        else:
            self.lifecycle.create(name, self.definition)

    def _alter(self, one: Statement) -> None:
        named = _COLUMN.fullmatch(one.sql.removesuffix(" INT"))
        assert named is not None
        _, verb, column, target = named.groups()
        change: AddColumn | DropColumn | RenameColumn
        match verb:
            case "ADD":
                change = AddColumn(column=Field(id=0, name=column, type=INTEGER))
            case "DROP":
                change = DropColumn(path=(column,))
            case _:
                change = RenameColumn(path=(column,), name=target)
        self.lifecycle.alter(_identifier(one.name), [change])

    def _seen(self, name: str) -> _Seen:
        managed = self.lifecycle.load(_identifier(name))
        file_io = self.lifecycle.warehouse.places.file_io_of(managed.location)
        table = known_table(managed.location, file_io)
        table = replace(table, clock=self.lifecycle.warehouse.clock)
        schema, snapshot = self.lifecycle.moment_of(managed, table)
        return _Seen(table, schema, 0 if snapshot is None else snapshot.id)

    # -- rows --------------------------------------------------------------------------------------

    def _insert(self, one: Statement) -> None:
        seen = self._seen(one.name)
        has_key = bool(seen.schema.primary_key)
        empty = Content.empty(seen.schema.column_names, has_key=has_key)
        for change in one.changes:
            added = _fitting(change(empty)).rows
            self._write(seen, added, ())

    def _copy(self, one: Statement) -> None:
        assert one.copies is not None
        seen = self._seen(one.name)
        content = seen.content()
        added = [content.row_of(**dict(row)) for row in _fitting(one.copies(content))]
        self._write(seen, added, ())

    def _change(self, one: Statement, change: Change) -> None:
        """Write what a statement makes of the rows that it has read."""
        seen = self._seen(one.name)
        before = seen.content()
        after = _fitting(change(before))
        if one.sql.startswith("INSERT OVERWRITE"):
            self._write(
                seen,
                after.rows,
                (),
                read=seen.snapshot_id,
                kind=CommitKind.OVERWRITE,
                overwrite=WHOLE_TABLE,
            )
            return
        old, new = Counter(before.rows), Counter(after.rows)
        added, gone = list((new - old).elements()), list((old - new).elements())
        if before.has_key:
            kept = {row[0] for row in added}
            gone = [row for row in gone if row[0] not in kept]
        self._write(seen, added, gone, read=seen.snapshot_id)

    def _write(
        self,
        seen: _Seen,
        added: list[Row] | tuple[Row, ...],
        gone: list[Row] | tuple[Row, ...],
        *,
        read: int | None = None,
        kind: CommitKind = CommitKind.APPEND,
        **scope: Any,
    ) -> None:
        rows = _arrow([*gone, *added], seen.schema)
        with TableWriter(seen.table.writer_context(seen.schema)) as writer:
            kinds = np.repeat(np.array([1, 0], np.int8), [len(gone), len(added)])
            writer.write(rows, kinds=kinds)
            messages = writer.prepare_commit()
        self._commit(
            seen,
            messages,
            kind=kind,
            read_snapshot_id=read,
            expected_schema_id=seen.schema.id,
            **scope,
        )

    def _commit(self, seen: _Seen, messages: Any, **how: Any) -> None:
        table = seen.table
        publish: Callable[[], Any] = partial(
            table.committer().commit, messages, commit_user=table.ids.unique(), **how
        )
        commit_or_delete(table.writer_context(seen.schema), messages, publish)
        if self.compacts:
            with suppress(TableStoreError):  # the rows are committed
                table.compact()


def _identifier(name: str) -> Identifier:
    return Identifier("default", name)


def _fitting(found: Any) -> Any:
    if found is None:
        raise _NotFittingError
    return found


def _arrow(rows: list[Row], schema: TableSchema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.fields)
    return pa.table(
        {
            field.name: pa.array(values, pa.int32())
            for field, values in zip(schema.fields, columns, strict=True)
        }
    )
