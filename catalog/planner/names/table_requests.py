"""Requests about tables by name: load, list, alter, drop, rename."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.sink import check_written
from table_store.catalog.definition.rule_change import RuleChange
from table_store.catalog.definition.spark_change import DECLARING, change_from_spark
from table_store.catalog.definition.table_change import (
    SetComment,
    SetOption,
    TableChange,
    UnsetOption,
    WidenColumn,
    changed_schema,
)
from table_store.catalog.errors import NamespaceNotFoundError, RelationNotFoundError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import (
    NameRecord,
    RelationKind,
    ViewDefinition,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.names.foreign_requests import (
    drop_foreign,
    foreign_to_alter,
    loaded_foreign,
)
from table_store.catalog.planner.names.insert_columns import (
    seen_columns,
    split_change_type,
)
from table_store.catalog.planner.names.managed_table import describe_table, refuse_derived
from table_store.catalog.planner.names.named_relation import (
    find_relation,
    own_identifier,
    temporary_identifier,
)
from table_store.catalog.planner.names.spark_table import properties_of
from table_store.catalog.planner.names.stored_expressions import session_settings
from table_store.catalog.planner.names.supposed_schema import supposed_schema
from table_store.catalog.planner.names.system_relation import (
    SystemTableName,
    describe_system_table,
    describe_topology_table,
    system_table_name,
)
from table_store.catalog.planner.names.verified_rules import with_verified_rules
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.namespaces import ListTables
from table_store.catalog.planner.protocol.relations import (
    CatalogReference,
    ChangeType,
    RelationReference,
    one_level,
)
from table_store.catalog.planner.protocol.tables import (
    AlterTable,
    CanAlter,
    DescribedTable,
    DropTable,
    LoadedTable,
    LoadRelation,
    LoadTable,
    RenameTable,
    TableExists,
)
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    NotFoundError,
    UnsupportedTypeError,
)
from table_store.storage.log_store.logged_table import open_logged

Found: TypeAlias = TableLifecycle | NameRecord | ViewDefinition | None
"""What a name stands for, as `find_relation` returns it."""

_WITHOUT_COLUMNS: Final = (SetOption, UnsetOption, SetComment, type(None))


def load_table(session: PlannerSession, request: LoadTable) -> LoadedTable:
    """A table as of now, a version or a time; a foreign table's definition; a system table.

    Raises:
        RelationNotFoundError: there is no such table.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    relation, change_type = split_change_type(request.relation)
    system = system_table_name(session, access, relation)
    if system is not None:
        return _load_system_table(session, relation, system)
    found = _find(session, access, relation)
    if found is None and (topology := describe_topology_table(session, access, relation)):
        return topology
    if change_type is not None and not isinstance(found, TableLifecycle):
        raise NotFoundError(kind="managed table", name=relation.name)
    return _load_found(access, found, replace(request, relation=relation), change_type)


def load_relation(session: PlannerSession, request: LoadRelation) -> LoadedTable | ViewDefinition:
    """A table or a view.

    Raises:
        RelationNotFoundError: the name stands for neither.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    load = LoadTable(relation=request.relation)
    if system_table_name(session, access, request.relation) is None:
        found = _find(session, access, request.relation)
        if isinstance(found, ViewDefinition):
            return found
        if found is not None:
            return _load_found(access, found, load)
    return load_table(session, load)


def table_exists(session: PlannerSession, request: TableExists) -> bool:
    """Whether a table of this name exists; a damaged table counts, so that it can be dropped."""
    access = CatalogAccess.of(session, request.relation.catalog)
    if system_table_name(session, access, request.relation) is not None:
        return True
    return isinstance(_find(session, access, request.relation), TableLifecycle | NameRecord)


def list_tables(session: PlannerSession, request: ListTables) -> tuple[str, ...]:
    """The names of managed and foreign tables of a namespace.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    kinds = (RelationKind.TABLE, RelationKind.FOREIGN)
    return listed(session, request.catalog, request.namespace, kinds)


def listed(
    session: PlannerSession,
    catalog: CatalogReference,
    namespace: tuple[str, ...],
    kinds: Sequence[RelationKind],
) -> tuple[str, ...]:
    """The names of some kinds of relation in a namespace.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    access, name = CatalogAccess.of(session, catalog), one_level(namespace)
    if name is None or access.warehouse.find_namespace(name) is None:
        raise NamespaceNotFoundError(namespace=".".join(namespace))
    return tuple(r.identifier.name for r in access.warehouse.records(name, tuple(kinds)))


def alter_table(session: PlannerSession, request: AlterTable) -> LoadedTable:
    """Publish all changes as one new schema; of a foreign table, only return the definition.

    Raises:
        RelationNotFoundError: there is no table of this name.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = request.relation.identifier
    found = _find(session, access, request.relation)
    if isinstance(found, NameRecord):
        return foreign_to_alter(access, found, request.changes)
    if identifier is None or not isinstance(found, TableLifecycle):
        raise RelationNotFoundError(name=request.relation.text)
    declares = any(change["change"] in DECLARING for change in request.changes)
    settings = session_settings(session) if declares else {}
    asked = [change_from_spark(change, settings) for change in request.changes]
    changes = [change for change in asked if change is not None]
    own = own_identifier(access, found, identifier)
    if not all(isinstance(change, SetOption | UnsetOption | SetComment) for change in changes):
        name = access.qualified(identifier)
        refuse_derived(found.load(own).schema, name, "ALTER of columns")
        parts = (access.name, identifier.namespace, identifier.name)
        changes = with_verified_rules(session, found, own, parts, changes)
    # Described as it was altered: by now another session may have given its name away.
    altered = found.alter(own, changes)
    return _described(access, found, altered, LoadTable(relation=request.relation))


def can_alter(session: PlannerSession, request: CanAlter) -> bool:
    """Whether a write WITH SCHEMA EVOLUTION may make this change of a column, or has to skip it.

    A computed column keeps the type of its expression.
    """
    _, managed = managed_table(session, request.table.relation)
    try:
        change = change_from_spark(request.change)
        if isinstance(change, RuleChange | None) or _is_of_computed(change, managed.schema):
            return False
        changed_schema(managed.schema, [change], time_ms=managed.schema.time_ms)
    except (InvalidSchemaError, UnsupportedTypeError):
        return False
    return True


def drop_table(session: PlannerSession, request: DropTable) -> bool:
    """Drop a table; return whether there was one."""
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = request.relation.identifier
    found = _find(session, access, request.relation)
    if identifier is not None and isinstance(found, NameRecord):
        return drop_foreign(access, identifier)
    if identifier is None or not isinstance(found, TableLifecycle):
        return False
    return found.drop(own_identifier(access, found, identifier))


def drop_temporary(session: PlannerSession, relation: RelationReference, if_exists: bool) -> None:
    """Remove a temporary table of the session.

    Raises:
        NotFoundError: there is no such table, and `if_exists` is False.
    """
    access = CatalogAccess.of(session, relation.catalog)
    identifier = relation.identifier
    is_dropped = identifier is not None and access.temporary.lifecycle().drop(
        temporary_identifier(identifier)
    )
    if not is_dropped and not if_exists:
        raise NotFoundError(kind="temporary table", name=relation.name)


def rename_table(session: PlannerSession, request: RenameTable) -> None:
    """Give a table another name.

    Raises:
        NotFoundError: no table has the old name.
        NamespaceNotFoundError: there is no such namespace for the new one.
        AlreadyExistsError: the new name is taken.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    source = request.relation.identifier
    if source is None:
        raise RelationNotFoundError(name=request.relation.text)
    target = require_identifier(request.to)
    record = access.warehouse.find(source)
    if record is not None and record.kind is RelationKind.FOREIGN:
        access.warehouse.rename(source, target, RelationKind.FOREIGN)
    else:
        access.lifecycle.rename(source, target)


def is_temporary(
    session: PlannerSession, access: CatalogAccess, relation: RelationReference
) -> bool:
    """Whether a name is that of a temporary table of the session."""
    found = _find(session, access, relation)
    return isinstance(found, TableLifecycle) and found is not access.lifecycle


def managed_table(
    session: PlannerSession, relation: RelationReference
) -> tuple[CatalogAccess, ManagedTable]:
    """The managed table that a command or procedure names.

    Raises:
        NotFoundError: there is none.
        WrongRelationKindError: the name is that of a view or foreign table.
    """
    access = CatalogAccess.of(session, relation.catalog)
    identifier = relation.identifier
    if identifier is None:
        raise NotFoundError(kind="table", name=relation.text)
    found = _find(session, access, relation)
    if isinstance(found, TableLifecycle):
        return access, found.load(own_identifier(access, found, identifier))
    return access, access.lifecycle.load(identifier)


def altered_table(
    session: PlannerSession, relation: RelationReference
) -> tuple[CatalogAccess, TableLifecycle, Identifier] | None:
    """What changes the managed table of a name, and its own name there; None for all else."""
    access, identifier = CatalogAccess.of(session, relation.catalog), relation.identifier
    found = _find(session, access, relation)
    if identifier is None or not isinstance(found, TableLifecycle):
        return None
    return access, found, own_identifier(access, found, identifier)


def version_number(text: str) -> int:
    """The snapshot id that the text after VERSION states.

    Raises:
        InvalidOptionError: it is no number.
    """
    try:
        return int(text)
    except ValueError:
        raise InvalidOptionError(
            key="VERSION", value=text, reason="a version is the number of a snapshot"
        ) from None


# -- details -------------------------------------------------------------------------------------


def _find(session: PlannerSession, access: CatalogAccess, relation: RelationReference) -> Found:
    identifier = relation.identifier
    if identifier is None:
        return None
    return find_relation(session, access, identifier, relation.catalog)


def _load_found(
    access: CatalogAccess,
    found: Found,
    request: LoadTable,
    change_type: ChangeType | None = None,
) -> LoadedTable:
    identifier = request.relation.identifier
    if isinstance(found, NameRecord):
        return loaded_foreign(access, found)
    if identifier is None or not isinstance(found, TableLifecycle):
        raise RelationNotFoundError(name=request.relation.text)
    own = own_identifier(access, found, identifier)
    managed = found.load(own, timestamp_ms=_milliseconds(request.timestamp_us))
    return _described(access, found, managed, request, change_type)


def _milliseconds(timestamp_us: int | None) -> int | None:
    return None if timestamp_us is None else timestamp_us // 1000


def _described(
    access: CatalogAccess,
    lifecycle: TableLifecycle,
    managed: ManagedTable,
    request: LoadTable,
    change_type: ChangeType | None = None,
) -> DescribedTable:
    timestamp_us, version = request.timestamp_us, request.version
    timestamp_ms = _milliseconds(timestamp_us)
    name = access.qualified(request.relation.identifier or managed.identifier)
    file_io = lifecycle.warehouse.places.file_io_of(managed.location)
    table = open_logged(managed.location, file_io)
    is_external = connector_of(managed.schema) is not None
    schema, number, snapshot = managed.schema, None, None
    travels = timestamp_us is not None or version is not None
    if is_external:
        # Of rows that come from elsewhere it says how many are out.
        number = None if version is None else version_number(version)
    elif version is not None:
        snapshot = table.tags.version(version.strip())
    elif timestamp_ms is not None:
        snapshot = table.snapshot(timestamp_ms=timestamp_ms)
    else:
        schema, snapshot = lifecycle.moment_of(managed, table)
    if snapshot is not None and travels:
        schema = table.schema_store.get(snapshot.schema_id)
    else:
        schema = supposed_schema(managed.location) or schema
    if request.privileges:
        refuse_derived(schema, name, "/".join(sorted(request.privileges)))
        check_written(table, schema, name, has_changes=change_type is not None)
    handle = TableHandle(
        path=managed.location,
        schema_id=schema.id,
        snapshot_id=number if snapshot is None else snapshot.id,
        change_type_column=None if change_type is None else change_type.column,
        is_named=lifecycle is access.lifecycle and timestamp_ms is None,
    )
    return describe_table(
        schema,
        name=name,
        properties=properties_of(schema, managed.location),
        handle=handle,
        columns=seen_columns(request.privileges, schema, change_type),
    )


def _is_of_computed(change: TableChange, schema: TableSchema) -> bool:
    return isinstance(change, WidenColumn) and any(
        field.generated is not None and field.name.lower() == change.path[0].lower()
        for field in schema.fields
    )


def _load_system_table(
    session: PlannerSession, relation: RelationReference, found: SystemTableName
) -> DescribedTable:
    base = replace(relation, namespace=found.namespace, name=found.table)
    try:
        access, managed = managed_table(session, base)
    except NotFoundError:
        raise RelationNotFoundError(name=relation.text) from None
    return describe_system_table(managed, found, catalog=access.name)
