"""Makes the values of one field from the numbers of rows, as Arrow arrays.

Every generator is a function of the numbers alone, and of the times at which their rows come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from table_store.catalog.connectors.datagen.random_numbers import Numbers, RandomBits, plus

Times: TypeAlias = NDArray[np.int64]
"""Microseconds since 1970."""

_HEXADECIMAL: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """The numbers of rows, and when each comes."""

    numbers: Numbers
    times: Times


class Generator(ABC):
    """Makes the values of a field."""

    @abstractmethod
    def values(self, rows: Rows) -> pa.Array:
        """Return a value for each row, by its number and the time at which it comes."""


@dataclass(frozen=True, slots=True)
class Sequence(Generator):
    """The whole numbers from `start` on, in the order of the rows; `type` may be that of texts."""

    start: int
    type: pa.DataType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        counted = pa.array((rows.numbers + np.uint64(self.start % 2**64)).view(np.int64))
        if pa.types.is_binary(self.type):
            return counted.cast(pa.string()).cast(self.type)
        if pa.types.is_decimal(self.type):
            # Nineteen digits hold any of them; what the type cannot hold fails.
            wide = pa.decimal128(min(38, 19 + self.type.scale), self.type.scale)
            return counted.cast(wide).cast(self.type)
        return counted.cast(self.type)


@dataclass(frozen=True, slots=True)
class RandomInteger(Generator):
    """Whole numbers from `minimum` to `maximum`, both included."""

    bits: RandomBits
    minimum: int
    maximum: int
    type: pa.DataType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        above = self.bits.below(self.maximum - self.minimum + 1, rows.numbers)
        return pa.array((above + np.uint64(self.minimum % 2**64)).view(np.int64)).cast(self.type)


@dataclass(frozen=True, slots=True)
class RandomFloat(Generator):
    """Floating-point numbers from `minimum` up to `maximum`."""

    bits: RandomBits
    minimum: float
    maximum: float
    type: pa.DataType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        part = self.bits.fractions(rows.numbers)
        found = self.minimum * (1 - part) + self.maximum * part
        # What rounding has brought beyond the bounds.
        return pa.array(np.clip(found, self.minimum, self.maximum)).cast(self.type, safe=False)


@dataclass(frozen=True, slots=True)
class RandomDecimal(Generator):
    """Decimals whose unscaled values are from `minimum` to `maximum`, both included."""

    bits: RandomBits
    minimum: int
    maximum: int
    type: pa.DataType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        halves = plus(
            self.bits.wide_below(self.maximum - self.minimum + 1, rows.numbers), self.minimum
        )
        words = np.column_stack(halves)
        return pa.Array.from_buffers(self.type, len(rows.numbers), [None, pa.py_buffer(words)])


@dataclass(frozen=True, slots=True)
class RandomBoolean(Generator):
    """True or false."""

    bits: RandomBits

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        return pa.array((self.bits.at(rows.numbers) & np.uint64(1)).astype(bool))


@dataclass(frozen=True, slots=True)
class RandomBytes(Generator):
    """Bytes, or texts of hexadecimal digits; from 1 to `length` of them if it is `variable`."""

    bits: RandomBits
    lengths: RandomBits
    length: int
    variable: bool
    type: pa.DataType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        count, is_text = len(rows.numbers), pa.types.is_string(self.type)
        each = 16 if is_text else 8
        words = -(-self.length // each)
        bits = self.bits.at(_elements(rows, words).numbers).reshape(count, words)
        found = bits.view(np.uint8).reshape(count, words * 8)
        if is_text:
            digits = np.stack((found >> 4, found & 15), axis=2).reshape(count, words * 16)
            found = _HEXADECIMAL[digits]
        found = found[:, : self.length]
        lengths = np.full(count, self.length, np.int64)
        if self.variable:
            lengths = self.lengths.below(self.length, rows.numbers).astype(np.int64) + 1
            found = found[np.arange(self.length) < lengths[:, None]]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        content = np.ascontiguousarray(found)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
        return pa.Array.from_buffers(self.type, count, buffers)


@dataclass(frozen=True, slots=True)
class PastTime(Generator):
    """When the row comes, or up to `past_us` microseconds before; as time, date or time of day."""

    bits: RandomBits
    past_us: int
    type: pa.DataType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        times = rows.times
        if self.past_us:
            times = times - self.bits.below(self.past_us + 1, rows.numbers).astype(np.int64)
        if pa.types.is_date(self.type):
            return pa.array((times // _DAY_US).astype(np.int32)).cast(self.type)
        if pa.types.is_time(self.type):
            # Whole seconds, which a time of any precision can hold.
            return pa.array(times % _DAY_US // 1_000_000 * 1_000_000).cast(self.type)
        return pa.array(times).cast(self.type)


@dataclass(frozen=True, slots=True)
class Struct(Generator):
    """A struct of other fields."""

    fields: tuple[Generator, ...]
    type: pa.StructType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        arrays = [field.values(rows) for field in self.fields]
        return pa.StructArray.from_arrays(arrays, fields=list(self.type))


@dataclass(frozen=True, slots=True)
class Lists(Generator):
    """An array of `length` elements, of from 1 to so many if it is `variable`."""

    element: Generator
    lengths: RandomBits
    length: int
    variable: bool
    type: pa.ListType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        kept = _kept(rows, self.length, self.lengths if self.variable else None)
        offsets, elements = _flat(rows, kept)
        values = self.element.values(elements)
        return pa.ListArray.from_arrays(offsets, values, type=self.type)


@dataclass(frozen=True, slots=True)
class Maps(Generator):
    """A map of at most `length` entries: those whose keys come twice are left out."""

    key: Generator
    value: Generator
    lengths: RandomBits
    length: int
    variable: bool
    type: pa.MapType

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        kept = _kept(rows, self.length, self.lengths if self.variable else None)
        # All entries of each row, of which the first of each key stays.
        keys = self.key.values(_elements(rows, self.length))
        codes = np.asarray(pc.rank(keys, tiebreaker="min")).reshape(kept.shape)
        for at in range(1, self.length):
            kept[:, at] &= ~(codes[:, :at] == codes[:, at : at + 1]).any(axis=1)
        offsets, elements = _flat(rows, kept)
        values = self.value.values(elements)
        return pa.MapArray.from_arrays(
            offsets, keys.filter(pa.array(kept.ravel())), values, type=self.type
        )


@dataclass(frozen=True, slots=True)
class WithNulls(Generator):
    """Another generator's values, of which a share is NULL."""

    generator: Generator
    bits: RandomBits
    rate: float

    def values(self, rows: Rows) -> pa.Array:
        """See `Generator.values`."""
        found = self.generator.values(rows)
        present = pa.array(self.bits.fractions(rows.numbers) >= self.rate)
        return pc.if_else(present, found, pa.scalar(None, found.type))


def _elements(rows: Rows, length: int) -> Rows:
    """The elements of rows with so many elements each."""
    first = rows.numbers * np.uint64(length)
    numbers = np.add.outer(first, np.arange(length, dtype=np.uint64)).ravel()
    return Rows(numbers, np.repeat(rows.times, length))


def _kept(rows: Rows, length: int, lengths: RandomBits | None) -> NDArray[np.bool_]:
    """Which of its elements each row has: the first ones."""
    count = len(rows.numbers)
    if lengths is None:
        return np.ones((count, length), bool)
    counts = lengths.below(length, rows.numbers) + np.uint64(1)
    return np.arange(length, dtype=np.uint64) < counts[:, None]


def _flat(rows: Rows, kept: NDArray[np.bool_]) -> tuple[pa.Array, Rows]:
    """The offsets of rows' elements, and the elements."""
    offsets = np.concatenate(([0], np.cumsum(kept.sum(axis=1)))).astype(np.int32)
    flat, elements = kept.ravel(), _elements(rows, kept.shape[1])
    return pa.array(offsets), Rows(elements.numbers[flat], elements.times[flat])
