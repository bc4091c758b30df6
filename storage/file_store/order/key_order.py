"""Key columns as integers that numpy sorts fast and stably, in Spark's order.

A column becomes one or more "codes": int64 arrays, most significant first, which compare like
the column's values. Text is cut into words of eight bytes. A later code is computed only for rows
that all earlier codes leave equal, so most sorts touch one code of every row. Rows whose first
words are all equal are ranked by their whole texts, which costs as much as comparing these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.arrays import IntArray, Mask
from table_store.storage.kernel.whole_array import whole_array

Code: TypeAlias = "Callable[[IntArray | None], IntArray]"
"""Returns the code of the rows at some positions; None means all rows."""

_LONG_DIGITS: Final = 18
"""Decimals of up to this many digits fit into the low eight bytes of their 16-byte form."""

_BLOCK_ROWS: Final = 1 << 15
"""Rows handled at a time, so that the intermediate results stay in the processor's cache."""

_WORDS_MAX: Final = 32
"""Most words of a text that become codes; each costs a sort if long texts begin alike."""

_PREFIX_BYTES_MAX: Final = 1024
"""How many first bytes are searched for a prefix that all texts share."""

_PACKED_BITS_MAX: Final = 62
_SIGN_BIT: Final = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """Rows ascending by key.

    `positions` are the rows' positions in the input. `is_last` says for each of them whether it is
    the last row of its key. Rows of one key are in the order of the input, or of the tie breaker.
    """

    positions: IntArray
    is_last: Mask


def order_by_key(
    keys: Sequence[pa.ChunkedArray | pa.Array], *, tie_breaker: IntArray | None = None
) -> KeyOrder:
    """Return the order of the rows by key, then by `tie_breaker`, then by position.

    Runs that are already sorted cost little, because numpy's stable sort is a timsort, which
    recognises them and gallops. Keys hold no NULL.
    """
    return order_by_codes(key_codes(keys), tie_breaker=tie_breaker)


def key_codes(keys: Sequence[pa.ChunkedArray | pa.Array]) -> list[Code]:
    """Return the codes of the rows' keys, most significant first, as few as possible."""
    return _packed([code for key in keys for code in _codes(_whole(key))])


def order_by_codes(codes: Sequence[Code], *, tie_breaker: IntArray | None = None) -> KeyOrder:
    """Return what `order_by_key` returns for keys with these codes."""
    values = codes[0](None)
    order = np.argsort(values, kind="stable")
    starts = _boundaries(values[order])
    for code in codes[1:]:
        order, starts = _refined(order, starts, code)
    is_last = np.empty(len(order), np.bool_)
    is_last[:-1] = starts[1:]
    is_last[-1:] = True
    if tie_breaker is not None and (tie_breaker[1:] < tie_breaker[:-1]).any():
        order, _ = _refined(order, starts, _array_code(tie_breaker))
    return KeyOrder(order, is_last)


def _boundaries(ordered: IntArray) -> Mask:
    """Return whether each row differs from the one before, which the first row always does."""
    starts = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return starts


def _refined(order: IntArray, starts: Mask, code: Code) -> tuple[IntArray, Mask]:
    """Sort the rows of each group of equal ones by one more code."""
    is_tied = ~starts
    is_tied[:-1] |= is_tied[1:]
    places = np.flatnonzero(is_tied)
    if not len(places):
        return order, starts
    is_start = starts[places]
    values = code(order[places])
    # Rows of one key from several runs are equal in every code, so there is seldom much to sort.
    groups = np.cumsum(is_start) - 1
    is_disordered = np.zeros(int(groups[-1]) + 1, np.bool_)
    is_disordered[groups[1:][(values[1:] < values[:-1]) & ~is_start[1:]]] = True
    at = np.flatnonzero(is_disordered[groups])
    if len(at):
        within = at[_by_group(groups[at], values[at])]
        order = order.copy()
        order[places[at]] = order[places[within]]
        values[at] = values[within]
    starts = starts.copy()
    starts[places] |= _boundaries(values)
    return order, starts


def _by_group(groups: IntArray, values: IntArray) -> IntArray:
    """Return the stable order by group, then value; the groups already ascend."""
    low, high = int(values.min()), int(values.max())
    bits = (high - low).bit_length()
    if int(groups[-1]).bit_length() + bits <= _PACKED_BITS_MAX:
        return np.argsort((groups << bits) | (values - low), kind="stable")
    return np.lexsort((values, groups))


def _packed(codes: Sequence[Code]) -> list[Code]:
    """Return fewer codes: several of small range are packed into one, which saves whole sorts."""
    if len(codes) == 1:
        return list(codes)
    packed: list[Code] = []
    bits_used = _PACKED_BITS_MAX + 1
    for code in codes:
        if not isinstance(code, _ArrayCode) or not len(code.values):
            packed.append(code)
            bits_used = _PACKED_BITS_MAX + 1
            continue
        values = code.values
        low = int(values.min())
        bits = max(1, (int(values.max()) - low).bit_length())
        last = packed[-1] if packed else None
        if isinstance(last, _ArrayCode) and bits_used + bits <= _PACKED_BITS_MAX:
            packed[-1] = _ArrayCode((last.values << bits) | (values - low))
            bits_used += bits
        elif bits <= _PACKED_BITS_MAX:
            packed.append(_ArrayCode(values - low))
            bits_used = bits
        else:
            packed.append(code)
            bits_used = _PACKED_BITS_MAX + 1
    return packed


@dataclass(frozen=True, slots=True)
class _ArrayCode:
    """A code that is an array of all rows' codes."""

    values: IntArray

    def __call__(self, at: IntArray | None) -> IntArray:
        return self.values if at is None else self.values[at]


def _array_code(values: npt.NDArray[Any]) -> _ArrayCode:
    return _ArrayCode(values.astype(np.int64, copy=False))


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    is_text = pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    if is_text and isinstance(column, pa.ChunkedArray) and column.num_chunks > 1:
        # All runs together may hold more than the 2 GiB that 32-bit offsets reach.
        column = column.cast(pa.large_binary())
    return whole_array(column)


def _codes(column: pa.Array) -> list[Code]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return [_dictionary_code(column)]
    if pa.types.is_floating(kind):
        return [_array_code(_of_floats(column))]
    if pa.types.is_decimal(kind):
        return _of_decimals(column)
    if pa.types.is_boolean(kind):
        return [_array_code(column.cast(pa.int8()).to_numpy())]
    if pa.types.is_integer(kind):
        return [_array_code(column.to_numpy())]
    if pa.types.is_temporal(kind):
        plain = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        return [_array_code(plain.to_numpy())]
    return _of_bytes(column)


def _dictionary_code(column: pa.DictionaryArray) -> Code:
    order = order_by_key([column.dictionary]).positions
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return _ArrayCode(ranks[column.indices.to_numpy()])


def _of_floats(column: pa.Array) -> IntArray:
    """Return bits that sort like the numbers in Spark: -0.0 is 0.0, and NaN is above all."""
    values = column.cast(pa.float64()).to_numpy() + 0.0
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    codes: IntArray = np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)
    return codes


def _of_decimals(column: pa.Array) -> list[Code]:
    words = np.frombuffer(column.buffers()[1], np.uint64)
    words = words[2 * column.offset : 2 * (column.offset + len(column))]
    if column.type.precision <= _LONG_DIGITS:
        return [_array_code(words[0::2].view(np.int64))]
    return [
        _array_code(words[1::2].view(np.int64)),
        _array_code((words[0::2] ^ _SIGN_BIT).view(np.int64)),
    ]


@dataclass(frozen=True, slots=True)
class _WordCode:
    """Eight bytes of each value from `skip` on, big-endian, zeros after the end."""

    words: npt.NDArray[np.uint64]
    starts: IntArray
    lengths: IntArray
    skip: int

    def __call__(self, at: IntArray | None) -> IntArray:
        count = len(self.starts) if at is None else len(at)
        codes = np.empty(count, np.uint64)
        for begin in range(0, count, _BLOCK_ROWS):
            block = slice(begin, begin + _BLOCK_ROWS)
            rows = block if at is None else at[block]
            codes[block] = self._of_rows(self.starts[rows], self.lengths[rows])
        return codes.view(np.int64)

    def _of_rows(self, starts: IntArray, lengths: IntArray) -> npt.NDArray[np.uint64]:
        wanted = starts + self.skip
        where = np.minimum(wanted, len(self.words) - 1)
        words = self.words[where].astype(np.uint64)
        left = lengths - self.skip
        if left.min() < 8:
            # Near the end of the data the word is read too early, and beyond it there is none.
            early = np.minimum(wanted - where, 8)
            words = _shifted(words, early, np.left_shift)
            # Bytes of the next value are shifted out to the right, and zeros are shifted in.
            beyond = 8 - np.clip(left, 0, 8)
            words = _shifted(_shifted(words, beyond, np.right_shift), beyond, np.left_shift)
        return words ^ _SIGN_BIT


def _shifted(
    words: npt.NDArray[np.uint64], byte_counts: IntArray, shift: np.ufunc
) -> npt.NDArray[np.uint64]:
    """Shift by 0 to 8 bytes, in two halves because numpy leaves a shift by 64 bits undefined."""
    half = (byte_counts * 4).astype(np.uint64)
    shifted: npt.NDArray[np.uint64] = shift(shift(words, half), half)
    return shifted


@dataclass(frozen=True, slots=True)
class _LengthCode:
    """The length of each value, which tells values apart that end in zero bytes."""

    lengths: IntArray

    def __call__(self, at: IntArray | None) -> IntArray:
        return self.lengths if at is None else self.lengths[at]


@dataclass(frozen=True, slots=True)
class _RankCode:
    """The rank of each whole value among all; equal values have the same rank."""

    values: pa.Array

    def __call__(self, at: IntArray | None) -> IntArray:
        values = self.values if at is None else self.values.take(pa.array(at))
        ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
        codes: IntArray = ranks.to_numpy().astype(np.int64)
        return codes


def _of_bytes(column: pa.Array) -> list[Code]:
    if not len(column):
        return [_ArrayCode(np.zeros(0, np.int64))]
    column = column.cast(pa.large_binary())
    offsets = np.frombuffer(column.buffers()[1], np.int64)
    offsets = offsets[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    if len(data) < 8:
        data = np.concatenate([data, np.zeros(8, np.uint8)])
    # A view, without copying, of the eight bytes from any position on as one big-endian word.
    words: npt.NDArray[np.uint64] = np.ndarray(len(data) - 7, ">u8", data, strides=(1,))
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    shortest, longest = int(lengths.min()), int(lengths.max())
    sample = starts[:: max(1, len(starts) // 256)]
    skip = _common_prefix(words, sample, min(shortest, _PREFIX_BYTES_MAX))
    if skip:
        skip = min(skip, _common_prefix(words, starts, skip))
    end = min(longest, skip + 8 * _WORDS_MAX)
    codes: list[Code] = [
        _WordCode(words, starts, lengths, at) for at in range(skip, max(end, skip + 1), 8)
    ]
    if end < longest:
        return [*codes, _RankCode(column)]
    return codes if shortest == longest else [*codes, _LengthCode(lengths)]


def _common_prefix(words: npt.NDArray[np.uint64], starts: IntArray, limit: int) -> int:
    """Return how many first bytes all values share, at most `limit`; no value is shorter."""
    skip = 0
    while skip < limit:
        at = np.minimum(starts + skip, len(words) - 1)
        found = _shifted(words[at].astype(np.uint64), starts + skip - at, np.left_shift)
        differing = int(np.bitwise_or.reduce(found ^ found[0]))
        if differing:
            return min(limit, skip + (64 - differing.bit_length()) // 8)
        skip += 8
    return limit
