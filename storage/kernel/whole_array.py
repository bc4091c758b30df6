"""A column in one piece, where an algorithm needs to see all of its values at once."""

from __future__ import annotations

import pyarrow as pa


def whole_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the column as one array; copies it where it has several chunks.

    Raises:
        pyarrow.ArrowInvalid: its strings take more than the 2 GiB that 32-bit offsets reach.
    """
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
