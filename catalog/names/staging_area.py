"""Tables that are being made: a directory is claimed, filled, and given to a name in one step.

Until then nobody sees it, and if its process dies it is garbage, which the next one clears away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from table_store.catalog.names.directory_journal import DirectoryNote
from table_store.catalog.names.identifier import Identifier, check_table_name
from table_store.catalog.names.lock import LOCK_OF_NAMES, CatalogLock
from table_store.catalog.names.name_record import (
    Generation,
    NameRecord,
    RelationKind,
    TableTarget,
    table_target,
)
from table_store.catalog.names.name_registry import NameRegistry, namespace_folder
from table_store.catalog.names.namespace_store import NamespaceStore
from table_store.catalog.names.table_directories import StagedDirectory, TableDirectories
from table_store.catalog.names.table_place import AllowedPlaces
from table_store.storage.file_io.path import parent_path
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.kernel.ids import IdSource

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingArea:
    """The directories of a warehouse's tables that have no name yet, or are about to lose it."""

    places: AllowedPlaces
    names: NameRegistry
    namespaces: NamespaceStore
    directories: TableDirectories
    lock: CatalogLock
    clock: Clock
    ids: IdSource

    def stage(
        self,
        identifier: Identifier,
        *,
        table_id: str | None = None,
        base: str | None = None,
        location: str | None = None,
        beside: str | None = None,
    ) -> StagedDirectory:
        """Claim a new directory for a table, to be published under the name or abandoned.

        Args:
            identifier: the name of the future table.
            table_id: of the table whose directory it will replace; by default a new one.
            base: the folder (`file.path`) in which namespaces' folders are made, instead of the
                warehouse or the namespace's location.
            location: the directory itself, LOCATION in SQL; it goes before `base`.
            beside: a table's directory, which has the new one for a neighbour; before both.

        Raises:
            InvalidIdentifierError: the name is not allowed.
            NamespaceNotFoundError: there is no such namespace.
            PathNotAllowedError: the place lies outside of the allowed roots or within a table's
                directory, or something is at the location.
        """
        check_table_name(identifier.name)
        namespace = self.namespaces.require(identifier.namespace)
        owner = self.ids.unique() if table_id is None else table_id
        name, folder = identifier.name, namespace.location
        if beside is not None:
            folder = parent_path(beside)
        elif location is not None:
            own = self.places.own_folder(location)
            return self._locked(lambda: self.directories.stage_at(own, owner))
        elif base is not None:
            folder = namespace_folder(self.places.base_folder(base), namespace.name)
        elif folder == namespace_folder(self.places.root, namespace.name):
            return self.directories.stage(name, folder, owner)  # where no LOCATION can be

        def stage() -> StagedDirectory:
            self.directories.require_outside(folder)
            return self.directories.stage(name, folder, owner)

        return self._locked(stage)

    def publish(
        self, identifier: Identifier, staged: StagedDirectory, *, is_of_another: bool = False
    ) -> NameRecord:
        """Give a staged directory its name; from then on the table exists.

        If the directory was staged to replace that of another table (`is_of_another`), which may
        go on under another name, the table gets an id of its own.

        Raises:
            AlreadyExistsError: the name is taken by now.
            NamespaceNotFoundError: the namespace was dropped meanwhile.
            StagedTableGoneError: the directory was cleared away meanwhile.
        """

        def change() -> NameRecord:
            self.directories.require_claim(identifier, staged)
            target = TableTarget(location=self.places.stored(staged.location))
            table_id = staged.table_id
            if is_of_another and self.names.find(identifier) is None:
                table_id = self.ids.unique()
                self.directories.hand_over(staged, table_id)
            return self.names.add(
                self.namespaces.qualified(identifier),
                target,
                record_id=table_id,
                created_ms=self.clock.now_ms(),
            )

        record = self._locked(change)
        self.directories.settle(staged)
        return record

    def publish_replacement(
        self,
        record: NameRecord,
        staged: StagedDirectory,
        *,
        replaces: str | None = None,
        before: Callable[[str], None] | None = None,
    ) -> NameRecord:
        """Give a staged directory to a table's name in place of the one it has.

        The old directory stays for time travel and for running readers. With `replaces`, the
        directory that the name must still have, nothing happens where it has another one. `before`
        is called with the old directory right before; whoever asks `while_named` then waits.

        Raises:
            NotFoundError: the table was dropped meanwhile, and perhaps created again.
            StagedTableGoneError: the directory was cleared away meanwhile.
        """

        def change() -> NameRecord | None:
            found, location = self._found(record)
            if replaces not in (None, location):
                return None
            self.directories.require_claim(record.identifier, staged)
            self.directories.hand_over(staged, found.id)
            if before is not None:
                before(location)
            old = table_target(found)
            generation = Generation(location=old.location, until_ms=self.clock.now_ms())
            replaced = found.with_target(
                TableTarget(
                    location=self.places.stored(staged.location),
                    previous=(*old.previous, generation),
                )
            )
            self.names.replace(replaced)
            return replaced

        changed = self._locked(change)
        if changed is None:
            return self.names.require(record.identifier, RelationKind.TABLE)
        self.directories.settle(staged)
        return changed

    def while_named(self, record: NameRecord, location: str, action: Callable[[], object]) -> None:
        """Do something while a table has a directory; nothing where it has another one by now.

        Raises:
            NotFoundError: the table was dropped or renamed meanwhile.
        """

        def change() -> None:
            if self._found(record)[1] == location:
                action()

        self._locked(change)

    def abandon(self, staged: StagedDirectory, *, may_have_name: bool = False) -> bool:
        """Remove a staged directory that is not going to be published; return whether it was.

        With `may_have_name`, others may have published it: then it is kept where a name has it or
        has had it. That costs a read of every name.
        """

        def detach() -> tuple[DirectoryNote, ...] | None:
            if staged.location in self._locations_in_use():
                return None
            return self.directories.detach((staged.note,), was_table=False)

        if not may_have_name:
            self.directories.remove((staged.note,), was_table=False)
            return True
        detached = self._locked(detach)
        if detached is None:
            self.directories.settle(staged)
            return False
        self.directories.discard(detached)
        return True

    def remove_leftovers(self) -> tuple[str, ...]:
        """Remove the directories that dead processes left, and return their paths.

        It costs one listing if there are none.
        """
        notes = self.directories.abandoned()
        if not notes:
            return ()

        def sweep() -> tuple[tuple[DirectoryNote, ...], tuple[DirectoryNote, ...]]:
            in_use = self._locations_in_use()
            nameless = [note for note in notes if note.location not in in_use]
            settled = tuple(note for note in notes if note.location in in_use)
            return self.directories.detach(nameless), settled

        detached, settled = self._locked(sweep)
        self.directories.discard((*detached, *settled))
        return tuple(note.location for note in detached)

    def _found(self, record: NameRecord) -> tuple[NameRecord, str]:
        """Return the record of a table now, and its directory.

        Raises:
            NotFoundError: the table was dropped or renamed meanwhile, and perhaps created again.
        """
        found = self.names.require(record.identifier, RelationKind.TABLE)
        if found.id != record.id:
            raise NotFoundError(kind="table", name=str(record.identifier))
        return found, self.places.absolute(table_target(found).location)

    def _locations_in_use(self) -> frozenset[str]:
        return frozenset(
            self.places.absolute(location)
            for record in self.names.all_records()
            if isinstance(record.target, TableTarget)
            for location in record.target.locations
        )

    def _locked(self, action: Callable[[], T]) -> T:
        return self.lock.run_with_lock(*LOCK_OF_NAMES, action)
