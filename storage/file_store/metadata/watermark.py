"""The watermark: the event time up to which a table's rows have arrived (seeds 000, 002).

`WATERMARK FOR column AS expression` says how the watermark follows from a row. The expressions that
Flink documents (docs/dev/table/sql/create, "WATERMARK") are the column itself and the column less a
fixed interval. Both rise with the column, so the greatest upper bound of the files that a commit
adds gives the watermark of all its rows. With any other expression there is no watermark here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.metadata.manifest_entry import WATERMARK_ENTRY, FileKind
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from table_store.storage.kernel.values import Value, order_key, python_values

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

    It is None if the table has no watermark, or none of the expressions above, or if no row has
    a time. A TIMESTAMP_NTZ or DATE counts as one of UTC.
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

    The values are whole numbers, for `watermark_at`. `entries` are those of a manifest.
    """
    field = _timed_field(schema)
    if field is None or f"max_{field.id}" not in entries.column_names:
        return None
    bounds = entries[f"max_{field.id}"]
    return pc.cast(pc.cast(bounds, pa.int32()) if field.type == DATE else bounds, pa.int64())


def watermark_at(schema: TableSchema, greatest: int | None) -> int | None:
    """Return the watermark, in milliseconds, of rows whose greatest value is `greatest`."""
    field = _timed_field(schema)
    return None if field is None or greatest is None else _watermark_ms(schema, field, greatest)


def with_carried(schema: TableSchema, entries: pa.Table) -> pa.Table:
    """Return a commit's entries, changed so that no partition's watermark goes back.

    An added file gets the watermark of the files that the commit deletes from its partition, if
    that is greater than the watermark of its own rows. Without deletions nothing is changed.
    """
    if _timed_field(schema) is None or not pc.any(_is_deletion(entries)).as_py():
        return entries
    keys = [python_values(entries[f"partition_{i}"]) for i in range(len(schema.partition_keys))]
    partitions = list(zip(*keys, strict=True)) if keys else [()] * entries.num_rows
    own = _watermarks(schema, entries)
    deleted = _is_deletion(entries).to_pylist()
    greatest: dict[tuple[Value, ...], int] = {}
    for partition, time_ms, is_deleted in zip(partitions, own, deleted, strict=True):
        if is_deleted and time_ms is not None:
            greatest[partition] = max(time_ms, greatest.get(partition, time_ms))
    carried = [greatest.get(partition) for partition in partitions]
    column = pa.array(latest_of(*times) for times in zip(own, carried, strict=True))
    kept = entries.drop_columns([n for n in entries.column_names if n == WATERMARK_ENTRY])
    return kept.append_column(WATERMARK_ENTRY, column.cast(pa.int64()))


def carried_times(entries: pa.Table) -> pa.ChunkedArray:
    """Return the watermark that `with_carried` gave to each file, in milliseconds, or NULL."""
    if WATERMARK_ENTRY in entries.column_names:
        return entries[WATERMARK_ENTRY]
    return pa.chunked_array([pa.nulls(entries.num_rows, pa.int64())])


def latest_of(*times_ms: int | None) -> int | None:
    """Return the greatest of several watermarks; None if none is known."""
    return max((time for time in times_ms if time is not None), default=None)


def has_watermark(schema: TableSchema) -> bool:
    """Whether the watermark follows from the rows."""
    return _timed_field(schema) is not None


def is_wall_time(schema: TableSchema) -> bool:
    """Whether the watermark's column has no time zone, so that it is shown without one."""
    field = _timed_field(schema)
    return field is not None and field.type != TIMESTAMP


def delay_us(column: str, expression: StoredExpression) -> int | None:
    """Return by how much an expression lies behind its column; None if that is not fixed."""
    found = _LESS_INTERVAL.fullmatch(expression.text.strip())
    named = expression.text if found is None else found["column"]
    if named.strip().strip("`").casefold() != column.casefold():
        return None
    return 0 if found is None else _interval_us(found["interval"])


def _interval_us(text: str) -> int | None:
    # Intervals look like `'5' SECOND`, `5 SECONDS`, `'5 seconds'` or `1 HOUR 30 MINUTES`.
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


def _is_deletion(entries: pa.Table) -> pa.ChunkedArray:
    return pc.equal(entries["kind"], FileKind.DELETE.value)


def _watermarks(schema: TableSchema, entries: pa.Table) -> list[int | None]:
    """Return the watermark of each file, in milliseconds, with the one it was given."""
    times = greatest_times(schema, entries)
    rows = [None] * entries.num_rows if times is None else times.to_pylist()
    carried = carried_times(entries).to_pylist()
    return [latest_of(watermark_at(schema, r), c) for r, c in zip(rows, carried, strict=True)]


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
