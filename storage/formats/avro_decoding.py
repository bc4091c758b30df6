"""Decodes Avro's binary encoding into Arrow columns, vectorised over blocks.

Nobody knows where a record begins before the previous one was read, so a single block can be
decoded only record by record. But blocks are independent: the first records of all blocks are
decoded at once, then all second records, and so on. With blocks of a few hundred records each
step handles thousands of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.formats.avro_encoding import (
    DECIMAL_BYTES,
    element_field,
    is_repeated,
)
from table_store.storage.kernel.arrays import IntArray, Mask

_VARINT_BYTES_MAX: Final = 10
PADDING_BYTES: Final = 16
"""Number of zeros behind the data, so that a read near its end stays inside the buffer."""


def decode_blocks(
    data: npt.NDArray[np.uint8], starts: IntArray, counts: IntArray, fields: Sequence[pa.Field]
) -> list[pa.Array]:
    """Return the columns of all blocks, in the order of the blocks and their records.

    Args:
        data: the blocks' decompressed content one after the other, and `PADDING_BYTES`.
        starts: where each block begins in `data`.
        counts: records of each block.
        fields: all columns, in the records' order.

    Raises:
        ValueError: the content ends within a record, or not with the last one.
    """
    ends = np.append(starts[1:], len(data) - PADDING_BYTES)
    # The longest blocks come first, so that those with records left are always the first ones.
    by_count = np.argsort(-counts, kind="stable")
    positions, left = starts[by_count].astype(np.int64), counts[by_count]
    columns = [_column(f) for f in fields]
    rows: list[IntArray] = []
    first_rows = (np.cumsum(counts) - counts)[by_count]
    for step in range(int(counts.max(initial=0))):
        active = int(np.searchsorted(-left, -step))
        at = positions[:active]
        for column in columns:
            at = column.read(data, at)
        if (at > ends[by_count][:active]).any():
            raise ValueError("a block ends within a record")
        positions[:active] = at
        rows.append(first_rows[:active] + step)
    if (positions != ends[by_count]).any():
        raise ValueError("a block holds more than its records")
    order = np.argsort(np.concatenate(rows), kind="stable") if rows else np.zeros(0, np.int64)
    in_order = pa.array(order)
    return [column.finish(data).take(in_order) for column in columns]


@dataclass(slots=True)
class _Column(ABC):
    """Reads values at many positions at once, and remembers what it read."""

    of: pa.Field
    validity: list[Mask] = field(default_factory=list)

    def read(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:
        """Read one value at each position; return the positions behind them."""
        if not self.of.nullable:
            return self._read_valid(data, at)
        _check_inside(data, at)
        is_valid = data[at] == 2
        if not (is_valid | (data[at] == 0)).all():
            raise ValueError("a union has a branch that it cannot have")
        self.validity.append(is_valid)
        after = at + 1
        after[is_valid] = self._read_valid(data, after[is_valid])
        return after

    def finish(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        """Return all values in the order in which they were read."""
        values = self._finish_valid(data)
        if not self.of.nullable:
            return values
        is_valid = np.concatenate(self.validity) if self.validity else np.zeros(0, np.bool_)
        places = np.cumsum(is_valid) - 1
        return values.take(pa.array(places, pa.int64(), mask=~is_valid))

    @abstractmethod
    def _read_valid(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:
        """Read one value, not NULL, at each position; return the positions behind them."""

    @abstractmethod
    def _finish_valid(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        """Return the values that are not NULL in the order in which they were read."""


@dataclass(slots=True)
class _Integers(_Column):
    read_values: list[IntArray] = field(default_factory=list)

    def _read_valid(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:
        values, after = _varints(data, at)
        self.read_values.append(values)
        return after

    def _finish_valid(self, data: npt.NDArray[np.uint8]) -> pa.Array:  # noqa: ARG002
        values = pa.array(_flat(self.read_values), pa.int64())
        kind = self.of.type
        if pa.types.is_temporal(kind) and kind.bit_width == 32:
            values = values.cast(pa.int32())
        return values.cast(kind)


@dataclass(slots=True)
class _Fixed(_Column):
    """Booleans, floats and decimals: values of one width, picked up at the end."""

    starts: list[IntArray] = field(default_factory=list)

    def _read_valid(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:  # noqa: ARG002
        self.starts.append(at.copy())
        return at + self._width

    @property
    def _width(self) -> int:
        kind = self.of.type
        return 1 if pa.types.is_boolean(kind) else kind.bit_width // 8

    def _finish_valid(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        starts, width, kind = _flat(self.starts), self._width, self.of.type
        octets = data[starts[:, None] + np.arange(width)]
        if pa.types.is_boolean(kind):
            return pa.array(octets[:, 0] != 0)
        if pa.types.is_decimal(kind):
            octets = octets[:, ::-1]
        content = pa.py_buffer(np.ascontiguousarray(octets))
        return pa.Array.from_buffers(kind, len(starts), [None, content])


@dataclass(slots=True)
class _Text(_Column):
    starts: list[IntArray] = field(default_factory=list)
    lengths: list[IntArray] = field(default_factory=list)

    def _read_valid(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:
        lengths, after = _varints(data, at)
        if (lengths < 0).any() or (after + lengths > len(data)).any():
            raise ValueError("a text is longer than its block")
        self.starts.append(after)
        self.lengths.append(lengths)
        return after + lengths

    def _finish_valid(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        starts, lengths = _flat(self.starts), _flat(self.lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Byte i of the result is byte i - offset of its value.
        content = data[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)]
        large = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            len(starts),
            [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(content)],
        )
        return large.cast(pa.binary()).cast(self.of.type)


@dataclass(slots=True)
class _Record(_Column):
    children: list[_Column] = field(default_factory=list)
    count: int = 0

    def _read_valid(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:
        self.count += len(at)
        for child in self.children:
            at = child.read(data, at)
        return at

    def _finish_valid(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        arrays = [child.finish(data) for child in self.children]
        if not arrays:
            return pa.StructArray.from_buffers(self.of.type, self.count, [None])
        return pa.StructArray.from_arrays(arrays, fields=list(self.of.type))


@dataclass(slots=True, kw_only=True)
class _Repeated(_Column):
    element: _Column
    counts: list[IntArray] = field(default_factory=list)
    parents: list[IntArray] = field(default_factory=list)
    seen: int = 0

    def _read_valid(self, data: npt.NDArray[np.uint8], at: IntArray) -> IntArray:
        counts, at = _varints(data, at)
        if (counts < 0).any() or (counts > len(data)).any():
            raise ValueError("a list has an impossible length")
        lists = self.seen + np.arange(len(at))
        self.seen += len(at)
        self.counts.append(counts)
        for position in range(int(counts.max(initial=0))):
            more = np.flatnonzero(counts > position)
            at[more] = self.element.read(data, at[more])
            self.parents.append(lists[more])
        has_end = np.flatnonzero(counts > 0)
        end, at[has_end] = _varints(data, at[has_end])
        if end.any():
            raise ValueError("a list has a second block")
        return at

    def _finish_valid(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        # The first elements of all lists were read, then all second ones, and so on. A stable sort
        # by list brings the elements of each list together.
        order = np.argsort(_flat(self.parents), kind="stable")
        elements = self.element.finish(data).take(pa.array(order))
        offsets = pa.array(np.concatenate([[0], np.cumsum(_flat(self.counts))]), pa.int32())
        kind = self.of.type
        if pa.types.is_map(kind):
            keys, items = elements.field(0), elements.field(1)
            return pa.MapArray.from_arrays(offsets, keys, items, type=kind)
        return pa.ListArray.from_arrays(offsets, elements, type=kind)


def _column(of: pa.Field) -> _Column:
    kind = of.type
    if pa.types.is_struct(kind):
        return _Record(of, children=[_column(child) for child in kind])
    if is_repeated(kind):
        return _Repeated(of=of, element=_column(element_field(kind)))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _Text(of)
    if pa.types.is_decimal(kind) and kind.bit_width != DECIMAL_BYTES * 8:
        raise ValueError(f"{kind} is not stored in Avro")
    if pa.types.is_boolean(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _Fixed(of)
    return _Integers(of)


def _varints(data: npt.NDArray[np.uint8], at: IntArray) -> tuple[IntArray, IntArray]:
    """Return the zig-zag integers at the positions, and the positions behind them."""
    numbers = np.zeros(len(at), np.uint64)
    after = at.copy()
    open_ones = np.arange(len(at))
    for place in range(_VARINT_BYTES_MAX):
        _check_inside(data, after[open_ones])
        octets = data[after[open_ones]]
        numbers[open_ones] |= (octets & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
        after[open_ones] += 1
        open_ones = open_ones[octets >= 0x80]
        if not len(open_ones):
            signs = np.uint64(0) - (numbers & np.uint64(1))
            return ((numbers >> np.uint64(1)) ^ signs).view(np.int64), after
    raise ValueError("a number is longer than 64 bits")


def _check_inside(data: npt.NDArray[np.uint8], at: IntArray) -> None:
    if len(at) and int(at.max()) >= len(data):
        raise ValueError("a block ends within a record")


def _flat(parts: Sequence[npt.NDArray[Any]]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
