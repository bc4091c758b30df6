"""Directories of managed tables: claimed before they get a name, removed after they lose it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from table_store.catalog.errors import StagedTableGoneError
from table_store.catalog.names.directory_journal import (
    DirectoryJournal,
    DirectoryNote,
    change_claim,
    claim_directory,
    claimed_by,
)
from table_store.catalog.names.identifier import Identifier, file_name_of
from table_store.catalog.names.retired_folders import RetiredFolders
from table_store.catalog.names.table_place import AllowedPlaces
from table_store.storage.file_io.path import join_path, parent_path
from table_store.storage.kernel.errors import PathNotAllowedError, TableStoreError
from table_store.storage.kernel.ids import IdSource

_PLAIN_NAME_LENGTH_MAX: Final = 180
_SUFFIX_DIGITS: Final = 12
_SUFFIXED: Final = re.compile(rf"~[^/~]{{1,{_SUFFIX_DIGITS}}}$")
"""No plain name ends like this; one that was cut has more digits behind it (`file_name_of`)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedDirectory:
    """A claimed directory in which a table is being made; no name points to it yet."""

    table_id: str
    location: str
    note: DirectoryNote


@dataclass(frozen=True, slots=True)
class TableDirectories:
    """Makes and removes directories; after a crash a note says what is left to do."""

    places: AllowedPlaces
    journal: DirectoryJournal
    retired: RetiredFolders
    ids: IdSource

    def stage(self, name: str, folder: str, table_id: str) -> StagedDirectory:
        """Claim a new directory in `folder`, with the table's name if no other table had that."""
        plain = file_name_of(name)
        staged = self._stage_plain(join_path(folder, plain), table_id)
        while staged is None:
            suffix = self.ids.unique().replace("-", "")[:_SUFFIX_DIGITS]
            location = join_path(folder, f"{plain[:_PLAIN_NAME_LENGTH_MAX]}~{suffix}")
            staged = self._claimed(location, table_id)
        return staged

    def stage_at(self, location: str, table_id: str) -> StagedDirectory:
        """Claim exactly this directory; the caller has the lock under which folders are named.

        Raises:
            PathNotAllowedError: something is in it, or it lies within a table's directory.
        """
        self.require_outside(location)
        staged = self._claimed(location, table_id)
        if staged is None:
            reason = (
                "something is in it; a new table takes a folder that is empty or does not exist"
            )
            raise PathNotAllowedError(path=location, reason=reason)
        return staged

    def require_outside(self, folder: str) -> None:
        """Check that no table's directory is above a folder, or is the folder itself.

        Raises:
            PathNotAllowedError: one is; files that it does not know would be removed from it.
        """
        file_io, outer = self.places.file_io_of(folder), folder
        while not self.places.is_root(outer):
            if claimed_by(file_io, outer) is not None:
                raise PathNotAllowedError(
                    path=folder, reason=f"it lies within {outer!r}, the folder of a table"
                )
            outer = parent_path(outer)

    def require_claim(self, identifier: Identifier, staged: StagedDirectory) -> None:
        """Check that the directory still belongs to the table being made.

        Raises:
            StagedTableGoneError: it was removed, because its process counted as dead.
        """
        file_io = self.places.file_io_of(staged.location)
        if claimed_by(file_io, staged.location) != staged.table_id:
            raise StagedTableGoneError(table=str(identifier), location=staged.location)

    def hand_over(self, staged: StagedDirectory, table_id: str) -> None:
        """Give a directory to a table that did not exist yet when the directory was staged.

        Whoever removes what is left after a crash finds both tables in the note.
        """
        if staged.table_id != table_id:
            self.journal.bequeath(staged.note, table_id)
            change_claim(self.places.file_io_of(staged.location), staged.location, table_id)

    def settle(self, staged: StagedDirectory) -> None:
        """Delete the note of a directory, because a name points to it now.

        A note that cannot be deleted does no harm; the next start tries again.
        """
        try:
            self.journal.forget(staged.note)
        except TableStoreError as error:
            _log.warning("the note of %s could not be deleted yet: %s", staged.location, error)

    def announce(self, table_id: str, stored: Iterable[str]) -> tuple[DirectoryNote, ...]:
        """Write notes that directories, named as in records, are about to be removed."""
        return tuple(
            self.journal.announce(table_id, self.places.absolute(location)) for location in stored
        )

    def abandoned(self) -> tuple[DirectoryNote, ...]:
        """Return the notes that dead processes left; it costs one listing if there are none."""
        return self.journal.abandoned()

    def detach(
        self, notes: Iterable[DirectoryNote], *, was_table: bool = True
    ) -> tuple[DirectoryNote, ...]:
        """Move away directories that no name points to; return the notes of those that were moved.

        A directory that cannot be moved keeps its note, and the next start tries again.

        Args:
            notes: of the directories.
            was_table: whether others may have opened them, so that no new table gets their places.
        """
        detached: list[DirectoryNote] = []
        for note in notes:
            try:
                if was_table and not _SUFFIXED.search(note.location):
                    self.retired.add(note.location)
                self.journal.detach(note, self.places.file_io_of(note.location))
            except TableStoreError as error:
                _not_removed(note, error)
            else:
                detached.append(note)
        return tuple(detached)

    def discard(self, notes: Iterable[DirectoryNote]) -> None:
        """Delete the directories that were moved away, and their notes; the next start retries."""
        for note in notes:
            try:
                self.journal.discard(note, self.places.file_io_of(note.location))
            except TableStoreError as error:
                _not_removed(note, error)

    def remove(self, notes: Iterable[DirectoryNote], *, was_table: bool = True) -> None:
        """Remove directories which no name points to any more; see `detach`."""
        self.discard(self.detach(notes, was_table=was_table))

    # -- details -----------------------------------------------------------------------------------

    def _stage_plain(self, location: str, table_id: str) -> StagedDirectory | None:
        """Claim a directory with a plain name, unless it has or had a table."""
        if self.retired.holds(location):
            return None
        staged = self._claimed(location, table_id)
        if staged is not None and self.retired.holds(location):  # since a moment ago
            self.remove((staged.note,), was_table=False)
            return None
        return staged

    def _claimed(self, location: str, table_id: str) -> StagedDirectory | None:
        """Claim a directory; None if something is in it."""
        note = self.journal.announce(table_id, location)
        if claim_directory(self.places.file_io_of(location), location, table_id):
            return StagedDirectory(table_id=table_id, location=location, note=note)
        self.journal.forget(note)
        return None


def _not_removed(note: DirectoryNote, error: TableStoreError) -> None:
    _log.warning("the directory %s could not be removed yet: %s", note.location, error)
