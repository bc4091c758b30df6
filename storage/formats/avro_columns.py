"""Values of Avro's binary encoding, read at many places at once.

Source: Apache Avro 1.11 specification, "Binary Encoding". A column reads one value in each of some
records, which it is given as positions in a buffer, and remembers what it read; at the end it
makes an Arrow array of it. So a value costs a few numpy operations, shared by all records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.kernel.arrays import IntArray

Octets = npt.NDArray[np.uint8]

_VARINT_BYTES_MAX: Final = 10


class AvroColumn(ABC):
    """Reads values of one type."""

    @abstractmethod
    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """Read one value at each position; return the positions behind them.

        Args:
            data: what holds the records.
            at: where the values begin.
            ends: where what holds each of them ends.

        Raises:
            ValueError: a value is none of the type, or does not end in time.
        """

    @abstractmethod
    def finish(self, data: Octets) -> pa.Array:
        """Return all values in the order in which they were read.

        Raises:
            ValueError, pyarrow.ArrowInvalid: one is none of the array's type.
        """

    @property
    def takes_no_bytes(self) -> bool:
        """Whether each value is known without being read, so that any number costs no bytes."""
        return False


@dataclass(slots=True)
class Nothing(AvroColumn):
    """The type `null`, which takes no bytes."""

    kind: pa.DataType
    count: int = 0

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:  # noqa: ARG002
        """See `AvroColumn`."""
        self.count += len(at)
        return at

    def finish(self, data: Octets) -> pa.Array:  # noqa: ARG002
        """See `AvroColumn`."""
        return pa.nulls(self.count, self.kind)

    @property
    def takes_no_bytes(self) -> bool:
        """See `AvroColumn`."""
        return True


@dataclass(slots=True)
class Refused(AvroColumn):
    """A type whose values no column can hold; it is an error only where one comes."""

    reason: str
    kind: pa.DataType

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:  # noqa: ARG002
        """See `AvroColumn`."""
        if len(at):
            raise ValueError(self.reason)
        return at

    def finish(self, data: Octets) -> pa.Array:  # noqa: ARG002
        """See `AvroColumn`."""
        return pa.nulls(0, self.kind)


@dataclass(slots=True)
class Converted(AvroColumn):
    """Values that become others when all of them are read."""

    inner: AvroColumn
    convert: Callable[[pa.Array], pa.Array]

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        return self.inner.read(data, at, ends)

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        return self.convert(self.inner.finish(data))

    @property
    def takes_no_bytes(self) -> bool:
        """See `AvroColumn`."""
        return self.inner.takes_no_bytes


@dataclass(slots=True)
class Integers(AvroColumn):
    """The types `int` and `long`, and what counts as these, such as days."""

    kind: pa.DataType
    read_values: list[IntArray] = field(default_factory=list)

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        values, after = varints(data, at, ends)
        self.read_values.append(values)
        return after

    def finish(self, data: Octets) -> pa.Array:  # noqa: ARG002
        """See `AvroColumn`."""
        values = pa.array(flat(self.read_values), pa.int64())
        if pa.types.is_temporal(self.kind) and self.kind.bit_width == 32:
            values = values.cast(pa.int32())
        return values.cast(self.kind)


@dataclass(slots=True)
class FixedWidth(AvroColumn):
    """Booleans, floats, fixed, and decimals as these: values of one width, picked up at the end."""

    kind: pa.DataType
    starts: list[IntArray] = field(default_factory=list)

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:  # noqa: ARG002
        """See `AvroColumn`."""
        after = at + self._width
        if (after > ends).any():
            raise ValueError("a record ends within a value")
        self.starts.append(at.copy())
        return after

    @property
    def _width(self) -> int:
        return 1 if pa.types.is_boolean(self.kind) else int(self.kind.byte_width)

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        starts, width, kind = flat(self.starts), self._width, self.kind
        if not len(starts) or not width:
            octets = np.zeros((len(starts), width), np.uint8)
        else:
            octets = np.lib.stride_tricks.sliding_window_view(data, width)[starts]
        if pa.types.is_boolean(kind):
            return pa.array(octets[:, 0] != 0)
        if pa.types.is_decimal(kind):
            octets = octets[:, ::-1]
        content = pa.py_buffer(np.ascontiguousarray(octets))
        return pa.Array.from_buffers(kind, len(starts), [None, content])

    @property
    def takes_no_bytes(self) -> bool:
        """See `AvroColumn`."""
        return self._width == 0


@dataclass(slots=True)
class Text(AvroColumn):
    """The types `string` and `bytes`."""

    kind: pa.DataType
    starts: list[IntArray] = field(default_factory=list)
    lengths: list[IntArray] = field(default_factory=list)

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        lengths, after = varints(data, at, ends)
        if ((lengths < 0) | (lengths > ends - after)).any():
            raise ValueError("a text is longer than its record")
        self.starts.append(after)
        self.lengths.append(lengths)
        return after + lengths

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        starts, lengths = flat(self.starts), flat(self.lengths)
        if not len(starts):
            return pa.array([], self.kind)
        order = np.argsort(starts, kind="stable")
        # As they lie in the data, with what is between two of them as a value, too.
        offsets = np.empty(2 * len(starts), np.int64)
        offsets[::2] = starts[order]
        offsets[1::2] = offsets[::2] + lengths[order]
        there = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            len(offsets) - 1,
            [None, pa.py_buffer(offsets), pa.py_buffer(data)],
        )
        places = np.empty(len(starts), np.int64)
        places[order] = 2 * np.arange(len(starts))
        return there.take(pa.array(places)).cast(pa.binary()).cast(self.kind)


def varints(data: Octets, at: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return the zig-zag integers at the positions, and the positions behind them.

    Raises:
        ValueError: one is longer than 64 bits, or does not end in time.
    """
    numbers = np.zeros(len(at), np.uint64)
    after = at.copy()
    open_ones = np.arange(len(at))
    for place in range(_VARINT_BYTES_MAX):
        check_inside(after[open_ones], ends[open_ones])
        octets = data[after[open_ones]]
        numbers[open_ones] |= (octets & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
        after[open_ones] += 1
        open_ones = open_ones[octets >= 0x80]
        if not len(open_ones):
            signs = np.uint64(0) - (numbers & np.uint64(1))
            return ((numbers >> np.uint64(1)) ^ signs).view(np.int64), after
    raise ValueError("a number is longer than 64 bits")


def check_inside(at: IntArray, ends: IntArray) -> None:
    """Check that something is left to be read at each position.

    Raises:
        ValueError: nothing is.
    """
    if (at >= ends).any():
        raise ValueError("a record ends within a value")


def flat(parts: Sequence[npt.NDArray[Any]]) -> IntArray:
    """Return what was read in several parts as one array."""
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
