"""A table as programs without Spark hold it: read, write, change rows, tags and the definition.

Nothing here keeps a state of the table: every call reads storage again. So one table may be used by
any number of threads at once; a writer belongs to one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.connector_errors import ExternalTableError
from table_store.catalog.definition.declared_type import declared_sql
from table_store.catalog.jobs.job_errors import MaterializedViewError
from table_store.catalog.shown.system_tables import SYSTEM_TABLES
from table_store.client.arrow_rows import Rows, batches_of, reader_of
from table_store.client.declared_rules import DeclaredRules
from table_store.client.definition import NamedDefinition
from table_store.client.errors import OpenedByPathError
from table_store.client.filters import Filter, row_filter
from table_store.client.named_columns import distinct_names, listed_names, spelled_names
from table_store.client.row_statements import RowStatement
from table_store.client.scan import Scan
from table_store.client.writer import Writer
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS
from table_store.storage.file_store.changes.change_range import ChangeBound
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.compaction.compaction_task import CompactionResult
from table_store.storage.file_store.metadata.tag import Tag
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import TableMovedError
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.unpublished_files import commit_or_delete
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    NotFoundError,
)
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.options.connector_options import CONNECTOR


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table at a path; `table_store.open_table` and `Warehouse.open` make it.

    Attributes:
        storage: the table for programs that write files themselves, without the rules that the
            table declares.
        time_zone: that of timestamps without one in rows, filters and values; None refuses them.
        named: its definition under its name; None if it was opened by its path.
    """

    storage: FileStoreTable
    time_zone: str | None = None
    named: NamedDefinition | None = None

    @property
    def path(self) -> str:
        """The directory of the table."""
        return self.storage.path

    @property
    def name(self) -> str:
        """`namespace.table`, or the path if it was opened by that."""
        return self.path if self.named is None else self.named.name

    @property
    def schema(self) -> TableSchema:
        """The latest definition."""
        return self.storage.schema

    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest version, None before the first commit.

        Raises:
            NotFoundError: the table was dropped.
        """
        return self._existing().latest_snapshot()

    # -- reading -----------------------------------------------------------------------------------

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Filter | None = None,
        *,
        limit: int | None = None,
        version: int | None = None,
        timestamp_ms: int | None = None,
        tag: str | None = None,
    ) -> Scan:
        """Return a read of the latest version, or of the one that is named.

        Args:
            columns: names in the wanted order; None means all.
            where: which rows; None means all.
            limit: at most so many rows, any of those; 0 or more.
            version: id of a snapshot.
            timestamp_ms: the version current then, in milliseconds since 1970.
            tag: the version of this name.

        Raises:
            NotFoundError, SnapshotNotFoundError: there is no such tag or version.
            InvalidOptionError: limit, version or timestamp are no such numbers, or two of version,
                timestamp and tag are given.
            InvalidSchemaError: there is no such column, or it is named twice.
            InvalidExpressionError, UnsupportedExpressionError: see `row_filter`.
        """
        _check_numbers(limit=limit, version=version, timestamp_ms=timestamp_ms)
        _check_one(version=version, timestamp_ms=timestamp_ms, tag=tag)
        schema = self.schema
        if (version, timestamp_ms, tag) != (None, None, None):
            snapshot = self._snapshot(version, timestamp_ms, tag)
            version, schema = snapshot.id, self.storage.schema_store.get(snapshot.schema_id)
        names = schema.column_names if columns is None else spelled_names(schema, columns)
        kept = row_filter(where, schema, self.time_zone)
        needed = list(dict.fromkeys([*names, *sorted(kept.columns)]))
        source = self.storage.scan(needed, kept.pushed, version=version, schema=schema)
        return Scan(self.name, source, names, kept, limit)

    def changes(
        self,
        from_version: int | ChangeBound | None = None,
        to_version: int | ChangeBound | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: Filter | None = None,
        mode: ChangeMode | None = None,
        skips_untracked: bool = False,
    ) -> Scan:
        """Return a read of what the commits of a range changed; see `FileStoreTable.changes`.

        Args:
            from_version: first snapshot, or a bound; None is the oldest whose changes are known.
            to_version: last snapshot, or a bound; None is the latest.
            columns: names of the table or of `_change_type` and the like; None means all.
            where: which change rows, by columns of the table; None means all.
            mode: which changes, in which form; None leaves out unchanged rows.
            skips_untracked: skip commits without change tracking instead of failing.
        """
        read = partial(
            self.storage.changes,
            from_version,
            to_version,
            mode=mode,
            skips_untracked=skips_untracked,
        )
        schema = read().schema
        names = (*schema.column_names, *CHANGE_LABELS) if columns is None else listed_names(columns)
        names = distinct_names(
            n if n in CHANGE_LABELS else schema.field_named(n).name for n in names
        )
        kept = row_filter(where, schema, self.time_zone)
        needed = list(dict.fromkeys([*names, *sorted(kept.columns)]))
        source = read(columns=needed, predicate=kept.pushed, schema=schema)
        return Scan(f"the changes of {self.name}", source, names, kept)

    def history(self) -> pa.Table:
        """Return the versions, oldest first: the rows of `t$snapshots` in SQL.

        Raises:
            NotFoundError: the table was dropped.
        """
        return SYSTEM_TABLES["snapshots"].rows(self._existing())

    # -- writing -----------------------------------------------------------------------------------

    def append(self, rows: Rows) -> Committed | NoChange:
        """Add rows; in a table with key they replace the rows with the same key.

        Columns that the rows lack get their defaults, or NULL; computed columns are computed, or
        checked where the rows have them.

        Raises:
            InvalidRowsError: they are no rows.
            InvalidSchemaError, ColumnRuleError, NullKeyError, …: see `DeclaredRules.complete`.
            TableMovedError: the table was replaced, or got another primary key, since it was
                opened. So fails whatever writes.
        """
        with self.writer() as writer:
            writer.write(rows)
            return self._committed(writer)

    def overwrite(self, rows: Rows) -> Committed | NoChange:
        """Replace the whole content by the rows; it takes them and fails as `append` does."""
        replaced_id = self.storage.snapshot_store.latest_id() or 0
        with self.writer() as writer:
            writer.write(rows)
            return self._committed(writer, replaced_id)

    def upsert(self, rows: Rows) -> Committed | NoChange:
        """Write rows by their key: those that exist keep the columns that the rows lack.

        With all columns it is an `append`, which reads nothing. Else the rows are held in memory,
        together with those that they replace.

        Raises:
            InvalidSchemaError: the table has no key, or the rows do not have it.
            CommitConflictError: others changed the table in all attempts.
        """
        reader = reader_of(rows)
        schema = self._written("UPSERT")
        given = {name.lower() for name in reader.schema.names}
        own = [field.name.lower() for field in schema.fields if field.generated is None]
        if schema.primary_key and given >= set(own):
            return self.append(reader)
        rules = DeclaredRules(schema, self.time_zone)
        given_rows = (rules.conformed(batch) for batch in batches_of(reader))
        batches = [pa.RecordBatch.from_pydict(columns) for columns in given_rows]
        if not batches:
            return NoChange(snapshot=self.latest_snapshot())
        return self._statement(schema).upsert(pa.Table.from_batches(batches))

    def delete(self, where: Filter | None = None) -> Committed | NoChange:
        """Delete the rows that satisfy a condition; all rows without one.

        Raises:
            InvalidExpressionError, UnsupportedExpressionError: see `row_filter`.
            CommitConflictError: others changed the table in all attempts.
        """
        schema = self._written("DELETE")
        return self._statement(schema).delete(row_filter(where, schema, self.time_zone))

    def delete_rows(self, rows: Rows) -> Committed | NoChange:
        """Delete rows: by their key alone, or, in a table without key, one equal row for each.

        Raises:
            InvalidSchemaError, NullKeyError: the rows have no key, or another type, or, in a table
                without key, lack a column.
        """
        with self.writer() as writer:
            writer.delete(rows)
            return self._committed(writer)

    def update(
        self, values: Mapping[str, object], where: Filter | None = None
    ) -> Committed | NoChange:
        """Set columns of the rows that satisfy a condition, or of all rows.

        Args:
            values: by column: a text is SQL on the old row, every other value is itself, also a
                text in `pyarrow.scalar`.
            where: which rows; None means all.

        Raises:
            See `RowStatement.update`.
        """
        schema = self._written("UPDATE")
        kept = row_filter(where, schema, self.time_zone)
        return self._statement(schema).update(values, kept)

    def writer(self) -> Writer:
        """Return a writer for rows that come in steps; `commit` publishes what it wrote."""
        schema = self._written("INSERT")
        return Writer.of(self.storage, DeclaredRules(schema, self.time_zone))

    def commit(
        self, messages: Sequence[CommitMessage], *, track_changes: bool | None = None
    ) -> Committed | NoChange:
        """Publish what writers wrote as one version; see `FileStoreTable.commit`."""
        self._written("INSERT")
        return self.storage.commit(messages, track_changes=track_changes)

    def compact(self, *, full: bool = True) -> CompactionResult:
        """Merge the files of each bucket in this process; see `FileStoreTable.compact`."""
        return self.storage.compact(full=full)

    # -- names of versions -------------------------------------------------------------------------

    def tags(self) -> Mapping[str, int]:
        """Return the tags by name, with the version of each.

        Raises:
            NotFoundError: the table was dropped.
        """
        return {tag.name: tag.snapshot.id for tag in self._existing().tags.all()}

    def create_tag(self, name: str, *, version: int | None = None) -> Tag:
        """Give a version a name, by which it stays until the tag is deleted; the latest by default.

        Raises:
            InvalidTagError: a tag cannot have this name.
            AlreadyExistsError: there is such a tag.
            NotFoundError, SnapshotNotFoundError: there is no version, or not this one, or the table
                was dropped.
        """
        storage = self._existing()
        if version is None:
            latest = storage.latest_snapshot()
            if latest is None:
                raise NotFoundError(kind="version", name=self.name)
            version = latest.id
        return storage.tags.create(name, version, storage.ids.unique())

    def delete_tag(self, name: str) -> None:
        """Forget a tag; its version may expire then.

        Raises:
            NotFoundError: there is no such tag, or the table was dropped.
        """
        self._existing().tags.delete(name)

    # -- definition --------------------------------------------------------------------------------

    @property
    def definition(self) -> NamedDefinition:
        """What changes the columns and options of the table.

        Raises:
            OpenedByPathError: its name is not known.
        """
        if self.named is None:
            raise OpenedByPathError(path=self.path)
        return self.named

    # -- details -----------------------------------------------------------------------------------

    def _existing(self) -> FileStoreTable:
        """Return the table, which has not been dropped."""
        self.storage.schema_store.latest_id()
        return self.storage

    def _written(self, operation: str) -> TableSchema:
        """Return the schema under which rows are written.

        Raises:
            TableMovedError: the table was replaced since it was opened.
            MaterializedViewError: its rows are those of a query.
        """
        schema = self.schema
        if schema.successor is not None:
            raise TableMovedError(table=self.path, location=schema.successor.location)
        if schema.query is not None:
            raise MaterializedViewError(name=self.name, operation=operation)
        return schema

    def _snapshot(self, version: int | None, timestamp_ms: int | None, tag: str | None) -> Snapshot:
        if tag is not None:
            return self.storage.tags.get(tag).snapshot
        if version is not None:
            return self.storage.tags.snapshot(version)
        return self.storage.snapshot_store.at_timestamp(timestamp_ms or 0)

    def _statement(self, schema: TableSchema) -> RowStatement:
        return RowStatement(self.storage, schema, self.time_zone)

    def _committed(self, writer: Writer, replaced_id: int | None = None) -> Committed | NoChange:
        messages = writer.prepare_commit()
        publish = partial(self.storage.commit, messages, replaced_id=replaced_id)
        return commit_or_delete(writer.context, messages, publish)

    def __repr__(self) -> str:
        schema = self.schema
        columns = ", ".join(f"{f.name} {declared_sql(f)}" for f in schema.fields)
        key = f", key {', '.join(schema.primary_key)}" if schema.primary_key else ""
        return f"<Table {self.name} ({columns}{key})>"


def opened(
    storage: FileStoreTable, time_zone: str | None = None, named: NamedDefinition | None = None
) -> Table:
    """Return a table to read and to write; without `named` it was opened by its path.

    Raises:
        ExternalTableError: it stores no rows, because a connector makes them.
        InvalidTimeZoneError: there is no such zone.
    """
    if time_zone is not None:
        find_zone(time_zone)
    connector = storage.schema.options.get(CONNECTOR.key)
    if connector is not None:
        raise ExternalTableError(
            table=storage.path,
            connector=connector,
            operation="A program without Spark",
            remedy="Read it with Spark, or open the table into which a job loads its rows",
        )
    return Table(storage, time_zone, named)


def _check_numbers(**numbers: object) -> None:
    for key, number in numbers.items():
        if number is not None and not (isinstance(number, int | np.integer) and number >= 0):
            reason = "use a whole number, 0 or more"
            raise InvalidOptionError(key=key, value=repr(number), reason=reason)


def _check_one(**ways: object) -> None:
    given = [key for key, value in ways.items() if value is not None]
    if len(given) > 1:
        reason = f"{given[0]} names a version already"
        raise InvalidOptionError(key=given[1], value=repr(ways[given[1]]), reason=reason)
