"""A warehouse: namespaces, and the tables, views and foreign tables that have a name in them.

Layout below the root:

    <namespace>.db/_namespace.json          properties; `default` needs none
    <namespace>.db/_names/<name>.json       the record of a name (see `name_record`)
    <namespace>.db/<table>/                 a managed table, claimed by its `_table.json`
    _trash/, _locks/                        directories that are made or removed; who changes names
    _dropped/                               folders that no table gets again (`retired_folders`)
    _barriers/                              which snapshots belong together (`catalog.jobs`)
    _jobs/, _runner/, _revision/            see `catalog.meta_service`
    _external/                              the temporary sources of jobs (`catalog.connectors`)

A table exists if its name does. So nobody sees a directory that is still being filled, and one that
has lost its name is garbage: no crash leaves half a table. A rename changes the name alone and not
the directory, so running readers are not disturbed and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import Enum
from typing import Final, TypeVar

from table_store.catalog.errors import NamespaceNotEmptyError
from table_store.catalog.names.directory_journal import DirectoryJournal, DirectoryNote
from table_store.catalog.names.identifier import Identifier, check_table_name
from table_store.catalog.names.lock import LOCK_OF_NAMES, CatalogLock, lock_of_warehouse
from table_store.catalog.names.name_record import (
    NameRecord,
    RelationKind,
    TableTarget,
    Target,
    kind_of,
    table_target,
)
from table_store.catalog.names.name_registry import NameRegistry
from table_store.catalog.names.namespace_store import Namespace, NamespaceStore
from table_store.catalog.names.retired_folders import RetiredFolders
from table_store.catalog.names.staging_area import StagingArea
from table_store.catalog.names.table_directories import TableDirectories
from table_store.catalog.names.table_place import AllowedPlaces, plain_path
from table_store.storage.file_io.file_io import FileIO, FileStatus
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    NotFoundError,
    PathNotAllowedError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import IdSource

T = TypeVar("T")


class DefineMode(Enum):
    """What to do if a name is taken, or is not."""

    CREATE = "create"
    REPLACE = "replace"
    CREATE_OR_REPLACE = "create or replace"


class Warehouse:
    """The names below one root, for any number of processes at once.

    It holds no state of the warehouse: every call reads storage again.
    """

    def __init__(
        self,
        file_io: FileIO,
        root: str,
        clock: Clock,
        ids: IdSource,
        *,
        lock: CatalogLock | None = None,
        other_roots: Mapping[str, FileIO] | None = None,
    ) -> None:
        """Open a warehouse; the root need not exist yet.

        Args:
            file_io: rooted at `root`.
            root: path or URI of the warehouse.
            clock: for the creation times of records and the age of leftovers.
            ids: for tables and notes.
            lock: the lock that all processes of the warehouse share; by default one of the
                kernel on a local path, and leases elsewhere.
            other_roots: folders beside the root in which `file.path` may put tables.
        """
        self.root: Final = plain_path(root)
        self.file_io: Final = file_io
        self.clock: Final = clock
        self.ids: Final = ids
        self.places: Final = AllowedPlaces(
            root=self.root, file_io=file_io, others=FrozenMap(other_roots or {})
        )
        self._lock = lock_of_warehouse(file_io, self.root, clock) if lock is None else lock
        self._namespaces = NamespaceStore(self.places)
        self._names = NameRegistry(file_io, self.root)
        journal = DirectoryJournal(file_io, self.root, clock, ids)
        retired = RetiredFolders(self.places)
        self._directories = TableDirectories(self.places, journal, retired, ids)
        self.staging: Final = StagingArea(
            places=self.places,
            names=self._names,
            namespaces=self._namespaces,
            directories=self._directories,
            lock=self._lock,
            clock=clock,
            ids=ids,
        )

    # -- namespaces --------------------------------------------------------------------------------

    def namespaces(self) -> tuple[str, ...]:
        """Return the names of all namespaces in order, `default` always among them."""
        return self._namespaces.names()

    def find_namespace(self, name: str) -> Namespace | None:
        """Return the namespace of this name; None if there is none.

        Its properties always include the folder of its tables.
        """
        return self._namespaces.find(name)

    def create_namespace(self, name: str, properties: Mapping[str, str]) -> None:
        """Create a namespace.

        Raises:
            NamespaceAlreadyExistsError, InvalidIdentifierError: see `NamespaceStore.create`.
            PathNotAllowedError: its location lies outside of the allowed roots.
        """
        self._locked(lambda: self._namespaces.create(name, properties))

    def alter_namespace(
        self, name: str, *, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        """Set and remove properties; existing tables stay where they are.

        Raises:
            NamespaceNotFoundError: there is no such namespace.
            PathNotAllowedError: its location lies outside of the allowed roots.
        """
        self._locked(lambda: self._namespaces.alter(name, changed=changed, removed=removed))

    def drop_namespace(self, name: str) -> None:
        """Remove an empty namespace.

        Raises:
            NamespaceNotFoundError, ProtectedNamespaceError: see `NamespaceStore.drop`.
            NamespaceNotEmptyError: something has a name in it.
        """

        def drop() -> None:
            self._namespaces.require(name)
            records = self._names.records(name)
            if records:
                names = [record.identifier.name for record in records]
                raise NamespaceNotEmptyError(namespace=name, names=names)
            self._namespaces.drop(name)

        self._locked(drop)

    # -- names -------------------------------------------------------------------------------------

    def find(self, identifier: Identifier) -> NameRecord | None:
        """Return the record of a name; None if there is none. It reads one file."""
        return self._names.find(identifier)

    def is_named(self, record: NameRecord) -> bool:
        """Whether a record's table has a name; it costs a read of every name if it is another."""
        found = self.find(record.identifier)
        if found is not None and found.id == record.id:
            return True
        return any(other.id == record.id for other in self._names.all_records())

    def records(
        self, namespace: str, kinds: Collection[RelationKind] = tuple(RelationKind)
    ) -> tuple[NameRecord, ...]:
        """Return the records of a namespace by name; each costs a read of a small file.

        Raises:
            NamespaceNotFoundError: there is no such namespace.
        """
        self._namespaces.require(namespace)
        return tuple(r for r in self._names.records(namespace) if r.kind in kinds)

    def name_files(self, namespace: str) -> tuple[FileStatus, ...]:
        """Return the files of the names of a namespace, which may be gone; costs a list."""
        return self._names.files(namespace)

    def record_in(self, file: FileStatus) -> NameRecord | None:
        """Return the record in one of `name_files`; None if no name is in it any more.

        Raises:
            CorruptFileError: it is damaged.
        """
        return self._names.record_in(file)

    def require(self, identifier: Identifier, kind: RelationKind) -> NameRecord:
        """Return the record of a name.

        Raises:
            NotFoundError: there is no such name.
            WrongRelationKindError: it is the name of another kind of relation.
        """
        return self._names.require(identifier, kind)

    def location(self, record: NameRecord, timestamp_ms: int | None = None) -> str:
        """Return the directory of a table, now or at a moment of the past.

        Raises:
            WrongRelationKindError: the name is that of no managed table.
        """
        target = table_target(record)
        stored = target.location if timestamp_ms is None else target.location_at(timestamp_ms)
        return self.places.absolute(stored)

    def define(
        self, identifier: Identifier, target: Target, mode: DefineMode, known: Target | None = None
    ) -> NameRecord:
        """Create or replace a view or foreign table under a name.

        Raises:
            InvalidIdentifierError: the name is not allowed.
            NamespaceNotFoundError: there is no such namespace.
            AlreadyExistsError: CREATE, and the name is taken, by whatever kind of relation.
            NotFoundError: REPLACE, and there is no such name, or its target is not `known`.
            WrongRelationKindError: REPLACE, and the name is that of another kind of relation.
        """

        def change() -> NameRecord:
            is_new = self._names.find(identifier) is None
            if mode is DefineMode.CREATE or (is_new and mode is DefineMode.CREATE_OR_REPLACE):
                return self._names.add(
                    self._namespaces.qualified(identifier),
                    target,
                    record_id=self.ids.unique(),
                    created_ms=self.clock.now_ms(),
                )
            record = self.require(identifier, kind_of(target))
            if known is not None and record.target != known:
                raise NotFoundError(kind=record.kind.noun, name=f"{identifier} as it was")
            self._names.replace(record.with_target(target))
            return record.with_target(target)

        return self._locked(change)

    def rename(self, identifier: Identifier, target: Identifier, kind: RelationKind) -> NameRecord:
        """Give a name's target to another name, also in another namespace.

        Raises:
            NotFoundError, WrongRelationKindError: see `require`.
            InvalidIdentifierError: the new name is not allowed.
            NamespaceNotFoundError: there is no such namespace.
            AlreadyExistsError: the new name is taken.
        """

        def change() -> NameRecord:
            record = self.require(identifier, kind)
            check_table_name(target.name)
            self._namespaces.require(target.namespace)
            if not self._names.rename(record, target):
                raise AlreadyExistsError(kind="table or view", name=str(target))
            return self.require(target, kind)

        return self._locked(change)

    def drop(self, record: NameRecord) -> None:
        """Delete a name and, if it is that of a table, its directories.

        The name is deleted first, in one step, so that nobody finds half a table.

        Raises:
            NotFoundError: the name does not exist any more, or is now that of something else.
        """

        def forget_name() -> tuple[DirectoryNote, ...]:
            found = self._names.find(record.identifier)
            if found is None or found.id != record.id:
                raise NotFoundError(kind=record.kind.noun, name=str(record.identifier))
            target = found.target
            locations = target.locations if isinstance(target, TableTarget) else ()
            notes = self._directories.announce(record.id, locations)
            self._names.delete(found)
            return notes

        self._directories.remove(self._locked(forget_name))

    def forget_generations(self, record: NameRecord, *, until_ms: int) -> tuple[str, ...]:
        """Remove the directories that REPLACE TABLE left before a moment, and return them."""

        def change() -> tuple[DirectoryNote, ...]:
            found = self.require(record.identifier, RelationKind.TABLE)
            target = table_target(found)
            expired = tuple(g for g in target.previous if g.until_ms <= until_ms)
            notes = self._directories.announce(found.id, [g.location for g in expired])
            kept = tuple(g for g in target.previous if g not in expired)
            if expired:
                self._names.replace(found.with_target(replace(target, previous=kept)))
            return notes

        notes = self._locked(change)
        self._directories.remove(notes)
        return tuple(note.location for note in notes)

    def require_apart(self, folder: str) -> None:
        """Check that a folder is none that the warehouse or one of its tables may remove.

        Raises:
            PathNotAllowedError: it lies in the warehouse or in a table's directory; or the path is
                relative or climbs.
        """
        root = self.places.root_of(folder)
        if root == self.root:
            raise PathNotAllowedError(
                path=folder, reason=f"it lies in the warehouse {root!r}, which has only tables"
            )
        if root is not None:
            self._directories.require_outside(plain_path(folder))

    # -- details -----------------------------------------------------------------------------------

    def _locked(self, action: Callable[[], T]) -> T:
        return self._lock.run_with_lock(*LOCK_OF_NAMES, action)
