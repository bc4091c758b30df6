"""Making, changing and removing managed tables: names, directories, schemas and listeners.

REPLACE TABLE gives the name a new directory in one step. The rejected way, a new schema and then
an overwriting snapshot in the old directory, is two steps, between which old rows would be read
with the ids of new columns. The old directory stays (`Generation`), so that time travel by
timestamp and running readers work; it is removed with the table, or when snapshots are expired. A
writer that has opened it before commits into the old directory, as if it had been first; where the
new table is to have the old one's rows, it cannot any more (`succession`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from table_store.catalog.connectors.sink import check_new
from table_store.catalog.definition.option_enrichment import (
    FILE_PATH,
    check_alignment,
    enriched_options,
)
from table_store.catalog.definition.table_change import TableChange, changed_schema
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.errors import SchemaMovedError, WrongRelationKindError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord, RelationKind, TableTarget
from table_store.catalog.names.namespace_store import check_droppable
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.listeners import ListenerChain, TableContext, TableListener
from table_store.catalog.tables.log_topic import topic_name, with_topic
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.catalog.tables.succession import announce_successor, settle_succession
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    CorruptFileError,
    FileAccessError,
    InvalidOptionError,
    MissingFileError,
    NotFoundError,
    TableStoreError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.table_option_rules import check_together

DEFAULT_CATALOG: Final = "table_store"
NO_SETTINGS: Final[Mapping[str, str]] = FrozenMap()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedTable:
    """A table by name, with the directory and schema it had when it was looked up."""

    record: NameRecord
    location: str
    schema: TableSchema

    @property
    def identifier(self) -> Identifier:
        """The name as it was written when the table was created."""
        return self.record.identifier


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
        self._catalog_name = catalog_name
        self._has_one_place = has_one_place

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
        table = self._at(record, self.warehouse.location(record, timestamp_ms))
        if table.schema.successor is None or timestamp_ms is not None:
            return table
        settle_succession(self.warehouse, record, table.location)
        record = self.warehouse.require(record.identifier, RelationKind.TABLE)
        return self._at(record, self.warehouse.location(record))

    def create(
        self,
        identifier: Identifier,
        definition: TableDefinition,
        *,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> ManagedTable:
        """Create an empty table; see `stage` and `commit_staged` for the errors."""
        staged = self.stage(identifier, definition, StagingMode.CREATE, settings=settings)
        return self.commit_staged(staged)

    def replace(
        self,
        identifier: Identifier,
        definition: TableDefinition,
        *,
        or_create: bool,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> ManagedTable:
        """Replace a table by a new, empty one in one step; see `stage` for the errors."""
        mode = StagingMode.CREATE_OR_REPLACE if or_create else StagingMode.REPLACE
        return self.commit_staged(self.stage(identifier, definition, mode, settings=settings))

    def stage(
        self,
        identifier: Identifier,
        definition: TableDefinition,
        mode: StagingMode,
        *,
        settings: Mapping[str, str] = NO_SETTINGS,
        beside: str | None = None,
    ) -> StagedTable:
        """Make the directory and schema of a table that nobody sees before it is committed.

        Args:
            identifier: its name.
            definition: as written in the statement.
            mode: whether the name must be free, or taken by a table.
            settings: of the session; those that begin with `table-storage.` become options.
            beside: a directory that the new one is to have for a neighbour; None: as the
                definition says.

        Raises:
            AlreadyExistsError: CREATE, and the name is taken.
            NotFoundError: REPLACE, and there is no such table.
            WrongRelationKindError: the name is that of a view or foreign table.
            InvalidSchemaError: the definition breaks a rule.
            UnknownOptionError, InvalidOptionError: an option or setting is wrong.
            PathNotAllowedError: LOCATION or the option `file.path` names a place that is not
                allowed.
            InvalidIdentifierError, NamespaceNotFoundError: the name is not allowed.
        """
        replaced = self._replaced(identifier, mode)
        options = with_topic(
            enriched_options(definition.options, settings),
            definition.options,
            self._topic(identifier, is_only=replaced is None and not self._has_one_place),
        )
        check_together(options, has_key=bool(definition.primary_key))
        schema = definition.with_options(options).schema(time_ms=self.warehouse.clock.now_ms())
        check_new(schema)
        check_alignment(schema)
        if definition.location is not None and self._has_one_place:
            raise InvalidOptionError(
                key="location",
                value=definition.location,
                reason="a temporary table lies in the folder of its session",
            )
        directory = self.warehouse.stage(
            identifier,
            table_id=None if replaced is None else replaced.id,
            base=None if self._has_one_place else options.get(FILE_PATH),
            location=definition.location,
            beside=beside,
        )
        staged = StagedTable(
            identifier=identifier,
            mode=mode,
            directory=directory,
            replaced_id=None if replaced is None else replaced.id,
        )
        try:
            self._schemas(staged.location).publish(schema)
        except TableStoreError:
            self.warehouse.abandon(directory)
            raise
        return staged

    def commit_staged(self, staged: StagedTable) -> ManagedTable:
        """Give the name to a staged table; all of it becomes visible in one step.

        After an error the staged table is removed, and the name is what it was before.

        Raises:
            AlreadyExistsError: the name was taken meanwhile.
            NotFoundError: REPLACE, and the table was dropped meanwhile.
            StagedTableGoneError: another process removed the directory.
            ListenerFailedError: a listener refused.
        """
        schema = self._schemas(staged.location).latest()
        context = TableContext(
            identifier=staged.identifier,
            table_id=staged.directory.table_id,
            location=staged.location,
            schema=schema,
        )
        try:
            self._listeners.notify_create(context)
        except TableStoreError as error:
            self.abort_staged(staged)
            if staged.mode is StagingMode.CREATE and self.warehouse.find(staged.identifier):
                # The listener may have refused because of what the faster process has made.
                raise AlreadyExistsError(
                    kind="table or view", name=str(staged.identifier)
                ) from error
            raise
        try:
            record = self._published(staged)
        except TableStoreError:
            # If the store failed after it took the name, the table exists.
            if self._names_location(staged.identifier, staged.location):
                raise
            self._listeners.undo_create(context)
            self.abort_staged(staged)
            raise
        return ManagedTable(record=record, location=staged.location, schema=schema)

    def succeed(self, table: ManagedTable, staged: StagedTable, snapshot_id: int) -> bool:
        """Give a table's name to a staged one with the rows of a snapshot (0: none) of the table.

        Returns whether that has happened, whatever has become of the name since. If not, others
        have changed rows since the snapshot, or the definition since `table` was loaded; then, as
        after an error, the staged table is gone.

        Raises:
            NotFoundError: the table was dropped or renamed meanwhile.
            ListenerFailedError: a listener refused.
        """
        context = TableContext(
            identifier=staged.identifier,
            table_id=staged.directory.table_id,
            location=staged.location,
            schema=self._schemas(staged.location).latest(),
        )
        try:
            self._listeners.notify_create(context)
        except TableStoreError:
            self.abort_staged(staged)
            raise
        try:
            if announce_successor(
                self.warehouse, table.location, table.schema, staged, snapshot_id
            ):
                settle_succession(self.warehouse, table.record, table.location)
        finally:
            has_happened = self._names_location(
                table.identifier, staged.location
            ) or not self._given_up(staged, context)
        return has_happened

    def _given_up(self, staged: StagedTable, context: TableContext) -> bool:
        """Remove a staged table, unless others have published it; return whether it is gone."""
        is_gone = self.warehouse.abandon(staged.directory, may_have_name=True)
        if is_gone:
            self._listeners.undo_create(context)
        return is_gone

    def abort_staged(self, staged: StagedTable) -> None:
        """Remove a staged table; the name stays what it was before."""
        self.warehouse.abandon(staged.directory)

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
        return self._at(record, self.warehouse.location(record))

    def alter(self, identifier: Identifier, changes: Sequence[TableChange]) -> ManagedTable:
        """Publish one new schema with all changes, in the order given; it is all or nothing.

        Columns keep their ids, so older files are read correctly under the new names, places and
        types.

        Raises:
            NotFoundError, WrongRelationKindError: see `load`.
            InvalidSchemaError: a change breaks a rule; the error names the column.
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
                raise SchemaMovedError(table=str(identifier))
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
        schema = self._schemas(table.location).evolve(next_schema)
        return ManagedTable(record=table.record, location=table.location, schema=schema)

    def forget_generations(self, table: ManagedTable, *, until_ms: int) -> tuple[str, ...]:
        """Remove the directories that REPLACE TABLE left before a moment, and return them.

        Raises:
            ListenerFailedError: a listener refused; nothing was removed.
        """
        target = table.record.target
        for generation in target.previous if isinstance(target, TableTarget) else ():
            if generation.until_ms <= until_ms:
                location = self.warehouse.places.absolute(generation.location)
                self._notify_drop(table.record, location)
        return self.warehouse.forget_generations(table.record, until_ms=until_ms)

    # -- details -----------------------------------------------------------------------------------

    def _topic(self, identifier: Identifier, *, is_only: bool) -> str:
        """Return the name of a new table's topic; another table of this name may have one, too."""
        suffix = "" if is_only else self.warehouse.ids.unique().replace("-", "")[:12]
        return topic_name(self._catalog_name, identifier.namespace, identifier.name, suffix=suffix)

    def _replaced(self, identifier: Identifier, mode: StagingMode) -> NameRecord | None:
        """Return the table that is to be replaced, after a check of the name by the mode."""
        found = self.warehouse.find(identifier)
        if found is None:
            if mode is StagingMode.REPLACE:
                raise NotFoundError(kind="table", name=str(identifier))
            return None
        if mode is StagingMode.CREATE:
            raise AlreadyExistsError(kind="table or view", name=str(identifier))
        if found.kind is not RelationKind.TABLE:
            raise WrongRelationKindError(
                name=str(identifier), found=found.kind.noun, needed=RelationKind.TABLE.noun
            )
        return found

    def _published(self, staged: StagedTable) -> NameRecord:
        if staged.replaced_id is None and staged.mode is StagingMode.CREATE:
            return self.warehouse.publish(staged.identifier, staged.directory)
        found = self._replaced(staged.identifier, staged.mode)
        if found is None:
            return self.warehouse.publish(staged.identifier, staged.directory)
        return self.warehouse.publish_replacement(found, staged.directory)

    def _names_location(self, identifier: Identifier, location: str) -> bool:
        """Whether the name has this directory; if nobody knows, yes, so that rows are kept."""
        try:
            found = self.warehouse.find(identifier)
            return (
                found is not None
                and found.kind is RelationKind.TABLE
                and self.warehouse.location(found) == location
            )
        except FileAccessError:
            return True

    def _notify_drop(self, record: NameRecord, location: str) -> None:
        try:
            schema = self._schemas(location).latest()
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

    def _schemas(self, location: str) -> SchemaStore:
        return SchemaStore(self.warehouse.places.file_io_of(location), location)

    def _at(self, record: NameRecord, location: str) -> ManagedTable:
        return ManagedTable(
            record=record, location=location, schema=self._schemas(location).latest()
        )
