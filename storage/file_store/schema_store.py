"""The numbered schema files of one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FileAccessError,
    InvalidSchemaError,
    NotFoundError,
)

SCHEMA_FOLDER: Final = "schema"
_PREFIX: Final = "schema-"


class SchemaStore:
    """Reads and publishes `schema/schema-N`, N = 0, 1, 2, … without gaps.

    Schemas are immutable, so one object reads each of them once; `latest` always looks.
    """

    def __init__(self, file_io: FileIO, table_path: str) -> None:
        self._file_io = file_io
        self._table_path = table_path
        self._folder = join_path(table_path, SCHEMA_FOLDER)
        self._known: dict[int, TableSchema] = {}
        self._latest_id = 0

    def path(self, schema_id: int) -> str:
        """Return the path of one schema file."""
        return join_path(self._folder, f"{_PREFIX}{schema_id}")

    def exists(self) -> bool:
        """Return whether the table has a schema, that is, exists."""
        return self._file_io.exists(self.path(0))

    def latest(self) -> TableSchema:
        """Return the newest schema; looks at one absent name when nothing changed.

        Raises:
            NotFoundError: the table does not exist.
            CorruptFileError: the schema file is damaged.
        """
        if not self._file_io.exists(self.path(self._latest_id)):
            # Also when another table took this one's place meanwhile.
            self._known.clear()
            self._latest_id = 0
            if not self.exists():
                raise NotFoundError(kind="table", name=self._table_path)
        while self._file_io.exists(self.path(self._latest_id + 1)):
            self._latest_id += 1
        return self.get(self._latest_id)

    def get(self, schema_id: int) -> TableSchema:
        """Return the schema of this id.

        Raises:
            MissingFileError: there is none.
            CorruptFileError: the file is damaged, or holds another id.
        """
        if schema_id not in self._known:
            path = self.path(schema_id)
            schema = TableSchema.from_json(self._file_io.read_bytes(path), path=path)
            if schema.id != schema_id:
                raise CorruptFileError(path=path, reason=f"it holds schema {schema.id}")
            self._known[schema_id] = schema
        return self._known[schema_id]

    def all(self) -> tuple[TableSchema, ...]:
        """Return every schema, oldest first."""
        return tuple(self.get(i) for i in range(self.latest().id + 1))

    def publish(self, schema: TableSchema) -> bool:
        """Create the file of `schema`; return False when another schema has its id already.

        Raises:
            InvalidSchemaError: the schema breaks a rule.
            FileAccessError: whether the schema is there is not known; `latest` tells.
        """
        schema.validate()
        return self._file_io.write_new(self.path(schema.id), schema.to_json().encode("utf-8"))

    def evolve(self, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        """Publish `change(latest)` as the next schema and return it.

        When another change comes first, `change` is applied again on top of it.

        Raises:
            InvalidSchemaError: from `change`; nothing has happened.
            FileAccessError: the store refused; nothing has happened, or `latest` shows it.
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
                # Published and then failed? Two equal changes at once do no harm.
                if self.latest() == after:
                    return after
                raise
