"""Tables of one session: ordinary managed tables in a small warehouse of the session's own.

It lies below `<root>/_temporary/<session>-<process>-<start>/` and is removed with the session. If a
session was killed, the next session that starts removes its tables.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, file_name_of
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.process_identity import Liveness, ProcessIdentity, liveness
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.listeners import TableListener
from table_store.storage.file_io.file_io import FileStatus
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import (
    CorruptFileError,
    MissingFileError,
    TableStoreError,
)

TEMPORARY_FOLDER: Final = "_temporary"
SESSION_FILE: Final = "_session.json"
_SESSION_VERSION: Final = 2

FOREIGN_SESSION_AGE_MAX_MS: Final = 7 * 24 * 60 * 60 * 1000
"""A session whose process is on another machine counts as ended after a week."""

_NAME_LENGTH_MAX: Final = 100

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryTables:
    """The temporary tables of one session.

    Attributes:
        warehouse: of the catalog, below whose root they lie.
        session_id: as Spark names the session.
        owner: the process with which the session ends. Another process that works for the same
            session (a restarted planner) finds the same tables.
        listeners: of the catalog.
    """

    warehouse: Warehouse
    session_id: str
    owner: ProcessIdentity
    listeners: Sequence[TableListener] = ()

    @property
    def root(self) -> str:
        """The folder of the session."""
        run = hashlib.sha256(f"{self.owner.host} {self.owner.start}".encode()).hexdigest()[:12]
        name = f"{file_name_of(self.session_id)[:_NAME_LENGTH_MAX]}-{self.owner.pid}-{run}"
        return join_path(self.warehouse.root, TEMPORARY_FOLDER, name)

    def holds(self, location: str) -> bool:
        """Whether a table at this place is one of the session's."""
        return location.startswith(self.root + "/")

    def lifecycle(self) -> TableLifecycle:
        """Return the statements on the session's tables, all in the namespace `default`.

        It creates nothing: to find that a session has no tables costs one look-up.
        """
        return _lifecycle(self.warehouse, self.root, self.listeners)

    def begin(self) -> TableLifecycle:
        """Return the same; to be called before the first CREATE, because it notes the owner."""
        content = {
            "session": self.session_id,
            "owner": self.owner.to_json(),
            "createdMs": self.warehouse.clock.now_ms(),
        }
        path = join_path(self.root, SESSION_FILE)
        data = to_checked_json(content, version=_SESSION_VERSION)
        self.warehouse.file_io.write_new(path, data)
        return self.lifecycle()

    def end(self) -> None:
        """Remove all tables of the session; after a failure the next start removes them."""
        if self.warehouse.file_io.exists(self.root):
            _remove(self.warehouse, self.root, self.listeners)


def remove_sessions_that_ended(
    warehouse: Warehouse, listeners: Sequence[TableListener] = ()
) -> tuple[str, ...]:
    """Remove the tables of sessions whose process is dead; return the folders.

    It costs one listing if there are none.
    """
    folder = join_path(warehouse.root, TEMPORARY_FOLDER)
    ended = [
        s.path for s in warehouse.file_io.list(folder) if s.is_dir and _has_ended(warehouse, s)
    ]
    return tuple(path for path in ended if _remove(warehouse, path, listeners))


def remove_sessions_of(
    owner: ProcessIdentity, warehouse: Warehouse, listeners: Sequence[TableListener] = ()
) -> tuple[str, ...]:
    """Remove the tables of all sessions of a process that is about to end; return the folders."""
    folder = join_path(warehouse.root, TEMPORARY_FOLDER)
    own = [
        s.path
        for s in warehouse.file_io.list(folder)
        if s.is_dir and _owner_of(warehouse, s)[0] == owner
    ]
    return tuple(path for path in own if _remove(warehouse, path, listeners))


def _lifecycle(
    warehouse: Warehouse, root: str, listeners: Sequence[TableListener]
) -> TableLifecycle:
    inner = Warehouse(warehouse.file_io, root, warehouse.clock, warehouse.ids)
    return TableLifecycle(inner, listeners, has_one_place=True)


def _remove(warehouse: Warehouse, root: str, listeners: Sequence[TableListener]) -> bool:
    lifecycle = _lifecycle(warehouse, root, listeners)
    try:
        for record in lifecycle.warehouse.records(DEFAULT_NAMESPACE, [RelationKind.TABLE]):
            lifecycle.drop(record.identifier)
        warehouse.file_io.delete(root, recursive=True)
    except TableStoreError as error:
        _log.warning("temporary tables in %s could not be removed yet: %s", root, error)
        return False
    return True


def _has_ended(warehouse: Warehouse, folder: FileStatus) -> bool:
    now_ms = warehouse.clock.now_ms()
    owner, created_ms = _owner_of(warehouse, folder)
    state = Liveness.UNKNOWN if owner is None else liveness(owner)
    if state is Liveness.UNKNOWN:
        # The owner is on another machine, or unknown, or the note is damaged: only the age
        # of the folder can tell.
        return now_ms - created_ms > FOREIGN_SESSION_AGE_MAX_MS
    return state is Liveness.DEAD


def _owner_of(warehouse: Warehouse, folder: FileStatus) -> tuple[ProcessIdentity | None, int]:
    """Return the process that owns a session's folder, and when it began (ms since 1970)."""
    path = join_path(folder.path, SESSION_FILE)
    try:
        data = warehouse.file_io.read_bytes(path)
        return from_checked_json(
            data, _owner_in, path=path, version=_SESSION_VERSION, noun="session"
        )
    except MissingFileError:
        return None, folder.modified_ms
    except CorruptFileError as error:
        _log.warning("%s is damaged, so that the folder's age decides: %s", path, error.reason)
        return None, folder.modified_ms


def _owner_in(item: Mapping[str, Any]) -> tuple[ProcessIdentity | None, int]:
    return ProcessIdentity.from_json(item["owner"]), int(item["createdMs"])
