"""The tables and views of a catalog as JDBC metadata shows them, and what has changed since.

A server of many connections asks at the beginning of each. The names of a namespace are listed,
and only files that are not what they were are read again; of a table that is known it is asked
whether it has got another schema.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Final

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.names.name_record import (
    ForeignDefinition,
    NameRecord,
    RelationKind,
    TableTarget,
    ViewDefinition,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.protocol.mirror import (
    MirroredCatalog,
    MirroredNamespace,
    MirroredRelation,
)
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_io.file_io import FileStatus
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.kernel.errors import TableStoreError

_SCHEMA_CHECKS_S: Final = 0.2
"""So long a connection waits for looks at schemas; the next one goes on with the other tables."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A name as it was looked at last; `table` only of a managed one."""

    file: FileStatus
    entry: MirroredRelation
    table: ManagedTable | None


@dataclass(slots=True)
class CatalogMirror:
    """What is known of the names of one warehouse, by namespace and file. Threads take turns."""

    _known: dict[str, dict[str, _Known]] = field(default_factory=dict)
    _unchecked: list[tuple[str, str]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def changes(self, access: CatalogAccess, *, is_shown: bool) -> MirroredCatalog:
        """Return what has changed since the last call, or everything if nothing `is_shown`.

        Costs a list for each namespace, a few reads for each name that has changed, and a look at
        each table for at most 0.2 s.
        """
        with self._lock:
            is_whole = not (is_shown and self._known)
            if is_whole:
                self._known.clear()
            altered = self._altered(access)
            names = access.warehouse.namespaces()
            for namespace in self._known.keys() - set(names):
                del self._known[namespace]
            found = tuple(self._followed(access, name, altered) for name in names)
        return MirroredCatalog(catalog=access.name, is_whole=is_whole, namespaces=found)

    def _altered(self, access: CatalogAccess) -> set[str]:
        """The files of tables that have got another schema, as far as time allows."""
        end = time.monotonic() + _SCHEMA_CHECKS_S
        if not self._unchecked:
            self._unchecked = [
                (name, path) for name, known in self._known.items() for path in known
            ]
        altered = set()
        while self._unchecked and time.monotonic() < end:
            namespace, path = self._unchecked.pop()
            known = self._known.get(namespace, {}).get(path)
            table = None if known is None else known.table
            if table is not None and _has_newer_schema(access, table):
                altered.add(path)
        return altered

    def _followed(
        self, access: CatalogAccess, namespace: str, altered: set[str]
    ) -> MirroredNamespace:
        before = self._known.get(namespace, {})
        now = {}
        for file in access.warehouse.name_files(namespace):
            known = before.get(file.path)
            if known is None or known.file != file or file.path in altered:
                known = _looked_at(access, file)
            if known is not None:
                now[file.path] = known
        self._known[namespace] = now
        shown = {known.entry.name for known in now.values()}
        return MirroredNamespace(
            name=namespace,
            relations=tuple(k.entry for path, k in now.items() if before.get(path) is not k),
            gone=tuple({k.entry.name for k in before.values()} - shown),
        )


def _has_newer_schema(access: CatalogAccess, table: ManagedTable) -> bool:
    """Whether a table has got another schema since it was loaded; costs one look."""
    file_io = access.warehouse.places.file_io_of(table.location)
    return file_io.exists(SchemaStore(file_io, table.location).path(table.schema.id + 1))


def _looked_at(access: CatalogAccess, file: FileStatus) -> _Known | None:
    """What is in the file of a name; None if it is gone or damaged, which its query reports."""
    try:
        record = access.warehouse.record_in(file)
        if record is None:
            return None
        entry, table = entry_and_table(access, record)
    except TableStoreError:
        return None
    # Whether a name that is being given to another file has it depends on that one, too.
    seen = file if record.renaming_to is None else replace(file, size=-1)
    return _Known(seen, entry, table)


def entry_and_table(
    access: CatalogAccess, record: NameRecord
) -> tuple[MirroredRelation, ManagedTable | None]:
    """Return how JDBC metadata shows a name, and its managed table, if it is one's.

    Raises:
        TableStoreError: it was dropped meanwhile, or its table is damaged.
    """
    table = None
    match record.target:
        case TableTarget():
            table = access.lifecycle.loaded(record)
            columns, comment = columns_to_spark(table.schema.fields), table.schema.comment
        case ViewDefinition(columns=columns, properties=properties):
            comment = properties.get("comment")
        case ForeignDefinition(columns=columns, comment=comment):
            columns = columns or json.dumps({"type": "struct", "fields": []})
    entry = MirroredRelation(
        name=record.identifier.name,
        is_view=record.kind is RelationKind.VIEW,
        columns=SparkColumns(columns),
        comment=comment,
    )
    return entry, table
