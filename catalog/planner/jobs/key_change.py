"""ALTER TABLE that gives a table a primary key, or takes it away.

Files of a table are laid out by its key, so its rows are written anew, into a directory that takes
the place of the old one in one step, as that of CREATE OR REPLACE TABLE does: readers and time
travel by timestamp have the old one until it expires, and versions begin anew. Rows that others
write meanwhile are not lost (`catalog.tables.succession`): then the copy is made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.definition.fate import Fate
from table_store.catalog.definition.rule_change import AddPrimaryKey, DropConstraint, names_key
from table_store.catalog.definition.spark_change import change_from_spark
from table_store.catalog.definition.table_definition import with_other_key
from table_store.catalog.errors import ExistingKeyError
from table_store.catalog.names.identifier import Identifier, quoted, quoted_parts
from table_store.catalog.planner.jobs.dependents import (
    all_dependents,
    fate_or,
    refuse,
    running,
    stop,
    writers,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.staging_requests import tell_log
from table_store.catalog.planner.names.table_requests import altered_table, load_table
from table_store.catalog.planner.process.job_names import jobs_named
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.tables import AlterTable, LoadedTable, LoadTable
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import write
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.catalog.tables.stream_writer_claim import StreamWriterClaim
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.log_store.logged_table import open_logged

_COPIES_MAX: Final = 3
_SHOWN_MAX: Final = 200
_COUNT: Final = "__rows"


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A table, and the key that it is to have; `columns` is empty if it is to have none.

    Attributes:
        relation: the table's name.
        access: the catalog of the name.
        lifecycle: has the table, by the name `own`.
        own: see there.
        columns: of the key.
        name: of the constraint; None without one.
    """

    relation: RelationReference
    access: CatalogAccess
    lifecycle: TableLifecycle
    own: Identifier
    columns: tuple[str, ...]
    name: str | None

    @property
    def parts(self) -> tuple[str, ...]:
        """The table's whole name."""
        identifier = self.relation.identifier
        assert identifier is not None, "it was found by its name"
        return (self.access.name, identifier.namespace, identifier.name)


def alter_key(session: PlannerSession, change: KeyChange) -> LoadedTable:
    """Write the rows of a table anew under another primary key; they are visible in one step.

    Raises:
        InvalidSchemaError: it has a key already, or cannot have this one.
        InvalidOptionError: an option of the table needs a key.
        ExistingKeyError: two rows have the same key, or one has NULL in it.
        DependentsError: a job stands on the table, and the statement does not say what becomes of
            it; or one writes the table.
        StreamWriterExistsError: a streaming query writes it.
        CommitConflictError: others wrote the table again and again.
    """
    table = change.lifecycle.load(change.own)
    _check(change, table)
    name = ".".join(change.parts)
    stopped = []
    if change.lifecycle is change.access.lifecycle:
        reason = "the rows of the table move to another directory"
        written = [(one, reason) for one in writers(session, table.location)]
        refuse("ALTER TABLE", name, written)
        StreamWriterClaim.of(_opened(change, table), name).check_free()
        found = running(session, all_dependents(table.record, change.access))
        stopped = [(one, reason) for one in found]
    fate = fate_or(Fate.RESTRICT)
    if fate is Fate.RESTRICT:
        refuse("ALTER TABLE", name, stopped)
    with jobs_named(session, f"ALTER TABLE {name}"):
        _rewritten(session, change)
    stop(session, change.access, stopped, fate)
    return load_table(session, LoadTable(relation=change.relation))


def key_change(session: PlannerSession, request: AlterTable) -> KeyChange | None:
    """Return what an ALTER TABLE does if it adds the key of a managed table or drops it alone."""
    # Other changes may be such as only foreign tables take.
    kinds = [change["change"] for change in request.changes]
    if kinds not in (["add_constraint"], ["drop_constraint"]):
        return None
    asked = change_from_spark(request.changes[0])
    if not isinstance(asked, AddPrimaryKey | DropConstraint):
        return None
    found = altered_table(session, request.relation)
    if found is None:
        return None
    access, lifecycle, own = found
    if isinstance(asked, AddPrimaryKey):
        key, name = asked.columns, asked.name
        return KeyChange(request.relation, access, lifecycle, own, key, name)
    if names_key(lifecycle.load(own).schema, asked.name):
        return KeyChange(request.relation, access, lifecycle, own, (), None)
    return None


def _opened(change: KeyChange, table: ManagedTable) -> FileStoreTable:
    places = change.lifecycle.warehouse.places
    return open_logged(table.location, places.file_io_of(table.location))


def _check(change: KeyChange, table: ManagedTable) -> None:
    schema = table.schema
    refuse_derived(schema, ".".join(change.parts), "ALTER of the primary key")
    if connector_of(schema) is not None:
        raise InvalidSchemaError(
            reason="the rows of the table are a connector's, so its primary key cannot change; "
            "create it anew"
        )
    if change.columns and schema.primary_key:
        raise InvalidSchemaError(
            reason=f"the table has the primary key ({', '.join(schema.primary_key)}) already; "
            "ALTER TABLE … DROP PRIMARY KEY first"
        )


def _rewritten(session: PlannerSession, change: KeyChange) -> None:
    for _ in range(_COPIES_MAX):
        table = change.lifecycle.load(change.own)
        _check(change, table)
        definition = with_other_key(table.schema, change.columns, change.name)
        schema = definition.schema(time_ms=0)  # refuses what cannot be a key, before rows are read
        snapshot = _opened(change, table).latest_snapshot()
        if snapshot is not None and schema.primary_key:
            _check_keys(session, change, schema.primary_key, snapshot)
        staged = change.lifecycle.staging.stage(
            change.own, definition, StagingMode.REPLACE, beside=table.location
        )
        try:
            if snapshot is not None:
                _copy(session, change, staged, table, snapshot)
        except BaseException:
            change.lifecycle.staging.abort(staged)
            raise
        snapshot_id = 0 if snapshot is None else snapshot.id
        if change.lifecycle.staging.succeed(table, staged, snapshot_id):
            tell_log(change.lifecycle, change.lifecycle.load(change.own))
            return
    raise CommitConflictError(
        table=".".join(change.parts),
        snapshot_id=None,
        operation="ALTER",
        reason=f"others changed rows or columns while they were copied, {_COPIES_MAX} times",
    )


def _check_keys(
    session: PlannerSession, change: KeyChange, key: tuple[str, ...], snapshot: Snapshot
) -> None:
    columns = ", ".join(map(quoted, key))
    shown = ", ".join(f"CAST({quoted(name)} AS STRING)" for name in key)
    absent = " OR ".join(f"{quoted(name)} IS NULL" for name in key)
    found = session.spark.sql(
        f"SELECT {shown}, {_COUNT} FROM (SELECT {columns}, count(*) AS {_COUNT} "
        f"FROM {quoted_parts(change.parts)} VERSION AS OF {snapshot.id} GROUP BY {columns}) "
        f"WHERE {_COUNT} > 1 OR {absent} LIMIT 1"
    ).collect()
    for *values, count in found:
        texts = ("NULL" if value is None else value for value in values)
        row = ", ".join(f"{name} = {value}" for name, value in zip(key, texts, strict=True))
        if len(row) > _SHOWN_MAX:
            row = row[:_SHOWN_MAX] + "…"
        raise ExistingKeyError(table=".".join(change.parts), columns=key, row=row, count=int(count))


def _copy(
    session: PlannerSession,
    change: KeyChange,
    staged: StagedTable,
    table: ManagedTable,
    snapshot: Snapshot,
) -> None:
    """Write the rows of a snapshot as the only one of a staged table."""
    names = table.schema.column_names
    rows = session.spark.sql(
        f"SELECT {', '.join(map(quoted, names))} FROM {quoted_parts(change.parts)} "
        f"VERSION AS OF {snapshot.id}"
    )
    handle = TableHandle(
        path=staged.location,
        schema_id=0,
        snapshot_id=None,
        written=names,
        staged=staged.to_json(),
    )
    request = Write(
        table=TableReference(relation=change.relation, handle=handle),
        mode=WriteMode.APPEND,
        options={},
    )
    write(session, request, session.bridge.JobQuery.written(rows._jdf))
