"""Goal: arithmetic of 128 bits in two halves is that of whole numbers. Oracle: Python's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.connectors.datagen.random_numbers import RandomBits, plus

NUMBERS = np.arange(50, dtype=np.uint64)
BITS = RandomBits.of("a")


def whole(halves: tuple[np.ndarray, np.ndarray]) -> list[int]:
    low, high = halves
    return [int(h) << 64 | int(n) for n, h in zip(low, high, strict=True)]


@given(st.integers(1, 2**128 - 1), st.integers(-(2**127), 2**127))
def test_numbers_below_a_span(span: int, constant: int) -> None:
    bits = [int(b) for b in BITS.at(NUMBERS)]
    found = BITS.wide_below(span, NUMBERS)
    assert whole(found) == [b * (span >> 64) + (b * (span & (2**64 - 1)) >> 64) for b in bits]
    assert max(whole(found)) < span
    assert whole(plus(found, constant)) == [(n + constant) % 2**128 for n in whole(found)]


@given(st.integers(1, 2**64))
def test_numbers_below_a_small_span(span: int) -> None:
    found = [int(n) for n in BITS.below(span, NUMBERS)]
    assert found == [int(b) * span >> 64 for b in BITS.at(NUMBERS)]


def test_names_and_numbers_give_other_bits() -> None:
    many = np.arange(100_000, dtype=np.uint64)
    one, other = BITS.at(many), RandomBits.of("b").at(many)
    assert len(np.unique(np.concatenate((one, other)))) == 200_000
    ones = np.unpackbits(one.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(100_000)
