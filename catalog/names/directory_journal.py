"""A journal of directories that are being made or removed, so that a crash leaves none behind.

Before a table's directory is made, or its name removed, a note is written to
`<root>/_trash/<note>.json`; at the end the note is deleted. If a note is found whose process is
dead, and no name points to its directory, nobody needs that directory any more.

A directory is claimed by a file of its own (`_table.json`, created only if absent) that holds
the table's id. A directory is removed only if the id in the note has claimed it, so one that
somebody else made at the same place is safe.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from table_store.catalog.names.process_identity import (
    Liveness,
    ProcessIdentity,
    identity_of,
    liveness,
)
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FormatVersionError,
    MissingFileError,
)
from table_store.storage.kernel.ids import IdSource

CLAIM_FILE: Final = "_table.json"
TRASH_FOLDER: Final = "_trash"

ABANDONED_AFTER_MS: Final = 24 * 60 * 60 * 1000
"""After a day a note counts as abandoned if its process is on another machine."""

_SUFFIX: Final = ".json"
_VERSION: Final = 2
_NOTE_REMEDY: Final = "Delete it, and the directory that is left over, if there is one"
_CLAIM_REMEDY: Final = "It holds the id of the directory's table: restore it from a copy"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryNote:
    """One directory that is being made or removed.

    Attributes:
        id: of the note.
        table_id: of the table that has claimed the directory, or is about to.
        location: the directory.
        owner: the process.
        created_ms: when it began, ms since 1970.
        heir_id: the table to which the directory is handed over, so that it has the claim as well.
    """

    id: str
    table_id: str
    location: str
    owner: ProcessIdentity
    created_ms: int
    heir_id: str | None = None


@dataclass(frozen=True, slots=True)
class DirectoryJournal:
    """The notes below `<root>/_trash`, and the removal of the directories that they name."""

    file_io: FileIO
    root: str
    clock: Clock
    ids: IdSource

    def announce(self, table_id: str, location: str) -> DirectoryNote:
        """Write down that the directory will be made or removed by this process."""
        note = DirectoryNote(
            id=self.ids.unique(),
            table_id=table_id,
            location=location,
            owner=identity_of(),
            created_ms=self.clock.now_ms(),
        )
        self.file_io.write_new(self._note_path(note.id), _note_bytes(note))
        return note

    def bequeath(self, note: DirectoryNote, heir_id: str) -> None:
        """Write down that the directory is going to be claimed by another table."""
        heir = replace(note, heir_id=heir_id)
        self.file_io.write_bytes(self._note_path(note.id), _note_bytes(heir))

    def forget(self, note: DirectoryNote) -> None:
        """Delete the note: its directory has a name now, or is gone."""
        self.file_io.delete(self._note_path(note.id))

    def abandoned(self) -> tuple[DirectoryNote, ...]:
        """Return the notes of dead processes, and those that are abandoned by their age."""
        return tuple(note for note in self._notes() if self._is_abandoned(note))

    def detach(self, note: DirectoryNote, file_io: FileIO) -> None:
        """Move the directory of a note out of its place, in one step if the store can.

        So nobody sees its files half deleted, and the place is free at once. It does nothing if
        the place belongs to somebody else by now.

        Args:
            note: of a directory that no name points to.
            file_io: the one of the note's location, which may lie outside of the warehouse.
        """
        claim = claimed_by(file_io, note.location)
        if claim is None or claim not in self._owners(note, claim):
            return
        trash = self._trash_path(note)
        # This exists only after an interrupted move, on stores that move file by file.
        file_io.delete(trash, recursive=True)
        file_io.rename_dir(note.location, trash)

    def discard(self, note: DirectoryNote, file_io: FileIO) -> None:
        """Delete the directory that `detach` moved, now or before a crash, and then the note."""
        file_io.delete(self._trash_path(note), recursive=True)
        self.forget(note)

    def _is_abandoned(self, note: DirectoryNote) -> bool:
        match liveness(note.owner):
            case Liveness.RUNNING:
                return False
            case Liveness.DEAD:
                return True
            case Liveness.UNKNOWN:
                return self.clock.now_ms() - note.created_ms > ABANDONED_AFTER_MS

    def _notes(self) -> Collection[DirectoryNote]:
        found: list[DirectoryNote] = []
        for status in self.file_io.list(join_path(self.root, TRASH_FOLDER)):
            if status.is_dir or not status.name.endswith(_SUFFIX) or status.name.startswith("."):
                continue
            note = self._note(status.path, status.name.removesuffix(_SUFFIX))
            if note is not None:
                found.append(note)
        return found

    def _note(self, path: str, note_id: str) -> DirectoryNote | None:
        try:
            data = self.file_io.read_bytes(path)
            return from_checked_json(
                data,
                partial(_note_in, note_id),
                path=path,
                version=_VERSION,
                noun="note",
                remedy=_NOTE_REMEDY,
            )
        except MissingFileError:
            return None  # its process has just deleted the note
        except (CorruptFileError, FormatVersionError) as error:
            _log.warning("passed over, so that the directory it names stays: %s", error)
            return None

    def _owners(self, note: DirectoryNote, claim: str) -> tuple[str | None, ...]:
        """The tables that may have the claim; the note is read again where it is another one's."""
        if claim == note.table_id:
            return (claim,)
        now = self._note(self._note_path(note.id), note.id)
        return (note.table_id, None if now is None else now.heir_id)

    def _note_path(self, note_id: str) -> str:
        return join_path(self.root, TRASH_FOLDER, note_id + _SUFFIX)

    def _trash_path(self, note: DirectoryNote) -> str:
        if note.location.startswith(self.root.rstrip("/") + "/"):
            return join_path(self.root, TRASH_FOLDER, note.id)
        # A move must stay within one file system, so a directory elsewhere is moved beside its
        # place.
        return f"{note.location.rstrip('/')}{TRASH_FOLDER}-{note.id}"


def _note_bytes(note: DirectoryNote) -> bytes:
    content: dict[str, Any] = {
        "tableId": note.table_id,
        "location": note.location,
        "owner": note.owner.to_json(),
        "createdMs": note.created_ms,
    }
    if note.heir_id is not None:
        content["heirId"] = note.heir_id
    return to_checked_json(content, version=_VERSION)


def claim_directory(file_io: FileIO, location: str, table_id: str) -> bool:
    """Claim a place for a table's directory; return False if it is claimed or not empty."""
    if file_io.names(location):
        return False
    try:
        return file_io.write_new(join_path(location, CLAIM_FILE), _claim(table_id))
    except MissingFileError:
        return False  # the former owner was moving the place away, with this claim in it


def change_claim(file_io: FileIO, location: str, table_id: str) -> None:
    """Give a claimed directory to another table."""
    file_io.write_bytes(join_path(location, CLAIM_FILE), _claim(table_id))


def claimed_by(file_io: FileIO, location: str) -> str | None:
    """Return the id of the table that claimed a directory; None if there is no claim.

    Raises:
        CorruptFileError: the claim is damaged.
    """
    path = join_path(location, CLAIM_FILE)
    try:
        data = file_io.read_bytes(path)
    except MissingFileError:
        return None
    return from_checked_json(
        data, _table_id_in, path=path, version=_VERSION, noun="claim", remedy=_CLAIM_REMEDY
    )


def _claim(table_id: str) -> bytes:
    return to_checked_json({"tableId": table_id}, version=_VERSION)


def _table_id_in(item: Mapping[str, Any]) -> str:
    return str(item["tableId"])


def _note_in(note_id: str, item: Mapping[str, Any]) -> DirectoryNote:
    owner = ProcessIdentity.from_json(item["owner"])
    if owner is None:
        raise ValueError("it names no process")
    return DirectoryNote(
        id=note_id,
        table_id=str(item["tableId"]),
        location=str(item["location"]),
        owner=owner,
        created_ms=int(item["createdMs"]),
        heir_id=None if item.get("heirId") is None else str(item["heirId"]),
    )
