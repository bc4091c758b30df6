"""Record batches that may have no columns: their length is all that COUNT(*) needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

BATCH_ROWS: Final = 1 << 16
"""Most rows of a batch that readers yield; a merge holds at least one batch of each of its runs."""


def batch_of(columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
    """Return `count` rows, which may have no columns: a struct without fields has a length."""
    if columns:
        return pa.RecordBatch.from_pydict(dict(columns))
    empty = pa.StructArray.from_buffers(pa.struct([]), count, [None])
    return pa.RecordBatch.from_struct_array(empty)


def lengths(count: int) -> Iterator[pa.RecordBatch]:
    """Yield batches that have `count` rows together, and no columns."""
    for start in range(0, count, BATCH_ROWS):
        yield batch_of({}, min(BATCH_ROWS, count - start))
