"""Rows in pieces: texts and binary values of one array take at most 2 GiB, by their offsets.

Sizes are those of the plain types: a dictionary counts with its values written out, and a view
with the bytes that it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.arrays import IntArray

PIECE_BYTES_MAX: Final = 256 << 20
"""Greatest size of a piece of more than one row. Conversions hold a piece a few times; smaller
pieces make smaller arrays, which take more time for each row."""

_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)


def in_pieces(rows: _Rows, bytes_max: int = PIECE_BYTES_MAX) -> Iterator[_Rows]:
    """Yield the rows in slices of at most `bytes_max`, or of one row; nothing is copied."""
    if rows.num_rows < 2 or plain_bytes(rows) <= bytes_max:
        yield rows
        return
    middle = rows.num_rows // 2
    yield from in_pieces(rows.slice(0, middle), bytes_max)
    yield from in_pieces(rows.slice(middle), bytes_max)


def plain_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """Return about how much memory the rows take in plain types, without what slices hide."""
    return sum(
        _bytes(chunk)
        for column in rows.columns
        for chunk in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    )


def take_values(
    column: pa.ChunkedArray, positions: IntArray | pa.Array, bytes_max: int = PIECE_BYTES_MAX
) -> pa.ChunkedArray:
    """Return the values at positions, NULL at a position that is NULL.

    It is one array where that has no more than `bytes_max`, and else several: `pyarrow`'s own
    `take` first makes one array of all chunks, and fails beyond 2 GiB.
    """
    at = positions if isinstance(positions, pa.Array) else pa.array(positions, pa.int64())
    size = sum(chunk.nbytes for chunk in column.chunks)
    mean_bytes = size // max(1, len(column)) + 1
    if size <= bytes_max and mean_bytes * len(at) <= bytes_max:
        whole = column.combine_chunks()
        taken = whole.take(at)
        return taken if isinstance(taken, pa.ChunkedArray) else pa.chunked_array([taken])
    chunks = [*(chunk for chunk in column.chunks if len(chunk)), pa.nulls(1, column.type)]
    ends = np.cumsum([len(chunk) for chunk in chunks])
    places = pc.fill_null(at.cast(pa.int64()), len(column)).to_numpy()
    count = max(1, bytes_max // mean_bytes)
    parts = [
        part
        for start in range(0, len(places), count)
        for part in _gathered(chunks, ends, places[start : start + count], bytes_max)
    ]
    return pa.chunked_array(parts, column.type)


def _gathered(
    chunks: list[pa.Array], ends: IntArray, places: IntArray, bytes_max: int
) -> list[pa.Array]:
    """Return the values at places in the chunks, in halves if they are larger than the mean."""
    sources = np.searchsorted(ends, places, side="right")
    used, starts = np.unique(np.sort(sources), return_index=True)
    order = np.argsort(sources, kind="stable")
    try:
        parts = []
        for source, some in zip(used, np.split(order, starts[1:]), strict=True):
            first = ends[source] - len(chunks[source])
            parts.append(chunks[source].take(pa.array(places[some] - first)))
        if len(places) > 1 and sum(part.nbytes for part in parts) > 4 * bytes_max:
            raise pa.ArrowInvalid("too large")
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    except pa.ArrowInvalid:
        if len(places) < 2:
            raise
        middle = len(places) // 2
        return [
            piece
            for half in (places[:middle], places[middle:])
            for piece in _gathered(chunks, ends, half, bytes_max)
        ]
    if len(parts) == 1:
        return [whole]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return [whole.take(pa.array(back))]


def _bytes(values: pa.Array) -> int:
    kind = values.type
    if not len(values):
        return 0
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _encoded_bytes(values)
    if kind in (pa.string_view(), pa.binary_view()):
        return _view_bytes(values)
    if isinstance(kind, pa.BaseExtensionType):
        return _bytes(values.storage)
    if pa.types.is_struct(kind):
        return sum(_bytes(child) for child in values.flatten())
    if pa.types.is_map(kind):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        parts = (values.keys, values.items)
        return sum(_bytes(part.slice(first, last - first)) for part in parts)
    if _is_list(kind):
        return 8 * len(values) + _bytes(values.flatten())
    return int(values.nbytes)


def _is_list(kind: pa.DataType) -> bool:
    layouts = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(bool(getattr(pa.types, f"is_{layout}")(kind)) for layout in layouts)


def _view_bytes(values: pa.Array) -> int:
    """Return the sum of lengths, which are the first 4 of the 16 bytes of each view."""
    views = values.buffers()[1]
    lengths = np.frombuffer(views, np.int32)[4 * values.offset :][: 4 * len(values) : 4]
    if values.null_count:
        lengths = lengths[values.is_valid().to_numpy(zero_copy_only=False)]
    return 4 * len(values) + int(lengths.sum(dtype=np.int64))


def _encoded_bytes(values: pa.Array) -> int:
    """Return the size of a column whose values are written out; each counts as the greatest."""
    distinct = values.dictionary if pa.types.is_dictionary(values.type) else values.values
    count = int(len(values) - values.null_count)
    kind = distinct.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        lengths = pc.binary_length(distinct)
        if pa.types.is_dictionary(values.type):
            written = pc.sum(lengths.take(values.indices.drop_null()).cast(pa.int64())).as_py()
            return 4 * len(values) + int(written or 0)
        return count * (4 + int(pc.max(lengths).as_py() or 0))
    if kind in (pa.string_view(), pa.binary_view()):
        views = np.frombuffer(distinct.buffers()[1], np.int32)[4 * distinct.offset :: 4]
        lengths = views[: len(distinct)].astype(np.int64)
        if pa.types.is_dictionary(values.type):
            return 4 * len(values) + int(lengths[values.indices.drop_null().to_numpy()].sum())
        return count * (4 + int(lengths.max(initial=0)))
    return count * (_bytes(distinct) // max(1, len(distinct)) + 1)
