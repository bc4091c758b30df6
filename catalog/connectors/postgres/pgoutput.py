"""Messages of the plugin `pgoutput`: which changes of a table they tell, column by column.

The formats are those of PostgreSQL's manual, "Logical Replication Message Formats", of version 1 of
the protocol: whole transactions, in the order of their commits. Messages are held as one buffer,
and parsed together: a step for each column, not for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.catalog.connectors.postgres.postgres_connection import quoted_name
from table_store.storage.kernel.frozen_map import FrozenMap

_BEGIN, _RELATION, _TRUNCATE = ord("B"), ord("R"), ord("T")
_INSERT, _UPDATE, _DELETE = ord("I"), ord("U"), ord("D")
_OLD, _KEY = ord("O"), ord("K")
_NULL, _TEXT, _UNCHANGED = ord("n"), ord("t"), ord("u")
_COPY_HEAD: Final = 19
_FIELD_HEAD: Final = 6
_COPY_END: Final = b"\xff\xff"
_LONG_BYTES: Final = 64
"""From so many bytes a value on, copying it costs more than a step in Python."""

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the messages behind it have it.

    Attributes:
        places: of its columns, by name.
        types: of its columns, the number and the modifier.
        identity: its replica identity: `f` for all columns.
    """

    places: Mapping[str, int]
    types: Sequence[tuple[int, int]]
    identity: str

    @classmethod
    def of(cls, message: bytes) -> Relation:
        """Return what a message of the kind `R` says."""
        at = message.index(b"\0", message.index(b"\0", 5) + 1) + 1
        identity = chr(message[at])
        count, at = int.from_bytes(message[at + 1 : at + 3], "big"), at + 3
        places: dict[str, int] = {}
        types = []
        for place in range(count):
            end = message.index(b"\0", at + 1)
            places[message[at + 1 : end].decode()] = place
            oid, modifier = message[end + 1 : end + 5], message[end + 5 : end + 9]
            types.append((int.from_bytes(oid, "big"), int.from_bytes(modifier, "big", signed=True)))
            at = end + 9
        return cls(FrozenMap(places), tuple(types), identity)


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column: where each begins in the buffer, how long it is, and what it is."""

    at: Ints
    sizes: Ints
    kinds: npt.NDArray[np.uint8]

    def merged(self, rows: Sequence[Ints], others: Sequence[Values], count: int) -> Values:
        """Return so many values: these, and others, each in its row."""
        at, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
        kinds = np.full(count, _NULL, np.uint8)
        for places, values in zip(rows, (self, *others), strict=True):
            at[places], sizes[places], kinds[places] = values.at, values.sizes, values.kinds
        return Values(at, sizes, kinds)

    def where(self, mask: Mask, others: Values) -> Values:
        """Return these, and others where a mask says so."""
        return Values(
            np.where(mask, others.at, self.at),
            np.where(mask, others.sizes, self.sizes),
            np.where(mask, others.kinds, self.kinds),
        )

    def taken(self, rows: Ints | Mask) -> Values:
        """Return those of some rows."""
        return Values(self.at[rows], self.sizes[rows], self.kinds[rows])


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows that came or went, in their order.

    Attributes:
        relation: the table as it was.
        come: of each row, whether it came; else it went.
        columns: the values of the columns that are asked for, by name.
        buffer: in which they are.
    """

    relation: Relation
    come: Mask
    columns: Mapping[str, Values]
    buffer: npt.NDArray[np.uint8]

    def is_untold(self, name: str) -> bool:
        """Whether a row that came lacks a value because the change has left it as it was."""
        return bool((self.columns[name].kinds == _UNCHANGED).any())

    def texts(self, name: str) -> pa.BinaryArray:
        """Return a column's values as the database's texts."""
        values = self.columns[name]
        is_there = values.kinds == _TEXT
        sizes = np.where(is_there, values.sizes, 0)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        if offsets[-1] > _LONG_BYTES * len(sizes):
            view = self.buffer.data
            found = zip(is_there.tolist(), values.at.tolist(), sizes.tolist(), strict=True)
            return pa.array(
                [bytes(view[a : a + n]) if is_ else None for is_, a, n in found], _BYTES
            )
        index = np.repeat(values.at - offsets[:-1], sizes) + np.arange(offsets[-1])
        data = pa.py_buffer(self.buffer[index])
        valid = pa.array(is_there).buffers()[1]
        ends = pa.py_buffer(offsets.astype(np.int32))
        return pa.Array.from_buffers(_BYTES, len(sizes), [valid, ends, data])


_BYTES: Final = pa.binary()


class Truncated(Exception):  # noqa: N818 - no error of its own: the reader names the table
    """The table was emptied."""


@dataclass(slots=True)
class Decoder:
    """Finds the changes of one table in messages that come in pieces.

    Attributes:
        oid: the table's number.
        start: the first position whose commits count.
        end: the first one whose commits do not.
        names: of the columns that are asked for.
    """

    oid: int
    start: int
    end: int
    names: tuple[str, ...]
    relation: Relation | None = None
    is_wanted: bool = False
    has_begun: bool = False

    def decoded(self, rows: Sequence[bytes | memoryview]) -> Iterator[ChangedRows]:
        """Yield the rows of whole messages, which follow those of the last call.

        Args:
            rows: of COPY in its binary format, with one message each.

        Raises:
            Truncated: the table was emptied.
            KeyError: the table has no column of a name.
        """
        messages = list(rows[:-1] if bytes(rows[-1]) == _COPY_END else rows)
        if not self.has_begun and messages:
            messages[0], self.has_begun = messages[0][_COPY_HEAD:], True
        if not messages or bytes(messages[0]) == _COPY_END:
            return
        sizes = np.fromiter(map(len, messages), np.int64, len(messages))
        buffer = np.frombuffer(b"".join(messages), np.uint8)
        at = np.cumsum(sizes) - sizes + _FIELD_HEAD
        kinds = buffer[at]
        commits = _number(buffer, at[kinds == _BEGIN] + 1, 8)
        known = np.concatenate([[self.is_wanted], (commits >= self.start) & (commits < self.end)])
        wanted = known[np.cumsum(kinds == _BEGIN)]
        self.is_wanted = bool(known[-1])
        for place in np.flatnonzero((kinds == _TRUNCATE) & wanted):
            message = bytes(messages[place][_FIELD_HEAD:])
            tables = (message[i : i + 4] for i in range(6, len(message), 4))
            if self.oid in (int.from_bytes(table, "big") for table in tables):
                raise Truncated
        is_ours = _number(buffer, at + 1, 4) == self.oid
        is_change = (kinds == _INSERT) | (kinds == _UPDATE) | (kinds == _DELETE)
        changes = np.flatnonzero(is_change & is_ours & wanted)
        defined = np.flatnonzero((kinds == _RELATION) & is_ours)
        parts = np.split(changes, np.searchsorted(changes, defined))
        for number, part in enumerate(parts):
            if number:
                self.relation = Relation.of(bytes(messages[defined[number - 1]][_FIELD_HEAD:]))
            if len(part) and self.relation is not None:
                yield self._rows(self.relation, buffer, at[part], kinds[part])

    def _rows(
        self, relation: Relation, buffer: npt.NDArray[np.uint8], at: Ints, kinds: Ints
    ) -> ChangedRows:
        places = {name: relation.places[name] for name in self.names}
        mark = buffer[at + 5]
        has_old, has_new = (mark == _OLD) | (mark == _KEY), kinds != _DELETE
        first = np.cumsum(has_old.astype(np.int64) + has_new) - has_old - has_new
        count = int(has_old.sum() + has_new.sum())
        rows = first[has_old], (first + has_old)[has_new]
        old, end = _tuples(buffer, at[has_old] + 6, places)
        begin = at + 6
        begin[has_old] = end + 1
        new, _ = _tuples(buffer, begin[has_new], places)
        come = np.zeros(count, np.bool_)
        come[rows[1]] = True
        # A value that the change has left as it was is that of the old row, if that is told.
        both, is_full = has_old[has_new], (mark == _OLD)[has_new]
        columns = {}
        for name, place in places.items():
            news, olds = new[place], old[place]
            if (news.kinds == _UNCHANGED).any():
                was = news.merged([np.arange(len(both))], [], len(both))
                for into, source in ((was.at, olds.at), (was.sizes, olds.sizes)):
                    into[both] = source[has_new[has_old]]
                was.kinds[both] = olds.kinds[has_new[has_old]]
                news = news.where((news.kinds == _UNCHANGED) & is_full, was)
            columns[name] = olds.merged(rows, [news], count)
        return ChangedRows(relation, come, columns, buffer)


def _tuples(
    buffer: npt.NDArray[np.uint8], at: Ints, places: Mapping[str, int]
) -> tuple[Mapping[int, Values], Ints]:
    """Return the values of some columns, and where the rows that begin at places end.

    They have the same number of columns.
    """
    wanted = frozenset(places.values())
    found: dict[int, Values] = {}
    count = int(_number(buffer, at[:1], 2)[0]) if len(at) else max(wanted, default=-1) + 1
    at = at + 2
    for place in range(count):
        kinds = buffer[at]
        has_text = kinds == _TEXT
        sizes = np.where(has_text, _number(buffer, at + 1, 4), 0)
        if place in wanted:
            found[place] = Values(at + 5, sizes, kinds)
        at = at + 1 + np.where(has_text, sizes + 4, 0)
    return found, at


def _number(buffer: npt.NDArray[np.uint8], at: Ints, size: int) -> Ints:
    """Return the numbers of so many bytes that begin at places; behind the end are zeros."""
    found = np.zeros(len(at), np.int64)
    for byte in range(size):
        found = found << 8 | buffer[np.minimum(at + byte, len(buffer) - 1)]
    return found


def plugin_options(publication: str) -> Iterable[str]:
    """Return the names and values of the plugin's options, one after the other."""
    return ("proto_version", "1", "publication_names", quoted_name(publication))
