"""The watermark: up to which time of events a table's rows were written (seeds 000, 002).

`WATERMARK FOR column AS expression` says which time a row stands for. The expressions that Flink
documents (docs/dev/table/sql/create, "WATERMARK") are the column itself and the column less a
fixed interval. Both rise with the column, so that the greatest value in the bounds of the files
that a commit adds tells the greatest of all its rows. Other expressions say nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.data_file import CommitMessage
from table_store.storage.file_store.schema import Field, TableSchema
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from table_store.storage.kernel.values import order_key

_SECOND_US: Final = 1_000_000
_DAY_US: Final = 86_400 * _SECOND_US
_UNIT_US: Final[Mapping[str, int]] = FrozenMap(
    {
        "MICROSECOND": 1,
        "MILLISECOND": 1000,
        "SECOND": _SECOND_US,
        "MINUTE": 60 * _SECOND_US,
        "HOUR": 3600 * _SECOND_US,
        "DAY": _DAY_US,
        "WEEK": 7 * _DAY_US,
    }
)
_LESS_INTERVAL: Final = re.compile(r"(?P<column>.+?)\s*-\s*INTERVAL\b(?P<interval>.+)", re.I | re.S)
_PART: Final = re.compile(r"\s*(\d+)(?:\.(\d{1,9}))?\s*([A-Z]+?)S?(?=\s|$)", re.I)


def watermark_of(schema: TableSchema, messages: Iterable[CommitMessage]) -> int | None:
    """Return the watermark of the rows that the messages add, in milliseconds since 1970.

    None where the table has none, its expression is another than those above, or no row has a
    time. A TIMESTAMP_NTZ or DATE counts as one of UTC.
    """
    field = _timed_field(schema)
    if field is None:
        return None
    bounds = (file.stats.get(field.id) for message in messages for file in message.added)
    greatest = [order_key((found.max,))[0] for found in bounds if found and found.max is not None]
    times = [time for time in greatest if isinstance(time, int)]
    return _watermark_ms(schema, field, max(times)) if times else None


def greatest_times(schema: TableSchema, entries: pa.Table) -> pa.ChunkedArray | None:
    """Return the greatest value of the watermark's column in each file; None without a watermark.

    As whole numbers, for `watermark_at`. `entries` are those of a manifest.
    """
    field = _timed_field(schema)
    if field is None or f"max_{field.id}" not in entries.column_names:
        return None
    bounds = entries[f"max_{field.id}"]
    return pc.cast(pc.cast(bounds, pa.int32()) if field.type == DATE else bounds, pa.int64())


def watermark_at(schema: TableSchema, greatest: int | None) -> int | None:
    """Return the watermark of rows of which this is the greatest value, in milliseconds."""
    field = _timed_field(schema)
    return None if field is None or greatest is None else _watermark_ms(schema, field, greatest)


def is_wall_time(schema: TableSchema) -> bool:
    """Whether the watermark is of a column without time zone, and shown in none."""
    field = _timed_field(schema)
    return field is not None and field.type != TIMESTAMP


def delay_us(column: str, expression: str) -> int | None:
    """Return by how much an expression lies behind its column; None if that is not fixed."""
    found = _LESS_INTERVAL.fullmatch(expression.strip())
    named = expression if found is None else found["column"]
    if named.strip().strip("`").casefold() != column.casefold():
        return None
    return 0 if found is None else _interval_us(found["interval"])


def _interval_us(text: str) -> int | None:
    # As `'5' SECOND`, `5 SECONDS`, `'5 seconds'` or `1 HOUR 30 MINUTES`.
    text, total, at = text.replace("'", " ").strip(), 0, 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or part[3].upper() not in _UNIT_US:
            return None
        unit = _UNIT_US[part[3].upper()]
        fraction = part[2] or ""
        total += int(part[1]) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        at = part.end()
    return total


def _timed_field(schema: TableSchema) -> Field | None:
    if schema.watermark is None or delay_us(*schema.watermark) is None:
        return None
    field = schema.field_named(schema.watermark[0])
    return field if field.type in (TIMESTAMP, TIMESTAMP_NTZ, DATE) else None


def _watermark_ms(schema: TableSchema, field: Field, greatest: int) -> int | None:
    assert schema.watermark is not None
    delay = delay_us(*schema.watermark)
    if delay is None:
        return None
    return (greatest * (_DAY_US if field.type == DATE else 1) - delay) // 1000
