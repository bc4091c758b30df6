"""CREATE and REPLACE of managed tables: a directory with a schema, which then gets its name.

Whatever fails before leaves the name as it was.

REPLACE TABLE gives the name a new directory in one step. The rejected way, a new schema and then
an overwriting snapshot in the old directory, is two steps, between which old rows would be read
with the ids of new columns. The old directory stays (`Generation`), so that time travel by
timestamp and running readers work; it is removed with the table, or when snapshots are expired. A
statement that has begun before commits into the old directory, as if it had been first; one that
begins later is refused there, and where the new table is to have the old one's rows, both are
(`succession`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from table_store.catalog.connectors.sink import check_new
from table_store.catalog.definition.option_enrichment import (
    FILE_PATH,
    check_alignment,
    enriched_options,
)
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord, RelationKind
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.listeners import ListenerChain, TableContext
from table_store.catalog.tables.log_topic import topic_name, with_topic
from table_store.catalog.tables.managed_table import ManagedTable, schemas_at
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.catalog.tables.succession import (
    announce_successor,
    mark_replaced,
    settle_succession,
)
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    FileAccessError,
    InvalidOptionError,
    NotFoundError,
    TableStoreError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.table_option_rules import check_together

_ATTEMPTS_MAX: Final = 10

NO_SETTINGS: Final[Mapping[str, str]] = FrozenMap()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStaging:
    """Makes tables of one warehouse.

    Attributes:
        warehouse: holds the names.
        listeners: are told before a table gets its name.
        catalog_name: the first part of the names of topics.
        has_one_place: whether `file.path` is ignored, as for temporary tables, which all lie in
            the folder of their session.
    """

    warehouse: Warehouse
    listeners: ListenerChain
    catalog_name: str
    has_one_place: bool

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
            self._topic(identifier, is_only=replaced is None and not self.has_one_place),
        )
        check_together(options, has_key=bool(definition.primary_key))
        schema = definition.with_options(options).schema(time_ms=self.warehouse.clock.now_ms())
        check_new(schema)
        check_alignment(schema)
        if definition.location is not None and self.has_one_place:
            raise InvalidOptionError(
                key="location",
                value=definition.location,
                reason="a temporary table lies in the folder of its session",
            )
        directory = self.warehouse.staging.stage(
            identifier,
            table_id=None if replaced is None else replaced.id,
            base=None if self.has_one_place else options.get(FILE_PATH),
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
            schemas_at(self.warehouse, staged.location).publish(schema)
        except TableStoreError:
            self.warehouse.staging.abandon(directory)
            raise
        return staged

    def commit(self, staged: StagedTable) -> ManagedTable:
        """Give the name to a staged table; all of it becomes visible in one step.

        After an error the staged table is removed, and the name is what it was before; but where
        the store failed behind that step, the table exists.

        Raises:
            AlreadyExistsError: the name was taken meanwhile.
            NotFoundError: REPLACE, and the table was dropped meanwhile.
            StagedTableGoneError: another process removed the directory.
            ListenerFailedError: a listener refused.
        """
        schema = schemas_at(self.warehouse, staged.location).latest()
        context = TableContext(
            identifier=staged.identifier,
            table_id=staged.directory.table_id,
            location=staged.location,
            schema=schema,
        )
        try:
            self.listeners.notify_create(context)
        except TableStoreError as error:
            self.warehouse.staging.abandon(staged.directory)
            if staged.mode is StagingMode.CREATE and self.warehouse.find(staged.identifier):
                # The listener may have refused because of what the faster process has made.
                raise AlreadyExistsError(
                    kind="table or view", name=str(staged.identifier)
                ) from error
            raise
        try:
            record = self._published(staged)
        except TableStoreError:
            self._given_up(staged, context)
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
            schema=schemas_at(self.warehouse, staged.location).latest(),
        )
        try:
            self.listeners.notify_create(context)
        except TableStoreError:
            self.warehouse.staging.abandon(staged.directory)
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

    def abort(self, staged: StagedTable) -> None:
        """Remove a staged table, unless it has got its name; that costs a read of every name.

        Whoever asks may not know whether it was committed: the answer can be lost.
        """
        self.warehouse.staging.abandon(staged.directory, may_have_name=True)

    # -- details -----------------------------------------------------------------------------------

    def _topic(self, identifier: Identifier, *, is_only: bool) -> str:
        """Return the name of a new table's topic; another table of this name may have one, too."""
        suffix = "" if is_only else self.warehouse.ids.unique().replace("-", "")[:12]
        return topic_name(self.catalog_name, identifier.namespace, identifier.name, suffix=suffix)

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
        if staged.mode is StagingMode.CREATE:
            return self.warehouse.staging.publish(staged.identifier, staged.directory)
        for _ in range(_ATTEMPTS_MAX - 1):
            # CREATE OR REPLACE goes on whether others create or drop the table meanwhile.
            with suppress(AlreadyExistsError, NotFoundError):
                return self._published_over(staged)
        return self._published_over(staged)

    def _published_over(self, staged: StagedTable) -> NameRecord:
        found = self._replaced(staged.identifier, staged.mode)
        if found is None:
            return self.warehouse.staging.publish(
                staged.identifier, staged.directory, is_of_another=staged.replaced_id is not None
            )
        return self.warehouse.staging.publish_replacement(
            found, staged.directory, before=partial(mark_replaced, self.warehouse, staged.location)
        )

    def _given_up(self, staged: StagedTable, context: TableContext) -> bool:
        """Remove a staged table, unless others have published it; return whether it is gone."""
        is_gone = self.warehouse.staging.abandon(staged.directory, may_have_name=True)
        if is_gone:
            self.listeners.undo_create(context)
        return is_gone

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
