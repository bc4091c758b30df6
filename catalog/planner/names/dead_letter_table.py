"""The table that takes what a source has and that is no row: found by its name, or made."""

from __future__ import annotations

from contextlib import suppress

from table_store.catalog.connectors.connector_errors import DeadLetterTableError
from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.dead_letters import (
    OF_FILES,
    OF_TOPICS,
    DeadLetters,
    LetterColumns,
)
from table_store.catalog.connectors.filesystem.filesystem_definition import is_filesystem
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import CatalogReference
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import AlreadyExistsError, NotFoundError
from table_store.storage.options.dead_letter_options import DEAD_LETTER_TABLE


def check_dead_letters(
    session: PlannerSession, catalog: CatalogReference, schema: TableSchema, source: Identifier
) -> None:
    """Check that a source which is about to get a name can have the table that it names.

    Raises:
        DeadLetterTableError: the name is that of a table which cannot take such records, or the
            source's own, or in no namespace.
        WrongRelationKindError: a view has the name.
    """
    identifier = _named(schema)
    if identifier is None:
        return
    access = CatalogAccess.of(session, catalog)
    if access.warehouse.find_namespace(identifier.namespace) is None:
        raise _misfit(access, identifier, schema, "its namespace does not exist")
    if identifier.key == source.key:
        raise _misfit(access, identifier, schema, "it is the table itself")
    with suppress(NotFoundError):
        _checked(access, identifier, schema, access.lifecycle.load(identifier))


def dead_letters(
    session: PlannerSession, catalog: CatalogReference, schema: TableSchema
) -> DeadLetters | None:
    """Return the table that a source names; it is made if there is none. None: it names none.

    Raises:
        DeadLetterTableError: the name is that of a table which cannot take such records.
        NamespaceNotFoundError: there is no such namespace.
        WrongRelationKindError: a view has the name.
    """
    identifier = _named(schema)
    if identifier is None:
        return None
    access = CatalogAccess.of(session, catalog)
    columns = _columns(schema)
    try:
        found = access.lifecycle.load(identifier)
    except NotFoundError:
        definition = TableDefinition(columns=columns.fields(), primary_key=tuple(columns.key))
        try:
            found = access.lifecycle.create(identifier, definition)
        except AlreadyExistsError:  # somebody else was faster
            found = access.lifecycle.load(identifier)
    _checked(access, identifier, schema, found)
    return DeadLetters(found.location, columns)


def dead_letters_at(location: str, schema: TableSchema) -> DeadLetters:
    """Return the table at a directory as that which takes what is no row of a source."""
    return DeadLetters(location, _columns(schema))


def _columns(schema: TableSchema) -> LetterColumns:
    return OF_FILES if is_filesystem(schema) else OF_TOPICS


def _named(schema: TableSchema) -> Identifier | None:
    text = schema.options.get(DEAD_LETTER_TABLE.key)
    name = None if text is None else DEAD_LETTER_TABLE.parse(text)
    return None if name is None else Identifier(*name.split("."))


def _checked(
    access: CatalogAccess, identifier: Identifier, schema: TableSchema, found: ManagedTable
) -> None:
    reason = (
        _columns(schema).misfit(found.schema)
        if connector_of(found.schema) is None
        else "its rows come from elsewhere, or go there"
    )
    if reason is not None:
        raise _misfit(access, identifier, schema, reason)


def _misfit(
    access: CatalogAccess, identifier: Identifier, schema: TableSchema, reason: str
) -> DeadLetterTableError:
    columns = _columns(schema)
    needed = [
        *(f"{name} {kind.sql_name()} NOT NULL" for name, kind in columns.key.items()),
        *(f"{name} {kind.sql_name()}" for name, kind in columns.others.items()),
        f"PRIMARY KEY ({', '.join(columns.key)}) NOT ENFORCED",
    ]
    return DeadLetterTableError(
        table=access.qualified(identifier), reason=reason, needed=", ".join(needed)
    )
