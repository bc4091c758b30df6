"""Which files belong together by partition or bucket, for all files of a table at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.model.schema import TableSchema

Integers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


def partition_numbers(entries: pa.Table, schema: TableSchema) -> Integers:
    """Return a number per file, from 0 and dense, that files of one partition share."""
    return _numbers(entries, _partition_columns(schema))


def bucket_numbers(entries: pa.Table, schema: TableSchema) -> Integers:
    """Return a number per file, from 0 and dense, that files of one bucket share."""
    return _numbers(entries, [*_partition_columns(schema), "bucket"])


def _partition_columns(schema: TableSchema) -> list[str]:
    return [f"partition_{i}" for i in range(len(schema.partition_keys))]


def _numbers(entries: pa.Table, columns: Sequence[str]) -> Integers:
    numbers = np.zeros(entries.num_rows, dtype=np.int64)
    for name in columns:
        codes = entries[name].combine_chunks().dictionary_encode(null_encoding="encode")
        indices = codes.indices.to_numpy().astype(np.int64)
        combined = numbers * max(1, len(codes.dictionary)) + indices
        # Dense again, so that the product of many columns cannot overflow.
        _, numbers = np.unique(combined, return_inverse=True)
    return numbers.astype(np.int64)
