"""Goal: bytes of any length, many or few at once, have the hash that the algorithm defines.

The oracle hashes one value after the other as the published algorithm does, in plain numbers.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.order import murmur3
from table_store.storage.file_store.order.murmur3 import (
    Bytes,
    Lengths,
    hash_texts,
    hash_texts_in_turn,
)
from table_store.storage.kernel.arrays import UIntArray

LENGTHS = st.lists(st.integers(0, 100), max_size=80).flatmap(
    lambda short: st.lists(st.integers(0, 3000), max_size=5).map(lambda long: short + long)
)
GAP_BYTES = 3


def oracle(data: bytes, seed: int) -> int:
    whole = len(data) // 4 * 4
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, whole, 4)]
    words += [
        int.from_bytes(data[i : i + 1], "little", signed=True) for i in range(whole, len(data))
    ]
    value = seed
    for word in words:
        value ^= rotated(word * 0xCC9E2D51 % 2**32, 15) * 0x1B873593 % 2**32
        value = (rotated(value, 13) * 5 + 0xE6546B64) % 2**32
    value ^= len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B % 2**32
    value = (value ^ value >> 13) * 0xC2B2AE35 % 2**32
    return value ^ value >> 16


def rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) % 2**32


def laid_out(lengths: list[int]) -> tuple[Bytes, Lengths, Lengths]:
    """Values with other bytes between them, as a NULL may leave them."""
    sizes = np.array(lengths, np.int64)
    starts = np.cumsum(sizes + GAP_BYTES) - sizes
    data = np.random.default_rng(len(lengths)).integers(0, 256, int((sizes + GAP_BYTES).sum()))
    return data.astype(np.uint8), starts, sizes


@given(LENGTHS, st.randoms(use_true_random=False))
def test_is_the_algorithm(lengths: list[int], chance: random.Random) -> None:
    chance.shuffle(lengths)
    data, starts, sizes = laid_out(lengths)
    seeds = np.random.default_rng(1).integers(0, 2**32, len(lengths), dtype=np.uint32)
    texts = [bytes(data[s : s + n]) for s, n in zip(starts, sizes, strict=True)]
    expected = [oracle(text, int(seed)) for text, seed in zip(texts, seeds, strict=True)]
    assert hash_texts(data, starts, sizes, seeds).tolist() == expected
    value = 42
    for text in texts:
        value = oracle(text, value)
    assert hash_texts_in_turn(data, starts, sizes, 42) == value


@pytest.mark.parametrize("lengths", [[400_000] * 2, [9] * 1000 + [400_000], [4000] * 40])
def test_what_numpy_is_asked_does_not_grow_with_few_long_values(
    lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    mix = murmur3._mix

    def counted(scrambled: UIntArray, hashes: UIntArray) -> None:
        nonlocal calls
        calls += 1
        mix(scrambled, hashes)

    monkeypatch.setattr(murmur3, "_mix", counted)
    data, starts, sizes = laid_out(lengths)
    hash_texts(data, starts, sizes, np.full(len(lengths), 42, np.uint32))
    assert calls <= sum(lengths) // 4 // murmur3.FEW + 3
