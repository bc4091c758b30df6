"""Ranges of the key that are merged one after the other, so that a merge fits into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.data_file_reader import DataFileReader
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.kernel.types import to_arrow
from table_store.storage.kernel.values import Value

# A merge holds its rows, their order and the answer at once; this many keep a worker of
# ordinary rows well below one GiB.
MERGE_ROWS_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class MergeSlice:
    """Files, oldest run first, and which of their rows belong to the slice (None: all)."""

    files: tuple[DataFile, ...]
    where: pc.Expression | None


def merge_slices(
    reader: DataFileReader,
    schema: TableSchema,
    runs: Sequence[Sequence[DataFile]],
    *,
    key_from: Value = None,
    key_to: Value = None,
    rows_max: int = MERGE_ROWS_MAX,
) -> Iterator[MergeSlice]:
    """Yield slices of about `rows_max` rows, ascending by the first key column.

    The bounds are quantiles of the largest run's first key column, so rows of one key are in
    one slice. `key_from` (inclusive) and `key_to` (exclusive) bound the whole.
    """
    files = tuple(file for run in runs for file in run)
    pieces = -(-sum(file.row_count for file in files) // rows_max)
    bounds: list[Value] = []
    if pieces > 1:
        first = schema.primary_key[0]
        largest = max(runs, key=lambda run: sum(file.row_count for file in run))
        within = key_range(schema, key_from, key_to)
        keys = pa.concat_tables([reader.read_table(f, [first], where=within) for f in largest])
        at = np.linspace(0, keys.num_rows, pieces + 1).astype(np.int64)[1:-1]
        if keys.num_rows:
            bounds = list(dict.fromkeys(keys[first].take(pa.array(at)).to_pylist()))
    for start, end in zip([key_from, *bounds], [*bounds, key_to], strict=True):
        yield MergeSlice(files, key_range(schema, start, end))


def key_range(schema: TableSchema, start: Value, end: Value) -> pc.Expression | None:
    """The condition start <= first key column < end; None is no bound."""
    first = schema.key_fields[0]
    kind = to_arrow(first.type)
    low = None if start is None else pc.field(first.name) >= pa.scalar(start, kind)
    high = None if end is None else pc.field(first.name) < pa.scalar(end, kind)
    if low is None or high is None:
        return high if low is None else low
    return low & high
