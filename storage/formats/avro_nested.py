"""Values of Avro that are made of others: unions, records, arrays and maps.

Source: Apache Avro 1.11 specification, "Complex Types" and their binary encoding. See
`avro_columns` for how values are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.formats.avro_columns import (
    AvroColumn,
    Octets,
    check_inside,
    flat,
    varints,
)
from table_store.storage.kernel.arrays import IntArray, Mask

EMPTY_ITEMS_MAX: Final = 1 << 16
"""More items than there are bytes are only believed up to here: they may be empty."""

_EMPTY_ITEMS_HELD_MAX: Final = 1 << 22
"""So many items without bytes may a column hold on top of one for each byte. They cost no bytes of
a file, but some of memory each: this many take about 100 MB. Nobody has a use for so many."""


@dataclass(slots=True)
class Optional(AvroColumn):
    """A union of `null`, at one of two places, and another type."""

    inner: AvroColumn
    null_place: int = 0
    validity: list[Mask] = field(default_factory=list)

    def read(self, data: Octets, at: IntArray, ends: IntArray) -> IntArray:
        """See `AvroColumn`."""
        check_inside(at, ends)
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
        chosen = flat(self.chosen)
        arrays = [branch.finish(data) for branch in self.branches]
        places = np.empty(len(chosen), np.int64)
        first = 0
        for place, array in enumerate(arrays):
            here = np.flatnonzero(chosen == place)
            places[here] = first + np.arange(len(here))
            first += len(array)
        return pa.concat_arrays(arrays).take(pa.array(places))


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
        order = np.argsort(flat(self.parents), kind="stable")
        elements = self.element.finish(data).take(pa.array(order))
        offsets = pa.array(np.concatenate([[0], np.cumsum(flat(self.counts))]), pa.int32())
        if pa.types.is_map(self.kind):
            keys, items = elements.field(0), elements.field(1)
            return pa.MapArray.from_arrays(offsets, keys, items, type=self.kind)
        return pa.ListArray.from_arrays(offsets, elements, type=self.kind)
