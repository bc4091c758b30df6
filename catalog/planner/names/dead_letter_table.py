"""The table that takes what a source has and that is no row: found by its name, or made."""

from __future__ import annotations

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
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import AlreadyExistsError, NotFoundError
from table_store.storage.options.dead_letter_options import DEAD_LETTER_TABLE


def dead_letters(
    session: PlannerSession, catalog: CatalogReference, schema: TableSchema
) -> DeadLetters | None:
    """Return the table that a source names; it is made if there is none. None: it names none.

    Raises:
        DeadLetterTableError: the name is that of a table which cannot take such records.
        NamespaceNotFoundError: there is no such namespace.
        WrongRelationKindError: a view has the name.
    """
    text = schema.options.get(DEAD_LETTER_TABLE.key)
    name = None if text is None else DEAD_LETTER_TABLE.parse(text)
    if name is None:
        return None
    access = CatalogAccess.of(session, catalog)
    identifier = Identifier(*name.split("."))
    columns = _columns(schema)
    try:
        found = access.lifecycle.load(identifier)
    except NotFoundError:
        definition = TableDefinition(columns=columns.fields(), primary_key=tuple(columns.key))
        try:
            found = access.lifecycle.create(identifier, definition)
        except AlreadyExistsError:  # somebody else was faster
            found = access.lifecycle.load(identifier)
    reason = (
        columns.misfit(found.schema)
        if connector_of(found.schema) is None
        else "its rows come from elsewhere, or go there"
    )
    if reason is not None:
        needed = [
            *(f"{name} {kind.sql_name()} NOT NULL" for name, kind in columns.key.items()),
            *(f"{name} {kind.sql_name()}" for name, kind in columns.others.items()),
            f"PRIMARY KEY ({', '.join(columns.key)}) NOT ENFORCED",
        ]
        raise DeadLetterTableError(
            table=access.qualified(identifier), reason=reason, needed=", ".join(needed)
        )
    return DeadLetters(found.location, columns)


def dead_letters_at(location: str, schema: TableSchema) -> DeadLetters:
    """Return the table at a directory as that which takes what is no row of a source."""
    return DeadLetters(location, _columns(schema))


def _columns(schema: TableSchema) -> LetterColumns:
    return OF_FILES if is_filesystem(schema) else OF_TOPICS
