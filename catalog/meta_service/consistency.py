"""Which snapshots a statement reads, so that it sees tables that hang together at one barrier.

The types of consistency are those of FLIP-276 ("Data Consistency Type"). An epoch is durable as
soon as it is visible, so what its READ COMMITTED may take back when a job fails stays here; only a
revision, or a job with another query, takes back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from table_store.catalog.errors import NoCommonBarrierError
from table_store.catalog.jobs.ledger import Barrier, Ledger
from table_store.catalog.jobs.progress import Track, read_progress
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob
from table_store.catalog.meta_service.topology import Topology, snapshots_at
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidOptionError, MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged

_GONE: Final = (MissingFileError, NotFoundError)
_log = logging.getLogger(__name__)


class Consistency(Enum):
    """What a statement reads of tables that hang together.

    READ_UNCOMMITTED is the newest snapshot of each. READ_COMMITTED is the last barrier at which all
    tables of the statement are valid, REPEATABLE_READ that at which all tables are that hang
    together with them.
    """

    READ_UNCOMMITTED = "ReadUncommitted"
    READ_COMMITTED = "ReadCommitted"
    REPEATABLE_READ = "RepeatableRead"

    @classmethod
    def of(cls, text: str, *, key: str) -> Consistency:
        """Return the type of a name; letter case, dashes and underscores do not matter.

        Raises:
            InvalidOptionError: there is no such type; `key` says where the name was set.
        """
        plain = text.strip().replace("-", "").replace("_", "").lower()
        for kind in cls:
            if kind.value.lower() == plain:
                return kind
        names = ", ".join(f"'{kind.value}'" for kind in cls)
        raise InvalidOptionError(key=key, value=text, reason=f"use one of {names}")


def barrier_number(text: str, *, key: str) -> int:
    """Return the number of a barrier; `key` says where it was set.

    Raises:
        InvalidOptionError: it is none.
    """
    if not text.strip().isdecimal():
        reason = "use the number of a barrier, as CALL sys.pin() answers it"
        raise InvalidOptionError(key=key, value=text, reason=reason)
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """Tables at one barrier: its number, and the snapshots by the tables' directories."""

    barrier: int
    snapshots: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ConsistentReads:
    """Finds the barriers of the warehouse to which a ledger and a registry belong."""

    ledger: Ledger
    registry: JobRegistry

    def pinned(
        self, tables: Iterable[str], consistency: Consistency, *, barrier: int | None = None
    ) -> list[Pinned]:
        """Return a barrier for each group of tables that hang together.

        Tables of no job, and those whose job has had no epoch, are in no group. It costs a list and
        a read for each job of the warehouse, and a read for each job and barrier that is looked at.

        Args:
            tables: the directories of the tables that a statement reads.
            consistency: which barrier it is.
            barrier: its number, if it is a certain one.

        Raises:
            NoCommonBarrierError: there is no such barrier.
            CorruptFileError: the registry or the ledger is damaged.
        """
        wanted = set(tables)
        jobs, tracks = self._running()
        components = Topology({job.sink: job.sources for job in jobs}).components
        groups = {components[table] for table in wanted if table in components}
        found = []
        for group in sorted(groups, key=min):
            read = wanted & group
            needed = group if consistency is Consistency.REPEATABLE_READ else read
            found.append(self._pinned(read, needed, tracks, barrier))
        return found

    def _pinned(
        self, read: set[str], needed: Iterable[str], tracks: Mapping[str, Track], number: int | None
    ) -> Pinned:
        same = _SameRows()
        tables = sorted(needed)
        found: Mapping[str, int] = {}
        newest: tuple[int, list[str]] | None = None
        for barrier in self._barriers(number):
            found = snapshots_at(barrier, tables, tracks, same)
            if len(found) == len(tables):
                return Pinned(barrier=barrier.number, snapshots={t: found[t] for t in read})
            if newest is None:
                newest = barrier.number, [table for table in tables if table not in found]
        raise NoCommonBarrierError(
            tables=sorted(read),
            barrier=number,
            behind=() if newest is None else newest[1],
        )

    def _barriers(self, number: int | None) -> Iterator[Barrier]:
        if number is None:
            yield from self.ledger.newest_first()
            return
        barrier = self.ledger.get(number)
        if barrier is not None:
            yield barrier

    def _running(self) -> tuple[list[RegisteredJob], dict[str, Track]]:
        """The jobs that have had an epoch, with the barriers that they have taken, by table."""
        jobs, tracks = [], {}
        for job in self.registry.all():
            try:
                table = open_logged(job.sink)
                progress = read_progress(table.file_io, job.sink, job.commit_user)
            except _GONE:
                _log.info("the table of job %s was dropped", job.name)
                continue
            if progress is not None and progress.track.taken:
                jobs.append(job)
                tracks[job.sink] = progress.track
        return jobs, tracks


class _SameRows:
    """Whether only compactions are between two snapshots of a table; each is read once."""

    def __init__(self) -> None:
        self._tables: dict[str, FileStoreTable] = {}

    def __call__(self, path: str, one: int, other: int) -> bool:
        older, newer = sorted((one, other))
        if older == 0:
            return False
        if path not in self._tables:
            self._tables[path] = open_logged(path)
        store = self._tables[path].snapshot_store
        try:
            return all(
                store.get(number).commit_kind is CommitKind.COMPACT
                for number in range(newer, older, -1)
            )
        except SnapshotNotFoundError:
            return False
