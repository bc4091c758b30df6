"""The numbered schema files of one table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.metadata.snapshot_store import SNAPSHOT_FOLDER
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FileAccessError,
    InvalidSchemaError,
    MissingFileError,
    NotFoundError,
)
from table_store.storage.kernel.secrets import holds_secret

SCHEMA_FOLDER: Final = "schema"
_PREFIX: Final = "schema-"


class SchemaStore:
    """Reads and publishes `schema/schema-N`, N = 0, 1, 2, … without gaps.

    Schemas are immutable, so one object reads each of them once; `latest` always asks the store.
    """

    def __init__(self, file_io: FileIO, table_path: str) -> None:
        self._file_io = file_io
        self._table_path = table_path
        self._folder = join_path(table_path, SCHEMA_FOLDER)
        self._known: dict[int, TableSchema] = {}
        self._latest_id = -1

    def path(self, schema_id: int) -> str:
        """Return the path of one schema file."""
        return join_path(self._folder, f"{_PREFIX}{schema_id}")

    def latest(self, *, at_least: int = 0) -> TableSchema:
        """Return the newest schema; see `latest_id`.

        Raises:
            CorruptFileError: the schema file is damaged.
        """
        return self.get(self.latest_id(at_least=at_least))

    def latest_id(self, *, at_least: int = 0) -> int:
        """Return the id of the newest schema; one listing at first, later a look at two names.

        Args:
            at_least: an id that surely exists, because a snapshot was committed with it.

        Raises:
            NotFoundError: the table does not exist.
            MissingFileError: a schema up to the newest is lost.
        """
        if self._latest_id < 0 or not self._file_io.exists(self.path(self._latest_id)):
            # This also happens if another table took this one's place meanwhile.
            self._known.clear()
            self._latest_id = self._newest_listed(at_least)
        while self._file_io.exists(self.path(self._latest_id + 1)):
            self._latest_id += 1
        if self._latest_id < at_least:
            raise self._lost(self._latest_id + 1)
        return self._latest_id

    def get(self, schema_id: int) -> TableSchema:
        """Return the schema of this id.

        Raises:
            MissingFileError: there is none.
            CorruptFileError: the file is damaged, or holds another id.
        """
        if schema_id not in self._known:
            path = self.path(schema_id)
            schema = _parsed(self._file_io.read_bytes(path), path)
            if schema.id != schema_id:
                raise CorruptFileError(path=path, reason=f"it holds schema {schema.id}")
            self._known[schema_id] = schema
        return self._known[schema_id]

    def _newest_listed(self, at_least: int) -> int:
        names = self._file_io.names(self._folder)
        ids = {
            int(name[len(_PREFIX) :])
            for name in names
            if name.startswith(_PREFIX) and name[len(_PREFIX) :].isdecimal()
        }
        newest = max(ids, default=-1)
        snapshots = join_path(self._table_path, SNAPSHOT_FOLDER)
        if not ids and not at_least and not self._file_io.names(snapshots):
            raise NotFoundError(kind="table", name=self._table_path)
        gaps = set(range(max(newest, at_least) + 1)) - ids
        if gaps or not ids:
            raise self._lost(min(gaps, default=0))
        return newest

    def _lost(self, schema_id: int) -> MissingFileError:
        return MissingFileError(
            path=self.path(schema_id),
            remedy="It holds the table's definition: restore it from a copy",
        )

    def all(self) -> tuple[TableSchema, ...]:
        """Return every schema, oldest first."""
        return tuple(self.get(i) for i in range(self.latest().id + 1))

    def publish(self, schema: TableSchema) -> bool:
        """Create the file of `schema`; return False if another schema already has its id.

        If its options hold a secret, only the owner may read the file.

        Raises:
            InvalidSchemaError: the schema breaks a rule.
            FileAccessError: nobody knows whether it was published; `latest` tells.
        """
        schema.validate()
        return self._file_io.write_new(
            self.path(schema.id),
            schema.to_bytes(),
            private=holds_secret(schema.options),
        )

    def evolve(self, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        """Publish `change(latest)` as the next schema and return it.

        If another change comes first, `change` is applied again on top of it.

        Raises:
            InvalidSchemaError: `change` raised it; nothing has happened.
            FileAccessError: the store refused; if the change has happened, `latest` shows it.
        """
        while True:
            before = self.latest()
            after = change(before)
            if after.id != before.id + 1:
                raise InvalidSchemaError(reason=f"schema {after.id} cannot follow {before.id}")
            try:
                if self.publish(after):
                    return after
            except FileAccessError:
                # The change may have been published before the error. If another process made an
                # equal change at the same time, that does no harm.
                if self.latest() == after:
                    return after
                raise


@lru_cache(maxsize=256)
def _parsed(text: bytes, path: str) -> TableSchema:
    return TableSchema.from_bytes(text, path=path)
