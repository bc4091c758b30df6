"""Bags of rows: in a table without key a delete removes one row that equals it.

Equal means equal in every column: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0; maps are
compared entry by entry in their order, variants by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.bucket import spark_hash
from table_store.storage.kernel.arrays import IntArray, Mask
from table_store.storage.kernel.nested_array import map_entries
from table_store.storage.kernel.whole_array import whole_array

KindArray: TypeAlias = npt.NDArray[np.int8]


class Deletions:
    """Deleted rows, each as often as it was deleted, and which added rows they remove.

    Counts are summed for each distinct row, so the order of adds and deletes does not matter. An
    added row that nothing deletes costs about 50 ns per column, because only rows whose hash
    occurs among the deletions are compared.
    """

    def __init__(self, rows: pa.Table, hashed: Sequence[str]) -> None:
        """Take the deleted rows; `hashed` are columns whose values `spark_hash` knows."""
        self._rows = rows
        self._hashed = tuple(hashed)
        self._hashes = np.unique(row_hashes(rows, self._hashed))
        self._groups = equality_groups(rows)
        _, first, counts = np.unique(self._groups, return_index=True, return_counts=True)
        self._distinct = rows.take(pa.array(first))
        self._left: IntArray = counts

    def surviving(self, adds: pa.Table) -> IntArray:
        """Return the positions of the added rows that stay, ascending.

        Each of the others uses up one deletion.
        """
        everything = np.arange(adds.num_rows)
        if not self._left.any():
            return everything
        candidates = np.flatnonzero(are_among(row_hashes(adds, self._hashed), self._hashes))
        if not len(candidates):
            return everything
        count = self._distinct.num_rows
        groups = equality_groups(
            pa.concat_tables([self._distinct, adds.take(pa.array(candidates))])
        )
        distinct_of = np.full(int(groups.max()) + 1, -1)
        distinct_of[groups[:count]] = np.arange(count)
        matched = distinct_of[groups[count:]]
        candidates, matched = candidates[matched >= 0], matched[matched >= 0]
        is_taken = _rank_in_group(matched) < self._left[matched]
        self._left = self._left - np.bincount(matched[is_taken], minlength=count)
        stays: Mask = np.ones(adds.num_rows, np.bool_)
        stays[candidates[is_taken]] = False
        return everything[stays]

    def unused(self) -> IntArray:
        """Return positions of the deleted rows that have removed no added row so far."""
        return np.flatnonzero(_rank_in_group(self._groups) < self._left[self._groups])


def row_hashes(rows: pa.Table, columns: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Return a hash for each row, the same for equal rows."""
    return spark_hash([rows[name] for name in columns], rows.num_rows)


def are_among(hashes: npt.NDArray[np.uint32], known: npt.NDArray[np.uint32]) -> Mask:
    """Return whether each hash is among the known ones, which ascend and are not empty."""
    at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    is_known: Mask = known[at] == hashes
    return is_known


def equality_groups(rows: pa.Table) -> IntArray:
    """Return a number for each row, the same for rows equal in every column, NULLs included."""
    return _combined([_codes(column) for column in rows.columns], rows.num_rows)


def equal_rows(left: pa.Table, right: pa.Table) -> Mask:
    """Return for each row whether the other table has an equal row at the same position."""
    is_equal: Mask = np.ones(left.num_rows, np.bool_)
    for one, other in zip(left.columns, right.columns, strict=True):
        if pa.types.is_nested(one.type):
            codes = _codes(pa.chunked_array([*one.chunks, *other.chunks], one.type))
            is_equal &= codes[: len(one)] == codes[len(one) :]
            continue
        same = pc.equal(one, other)
        if pa.types.is_floating(one.type):
            same = pc.or_(same, pc.and_(pc.is_nan(one), pc.is_nan(other)))
        both_null = pc.and_(pc.is_null(one), pc.is_null(other))
        is_equal &= pc.or_(pc.fill_null(same, False), both_null).to_numpy()
    return is_equal


def _rank_in_group(groups: IntArray) -> IntArray:
    """Return for each row how many rows of its group come before it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(starts, append=len(ordered))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return ranks


def _codes(column: pa.Array | pa.ChunkedArray) -> IntArray:
    """Return a number for each value, the same for equal values; NULL has one of its own."""
    column = whole_array(column)
    kind = column.type
    if pa.types.is_struct(kind):
        return _null_apart(column, _struct_codes(column))
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _null_apart(column, _list_codes(column))
    if pa.types.is_floating(kind):
        # -0.0 equals 0.0 and NaN equals NaN, as Spark groups them.
        zero = pa.scalar(0.0, kind)
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), kind), pc.add(column, zero))
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    codes: IntArray = encoded.indices.to_numpy().astype(np.int64)
    return codes


def _null_apart(column: pa.Array, codes: IntArray) -> IntArray:
    if not column.null_count:
        return codes
    return np.where(
        column.is_null().to_numpy(zero_copy_only=False), codes.max(initial=0) + 1, codes
    )


def _struct_codes(column: pa.Array) -> IntArray:
    return _combined([_codes(child) for child in column.flatten()], len(column))


def _combined(columns: Sequence[IntArray], length: int) -> IntArray:
    """Number the distinct combinations; numbers are dense, so that no product overflows."""
    groups: IntArray = np.zeros(length, np.int64)
    for codes in columns:
        paired = groups * (int(codes.max(initial=0)) + 1) + codes
        _, groups = np.unique(paired, return_inverse=True)
    return groups


def _list_codes(column: pa.Array) -> IntArray:
    """Return a number for each list: of the bytes that the codes of its elements make up."""
    if pa.types.is_map(column.type):
        column = map_entries(column)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    elements = _codes(column.flatten()).astype("<i8")
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) * 8
    packed = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(column),
        [None, pa.py_buffer(offsets), pa.py_buffer(elements.tobytes())],
    )
    encoded = pc.dictionary_encode(packed)
    codes: IntArray = encoded.indices.to_numpy().astype(np.int64)
    return codes
