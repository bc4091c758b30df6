"""Making, changing and removing managed tables: names, directories, schemas and listeners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from table_store.catalog.definition.table_change import TableChange, changed_schema
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord, RelationKind, TableTarget
from table_store.catalog.names.namespace_store import check_droppable
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.listeners import ListenerChain, TableContext, TableListener
from table_store.catalog.tables.managed_table import ManagedTable, managed_table_at, schemas_at
from table_store.catalog.tables.staged_table import StagingMode
from table_store.catalog.tables.succession import settle_succession
from table_store.catalog.tables.table_staging import NO_SETTINGS, TableStaging
from table_store.storage.file_store.metadata.consumer import READER
from table_store.storage.file_store.model.errors import TableMovedError
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    CorruptFileError,
    MissingFileError,
    NotFoundError,
)
from table_store.storage.log_store.logged_table import open_logged

DEFAULT_CATALOG: Final = "table_store"


class TableLifecycle:
    """The statements that make, change and remove managed tables of one warehouse."""

    def __init__(
        self,
        warehouse: Warehouse,
        listeners: Sequence[TableListener] = (),
        *,
        catalog_name: str = DEFAULT_CATALOG,
        has_one_place: bool = False,
    ) -> None:
        """Connect a warehouse with the listeners of its tables.

        Args:
            warehouse: holds the names.
            listeners: called in this order for CREATE, and in reverse for DROP.
            catalog_name: the first part of the names of topics.
            has_one_place: whether `file.path` is ignored, as for temporary tables, which all
                lie in the folder of their session.
        """
        self.warehouse: Final = warehouse
        self._listeners = ListenerChain(listeners)
        self.staging: Final = TableStaging(
            warehouse=warehouse,
            listeners=self._listeners,
            catalog_name=catalog_name,
            has_one_place=has_one_place,
        )

    def load(self, identifier: Identifier, *, timestamp_ms: int | None = None) -> ManagedTable:
        """Return a table, with the directory that it has now or had at a moment.

        Raises:
            NotFoundError: nothing has the name.
            WrongRelationKindError: a view or foreign table has it.
            CorruptFileError: the schema is damaged.
        """
        record = self.warehouse.require(identifier, RelationKind.TABLE)
        return self.loaded(record, timestamp_ms=timestamp_ms)

    def loaded(self, record: NameRecord, *, timestamp_ms: int | None = None) -> ManagedTable:
        """Return the table of a record that was just read; fails as `load`."""
        table = managed_table_at(
            self.warehouse, record, self.warehouse.location(record, timestamp_ms)
        )
        if table.schema.successor is None or timestamp_ms is not None:
            return table
        settle_succession(self.warehouse, record, table.location)
        record = self.warehouse.require(record.identifier, RelationKind.TABLE)
        return managed_table_at(self.warehouse, record, self.warehouse.location(record))

    def moment_of(
        self, table: ManagedTable, opened: FileStoreTable
    ) -> tuple[TableSchema, Snapshot | None]:
        """Return the newest snapshot of a table that was just loaded, and the schema with it.

        A later schema does not go with the snapshot: between them rows may have been written.

        Raises:
            NotFoundError: it was dropped meanwhile, so that no snapshot does not mean no rows.
        """
        snapshot = opened.latest_snapshot()
        if snapshot is None and not self.warehouse.is_named(table.record):
            raise NotFoundError(kind="table", name=str(table.identifier))
        if snapshot is None or snapshot.schema_id <= table.schema.id:
            return table.schema, snapshot
        return opened.schema_store.get(snapshot.schema_id), snapshot

    def create(
        self,
        identifier: Identifier,
        definition: TableDefinition,
        *,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> ManagedTable:
        """Create an empty table; fails as `TableStaging` does."""
        staged = self.staging.stage(identifier, definition, StagingMode.CREATE, settings=settings)
        return self.staging.commit(staged)

    def replace(
        self,
        identifier: Identifier,
        definition: TableDefinition,
        *,
        or_create: bool,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> ManagedTable:
        """Replace a table by a new, empty one in one step; fails as `TableStaging` does."""
        mode = StagingMode.CREATE_OR_REPLACE if or_create else StagingMode.REPLACE
        staged = self.staging.stage(identifier, definition, mode, settings=settings)
        return self.staging.commit(staged)

    def drop(self, identifier: Identifier) -> bool:
        """Remove a table with its rows and history; return False if there is no such name.

        Raises:
            WrongRelationKindError: a view or foreign table has the name.
            ListenerFailedError: a listener refused; the table is as it was.
        """
        try:
            record = self.warehouse.require(identifier, RelationKind.TABLE)
        except NotFoundError:
            return False
        target = record.target
        for location in target.locations if isinstance(target, TableTarget) else ():
            self._notify_drop(record, self.warehouse.places.absolute(location))
        self.warehouse.drop(record)
        return True

    def drop_namespace(self, name: str, *, cascade: bool) -> None:
        """Remove a namespace, with `cascade` together with everything in it.

        Raises:
            NamespaceNotFoundError, ProtectedNamespaceError: see `Warehouse.drop_namespace`.
            NamespaceNotEmptyError: something is in it, and not `cascade`.
            ListenerFailedError: a listener refused; what was dropped before stays dropped.
        """
        check_droppable(name)  # before anything in it is
        if cascade:
            for record in self.warehouse.records(name):
                if record.kind is RelationKind.TABLE:
                    self.drop(record.identifier)
                else:
                    self.warehouse.drop(record)
        self.warehouse.drop_namespace(name)

    def rename(self, identifier: Identifier, target: Identifier) -> ManagedTable:
        """Give a table another name; its directory stays where it is.

        Raises:
            NotFoundError, AlreadyExistsError, …: see `Warehouse.rename`.
        """
        record = self.warehouse.rename(identifier, target, RelationKind.TABLE)
        return managed_table_at(self.warehouse, record, self.warehouse.location(record))

    def alter(self, identifier: Identifier, changes: Sequence[TableChange]) -> ManagedTable:
        """Publish one new schema with all changes, in the order given; it is all or nothing.

        Columns keep their ids, so older files are read correctly under the new names, places and
        types.

        Raises:
            NotFoundError, WrongRelationKindError: see `load`.
            InvalidSchemaError: a change breaks a rule; the error names the column.
            TableMovedError: it was replaced meanwhile, or gets another primary key.
            UnknownOptionError, InvalidOptionError: an option is wrong, or may not be changed.
            ListenerFailedError: a listener refused; the table is as it was.
            FileAccessError: the store refused; the table's schemas tell whether it happened.
        """
        table = self.load(identifier)
        time_ms = self.warehouse.clock.now_ms()
        if changed_schema(table.schema, changes, time_ms=time_ms) == table.schema:
            return table

        def next_schema(current: TableSchema) -> TableSchema:
            if current.successor is not None:
                raise TableMovedError(table=table.location, location=current.successor.location)
            changed = changed_schema(current, changes, time_ms=time_ms)
            # Another ALTER may have made the same changes just now.
            return replace(changed, id=current.id + 1)

        context = TableContext(
            identifier=table.identifier,
            table_id=table.record.id,
            location=table.location,
            schema=next_schema(table.schema),
        )
        self._listeners.notify_alter(context, table.schema)
        schema = schemas_at(self.warehouse, table.location).evolve(next_schema)
        return ManagedTable(record=table.record, location=table.location, schema=schema)

    def forget_generations(self, table: ManagedTable, *, until_ms: int) -> tuple[str, ...]:
        """Remove the directories that REPLACE TABLE left before a moment, and return them.

        The oldest one that a long query reads stays, and those after it.

        Raises:
            ListenerFailedError: a listener refused; nothing was removed.
        """
        target, places = table.record.target, self.warehouse.places
        due: list[str] = []
        for generation in target.previous if isinstance(target, TableTarget) else ():
            location = places.absolute(generation.location)
            if generation.until_ms > until_ms or self._is_read(location):
                until_ms = min(until_ms, generation.until_ms - 1)
                break
            due.append(location)
        if not due:
            return ()
        for location in due:
            self._notify_drop(table.record, location)
        return self.warehouse.forget_generations(table.record, until_ms=until_ms)

    # -- details -----------------------------------------------------------------------------------

    def _is_read(self, location: str) -> bool:
        file_io = self.warehouse.places.file_io_of(location)
        try:
            consumers = open_logged(location, file_io).consumers.all()
        except (CorruptFileError, MissingFileError, NotFoundError):
            return False
        return any(consumer.id.startswith(READER) for consumer in consumers)

    def _notify_drop(self, record: NameRecord, location: str) -> None:
        try:
            schema = schemas_at(self.warehouse, location).latest()
        except (CorruptFileError, MissingFileError, NotFoundError):
            return  # a table that cannot be read any more can still be dropped
        self._listeners.notify_drop(
            TableContext(
                identifier=record.identifier,
                table_id=record.id,
                location=location,
                schema=schema,
            )
        )
