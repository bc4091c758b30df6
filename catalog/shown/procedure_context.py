"""What the procedures of a catalog work with: its tables, and the session that calls."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from table_store.catalog.meta_service.revision import RevisionRequest
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.table_name import parse_table_name
from table_store.catalog.shown.procedure import Arguments
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.log_store.logged_table import open_logged

Compact = Callable[[ManagedTable, Mapping[str, str]], Mapping[str, int]]
"""Compacts a table, or the partition of these values' texts; the numbers of COMPACTION_RESULT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushedTable:
    """A table that has what its sources had; `job` is None for a materialized view."""

    table: str
    job: str | None
    barrier: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """A table of another format, and the managed table that it becomes.

    Attributes:
        format: `parquet`, `delta` or `paimon`.
        path: its folder.
        identifier: of the new table.
        primary_key: its key; empty for none; None: that of the source, as far as it says so.
        partitioned_by: its partition columns; None: those of the source, as far as it says so.
    """

    format: str
    path: str
    identifier: Identifier
    primary_key: tuple[str, ...] | None
    partitioned_by: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTarget:
    """The format and the new folder of an export."""

    format: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """What was brought in or out; `files` counts those of an export."""

    snapshot_id: int
    rows: int
    files: int


Flush = Callable[[ManagedTable | None], Sequence[FlushedTable]]
"""Brings a table up to now, or all tables that jobs of the program write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedTable:
    """A table that a revision has brought anew, or would.

    Attributes:
        table: its name.
        job: that writes it; None of the corrected table that no job writes.
        treatment: what becomes of it.
        state: of the job.
        from_barrier: the barrier from which the job goes on.
        from_snapshot: the snapshot of the table there.
        rows_read: by the job's epoch; about as many as are known before it.
        barrier: that the table has been brought to; None if it has not.
        snapshot: of the table there.
        rows_changed: rows inserted into the table and deleted from it by the epoch.
    """

    table: str
    job: str | None
    treatment: str
    state: str | None = None
    from_barrier: int | None = None
    from_snapshot: int | None = None
    rows_read: int | None = None
    barrier: int | None = None
    snapshot: int | None = None
    rows_changed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """Which tables of a database become tables.

    Attributes:
        source: a table that reads the database; its options are those of all.
        namespace: where the tables are made.
        including: a pattern that their names match; None: all.
        excluding: a pattern that they do not match; None: none.
        adds_columns: whether tables get columns that the database's tables have got.
    """

    source: ManagedTable
    namespace: str
    including: str | None
    excluding: str | None
    adds_columns: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedTable:
    """A table of a database, with its job and the job's state, or why it has none."""

    table: str
    job: str | None
    state: str
    reason: str | None


class Revise(Protocol):
    """Corrects a table, and lets what stands on it follow; if dry, only tells what it does."""

    def __call__(
        self, table: ManagedTable, request: RevisionRequest, *, is_dry: bool
    ) -> Sequence[RevisedTable]:
        """Return a row for each table."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureContext:
    """What a call works with.

    Attributes:
        lifecycle: of the catalog's tables.
        catalog_name: as the session knows it.
        namespace: in which a table is looked for that is named without one.
        time_zone: of the session, for timestamps without a zone.
        compact: does the work of `compact`, which may need a cluster.
        await_jobs: returns when no job of the program runs, with the number of jobs that did.
        flush: does the work of `flush`.
        import_table: does the work of `import`.
        export_table: does the work of `export`, for a version or tag; None is the latest.
        pin: lets the session read all tables that hang together with one, or all of the warehouse,
            at the last barrier at which all of these are valid, and returns its number.
        recache: lets the session's cached plans over a table read the rows that it has now.
        revise: does the work of `revise`.
        sync_database: does the work of `sync_database`.
    """

    lifecycle: TableLifecycle
    catalog_name: str
    namespace: str
    time_zone: str
    compact: Compact
    await_jobs: Callable[[], int]
    flush: Flush
    import_table: Callable[[ImportSource], Transferred]
    export_table: Callable[[ManagedTable, ExportTarget, str | None], Transferred]
    pin: Callable[[ManagedTable | None], int]
    recache: Callable[[ManagedTable], None]
    revise: Revise
    sync_database: Callable[[SyncRequest], Sequence[SyncedTable]]

    def table(self, arguments: Arguments) -> ManagedTable:
        """Return the table that the argument `table` names."""
        return self.named(arguments.text("table"))

    def named(self, text: str) -> ManagedTable:
        """Return the table that a text names."""
        return self.lifecycle.load(
            parse_table_name(text, catalog=self.catalog_name, namespace=self.namespace)
        )

    def open(self, table: ManagedTable) -> FileStoreTable:
        """Return the storage of a table."""
        warehouse = self.lifecycle.warehouse
        file_io = warehouse.places.file_io_of(table.location)
        opened = open_logged(table.location, file_io)
        return replace(opened, clock=warehouse.clock, ids=warehouse.ids)

    def time_ms(self, arguments: Arguments, name: str, default_ms: int) -> int:
        """Return the moment that a timestamp argument means, or the default."""
        text = arguments.optional_text(name)
        if text is None:
            return default_ms
        try:
            moment = dt.datetime.fromisoformat(text.strip())
        except ValueError as error:
            raise InvalidOptionError(
                key=name, value=text, reason="use a timestamp like '2026-01-31 12:00:00'"
            ) from error
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=find_zone(self.time_zone))
        return int(moment.timestamp() * 1000)
