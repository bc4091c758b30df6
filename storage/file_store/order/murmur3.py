"""Murmur3 of 32 bits as Spark computes it: chained values, and bytes after the last whole word.

Source: `Murmur3_x86_32` of Spark 4.2, whose `hashUnsafeBytes` mixes in the last one to three bytes
one by one, as signed numbers. Within one value each word needs the hash of those before it, so the
kernel is vectorised over the values, longest first: numpy takes some µs for the next word of all
values. If only a few long values are left, a loop over plain numbers takes 150 ns for each word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_store.storage.kernel.arrays import UIntArray

Lengths: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

FEW: Final = 32
"""For this many values numpy's calls cost as much as a loop over plain numbers."""

_VALUE_STEPS: Final = 50
"""The cost of beginning with another value, in steps of the loop over plain numbers."""

_CELLS: Final = 1 << 15
"""How many words are gathered at a time, so that they stay in the processor's cache."""

_LOOP_WORDS: Final = 1 << 16
_MASK: Final = 0xFFFFFFFF
_STEP: Final = 0xE6546B64


def hash_fixed(words: Sequence[UIntArray], seeds: UIntArray) -> UIntArray:
    """Return the hash of values that have equally many words; `words` has these by position."""
    hashes = seeds.copy()
    for word in words:
        _mix(_scrambled(word), hashes)
    return _finished(hashes, 4 * len(words))


def hash_texts(data: Bytes, starts: Lengths, lengths: Lengths, seeds: UIntArray) -> UIntArray:
    """Return the hash of the bytes of each value; costs about 3 ns a byte, 40 for few values."""
    counts = lengths >> 2
    order = _longest_first(counts)
    starts, counts, hashes = starts[order], counts[order], seeds[order]
    words = _words_at_bytes(data)
    position, active = 0, int(np.count_nonzero(counts))
    while active:
        if active < FEW and _is_loop_cheaper(counts[:active] - position):
            for i in range(active):
                start, end = starts[i] + 4 * position, starts[i] + 4 * counts[i]
                hashes[i] = _mix_text(data[start:end], int(hashes[i]))
            break
        # So many words are gathered that at least half of the cells lie within their value.
        end = min(position + max(1, _CELLS // active), int(counts[active // 2]))
        positions = np.arange(position, end)
        cells = np.minimum(starts[:active] + 4 * positions[:, None], len(words) - 1)
        # The counts descend, so this is how many values are longer than each position.
        still = np.searchsorted(-counts, -positions).tolist()
        for scrambled, count in zip(_scrambled(words[cells]), still, strict=True):
            _mix(scrambled[:count], hashes[:count])
        position, active = end, int(np.searchsorted(-counts, -end))
    tails = lengths[order] & 3
    for byte in range(3):
        at = np.flatnonzero(tails > byte)
        mixed = hashes[at]
        _mix(_scrambled(_signed(data[starts[at] + 4 * counts[at] + byte])), mixed)
        hashes[at] = mixed
    result = np.empty_like(hashes)
    result[order] = _finished(hashes, lengths[order])
    return result


def hash_fixed_in_turn(words: Sequence[UIntArray], seed: int) -> int:
    """Return the hash of the values of `hash_fixed` one after the other; about 500 ns each."""
    value, length = seed, 4 * len(words)
    for scrambled in zip(*(_scrambled(word).tolist() for word in words), strict=True):
        value = _one_finished(_mixed_in_turn(scrambled, value), length)
    return value


def hash_texts_in_turn(data: Bytes, starts: Lengths, lengths: Lengths, seed: int) -> int:
    """Return the hash of values of bytes one after the other; about 10 us each, 40 ns a byte."""
    value = seed
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        value = _one_finished(_mix_text(data[start : start + length], value), length)
    return value


def _is_loop_cheaper(counts: Lengths) -> bool:
    return int(counts[0]) * FEW > int(counts.sum()) + len(counts) * _VALUE_STEPS


def _mix_text(text: Bytes, value: int) -> int:
    """Mix in the bytes of one value, some MB at a time, without the final step."""
    whole = len(text) & ~3
    words = np.frombuffer(text[:whole], "<u4")
    for start in range(0, len(words), _LOOP_WORDS):
        value = _mixed_in_turn(_scrambled(words[start : start + _LOOP_WORDS]).tolist(), value)
    if whole < len(text):
        value = _mixed_in_turn(_scrambled(_signed(text[whole:])).tolist(), value)
    return value


def _mixed_in_turn(scrambled: Iterable[int], value: int) -> int:
    for word in scrambled:
        value ^= word
        # Rotate by 13 bits, multiply by 5, and cut to 32 bits at the end.
        value = value * 0xA000 + (value >> 19) * 5 + _STEP & _MASK
    return value


def _longest_first(counts: Lengths) -> npt.NDArray[np.intp]:
    # numpy sorts numbers of 16 bits by radix.
    is_short = int(counts.max(initial=0)) < 1 << 16
    keys = (counts ^ 0xFFFF).astype(np.uint16) if is_short else -counts
    return np.argsort(keys, kind="stable")


def _words_at_bytes(data: Bytes) -> UIntArray:
    """Return a view of the four bytes from any position on as one little-endian word."""
    words: UIntArray = np.ndarray(max(0, len(data) - 3), "<u4", data, strides=(1,))
    return words


def _signed(tail: Bytes) -> UIntArray:
    return tail.view(np.int8).astype(np.int32).view(np.uint32)


def _scrambled(words: UIntArray) -> UIntArray:
    words = words * np.uint32(0xCC9E2D51)
    high = words >> np.uint32(17)
    words <<= np.uint32(15)
    words |= high
    words *= np.uint32(0x1B873593)
    return words


def _mix(scrambled: UIntArray, hashes: UIntArray) -> None:
    """Change `hashes` in place."""
    hashes ^= scrambled
    high = hashes >> np.uint32(19)
    hashes <<= np.uint32(13)
    hashes |= high
    hashes *= np.uint32(5)
    hashes += np.uint32(_STEP)


def _finished(hashes: UIntArray, lengths: npt.NDArray[Any] | int) -> UIntArray:
    hashes = hashes ^ np.asarray(lengths).astype(np.uint32)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _one_finished(value: int, length: int) -> int:
    value ^= length & _MASK
    value = (value ^ (value >> 16)) * 0x85EBCA6B & _MASK
    value = (value ^ (value >> 13)) * 0xC2B2AE35 & _MASK
    return value ^ (value >> 16)
