"""Requests about foreign tables: those `USING delta`, `parquet`, …, which Spark reads and writes.

The catalog keeps their definition, and chooses their folder if the user names no LOCATION.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from table_store.catalog.errors import (
    NamespaceNotFoundError,
    RelationNotFoundError,
    WrongRelationKindError,
)
from table_store.catalog.names.identifier import Identifier, file_name_of
from table_store.catalog.names.name_record import ForeignDefinition, NameRecord, RelationKind
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import DefineMode
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkChange
from table_store.catalog.planner.protocol.tables import (
    DeclaredForeign,
    ForeignPlace,
    RecordForeign,
    ReplaceForeign,
)
from table_store.catalog.tables.staged_table import StagingMode
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    NotFoundError,
    PathNotAllowedError,
)

MANAGED_PROVIDERS: Final = frozenset(
    {"table_store", "tablestore", "org.apache.spark.sql.tablestore"}
)
"""The providers of managed tables; a CREATE TABLE without `USING` makes a managed table, too.

The second is the shipped `spark.sql.sources.default`, which `saveAsTable` fills in.
"""

_IS_OWN_FOLDER: Final = "is_managed_location"
# Longer table names are truncated in folder names; a unique suffix follows.
_PLAIN_NAME_LENGTH_MAX: Final = 180


def is_foreign(properties: Mapping[str, str]) -> bool:
    """Whether CREATE TABLE names a provider other than ours."""
    return "provider" in properties and properties["provider"].lower() not in MANAGED_PROVIDERS


def place_of_foreign(
    access: CatalogAccess, relation: RelationReference, mode: StagingMode
) -> ForeignPlace:
    """The place at which the bridge is to make a foreign table.

    No other table ever has this `folder`, because Delta and Spark cache state by path.

    Raises:
        NamespaceNotFoundError: its namespace does not exist.
        AlreadyExistsError: the name is taken, and `mode` does not replace.
        RelationNotFoundError: there is no table to replace.
        WrongRelationKindError: a managed table or a view would be replaced.
    """
    identifier = require_identifier(relation)
    namespace = access.warehouse.find_namespace(identifier.namespace)
    if namespace is None:
        raise NamespaceNotFoundError(namespace=identifier.namespace)
    found = access.warehouse.find(identifier)
    if found is not None and mode is StagingMode.CREATE:
        raise AlreadyExistsError(kind="table or view", name=str(identifier))
    if found is None and mode is StagingMode.REPLACE:
        raise RelationNotFoundError(name=str(identifier))
    if found is not None and not isinstance(found.target, ForeignDefinition):
        raise WrongRelationKindError(
            name=str(identifier), found=found.kind.noun, needed=RelationKind.FOREIGN.noun
        )
    suffix = access.warehouse.ids.unique().replace("-", "")[:12]
    plain = file_name_of(identifier.name)[:_PLAIN_NAME_LENGTH_MAX]
    return ForeignPlace(
        folder=join_path(namespace.location, f"{plain}-{suffix}"),
        replaced=None if found is None else loaded_foreign(access, found),
    )


def loaded_foreign(access: CatalogAccess, record: NameRecord) -> ForeignDefinition:
    """A foreign table in the form that the bridge needs, with its folder as an absolute path."""
    definition = record.target
    assert isinstance(definition, ForeignDefinition), "the caller looked"
    location = definition.location
    if location is not None and _has_own_folder(definition):
        location = access.warehouse.places.absolute(location)
    return replace(definition, location=location)


def foreign_to_alter(
    access: CatalogAccess, record: NameRecord, changes: Sequence[SparkChange]
) -> ForeignDefinition:
    """The foreign table to which the bridge is to apply `changes`, one of which may set a LOCATION.

    A table with a LOCATION of the user's may get any other LOCATION, as in CREATE TABLE.

    Raises:
        PathNotAllowedError: the new LOCATION is relative, or the catalog chose the table's folder:
            with another one, its files would be lost, and DROP TABLE would delete a folder that
            the catalog did not choose.
    """
    assert isinstance(record.target, ForeignDefinition), "the caller looked"
    for change in changes:
        if change.get("key") == "location":
            location = str(change.get("value"))
            if _has_own_folder(record.target):
                reason = (
                    f"the files of {record.identifier} stay in the folder that the catalog chose; "
                    "create a table with this LOCATION instead"
                )
                raise PathNotAllowedError(path=location, reason=reason)
            plain_path(location)
    return loaded_foreign(access, record)


def record_foreign(session: PlannerSession, request: RecordForeign) -> None:
    """Store the definition of a table that Spark has made, altered or replaced.

    The folder of a replaced table is deleted if the catalog chose it.

    Raises:
        AlreadyExistsError: the name was taken meanwhile.
        NamespaceNotFoundError: the namespace was dropped meanwhile.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = require_identifier(request.relation)
    definition = _stored(access, request.definition)
    mode = DefineMode.CREATE if request.is_new else DefineMode.CREATE_OR_REPLACE
    old = None if request.is_new else access.warehouse.find(identifier)
    access.warehouse.define(identifier, definition, mode)
    if (
        old is not None
        and isinstance(old.target, ForeignDefinition)
        and old.target.location != definition.location
    ):
        _remove_own_folder(access, old.target)


def replace_foreign(session: PlannerSession, request: ReplaceForeign) -> bool:
    """Store another definition of a table; return False if it is not the `known` one any more.

    Raises:
        RelationNotFoundError: there is no such foreign table any more.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = require_identifier(request.relation)
    known = _stored(access, request.known)
    try:
        access.warehouse.define(
            identifier, _stored(access, request.definition), DefineMode.REPLACE, known
        )
    except NotFoundError:
        found = access.warehouse.find(identifier)
        if found is None or found.kind is not RelationKind.FOREIGN:
            raise RelationNotFoundError(name=str(identifier)) from None
        return False
    return True


def _stored(access: CatalogAccess, given: DeclaredForeign) -> ForeignDefinition:
    properties = dict(given.properties)
    location = properties.pop("location", None)
    definition = ForeignDefinition(
        provider=properties.pop("provider"),
        columns=given.columns,
        partition_columns=given.partition_columns,
        location=location,
        comment=properties.pop("comment", None),
        properties=properties,
        session_entry=given.session_entry,
    )
    if location is not None and _has_own_folder(definition):
        return replace(definition, location=access.warehouse.places.stored(location))
    return definition


def drop_foreign(access: CatalogAccess, identifier: Identifier) -> bool:
    """Remove a foreign table's name, and its folder if the catalog chose it.

    The name is removed first, so that nobody finds a table without its files. A crash in between
    leaves a folder that no later table uses. A folder below none of the catalog's roots stays.
    """
    record = access.warehouse.require(identifier, RelationKind.FOREIGN)
    definition = record.target
    assert isinstance(definition, ForeignDefinition), "the record's kind says so"
    access.warehouse.drop(record)
    _remove_own_folder(access, definition)
    return True


def _remove_own_folder(access: CatalogAccess, definition: ForeignDefinition) -> None:
    if definition.location is None or not _has_own_folder(definition):
        return
    location = access.warehouse.places.absolute(definition.location)
    try:
        file_io = access.warehouse.places.file_io_of(location)
    except PathNotAllowedError:
        return
    if file_io.exists(location):
        file_io.delete(location, recursive=True)


def _has_own_folder(definition: ForeignDefinition) -> bool:
    return definition.properties.get(_IS_OWN_FOLDER) == "true"
