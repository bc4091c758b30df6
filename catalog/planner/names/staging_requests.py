"""Requests that create or replace managed tables, some of them staged until their commit."""

from __future__ import annotations

import logging

from table_store.catalog.connectors.datagen.datagen import warn_of_unused
from table_store.catalog.definition.declaration import (
    declared_like,
    declared_under,
    has_expressions,
)
from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.names.checked_rows import check_conditions
from table_store.catalog.planner.names.dead_letter_table import check_dead_letters, dead_letters
from table_store.catalog.planner.names.foreign_requests import is_foreign, place_of_foreign
from table_store.catalog.planner.names.insert_columns import inserted_columns
from table_store.catalog.planner.names.managed_table import describe_table
from table_store.catalog.planner.names.named_relation import is_current, temporary_identifier
from table_store.catalog.planner.names.spark_table import TEMPORARY, definition_of, properties_of
from table_store.catalog.planner.names.stored_expressions import session_settings
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.planner.protocol.tables import (
    AbortStaged,
    CommitStaged,
    CreateTable,
    DeclaredTable,
    DescribedTable,
    ForeignPlace,
    LikeSource,
    StageTable,
)
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError, TableStoreError
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import LogSystem, log_system
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_log = logging.getLogger(__name__)


def create_table(session: PlannerSession, request: CreateTable) -> DescribedTable | ForeignPlace:
    """Make a managed table; for a foreign table, return the place where Spark is to make it.

    Raises:
        NamespaceNotFoundError: its namespace does not exist.
        AlreadyExistsError: its name is taken.
    """
    return _staged(
        session,
        request.relation,
        request.definition,
        StagingMode.CREATE,
        like=request.like,
        is_committed=True,
    )


def stage_table(session: PlannerSession, request: StageTable) -> DescribedTable | ForeignPlace:
    """Make a table that nobody sees before `commit_staged`.

    Raises:
        NamespaceNotFoundError, AlreadyExistsError: as `create_table`.
        NotFoundError: there is no table to replace.
        WrongRelationKindError: a materialized view would be replaced.
    """
    return _staged(session, request.relation, request.definition, request.mode)


def commit_staged(session: PlannerSession, request: CommitStaged) -> None:
    """Make a staged table visible."""
    lifecycle = _lifecycle(session, request.table)
    managed = lifecycle.staging.commit(_staged_table(request.table))
    tell_log(lifecycle, managed)


def tell_log(lifecycle: TableLifecycle, managed: ManagedTable) -> None:
    """Write the rows of a table into its log, if they were written before it had one."""
    options = TABLE_OPTIONS.parse(managed.schema.options, OptionScope.TABLE)
    if log_system(options) is LogSystem.KAFKA:
        file_io = lifecycle.warehouse.places.file_io_of(managed.location)
        table = open_logged(managed.location, file_io)
        snapshot = table.latest_snapshot()
        if snapshot is not None:
            LogListener(table).on_commit(snapshot, table.schema)


def abort_staged(session: PlannerSession, request: AbortStaged) -> None:
    """Remove a staged table."""
    _lifecycle(session, request.table).staging.abort(_staged_table(request.table))


# -- details -------------------------------------------------------------------------------------


def _staged(
    session: PlannerSession,
    relation: RelationReference,
    declared: DeclaredTable,
    mode: StagingMode,
    *,
    like: LikeSource | None = None,
    is_committed: bool = False,
) -> DescribedTable | ForeignPlace:
    access = CatalogAccess.of(session, relation.catalog)
    if is_foreign(declared.properties):
        return place_of_foreign(access, relation, mode)
    identifier = require_identifier(relation)
    is_temporary = declared.properties.get(TEMPORARY) == "true"
    if is_temporary and not is_current(session, access, identifier):
        raise InvalidSchemaError(
            reason=f"a temporary table belongs to the session, not to namespace "
            f"'{identifier.namespace}'; name it without one"
        )
    lifecycle = access.temporary.begin() if is_temporary else access.lifecycle
    own = temporary_identifier(identifier) if is_temporary else identifier
    if mode is not StagingMode.CREATE:
        _refuse_materialized_view(lifecycle, own)
    source = _schema_of_source(access, like)
    definition = definition_of(declared, like, None if source is None else source.options)
    if has_expressions(definition):
        definition = declared_under(definition, session_settings(session))
    if source is not None:
        definition = declared_like(definition, source)
    declared_schema = definition.schema(time_ms=0)
    check_conditions(session, declared_schema, definition.checks)
    staged = lifecycle.staging.stage(
        own, definition, mode, settings=session.confs("table-storage.")
    )
    try:
        check_dead_letters(session, relation.catalog, declared_schema, own)
    except TableStoreError:
        lifecycle.staging.abort(staged)
        raise
    if is_committed:
        lifecycle.staging.commit(staged)
        _make_dead_letters(session, relation.catalog, declared_schema, own)
    file_io = lifecycle.warehouse.places.file_io_of(staged.location)
    schema = open_logged(staged.location, file_io).schema
    warn_of_unused(schema, access.qualified(identifier))
    return describe_table(
        schema,
        name=access.qualified(identifier),
        properties=properties_of(schema, staged.location),
        handle=TableHandle(
            path=staged.location,
            schema_id=schema.id,
            snapshot_id=None,
            staged=staged.to_json(),
            is_temporary=is_temporary,
        ),
        columns=None if is_committed else inserted_columns(schema, None),
    )


def _make_dead_letters(
    session: PlannerSession, catalog: CatalogReference, schema: TableSchema, source: Identifier
) -> None:
    try:
        dead_letters(session, catalog, schema)
    except TableStoreError as error:
        _log.warning("the dead-letter table of %s is not there before a read: %s", source, error)


def _schema_of_source(access: CatalogAccess, like: LikeSource | None) -> TableSchema | None:
    """The schema of LIKE's managed source: Spark's description of it lacks secrets and settings."""
    if like is None or not isinstance(like.handle, TableHandle):
        return None
    path = like.handle.path
    table = open_logged(path, access.warehouse.places.file_io_of(path))
    return table.schema_store.get(like.handle.schema_id)


def _lifecycle(session: PlannerSession, table: TableReference) -> TableLifecycle:
    access = CatalogAccess.of(session, table.relation.catalog)
    is_temporary = table.table_handle.is_temporary
    return access.temporary.lifecycle() if is_temporary else access.lifecycle


def _staged_table(table: TableReference) -> StagedTable:
    text = table.table_handle.staged
    assert text is not None, "Spark commits and aborts what it has staged"
    return StagedTable.from_json(text)


def _refuse_materialized_view(lifecycle: TableLifecycle, own: Identifier) -> None:
    """Keep a definition that nobody has asked to drop."""
    try:
        found = lifecycle.load(own).schema
    except TableStoreError:
        return  # there is none, or it is damaged, or no table, which is told where it is replaced
    if found.query is not None:
        raise WrongRelationKindError(name=str(own), found="materialized view", needed="table")
