"""Which names exist in a warehouse: one small file per name, created only if absent.

The file is `<root>/<namespace>.db/_names/<name>.json`. It alone says whether a table, view or
foreign table exists, so each change of a name is one atomic step of the file system: CREATE creates
the file, DROP deletes it, REPLACE replaces it. A rename needs two files; it has happened when the
second one is created.

Changes are made under the warehouse's lock (see `Warehouse`); reading needs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import (
    Identifier,
    check_table_name,
    file_name_of,
    name_key,
)
from table_store.catalog.names.name_record import (
    RECORD_REMEDY,
    NameRecord,
    RelationKind,
    Target,
    record_from_bytes,
)
from table_store.storage.file_io.file_io import FileIO, FileStatus
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    CorruptFileError,
    MissingFileError,
    NotFoundError,
)

NAMES_FOLDER: Final = "_names"
NAMESPACE_SUFFIX: Final = ".db"

_SUFFIX: Final = ".json"


def namespace_folder(root: str, namespace: str) -> str:
    """Return the folder of a namespace below the warehouse's root."""
    return join_path(root, file_name_of(namespace) + NAMESPACE_SUFFIX)


@dataclass(frozen=True, slots=True)
class NameRegistry:
    """The names of all namespaces below `root`."""

    file_io: FileIO
    root: str

    def find(self, identifier: Identifier) -> NameRecord | None:
        """Return the record of the name, in any case of letters; None if there is none.

        Raises:
            CorruptFileError: its file is damaged, or is that of another name.
        """
        path = self._path(identifier)
        record = self._read(path)
        if record is not None and record.identifier.key != identifier.key:
            raise CorruptFileError(
                path=path, reason=f"it holds the name {record.identifier}", remedy=RECORD_REMEDY
            )
        return None if record is None or self._has_moved(record) else record

    def require(self, identifier: Identifier, kind: RelationKind) -> NameRecord:
        """Return the record of a name.

        Raises:
            NotFoundError: there is no such name.
            WrongRelationKindError: it is the name of another kind of relation.
        """
        record = self.find(identifier)
        if record is None:
            raise NotFoundError(kind=kind.noun, name=str(identifier))
        if record.kind is not kind:
            raise WrongRelationKindError(
                name=str(identifier), found=record.kind.noun, needed=kind.noun
            )
        return record

    def records(self, namespace: str) -> tuple[NameRecord, ...]:
        """Return all names of a namespace, sorted without case; each costs a read of a file."""
        return self._records_in(self.files(namespace))

    def files(self, namespace: str) -> tuple[FileStatus, ...]:
        """Return the files of a namespace's names; costs a list. `record_in` reads one."""
        return self._files_in(namespace_folder(self.root, namespace))

    def record_in(self, file: FileStatus) -> NameRecord | None:
        """Return the record of one of `files`; None if it is not that of a name any more.

        Raises:
            CorruptFileError: it is damaged.
        """
        record = self._read(file.path)
        return None if record is None or self._has_moved(record) else record

    def all_records(self) -> tuple[NameRecord, ...]:
        """Return the names in all namespaces' folders, also of namespaces that do not exist."""
        return tuple(
            record
            for status in self.file_io.list(self.root)
            if status.is_dir and status.name.endswith(NAMESPACE_SUFFIX)
            for record in self._records_in(self._files_in(status.path))
        )

    def add(
        self, identifier: Identifier, target: Target, *, record_id: str, created_ms: int
    ) -> NameRecord:
        """Give a name, in a namespace that exists, to something new.

        Raises:
            InvalidIdentifierError: the name is not allowed.
            AlreadyExistsError: the name is taken.
        """
        check_table_name(identifier.name)
        record = NameRecord(
            identifier=identifier, id=record_id, created_ms=created_ms, target=target
        )
        if not self.create(record):
            raise AlreadyExistsError(kind="table or view", name=str(identifier))
        return record

    def create(self, record: NameRecord) -> bool:
        """Create the name of the record; return False if the name is taken."""
        path = self._path(record.identifier)
        old = self._read(path)
        if old is not None and self._has_moved(old):
            self.file_io.delete(path)
        return self.file_io.write_new(path, record.to_bytes(), private=record.is_private)

    def replace(self, record: NameRecord) -> None:
        """Give the record's target to an existing name, in one step."""
        path = self._path(record.identifier)
        self.file_io.write_bytes(path, record.to_bytes(), private=record.is_private)

    def delete(self, record: NameRecord) -> None:
        """Delete the name, after the remainder that an interrupted rename may have left."""
        self._delete_remainder(record)
        self.file_io.delete(self._path(record.identifier))

    def rename(self, record: NameRecord, target: Identifier) -> bool:
        """Give a name's target to another name; return False if that one is taken.

        After a crash either the old name or the new name is valid, never both or none.
        """
        if target.key == record.identifier.key:
            self.replace(replace(record, identifier=target))
            return True
        self._delete_remainder(record)
        settled = replace(record, renamed_from=None, renaming_to=None)
        self.replace(replace(settled, renaming_to=target))
        if not self.create(replace(settled, identifier=target, renamed_from=record.identifier)):
            self.replace(settled)
            return False
        self.file_io.delete(self._path(record.identifier))
        return True

    def _files_in(self, folder: str) -> tuple[FileStatus, ...]:
        return tuple(
            status
            for status in self.file_io.list(join_path(folder, NAMES_FOLDER))
            if status.name.endswith(_SUFFIX) and not status.name.startswith(".")
        )

    def _records_in(self, files: Iterable[FileStatus]) -> tuple[NameRecord, ...]:
        present = [record for file in files if (record := self.record_in(file)) is not None]
        return tuple(sorted(present, key=lambda record: name_key(record.identifier.name)))

    def _delete_remainder(self, record: NameRecord) -> None:
        """Delete the old file of a rename that was interrupted after its decisive step.

        The old file counts as a remainder only while this record exists, so it is deleted first.
        """
        if record.renamed_from is None:
            return
        path = self._path(record.renamed_from)
        old = self._read(path)
        if old is not None and old.id == record.id:
            self.file_io.delete(path)

    def _has_moved(self, record: NameRecord) -> bool:
        if record.renaming_to is None:
            return False
        target = self._read(self._path(record.renaming_to))
        return target is not None and target.id == record.id

    def _path(self, identifier: Identifier) -> str:
        folder = namespace_folder(self.root, identifier.namespace)
        return join_path(folder, NAMES_FOLDER, file_name_of(identifier.name) + _SUFFIX)

    def _read(self, path: str) -> NameRecord | None:
        try:
            return record_from_bytes(self.file_io.read_bytes(path), path)
        except MissingFileError:
            return None
