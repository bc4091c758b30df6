"""CALL sys.sync_database: a table and a job for each table of a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.mysql.mysql_database import DefinedTable, defined_tables
from table_store.catalog.connectors.mysql.mysql_definition import MYSQL, is_mysql
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.names.identifier import Identifier, quoted, quoted_parts
from table_store.catalog.planner.jobs.added_columns import GrowingTable
from table_store.catalog.planner.jobs.job_registry import listed_jobs
from table_store.catalog.planner.jobs.redefinition import change_schema
from table_store.catalog.planner.jobs.statement_set import start_together
from table_store.catalog.planner.jobs.streaming_insert import (
    PIPELINE_NAME,
    RUNTIME_MODE,
    interval_ms,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.shown.procedure_context import SyncedTable, SyncRequest
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    InvalidOptionError,
    TableStoreError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.database_options import HOSTNAME, PASSWORD, PORT, USERNAME

_REFUSED: Final = "REFUSED"
"""The state of a table that has no job."""

_SOURCES: Final = "_source"
"""What is added to the namespace of the tables for that of the tables which read the database."""

_ADDRESS: Final = (HOSTNAME.key, PORT.key, USERNAME.key, PASSWORD.key)


def sync_database(
    session: PlannerSession, access: CatalogAccess, request: SyncRequest
) -> Sequence[SyncedTable]:
    """Make what is missing, and return all tables, in the order of their names.

    What is there already stays as it is, but for the address of the database.

    Raises:
        InvalidOptionError: the source is no table of a database.
        StreamingInsertError: the session has no checkpoint interval, or a job cannot start; then
            no new one does.
        TableStoreError: the database does not answer, or cannot be followed.
    """
    schema, shown = request.source.schema, request.source.identifier.text
    if not is_mysql(schema):
        reason = f"its connector is {connector_of(schema)!r}, not {MYSQL!r}"
        raise InvalidOptionError(key="source", value=shown, reason=reason)
    interval_ms(session)
    tables = defined_tables(schema, request.including, request.excluding)
    sync = _Sync(session, access, request.namespace, adds_columns=request.adds_columns)
    for namespace in (sync.namespace, sync.sources):
        if access.warehouse.find_namespace(namespace) is None:
            access.warehouse.create_namespace(namespace, {})
    found = [(table, sync.target_or_reason(table)) for table in tables]
    kept = {one.job.path for one in listed_jobs(session) if one.is_kept}
    begun = [
        (table, target)
        for table, target in found
        if isinstance(target, ManagedTable) and target.location not in kept
    ]
    with _streaming(session):
        for table, made in begun:
            sync.growing(table, made).prepare(sync.insert(table))
        start_together(session, [sync.insert(table) for table, _ in begun])
    jobs = {one.job.path: one for one in listed_jobs(session)}
    rows = []
    for table, target in found:
        if isinstance(target, str):
            rows.append(SyncedTable(table=table.shown, job=None, state=_REFUSED, reason=target))
            continue
        job = jobs[target.location]
        state = job.status.state.value
        rows.append(
            SyncedTable(table=table.shown, job=job.job.id, state=state, reason=job.status.error)
        )
    return rows


@dataclass(frozen=True, slots=True)
class _Sync:
    """What is made, and where.

    Attributes:
        session: whose jobs it starts.
        access: to the catalog of the tables.
        namespace: of the tables.
        adds_columns: whether they get columns that the database's tables have got.
    """

    session: PlannerSession
    access: CatalogAccess
    namespace: str
    adds_columns: bool

    @property
    def sources(self) -> str:
        """The namespace of the tables that read the database."""
        return f"{self.namespace}{_SOURCES}"

    def target_or_reason(self, table: DefinedTable) -> ManagedTable | str:
        """Make both tables, unless they are there; return why there can be none."""
        if table.reason is not None:
            return table.reason
        source = TableDefinition(
            columns=table.columns, primary_key=table.primary_key, options=table.options
        )
        target = TableDefinition(columns=table.columns, primary_key=table.primary_key)
        try:
            read = self._there(Identifier(self.sources, table.name), source, {})
            settings = self.session.confs("table-storage.")
            found = self._there(Identifier(self.namespace, table.name), target, settings)
        except TableStoreError as error:
            return str(error)
        if self.adds_columns:
            grown = self._grown(table, read, found)
            if isinstance(grown, str):
                return grown
            read, found = grown
        for one in (read, found):
            reason = _why_not(one, table)
            if reason is not None:
                return reason
        _move(read, table.options)
        return found

    def insert(self, table: DefinedTable) -> str:
        """Return the statement of a job."""
        columns = ", ".join(quoted(field.name) for field in table.columns)
        target, source = (
            quoted_parts((self.access.name, namespace, table.name))
            for namespace in (self.namespace, self.sources)
        )
        return f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {source}"

    def growing(self, table: DefinedTable, target: ManagedTable) -> GrowingTable:
        """Return a table with what reads the database for it."""
        source = self.access.lifecycle.load(Identifier(self.sources, table.name))
        name = self.access.qualified(target.identifier)
        return GrowingTable(self.session, name, source, target)

    def _grown(
        self, table: DefinedTable, read: ManagedTable, found: ManagedTable
    ) -> tuple[ManagedTable, ManagedTable] | str:
        """Give both tables the columns that are new, if their job runs; return why they have none.

        They stay as they are where something else keeps them from having the rows.
        """
        known = [{field.name for field in one.schema.fields} for one in (read, found)]
        old = [field for field in table.columns if all(field.name in names for names in known)]
        new = [field for field in table.columns if field not in old and field.nullable]
        rest = replace(table, columns=tuple(old))
        if not new or _why_not(read, rest) is not None or _why_not(found, rest) is not None:
            return read, found
        jobs = [one for one in listed_jobs(self.session) if one.job.path == found.location]
        job = next((one for one in jobs if one.is_kept), None)
        # A crash may have come behind the first table, when the job had ended.
        is_begun = all(field.name in known[0] for field in new)
        if not is_begun and (job is None or job.status.state is JobState.SUSPENDED):
            return read, found
        reason = self.growing(table, found).grow(job, new)
        if reason is not None:
            return reason
        load = self.access.lifecycle.load
        return load(read.identifier), load(found.identifier)

    def _there(
        self, identifier: Identifier, definition: TableDefinition, settings: Mapping[str, str]
    ) -> ManagedTable:
        lifecycle = self.access.lifecycle
        try:
            return lifecycle.create(identifier, definition, settings=settings)
        except AlreadyExistsError:
            return lifecycle.load(identifier)


def _why_not(found: ManagedTable, table: DefinedTable) -> str | None:
    """Why a table that was there before is not one for these rows."""
    columns = {field.name: field.type for field in found.schema.fields}
    if set(found.schema.primary_key) != set(table.primary_key):
        shown = ", ".join(found.schema.primary_key)
        return f"{found.identifier.text} has the primary key ({shown})"
    for field in table.columns:
        if columns.get(field.name) != field.type:
            return (
                f"{found.identifier.text} has no column {field.name} {field.type.sql_name()}; "
                "drop it, and call again"
            )
    return None


def _move(source: ManagedTable, options: Mapping[str, str]) -> None:
    """Give a table that reads the database its address."""
    address = {key: options[key] for key in _ADDRESS if key in options}

    def moved(schema: TableSchema) -> TableSchema:
        kept = {key: value for key, value in schema.options.items() if key not in _ADDRESS}
        return replace(schema, options=FrozenMap({**kept, **address}))

    change_schema(open_logged(source.location), moved)


@contextmanager
def _streaming(session: PlannerSession) -> Iterator[None]:
    """Let the session's INSERTs be jobs that have the names of their tables."""
    settings = {key: session.conf(key) for key in (RUNTIME_MODE, PIPELINE_NAME)}
    session.set_conf(RUNTIME_MODE, "streaming")
    session.set_conf(PIPELINE_NAME, None)
    try:
        yield
    finally:
        for key, value in settings.items():
            session.set_conf(key, value)
