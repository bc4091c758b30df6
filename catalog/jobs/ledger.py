"""The ledger of barriers: which snapshot of each root table belongs to which barrier.

A root is a table that a REFRESH reads as it is: no view, or a suspended one. The ledger of a
warehouse is a chain of immutable records, `_barriers/<position>`. A cut reads the last record, then
looks at the roots, and then publishes the record at the next position, which succeeds only if
nobody else has; else it begins again. So two drivers never disagree about a barrier, and since the
snapshots of a record were looked at after its predecessor was published, no root ever goes back,
unless it is another table by then: one that was made in the directory of a dropped one.

Only the last records are kept. A process that stood still for so long that the records at its
position and behind it have come and gone may create one there again. It therefore looks whether the
next record names its own as predecessor; if not, its record counts for nothing and is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.connectors.source import last_position
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import FileAccessError, MissingFileError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import IdSource

LEDGER_FOLDER: Final = "_barriers"
LEDGER_VERSION: Final = 3
RECORDS_KEPT: Final = 500
"""So many barriers can be found by their numbers; a root that none of them cut is forgotten."""

_REMEDY: Final = (
    "Restore it from a copy, or delete it: the next barrier is cut from the roots as they are"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a table is when it is looked at.

    Attributes:
        snapshot: its last one; 0 before its first commit. Of a source whose rows a connector
            makes: up to which row they are out.
        created_ms: when the table was created, ms since 1970, by which it is known.
    """

    snapshot: int
    created_ms: int

    @classmethod
    def of(cls, table: FileStoreTable) -> Head:
        """Return what a table is now; two looks at storage, or three without a commit."""
        latest = table.latest_snapshot()
        snapshot = last_position(table) if latest is None else latest.id
        return cls(snapshot=snapshot, created_ms=table.created_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root at a barrier.

    Attributes:
        head: what it is.
        position: of the record whose cut looked at it, this one or an earlier one.
    """

    head: Head
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """A record of the chain.

    Attributes:
        number: milliseconds since 1970, more than the predecessor's.
        position: in the chain, from 1 on.
        id: unique.
        previous: the predecessor's id; empty at the beginning.
        roots: by the directories of the tables.
    """

    number: int
    position: int
    id: str
    previous: str
    roots: Mapping[str, Root]

    @property
    def snapshots(self) -> dict[str, int]:
        """The snapshot of each root by its directory."""
        return {path: root.head.snapshot for path, root in self.roots.items()}

    def to_bytes(self) -> bytes:
        """Return the content of the file; `from_bytes` is its inverse."""
        roots = {
            path: [root.head.snapshot, root.position, root.head.created_ms]
            for path, root in self.roots.items()
        }
        item = {
            "number": self.number,
            "position": self.position,
            "id": self.id,
            "previous": self.previous,
            "roots": roots,
        }
        return to_checked_json(item, version=LEDGER_VERSION)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> Barrier:
        """Return what `to_bytes` wrote.

        Raises:
            CorruptFileError: it is no barrier, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return from_checked_json(
            data, _from_json, path=path, version=LEDGER_VERSION, noun="barrier", remedy=_REMEDY
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    """The barriers of the warehouse whose root is `warehouse`, for any number of processes."""

    file_io: FileIO
    warehouse: str
    ids: IdSource
    records_kept: int = RECORDS_KEPT

    @classmethod
    def of(cls, warehouse: Warehouse) -> Ledger:
        """Return the ledger of a warehouse."""
        return cls(warehouse.file_io, warehouse.root, warehouse.ids)

    def cut(self, now_ms: int, heads: Callable[[], Mapping[str, Head]]) -> Barrier:
        """Publish a new barrier, durable, and return it.

        Args:
            now_ms: as for `extended`.
            heads: looks at roots, and returns what they are by directory; it is called again
                when another cut was faster.

        Raises:
            CorruptFileError: the last record is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        while True:
            last = self.latest()
            barrier = self.extended(last, now_ms, heads())
            if barrier is not None:
                return barrier

    def extended(
        self, last: Barrier | None, now_ms: int, heads: Mapping[str, Head]
    ) -> Barrier | None:
        """Publish the barrier after `last`, durable; None if another cut was faster.

        Costs two lists, one read and one write, with the call of `latest` before.

        Args:
            last: from `latest`.
            now_ms: the barrier's number, unless that of `last` is as great.
            heads: what roots are by directory, looked at after that call. All other
                roots stay in the new barrier as they are in the last one.
        """
        barrier = self._next(last, now_ms, heads)
        path = self._path(barrier.position)
        if not self.file_io.write_new(path, barrier.to_bytes()):
            return None
        positions = self._positions()
        if not self._is_in_chain(barrier, positions):
            self.file_io.delete(path)
            return None
        oldest = barrier.position - self.records_kept + 1
        old = [self._path(position) for position in positions if position < oldest]
        with suppress(FileAccessError):  # the next cut deletes them, too
            self.file_io.delete_files(old)
        return barrier

    def latest(self) -> Barrier | None:
        """Return the last barrier; None before the first one.

        Raises:
            CorruptFileError: its record is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        while positions := self._positions():
            barrier = self._read(positions[-1])
            if barrier is not None:
                return barrier
        return None

    def newest_first(self) -> Iterator[Barrier]:
        """Yield the barriers that are kept, from the last one on; fails as `latest`."""
        for position in reversed(self._positions()):
            barrier = self._read(position)
            if barrier is not None:
                yield barrier

    def get(self, number: int) -> Barrier | None:
        """Return the barrier of a number; None if there is none, or it is no longer kept.

        Costs two lists and about ten reads. A record that counts for nothing, see above, is none.

        Raises:
            CorruptFileError: a record is damaged.
            FormatVersionError: a newer version of the table store wrote one.
        """
        positions = self._positions()
        low, high = 0, len(positions)
        while low < high:
            middle = (low + high) // 2
            barrier = self._read(positions[middle])
            if barrier is not None and barrier.number == number:
                return barrier if self._is_in_chain(barrier, self._positions()) else None
            # One that is gone by now was one of the oldest.
            if barrier is None or barrier.number < number:
                low = middle + 1
            else:
                high = middle
        return None

    def _next(self, last: Barrier | None, now_ms: int, heads: Mapping[str, Head]) -> Barrier:
        position = 1 if last is None else last.position + 1
        known = {} if last is None else last.roots
        roots = {p: r for p, r in known.items() if r.position > position - self.records_kept}
        roots |= {path: Root(head=head, position=position) for path, head in heads.items()}
        return Barrier(
            number=now_ms if last is None else max(now_ms, last.number + 1),
            position=position,
            id=self.ids.unique(),
            previous="" if last is None else last.id,
            roots=FrozenMap(roots),
        )

    def _is_in_chain(self, barrier: Barrier, positions: Sequence[int]) -> bool:
        if positions[-1:] == [barrier.position]:
            return True
        follower = self._read(barrier.position + 1)
        return follower is not None and follower.previous == barrier.id

    def _read(self, position: int) -> Barrier | None:
        path = self._path(position)
        try:
            return Barrier.from_bytes(self.file_io.read_bytes(path), path=path)
        except MissingFileError:
            return None

    def _positions(self) -> list[int]:
        names = self.file_io.names(join_path(self.warehouse, LEDGER_FOLDER))
        return sorted(int(name) for name in names if name.isdecimal())

    def _path(self, position: int) -> str:
        return join_path(self.warehouse, LEDGER_FOLDER, f"{position:012d}")


def _from_json(item: Mapping[str, Any]) -> Barrier:
    roots = {
        path: Root(
            head=Head(snapshot=int(snapshot), created_ms=int(created_ms)), position=int(position)
        )
        for path, (snapshot, position, created_ms) in item["roots"].items()
    }
    return Barrier(
        number=int(item["number"]),
        position=int(item["position"]),
        id=str(item["id"]),
        previous=str(item["previous"]),
        roots=FrozenMap(roots),
    )
