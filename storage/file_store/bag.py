"""Bags of rows: in a table without key a delete takes away one row that equals it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.key_order import IntArray

KindArray = np.ndarray


def surviving(rows: pa.Table, kinds: KindArray) -> IntArray:
    """Return the positions of the adds that no delete takes away, ascending.

    Counts are summed per distinct row, so the order of adds and deletes means nothing; more
    deletes than adds of a row leave none of it.
    """
    positions, left = net(rows, kinds)
    return positions[left == 0]


def net(rows: pa.Table, kinds: KindArray) -> tuple[IntArray, KindArray]:
    """Return the positions and kinds of the rows that stay when adds and deletes cancel out.

    Of a row with more adds than deletes the first adds are cancelled; with more deletes, the
    first deletes.
    """
    everything = np.arange(rows.num_rows)
    if not kinds.any():
        return everything, kinds
    groups = row_groups(rows)
    is_delete = kinds != 0
    count = int(groups.max()) + 1
    adds = np.bincount(groups[~is_delete], minlength=count)
    deletes = np.bincount(groups[is_delete], minlength=count)
    cancelled = np.minimum(adds, deletes)
    keep = np.ones(rows.num_rows, np.bool_)
    for side in (~is_delete, is_delete):
        at = everything[side]
        keep[at] = _rank_in_group(groups[at]) >= cancelled[groups[at]]
    return everything[keep], kinds[keep]


def row_groups(rows: pa.Table) -> IntArray:
    """Return a number per row, the same for rows equal in every column (null equals null)."""
    groups = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        codes = _codes(column.combine_chunks())
        _, groups = np.unique(groups * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return groups


def _rank_in_group(groups: IntArray) -> IntArray:
    """How many rows of the same group come before each row."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return ranks


def _codes(column: pa.Array | pa.ChunkedArray) -> IntArray:
    """A number per value, equal for equal values; null has its own."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_struct(kind):
        return _null_apart(column, _struct_codes(column))
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _null_apart(column, _list_codes(column))
    if pa.types.is_floating(kind):
        # -0.0 equals 0.0 and NaN equals NaN, as Spark groups them.
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), kind), pc.add(column, 0.0))
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64)


def _null_apart(column: pa.Array, codes: IntArray) -> IntArray:
    if not column.null_count:
        return codes
    return np.where(
        column.is_null().to_numpy(zero_copy_only=False), codes.max(initial=0) + 1, codes
    )


def _struct_codes(column: pa.Array) -> IntArray:
    groups = np.zeros(len(column), np.int64)
    for child in column.flatten():
        codes = _codes(child)
        _, groups = np.unique(groups * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return groups


def _list_codes(column: pa.Array) -> IntArray:
    """Each list as the bytes of its elements' codes, and those numbered."""
    if pa.types.is_map(column.type):
        column = column.cast(pa.list_(pa.struct([column.type.key_field, column.type.item_field])))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    elements = _codes(column.flatten()).astype("<i8")
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) * 8
    packed = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(column),
        [None, pa.py_buffer(offsets), pa.py_buffer(elements.tobytes())],
    )
    encoded = pc.dictionary_encode(packed)
    return encoded.indices.to_numpy().astype(np.int64)
