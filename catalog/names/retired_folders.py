"""Folders in which a table was dropped, and which no other table gets by its name.

A writer that stands still between its look at a table and its publication, while the table is
dropped, would otherwise publish into the table that is made under the name meanwhile: an ALTER
gives it columns, a commit rows. So a folder with the plain name of a table is taken once; the note
of that, an empty file `<root>/_dropped/<folder>`, stays for ever, because nobody knows for how long
a process can stand still. Folders with a suffix of chance need no note.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.catalog.names.identifier import file_name_of
from table_store.catalog.names.table_place import AllowedPlaces
from table_store.storage.file_io.path import join_path

DROPPED_FOLDER: Final = "_dropped"


@dataclass(frozen=True, slots=True)
class RetiredFolders:
    """The notes below `<root>/_dropped`; all is in their names."""

    places: AllowedPlaces

    def add(self, location: str) -> None:
        """Write down that a folder had a table, before another one could take its place."""
        self.places.file_io.write_new(self._path(location), b"")

    def holds(self, location: str) -> bool:
        """Whether a folder had a table that was dropped."""
        return self.places.file_io.exists(self._path(location))

    def _path(self, location: str) -> str:
        name = file_name_of(self.places.stored(location))
        return join_path(self.places.root, DROPPED_FOLDER, name)
