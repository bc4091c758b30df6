"""External tables that a session has defined for itself, and that its jobs read.

CREATE TEMPORARY TABLE … WITH ('connector' = …) says what to read, and a job goes on reading it in
other sessions: of a job runner, or when the same script is run again after a crash. So the first
job puts the definition in a place of its own, `<root>/_external/<digest>/`, which is a warehouse
with this one table. The digest is that of name, columns and options, and whoever defines the same
reads on from the same position.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import AlreadyExistsError

EXTERNAL_FOLDER: Final = "_external"


@dataclass(frozen=True, slots=True)
class SessionSources:
    """The places of such tables in a warehouse."""

    warehouse: Warehouse

    def lifecycle(self, digest: str) -> TableLifecycle:
        """Return the statements on the table of a digest, which is in the namespace `default`."""
        root = join_path(self.warehouse.root, EXTERNAL_FOLDER, digest)
        inner = Warehouse(self.warehouse.file_io, root, self.warehouse.clock, self.warehouse.ids)
        return TableLifecycle(inner, has_one_place=True)

    def add(self, table: ManagedTable) -> str:
        """Give a session's table a place, unless it has one; return its digest."""
        digest = _digest(table.identifier.name, table.schema)
        with suppress(AlreadyExistsError):
            self.lifecycle(digest).create(_identifier(table), _definition(table.schema))
        return digest


def external_tables(lifecycle: TableLifecycle) -> Iterator[ManagedTable]:
    """Yield the external tables among those of a session."""
    for record in lifecycle.warehouse.records(DEFAULT_NAMESPACE, [RelationKind.TABLE]):
        table = lifecycle.load(record.identifier)
        if connector_of(table.schema) is not None:
            yield table


def _identifier(table: ManagedTable) -> Identifier:
    return Identifier(DEFAULT_NAMESPACE, table.identifier.name)


def _definition(schema: TableSchema) -> TableDefinition:
    return TableDefinition(
        columns=schema.fields,
        primary_key=schema.primary_key,
        options=schema.options,
        comment=schema.comment,
        constraint_name=schema.constraint_name,
        watermark=schema.watermark,
        checks=schema.checks,
    )


def _digest(name: str, schema: TableSchema) -> str:
    columns = [[field.name, field.type.to_json(), str(field.generated)] for field in schema.fields]
    told = [name.lower(), columns, list(schema.primary_key), sorted(schema.options.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]
