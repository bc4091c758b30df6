"""A table that takes what a source has and that is no row: `'dead-letter.table'`.

Whoever reads a part of a source commits its bad records before the part ends, so before anything
that was read of it is committed. The key is where a record is in the source: who reads it again
writes the same row again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from table_store.catalog.definition.declared_type import CHAR_VARCHAR
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.types import (
    BINARY,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    arrow_field,
)
from table_store.storage.log_store.logged_table import open_logged

_HELD_BYTES_MAX: Final = 16 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LetterColumns:
    """The columns of such a table.

    Attributes:
        key: where a record is.
        others: what it is, and why it is no row.
    """

    key: Mapping[str, DataType]
    others: Mapping[str, DataType]

    def fields(self) -> tuple[Field, ...]:
        """Return all of them."""
        keys = ((name, kind, False) for name, kind in self.key.items())
        others = ((name, kind, True) for name, kind in self.others.items())
        return tuple(
            Field(id=0, name=name, type=kind, nullable=nullable)
            for name, kind, nullable in (*keys, *others)
        )

    def misfit(self, schema: TableSchema) -> str | None:
        """Return why a table is none for such records; None if it is one."""
        if schema.query is not None:
            return "it is a materialized view"
        if tuple(schema.primary_key) != tuple(self.key):
            return f"its primary key is ({', '.join(schema.primary_key)})"
        there = {known.name: known for known in schema.fields}
        for needed in self.fields():
            known = there.pop(needed.name, None)
            if known is None or known.type != needed.type or known.generated is not None:
                return f"it has no column {needed.name} {needed.type.sql_name()}"
            if needed.nullable and not known.nullable:
                return f"its column {needed.name} is NOT NULL"
            if CHAR_VARCHAR in dict(known.metadata):
                return f"its column {needed.name} has a length"
        for more in there.values():
            if not more.nullable or more.generated is not None or more.default is not None:
                rules = "is NOT NULL, or computed, or has a DEFAULT"
                return f"its column {more.name} {rules}, and nobody fills it"
        return "it has a CHECK, for which nobody asks" if schema.checks else None


OF_TOPICS: Final = LetterColumns(
    key={"topic": STRING, "partition": INTEGER, "offset": LONG},
    others={"timestamp": TIMESTAMP, "key": BINARY, "value": BINARY, "reason": STRING},
)
OF_FILES: Final = LetterColumns(
    key={"path": STRING, "line": LONG}, others={"value": BINARY, "reason": STRING}
)


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The table in a directory, for records of one kind of source."""

    path: str
    columns: LetterColumns

    def begin(self) -> HeldLetters:
        """Return what takes the records of one part."""
        return HeldLetters(self)

    def write(self, rows: pa.Table) -> None:
        """Commit records; those of before with the same key are replaced.

        Raises:
            TableStoreError: the table does not take them.
        """
        table = open_logged(self.path)
        names = table.schema.column_names
        kinds = {known.name: known for known in table.schema.fields}
        arrow = [
            arrow_field(name, kinds[name].type, nullable=kinds[name].nullable) for name in names
        ]
        there = set(rows.column_names)
        complete = pa.table(
            [
                rows[known.name] if known.name in there else pa.nulls(len(rows), known.type)
                for known in arrow
            ],
            schema=pa.schema(arrow),
        )
        table.upsert(complete)
        try:
            table.compact(full=False)
            table.expire_snapshots()
        except TableStoreError as error:
            _log.warning("%s keeps its files as they are: %s", self.path, error)


@dataclass(slots=True)
class HeldLetters:
    """Records that are not committed yet."""

    target: DeadLetters
    held: list[pa.Table] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, columns: Mapping[str, pa.Array]) -> None:
        """Take records; many are committed at once.

        Raises:
            TableStoreError: the table does not take them.
        """
        fields = [arrow_field(one.name, one.type) for one in self.target.columns.fields()]
        arrays = [columns[one.name].cast(one.type) for one in fields]
        rows = pa.table(arrays, schema=pa.schema(fields))
        self.held.append(rows)
        self.size_bytes += rows.nbytes
        if self.size_bytes >= _HELD_BYTES_MAX:
            self.commit()

    def commit(self) -> None:
        """Commit what is held; without anything, nothing happens.

        Raises:
            TableStoreError: the table does not take it.
        """
        if self.held:
            self.target.write(pa.concat_tables(self.held))
            self.held, self.size_bytes = [], 0
