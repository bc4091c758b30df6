"""Ranges of the key for tasks that write one bucket in parallel in a large INSERT.

In a table with key each bucket has one writer, so a table of few buckets would leave cores idle.
Therefore the rows of a bucket are cut at bounds on the key, which come from a sample: the tasks
then write sorted runs with disjoint keys, which are read like a single run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from table_store.catalog.names.identifier import quoted
from table_store.storage.file_store.model.key_range import range_columns
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.types import (
    BINARY,
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    DataType,
    DecimalType,
)

PART_BYTES_MIN: Final = 32 << 20
"""The least that a task should write; smaller files would only be compacted sooner."""

_SAMPLE_ROWS: Final = 20_000
_SAMPLE_ROWS_MIN: Final = 8
_SAMPLE_ROWS_ENOUGH: Final = 500
_SAMPLED_PARTITIONS: Final = 16
_ROW_BYTES: Final = 20
# Values of other types than these and decimals change if Python collects them and makes literals.
_CUT_BY: Final = (BYTE, SHORT, INTEGER, LONG, STRING, BINARY, DATE)


@dataclass(frozen=True, slots=True)
class KeyParts:
    """Ascending bounds, each with a value for every one of `columns`; no bounds are one part."""

    columns: tuple[str, ...] = ()
    bounds: tuple[tuple[Any, ...], ...] = ()

    @property
    def count(self) -> int:
        """How many parts a bucket has."""
        return len(self.bounds) + 1

    def number(self, types: dict[str, DataType]) -> Column:
        """A row's part, counted from 0: equal keys share a part, greater keys never precede it."""
        number = F.lit(0)
        for bound in self.bounds:
            cut = [_comparable(name, types[name]) for name in self.columns]
            number = number + F.when(_reaches(cut, bound), 1).otherwise(0)
        return number


def cut_by_key(
    rows: DataFrame, schema: TableSchema, query: Any, *, buckets: int, parallelism: int
) -> tuple[DataFrame, KeyParts]:
    """The rows, and bounds that cut each bucket into about equal parts, so that every core has one.

    Costs a job that reads the key columns of `rows`; small inputs skip it. The query's shuffles
    and broadcasts are not computed twice: the sample and the returned rows both read their
    results. `query` is the JVM's `WriteQuery`.
    """
    wanted = -(-parallelism // buckets)
    part_bytes = buckets * PART_BYTES_MIN
    columns = () if schema.partition_keys else _cut_columns(schema)
    if wanted < 2 or not columns or query.repeatableBytes() < 2 * part_bytes:
        return rows, KeyParts()
    staged = DataFrame(query.staged(rows._jdf), rows.sparkSession)
    read_bytes = query.readBytes(rows._jdf)
    count = min(wanted, read_bytes // part_bytes)
    if count < 2:
        return staged, KeyParts()
    types = {field.name: field.type for field in schema.fields}
    keys = staged.select(*[_comparable(name, types[name]) for name in columns])
    return staged, KeyParts(columns, _quantiles(_sample(keys, query, read_bytes), count))


def _sample(keys: DataFrame, query: Any, read_bytes: int) -> list[tuple[Any, ...]]:
    """A sample of the keys; empty if a condition has left so few that one writer is enough.

    It is taken from evenly spaced partitions, because the rows may be in the order of the key.
    """
    step = max(1, query.partitionCount(keys._jdf) // _SAMPLED_PARTITIONS)
    if step > 1:
        keys = DataFrame(query.everyNth(keys._jdf, step), keys.sparkSession)
    fraction = min(1.0, _SAMPLE_ROWS * _ROW_BYTES * step / read_bytes)
    sample = keys.dropna().sample(fraction, seed=1).collect()
    if len(sample) < _SAMPLE_ROWS_MIN:
        return []
    if len(sample) < _SAMPLE_ROWS_ENOUGH and fraction < 1:  # the rows are wider than estimated
        fraction = min(1.0, 2 * fraction * _SAMPLE_ROWS_ENOUGH / len(sample))
        sample = keys.dropna().sample(fraction, seed=1).collect()
    return [tuple(row) for row in sample]


def _cut_columns(schema: TableSchema) -> tuple[str, ...]:
    """The leading key columns whose types can be cut by bounds."""
    names: list[str] = []
    for name in range_columns(schema):
        kind = schema.field_named(name).type
        if kind not in _CUT_BY and not isinstance(kind, DecimalType):
            break
        names.append(name)
    return tuple(names)


def _quantiles(sample: Sequence[tuple[Any, ...]], count: int) -> tuple[tuple[Any, ...], ...]:
    ordered = sorted(sample)
    bounds: list[tuple[Any, ...]] = []
    for part in range(1, count if ordered else 0):
        bound = ordered[len(ordered) * part // count]
        if bound > (bounds[-1] if bounds else ordered[0]):
            bounds.append(bound)
    return tuple(bounds)


def _comparable(name: str, kind: DataType) -> Column:
    """The column as it is compared: text by its bytes, whatever its collation; dates as numbers.

    Python's dates do not cover all of Spark's.
    """
    column = F.col(quoted(name))
    if kind == DATE:
        return F.unix_date(column)
    return column.cast("binary") if kind == STRING else column


def _reaches(columns: Sequence[Column], bound: Sequence[Any]) -> Column:
    column, value = columns[0], F.lit(bound[0])
    if len(bound) == 1:
        return column >= value
    return (column > value) | ((column == value) & _reaches(columns[1:], bound[1:]))
