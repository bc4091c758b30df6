"""Requests about tables by name: load, create, replace, alter, drop, rename."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from table_store.catalog.definition.table_change import (
    TableChange,
    WidenColumn,
    change_from_spark,
    changed_schema,
)
from table_store.catalog.errors import NamespaceNotFoundError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord, RelationKind, ViewDefinition
from table_store.catalog.planner.names.catalog_access import CatalogAccess, identifier_of
from table_store.catalog.planner.names.foreign_requests import (
    drop_foreign,
    foreign_to_alter,
    is_foreign,
    loaded_foreign,
    place_of_foreign,
)
from table_store.catalog.planner.names.insert_columns import (
    ChangeType,
    inserted_columns,
    seen_columns,
    split_change_type,
)
from table_store.catalog.planner.names.managed_table import describe_table
from table_store.catalog.planner.names.named_relation import (
    find_relation,
    is_current,
    own_identifier,
    temporary_identifier,
)
from table_store.catalog.planner.names.spark_table import TEMPORARY, definition_of, properties_of
from table_store.catalog.planner.names.system_relation import (
    SystemTableName,
    describe_system_table,
    system_table_name,
)
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.tables.lifecycle import ManagedTable, TableLifecycle
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    InvalidOptionError,
    InvalidSchemaError,
    NotFoundError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.secrets import REDACTED
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import LogSystem, log_system
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS


def load_table(session: PlannerSession, argument: Argument) -> dict[str, Any] | None:
    """A table as of now, a version or a time; a foreign table's definition; a system table.

    None where there is none.
    """
    access = CatalogAccess.of(session, argument)
    argument, change_type = split_change_type(argument)
    system = system_table_name(session, access, argument)
    if system is not None:
        return _load_system_table(session, argument, system)
    identifier = identifier_of(argument)
    if identifier is None:
        return None
    found = find_relation(session, access, identifier, argument)
    return _load_found(access, found, identifier, argument, change_type)


def _load_found(
    access: CatalogAccess,
    found: TableLifecycle | NameRecord | ViewDefinition | None,
    identifier: Identifier,
    argument: Argument,
    change_type: ChangeType | None = None,
) -> dict[str, Any] | None:
    if change_type is not None and not isinstance(found, TableLifecycle):
        raise NotFoundError(kind="managed table", name=identifier.name)
    if isinstance(found, NameRecord):
        return loaded_foreign(access, found)
    if not isinstance(found, TableLifecycle):
        return None
    return _loaded(access, found, identifier, argument, change_type)


def table_exists(session: PlannerSession, argument: Argument) -> bool:
    """Whether a table has the name, be it damaged: then it can still be dropped."""
    access = CatalogAccess.of(session, argument)
    if system_table_name(session, access, argument) is not None:
        return True
    identifier = identifier_of(argument)
    if identifier is None:
        return False
    found = find_relation(session, access, identifier, argument)
    return isinstance(found, TableLifecycle | NameRecord)


def load_relation(session: PlannerSession, argument: Argument) -> dict[str, Any] | None:
    """A table or a view; None where the name stands for neither."""
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    if identifier is not None and system_table_name(session, access, argument) is None:
        found = find_relation(session, access, identifier, argument)
        if isinstance(found, ViewDefinition):
            return dict(found.to_json())
        if found is not None:
            return _load_found(access, found, identifier, argument)
    return load_table(session, argument)


def list_tables(session: PlannerSession, argument: Argument) -> list[str] | None:
    """The names of managed and foreign tables of a namespace."""
    return listed(session, argument, (RelationKind.TABLE, RelationKind.FOREIGN))


def listed(
    session: PlannerSession, argument: Argument, kinds: tuple[RelationKind, ...]
) -> list[str] | None:
    """The names of some kinds of relation in a namespace; None where it does not exist."""
    access = CatalogAccess.of(session, argument)
    namespace = argument["namespace"] or ["default"]
    if len(namespace) != 1 or access.warehouse.find_namespace(namespace[0]) is None:
        return None
    return [r.identifier.name for r in access.warehouse.records(namespace[0], kinds)]


def create_table(session: PlannerSession, argument: Argument) -> Any:
    """Make a table; a place where Spark is to make it, or the word for what is in the way."""
    return _staged(session, argument, StagingMode.CREATE, is_committed=True)


def stage_create(session: PlannerSession, argument: Argument) -> Any:
    """Make a table that nobody sees before `commit_staged`."""
    return _staged(session, argument, StagingMode.CREATE, is_committed=False)


def stage_replace(session: PlannerSession, argument: Argument) -> Any:
    """Like `stage_create`, in place of a table."""
    return _staged(session, argument, StagingMode.REPLACE, is_committed=False)


def stage_create_or_replace(session: PlannerSession, argument: Argument) -> Any:
    """Like `stage_create`, in place of a table if there is one."""
    return _staged(session, argument, StagingMode.CREATE_OR_REPLACE, is_committed=False)


def commit_staged(session: PlannerSession, argument: Argument) -> None:
    """Let a staged table be seen."""
    staged = StagedTable.from_json(argument["handle"]["staged"])
    lifecycle = _lifecycle(session, argument)
    managed = lifecycle.commit_staged(staged)
    options = TABLE_OPTIONS.parse(managed.schema.options, OptionScope.TABLE)
    if log_system(options) is LogSystem.KAFKA:  # its rows were written before it had a topic
        file_io = lifecycle.warehouse.places.file_io_of(managed.location)
        table = open_logged(managed.location, file_io)
        snapshot = table.latest_snapshot()
        if snapshot is not None:
            LogListener(table).on_commit(snapshot, table.schema)


def abort_staged(session: PlannerSession, argument: Argument) -> None:
    """Remove a staged table."""
    staged = StagedTable.from_json(argument["handle"]["staged"])
    _lifecycle(session, argument).abort_staged(staged)


def alter_table(session: PlannerSession, argument: Argument) -> Any:
    """Publish all changes as one new schema; the definition of a foreign table."""
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    found = None if identifier is None else find_relation(session, access, identifier, argument)
    if isinstance(found, NameRecord):
        return foreign_to_alter(access, found, argument["changes"])
    if identifier is None or not isinstance(found, TableLifecycle):
        return None
    changes = [change_from_spark(change) for change in argument["changes"]]
    own = own_identifier(access, found, identifier)
    found.alter(own, [change for change in changes if change is not None])
    return _loaded(access, found, identifier, argument)


def can_alter(session: PlannerSession, argument: Argument) -> bool:
    """Whether a write WITH SCHEMA EVOLUTION may make this change of a column; else it does without.

    A computed column stays as its expression is.
    """
    _, managed = managed_table(session, argument)
    try:
        change = change_from_spark(argument["change"])
        if change is None or _is_of_computed(change, managed.schema):
            return False
        changed_schema(managed.schema, [change], time_ms=managed.schema.time_ms)
    except (InvalidSchemaError, UnsupportedTypeError):
        return False
    return True


def drop_table(session: PlannerSession, argument: Argument) -> Any:
    """Whether there was a table to drop."""
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    found = None if identifier is None else find_relation(session, access, identifier, argument)
    if identifier is not None and isinstance(found, NameRecord):
        return drop_foreign(access, identifier)
    if identifier is None or not isinstance(found, TableLifecycle):
        return False
    return found.drop(own_identifier(access, found, identifier))


def drop_temporary(argument: Argument, session: PlannerSession, if_exists: bool) -> None:
    """Remove a temporary table of the session.

    Raises:
        NotFoundError: there is none of that name, and not `if_exists`.
    """
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    is_dropped = identifier is not None and access.temporary.lifecycle().drop(
        temporary_identifier(identifier)
    )
    if not is_dropped and not if_exists:
        raise NotFoundError(kind="temporary table", name=argument["name"])


def rename_table(session: PlannerSession, argument: Argument) -> str:
    """The word "renamed", or the one for what is in the way."""
    access = CatalogAccess.of(session, argument)
    source, target = identifier_of(argument), identifier_of(argument["to"])
    if source is None:
        return "no_such_relation"
    if target is None:
        return "no_such_namespace"
    record = access.warehouse.find(source)
    try:
        if record is not None and record.kind is RelationKind.FOREIGN:
            access.warehouse.rename(source, target, RelationKind.FOREIGN)
        else:
            access.lifecycle.rename(source, target)
    except NamespaceNotFoundError:
        return "no_such_namespace"
    except NotFoundError:
        return "no_such_relation"
    except AlreadyExistsError:
        return "relation_exists"
    return "renamed"


def managed_table(
    session: PlannerSession, argument: Argument
) -> tuple[CatalogAccess, ManagedTable]:
    """The managed table that a command or procedure names.

    Raises:
        NotFoundError: there is none.
        WrongRelationKindError: the name is that of a view or foreign table.
    """
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    if identifier is None:
        raise NotFoundError(kind="table", name=".".join([*argument["namespace"], argument["name"]]))
    found = find_relation(session, access, identifier, argument)
    if isinstance(found, TableLifecycle):
        return access, found.load(own_identifier(access, found, identifier))
    return access, access.lifecycle.load(identifier)


# -- details -------------------------------------------------------------------------------------


def _loaded(
    access: CatalogAccess,
    lifecycle: TableLifecycle,
    identifier: Identifier,
    argument: Argument,
    change_type: ChangeType | None = None,
) -> dict[str, Any]:
    timestamp_us, version = argument.get("timestamp_us"), argument.get("version")
    timestamp_ms = None if timestamp_us is None else timestamp_us // 1000
    own = own_identifier(access, lifecycle, identifier)
    managed = lifecycle.load(own, timestamp_ms=timestamp_ms)
    file_io = lifecycle.warehouse.places.file_io_of(managed.location)
    table = open_logged(managed.location, file_io)
    snapshot = table.snapshot(
        version=None if version is None else _version(version),
        timestamp_ms=timestamp_ms,
    )
    travels = timestamp_us is not None or version is not None
    schema = managed.schema
    if snapshot is not None and travels:
        schema = table.schema_store.get(snapshot.schema_id)
    elif snapshot is not None and snapshot.schema_id > schema.id:
        schema = table.schema_store.latest(at_least=snapshot.schema_id)
    return describe_table(
        schema,
        name=access.qualified(identifier),
        path=managed.location,
        snapshot_id=None if snapshot is None else snapshot.id,
        properties=properties_of(schema, managed.location),
        handle={} if change_type is None else {"changeTypeColumn": change_type.column},
        columns=seen_columns(argument, schema, change_type),
    )


def _is_of_computed(change: TableChange, schema: TableSchema) -> bool:
    return isinstance(change, WidenColumn) and any(
        field.generated is not None and field.name.lower() == change.path[0].lower()
        for field in schema.fields
    )


def _version(version: str) -> int:
    try:
        return int(version)
    except ValueError:
        raise InvalidOptionError(
            key="VERSION AS OF", value=version, reason="a version is the number of a snapshot"
        ) from None


def _staged(
    session: PlannerSession, argument: Argument, mode: StagingMode, *, is_committed: bool
) -> Any:
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    properties: Mapping[str, str] = argument["properties"]
    if is_foreign(properties):
        return place_of_foreign(access, identifier, mode)
    if identifier is None:
        return "no_such_namespace"
    is_temporary = properties.get(TEMPORARY) == "true"
    if is_temporary and not is_current(session, access, identifier):
        raise InvalidSchemaError(
            reason=f"a temporary table belongs to the session, not to namespace "
            f"'{identifier.namespace}'; name it without one"
        )
    lifecycle = access.temporary.begin() if is_temporary else access.lifecycle
    own = temporary_identifier(identifier) if is_temporary else identifier
    definition = definition_of(argument, _options_of_source(access, argument))
    try:
        staged = lifecycle.stage(own, definition, mode, settings=session.confs("table-storage."))
        if is_committed:
            lifecycle.commit_staged(staged)
    except NamespaceNotFoundError:
        return "no_such_namespace"
    except AlreadyExistsError:
        return "table_exists"
    except NotFoundError:
        return "no_such_table"
    file_io = lifecycle.warehouse.places.file_io_of(staged.location)
    schema = open_logged(staged.location, file_io).schema
    return describe_table(
        schema,
        name=access.qualified(identifier),
        path=staged.location,
        snapshot_id=None,
        properties=properties_of(schema, staged.location),
        handle={"staged": staged.to_json(), "temporary": is_temporary},
        columns=None if is_committed else inserted_columns(schema, None),
    )


def _options_of_source(access: CatalogAccess, argument: Argument) -> Mapping[str, str]:
    """With LIKE the options of a managed source, where Spark's properties hide a secret of them."""
    if REDACTED not in argument.get("source_properties", {}).values():
        return {}
    path: str = argument["source"]["path"]
    table = open_logged(path, access.warehouse.places.file_io_of(path))
    return table.schema_store.get(argument["source"]["schema"]).options


def _lifecycle(session: PlannerSession, argument: Argument) -> TableLifecycle:
    access = CatalogAccess.of(session, argument)
    return access.temporary.lifecycle() if argument["handle"]["temporary"] else access.lifecycle


def _load_system_table(
    session: PlannerSession, argument: Argument, found: SystemTableName
) -> dict[str, Any] | None:
    base = {**argument, "namespace": list(found.namespace), "name": found.table}
    try:
        access, managed = managed_table(session, base)
    except NotFoundError:
        return None
    return describe_system_table(managed, found, catalog=access.name)
