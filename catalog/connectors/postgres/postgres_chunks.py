"""Chunks of a database's table: ranges of the first column of its primary key.

So no key is in two of them, even if its row is written while they are read one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.postgres.postgres_connection import (
    Connection,
    literal,
    quoted_name,
)
from table_store.catalog.connectors.postgres.postgres_definition import PostgresDefinition
from table_store.catalog.connectors.postgres.postgres_table import DatabaseTable
from table_store.catalog.connectors.postgres.postgres_types import DatabaseColumn, Family

_CHUNKS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows whose first column of the key is in a range.

    Attributes:
        key: the name of this column.
        after: it is greater than this, as text; None: the first chunk.
        up_to: and at most this; None: the last chunk.
        limit: how many of them are enough; None: all are wanted.
    """

    key: str
    after: str | None = None
    up_to: str | None = None
    limit: int | None = None

    def to_bytes(self) -> bytes:
        """Return what a worker gets; `from_bytes` is the inverse."""
        return json.dumps([self.key, self.after, self.up_to, self.limit]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Chunk:
        """Return the chunk that `to_bytes` has written."""
        return cls(*json.loads(data))

    @property
    def condition(self) -> str:
        """SQL for the rest of a SELECT."""
        sides = [
            f"{quoted_name(self.key)} {sign} {literal(text)}"
            for sign, text in ((">", self.after), ("<=", self.up_to))
            if text is not None
        ]
        where = f" WHERE {' AND '.join(sides)}" if sides else ""
        return where + ("" if self.limit is None else f" LIMIT {self.limit:d}")


def chunks(
    connection: Connection, definition: PostgresDefinition, table: DatabaseTable
) -> tuple[Chunk, ...]:
    """Return chunks that have each row of a table once, whatever comes meanwhile.

    Ranges of whole numbers are equal ones, which costs a look at the least and the greatest; others
    have about as many rows each, for which the database walks through the key.
    """
    key = table.columns[table.key[0]]
    place = f"{quoted_name(definition.schema_name)}.{quoted_name(definition.table_name)}"
    wanted = max(1, definition.chunk_rows)
    if key.family is Family.WHOLE:
        ends = _equal_ends(connection, place, key, -(-table.rows // wanted))
    else:
        ends = list(_walked_ends(connection, place, key, wanted))
    ranges = zip([None, *ends], [*ends, None], strict=True)
    return tuple(Chunk(key.name, after, up_to) for after, up_to in ranges)


def _equal_ends(
    connection: Connection, place: str, key: DatabaseColumn, count: int
) -> list[str | None]:
    name = quoted_name(key.name)
    ((first, last),) = connection.rows(f"SELECT min({name}), max({name}) FROM ONLY {place}")
    if first is None or count < 2:
        return []
    step = max(1, -(-(last - first + 1) // min(count, _CHUNKS_MAX)))
    return [str(end) for end in range(first + step - 1, last, step)]


def _walked_ends(
    connection: Connection, place: str, key: DatabaseColumn, rows: int
) -> Iterator[str | None]:
    name = quoted_name(key.name)
    after = Chunk(key.name)
    while True:
        found = connection.rows(
            f"SELECT {name}::text FROM ONLY {place}{after.condition} ORDER BY {name} "
            f"LIMIT 1 OFFSET {rows - 1:d}"
        )
        if not found:
            return
        after = Chunk(key.name, found[0][0])
        yield after.after
