"""Random numbers that depend on a seed and a row's number alone, whichever rows are made together.

A row's number is mixed as SplitMix64 does with its counter (Steele, Lea, Flood: Fast Splittable
Pseudorandom Number Generators, OOPSLA 2014).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class RandomBits:
    """A sequence of 64 random bits for each number."""

    seed: int

    @classmethod
    def of(cls, name: str) -> RandomBits:
        """Return the sequence of a name."""
        return cls(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]))

    def at(self, numbers: Numbers) -> Numbers:
        """Return the bits of each number."""
        mixed = (numbers + np.uint64(1)) * _GAMMA + np.uint64(self.seed)
        for shift, factor in _MIX:
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
        return mixed ^ (mixed >> np.uint64(31))

    def fractions(self, numbers: Numbers) -> NDArray[np.float64]:
        """Return a number from 0 up to 1, without 1, for each number."""
        return (self.at(numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, span: int, numbers: Numbers) -> Numbers:
        """Return a whole number from 0 up to `span`, without it, for each; at most 2^64."""
        bits = self.at(numbers)
        return bits if span >> 64 else _product(bits, np.uint64(span))[1]

    def wide_below(self, span: int, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Return the same for up to 2^128, as (low, high) halves; of 64 random bits."""
        bits = self.at(numbers)
        low, high = _product(bits, np.uint64(span >> 64))
        more = _product(bits, np.uint64(span & 0xFFFFFFFFFFFFFFFF))[1]
        return _sum((low, high), (more, np.zeros_like(more)))


def plus(number: tuple[Numbers, Numbers], constant: int) -> tuple[Numbers, Numbers]:
    """Return numbers of 128 bits, as (low, high) halves, plus a constant that may be negative."""
    low = np.uint64(constant & 0xFFFFFFFFFFFFFFFF)
    high = np.uint64((constant >> 64) & 0xFFFFFFFFFFFFFFFF)
    return _sum(number, (np.full_like(number[0], low), np.full_like(number[1], high)))


def _sum(one: tuple[Numbers, Numbers], other: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    low = one[0] + other[0]
    return low, one[1] + other[1] + (low < one[0])


def _product(numbers: Numbers, factor: np.uint64) -> tuple[Numbers, Numbers]:
    """Return the low and the high half of products of 128 bits."""
    a, b = numbers & _LOW, numbers >> _HALF
    c, d = factor & _LOW, factor >> _HALF
    low, cross, other = a * c, b * c, a * d
    middle = (low >> _HALF) + (cross & _LOW) + (other & _LOW)
    high = b * d + (cross >> _HALF) + (other >> _HALF) + (middle >> _HALF)
    return (middle << _HALF) | (low & _LOW), high
