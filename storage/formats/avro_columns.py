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

from table_store.storage.kernel.arrays import IntArray, Mask

Octets = npt.NDArray[np.uint8]

_VARINT_BYTES_MAX: Final = 10
EMPTY_ITEMS_MAX: Final = 1 << 16
"""More items than there are bytes are only believed up to here: they may be empty."""

_EMPTY_ITEMS_HELD_MAX: Final = 1 << 22
"""So many items without bytes may a column hold on top of one for each byte. They cost no bytes of
a file, but some of memory each: this many take about 100 MB. Nobody has a use for so many."""


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
class Optional(AvroColumn):
    """A union of `null`, at one of two places, and another type."""

    inner: AvroColumn
    null_place: int = 0
    validity: list[Mask] = field(default_factory=list)

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        _check_inside(at, ends)
        branches = data[at]
        is_valid = branches == 2 * (1 - self.null_place)
        if not (is_valid | (branches == 2 * self.null_place)).all():
            raise ValueError("a union has a branch that it cannot have")
        self.validity.append(is_valid)
        after = at + 1
        if is_valid.any():
            after[is_valid] = self.inner.read(data, after[is_valid], ends[is_valid])
        return after

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        values = self.inner.finish(data)
        is_valid = np.concatenate(self.validity) if self.validity else np.zeros(0, np.bool_)
        if is_valid.all():
            return values
        places = np.cumsum(is_valid) - 1
        return values.take(pa.array(places, pa.int64(), mask=~is_valid))


@dataclass(slots=True)
class Union(AvroColumn):
    """A union of any types, whose values are all of one Arrow type."""

    branches: Sequence[AvroColumn]
    chosen: list[IntArray] = field(default_factory=list)

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        chosen, after = varints(data, at, ends)
        if ((chosen < 0) | (chosen >= len(self.branches))).any():
            raise ValueError("a union has a branch that it cannot have")
        self.chosen.append(chosen)
        for place, branch in enumerate(self.branches):
            here = np.flatnonzero(chosen == place)
            if len(here):  # a branch may have very many parts
                after[here] = branch.read(data, after[here], ends[here])
        return after

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        chosen = _flat(self.chosen)
        arrays = [branch.finish(data) for branch in self.branches]
        places = np.empty(len(chosen), np.int64)
        first = 0
        for place, array in enumerate(arrays):
            here = np.flatnonzero(chosen == place)
            places[here] = first + np.arange(len(here))
            first += len(array)
        return pa.concat_arrays(arrays).take(pa.array(places))


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
        values = pa.array(_flat(self.read_values), pa.int64())
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
        starts, width, kind = _flat(self.starts), self._width, self.kind
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
        starts, lengths = _flat(self.starts), _flat(self.lengths)
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


@dataclass(slots=True)
class Record(AvroColumn):
    """A record, of whose fields some are the children of a struct.

    Attributes:
        kind: the struct.
        fields: all fields, as they come.
        wanted: for each child the field that it is; None: it is NULL.
        count: how many were read.
    """

    kind: pa.StructType
    fields: Sequence[AvroColumn]
    wanted: Sequence[AvroColumn | None]
    count: int = 0

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        self.count += len(at)
        for column in self.fields:
            at = column.read(data, at, ends)
        return at

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        if not self.wanted:
            return pa.StructArray.from_buffers(self.kind, self.count, [None])
        arrays = [
            pa.nulls(self.count, of.type) if column is None else column.finish(data)
            for column, of in zip(self.wanted, self.kind, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(self.kind))

    @property
    def takes_no_bytes(self) -> bool:
        """See `AvroColumn`."""
        return all(column.takes_no_bytes for column in self.fields)


@dataclass(slots=True, kw_only=True)
class Repeated(AvroColumn):
    """Arrays, and maps, which are arrays of pairs: blocks of items, and an empty one at the end.

    A block may say its size in bytes: its count is then negative.

    Attributes:
        kind: the list or map.
        element: reads the items.
        is_wanted: whether `finish` will be called. If not, items without bytes cost nothing.
    """

    kind: pa.DataType
    element: AvroColumn
    is_wanted: bool = True
    counts: list[IntArray] = field(default_factory=list)
    parents: list[IntArray] = field(default_factory=list)
    seen: int = 0
    empty_items: int = 0

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        at = at.copy()
        lists = self.seen + np.arange(len(at))
        totals = np.zeros(len(at), np.int64)
        self.seen += len(at)
        going = np.arange(len(at))
        are_empty = self.element.takes_no_bytes
        while len(going):
            counts = self._counts(data, at, ends, going)
            going, counts = going[counts > 0], counts[counts > 0]
            totals[going] += counts
            if are_empty:
                if self.is_wanted:
                    self._hold_empty(data, counts, lists[going])
                continue
            for position in range(int(counts.max(initial=0))):
                more = going[counts > position]
                at[more] = self.element.read(data, at[more], ends[more])
                self.parents.append(lists[more])
        self.counts.append(totals)
        return at

    def _counts(self, data: Octets, at: IntArray, ends: IntArray, going: IntArray) -> IntArray:
        """Return how many items the next block of some lists has, and move `at` behind that."""
        counts, after = varints(data, at[going], ends[going])
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            _, after[sized] = varints(data, after[sized], ends[going][sized])
            counts[sized] = -counts[sized]
        at[going] = after
        if ((counts < 0) | (counts > np.maximum(ends[going] - after, EMPTY_ITEMS_MAX))).any():
            raise ValueError("a list has an impossible length")
        return counts

    def _hold_empty(self, data: Octets, counts: IntArray, lists: IntArray) -> None:
        """Read items without bytes of some lists, all at once.

        Raises:
            ValueError: they are more than memory should be spent on.
        """
        self.empty_items += int(counts.sum())
        if self.empty_items > len(data) + _EMPTY_ITEMS_HELD_MAX:
            raise ValueError("lists have more items than there can be")
        parents = np.repeat(lists, counts)
        nowhere = np.zeros(len(parents), np.int64)
        self.element.read(data, nowhere, nowhere)
        self.parents.append(parents)

    def finish(self, data: Octets) -> pa.Array:
        """See `AvroColumn`."""
        # The first elements of all lists were read, then all second ones, and so on. A stable sort
        # by list brings the elements of each list together.
        order = np.argsort(_flat(self.parents), kind="stable")
        elements = self.element.finish(data).take(pa.array(order))
        offsets = pa.array(np.concatenate([[0], np.cumsum(_flat(self.counts))]), pa.int32())
        if pa.types.is_map(self.kind):
            keys, items = elements.field(0), elements.field(1)
            return pa.MapArray.from_arrays(offsets, keys, items, type=self.kind)
        return pa.ListArray.from_arrays(offsets, elements, type=self.kind)


def varints(data: Octets, at: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return the zig-zag integers at the positions, and the positions behind them.

    Raises:
        ValueError: one is longer than 64 bits, or does not end in time.
    """
    numbers = np.zeros(len(at), np.uint64)
    after = at.copy()
    open_ones = np.arange(len(at))
    for place in range(_VARINT_BYTES_MAX):
        _check_inside(after[open_ones], ends[open_ones])
        octets = data[after[open_ones]]
        numbers[open_ones] |= (octets & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
        after[open_ones] += 1
        open_ones = open_ones[octets >= 0x80]
        if not len(open_ones):
            signs = np.uint64(0) - (numbers & np.uint64(1))
            return ((numbers >> np.uint64(1)) ^ signs).view(np.int64), after
    raise ValueError("a number is longer than 64 bits")


def _check_inside(at: IntArray, ends: IntArray) -> None:
    if (at >= ends).any():
        raise ValueError("a record ends within a value")


def _flat(parts: Sequence[npt.NDArray[Any]]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
