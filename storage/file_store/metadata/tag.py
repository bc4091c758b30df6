"""Tags give a snapshot a name, and keep it and its files from expiring."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.metadata.pin import Pins
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.errors import InvalidTagError, SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    CorruptFileError,
    MissingFileError,
    NotFoundError,
)

TAG_FOLDER: Final = "tag"
_PREFIX: Final = "tag-"
_NAME_BYTES_MAX: Final = 200
_NAME: Final = re.compile(r"(?!\d+$)[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_REMEDY: Final = "Restore it from a copy, or delete the tag"


@dataclass(frozen=True, slots=True)
class Tag:
    """A name of a snapshot."""

    name: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of one table: files `tag-<name>`, each a copy of a snapshot file.

    A tag is written while its snapshot is pinned and has not expired. Whoever deletes files reads
    the pins first and the tags then, so one of the two is seen; tests/property/test_commit_protocol
    has the proof for pins.
    """

    file_io: FileIO
    table_path: str

    def create(self, name: str, snapshot_id: int, unique: str) -> Tag:
        """Give a snapshot a name.

        Args:
            name: any text that is no number.
            snapshot_id: the snapshot.
            unique: names the pin.

        Raises:
            InvalidTagError: a tag cannot have this name.
            AlreadyExistsError: there is such a tag.
            SnapshotNotFoundError: the snapshot does not exist, or has expired.
            FileAccessError: the store refused; whether the tag is there is not known.
        """
        path = self._path(name)
        snapshots = SnapshotStore(self.file_io, self.table_path)
        snapshot = snapshots.get(snapshot_id)
        with Pins(self.file_io, self.table_path).pinned(snapshot, unique):
            snapshots.get(snapshot_id)  # it has not expired before it was pinned
            if not self.file_io.write_new(path, snapshot.to_bytes()):
                raise AlreadyExistsError(kind="tag", name=name, remedy="delete it")
        return Tag(name, snapshot)

    def delete(self, name: str) -> None:
        """Forget a tag; files that only it needed become orphans.

        Raises:
            NotFoundError: there is no such tag.
        """
        path = self._path(name)
        if not self.file_io.exists(path):
            raise self._unknown(name)
        self.file_io.delete(path)

    def get(self, name: str) -> Tag:
        """Return the tag of this name.

        Raises:
            NotFoundError: there is none.
            CorruptFileError: its file is damaged.
        """
        try:
            return Tag(name, self._read(self._path(name)))
        except MissingFileError as error:
            raise self._unknown(name) from error

    def all(self) -> tuple[Tag, ...]:
        """Return all tags by name; it costs one listing if there are none.

        Raises:
            CorruptFileError: a tag is damaged, so that nobody knows what is needed.
        """
        found = []
        folder = join_path(self.table_path, TAG_FOLDER)
        for name in self.file_io.names(folder):
            if name.startswith(_PREFIX):
                with suppress(MissingFileError):  # the tag was deleted meanwhile
                    snapshot = self._read(join_path(folder, name))
                    found.append(Tag(unquote(name.removeprefix(_PREFIX)), snapshot))
        return tuple(sorted(found, key=lambda tag: tag.name))

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of this id; it may have expired, or be lost, if a tag keeps it.

        Raises:
            SnapshotNotFoundError: there is none, and no tag.
            MissingFileError, CorruptFileError: its file is lost or damaged, and there is no tag.
        """
        try:
            return SnapshotStore(self.file_io, self.table_path).get(snapshot_id)
        except (SnapshotNotFoundError, MissingFileError, CorruptFileError):
            for tag in self.all():
                if tag.snapshot.id == snapshot_id:
                    return tag.snapshot
            raise

    def version(self, text: str) -> Snapshot:
        """Return the snapshot that a text names: by its id, or by a tag.

        Raises:
            SnapshotNotFoundError, NotFoundError: there is none.
        """
        return self.snapshot(int(text)) if text.isdecimal() else self.get(text).snapshot

    def _path(self, name: str) -> str:
        quoted = quote(name, safe="", errors="surrogatepass")
        if not _NAME.fullmatch(name) or len(quoted) > _NAME_BYTES_MAX:
            raise InvalidTagError(name=name)
        return join_path(self.table_path, TAG_FOLDER, f"{_PREFIX}{quoted}")

    def _read(self, path: str) -> Snapshot:
        data = self.file_io.read_bytes(path)
        try:
            return Snapshot.from_bytes(data, path=path)
        except CorruptFileError as error:
            raise CorruptFileError(path=path, reason=error.reason, remedy=_REMEDY) from error

    def _unknown(self, name: str) -> NotFoundError:
        return NotFoundError(kind="tag", name=name, known=[tag.name for tag in self.all()])
