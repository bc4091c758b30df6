"""Where the chunks of a database's table end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from table_store.catalog.connectors.mysql.mysql_connection import Connection
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition
from table_store.catalog.connectors.mysql.mysql_rows import Chunk
from table_store.catalog.connectors.mysql.mysql_table import DatabaseTable
from table_store.catalog.connectors.mysql.mysql_types import (
    DatabaseColumn,
    Family,
    key_value,
    quoted_name,
)

_CHUNKS_MAX: Final = 10_000


def chunks(
    connection: Connection, definition: MysqlDefinition, table: DatabaseTable
) -> tuple[Chunk, ...]:
    """Return chunks that have each row of a table once, whatever comes meanwhile.

    They are ranges of the first column of the primary key: of whole numbers equal ones, which costs
    a look at the least and the greatest; of others with about as many rows each, for which the
    database walks through the key.
    """
    key = table.columns[table.key[0]]
    of, name = table.schema_name, table.table_name
    place = f"{quoted_name(of)}.{quoted_name(name)}"
    wanted = max(1, definition.chunk_rows)
    if key.family is Family.WHOLE:
        ends = _equal_ends(connection, place, key, -(-table.rows // wanted))
    else:
        ends = list(_walked_ends(connection, place, key, wanted))
    return tuple(
        Chunk(of, name, after, up_to)
        for after, up_to in zip([None, *ends], [*ends, None], strict=True)
    )


def _equal_ends(
    connection: Connection, place: str, key: DatabaseColumn, count: int
) -> list[str | None]:
    name = quoted_name(key.name)
    ((least, greatest),) = connection.texts(f"SELECT min({name}), max({name}) FROM {place}")
    if not least or count < 2:
        return []
    first, last = int(least), int(greatest)
    step = max(1, -(-(last - first + 1) // min(count, _CHUNKS_MAX)))
    return [str(end) for end in range(first + step - 1, last, step)]


def _walked_ends(
    connection: Connection, place: str, key: DatabaseColumn, rows: int
) -> Iterator[str | None]:
    name = quoted_name(key.name)
    after: bytes | None = None
    while True:
        where, values = ("", []) if after is None else (f"WHERE {name} > %s ", [after])
        found = connection.rows(
            f"SELECT {name} FROM {place} {where}ORDER BY {name} LIMIT 1 OFFSET {rows - 1:d}",
            [key_value(key, value) for value in values],
        )
        if not found:
            return
        after = found[0][0]
        yield found[0][0].decode("utf-8", "surrogateescape")
