"""Which snapshots a statement reads, so that it sees tables that hang together at one barrier.

The types of consistency are those of FLIP-276 ("Data Consistency Type"). An epoch is durable as
soon as it is visible, so what its READ COMMITTED may take back when a job fails stays here; only a
revision, or a job with another query, takes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from table_store.catalog.jobs.job_errors import NoCommonBarrierError
from table_store.catalog.jobs.ledger import Barrier, Ledger
from table_store.catalog.jobs.progress import Track
from table_store.catalog.meta_service.observed_job import (
    ObservedJob,
    SameRows,
    observed_jobs,
    topology_of,
    tracks_of,
)
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.meta_service.topology import snapshots_at
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.kernel.errors import InvalidOptionError


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


class Barriers(Protocol):
    """The barriers of a warehouse: its ledger, or a copy of it in memory."""

    def newest_first(self) -> Iterator[Barrier]:
        """Yield the barriers that are kept, from the last one on."""
        ...

    def get(self, number: int) -> Barrier | None:
        """Return the barrier of a number; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class ConsistentReads:
    """Finds the barriers at which tables are read, for jobs as they were seen."""

    barriers: Barriers
    jobs: Sequence[ObservedJob]

    @classmethod
    def of(cls, warehouse: Warehouse) -> ConsistentReads:
        """Look at a warehouse; costs a list, and two reads or three for each job.

        Raises:
            CorruptFileError: the registry is damaged.
        """
        return cls(Ledger.of(warehouse), observed_jobs(JobRegistry.of(warehouse)))

    def pinned(
        self,
        tables: Iterable[str],
        consistency: Consistency,
        *,
        barrier: int | None = None,
        until_ms: int | None = None,
    ) -> list[Pinned]:
        """Return a barrier for each group of tables that hang together.

        Tables of no job, and those whose job has had no epoch, are in no group. It costs a read for
        each barrier that is looked at.

        Args:
            tables: the directories of the tables that a statement reads.
            consistency: which barrier it is.
            barrier: its number, if it is a certain one.
            until_ms: a time, ms since 1970, after which it was not cut.

        Raises:
            NoCommonBarrierError: there is no such barrier.
            CorruptFileError: the ledger is damaged.
        """
        wanted = set(tables)
        jobs = self._begun()
        components, tracks = topology_of(jobs).components, tracks_of(jobs)
        groups = {components[table] for table in wanted if table in components}
        found = []
        for group in sorted(groups, key=min):
            read = wanted & group
            needed = group if consistency is Consistency.REPEATABLE_READ else read
            barriers, said = self._barriers(barrier, until_ms), _wanted(barrier, until_ms)
            found.append(self._pinned(read, needed, tracks, barriers, said))
        return found

    def last_barrier(self, table: str | None) -> int:
        """Return the last barrier at which all tables are valid that hang together with one.

        Without it at which all tables of all jobs are.

        Raises:
            NoCommonBarrierError: there is none.
            CorruptFileError: the ledger is damaged.
        """
        jobs = self._begun()
        components = topology_of(jobs).components
        tables = components.keys() if table is None else components.get(table, {table})
        barriers = self.barriers.newest_first()
        return self._pinned(set(tables), tables, tracks_of(jobs), barriers).barrier

    def _begun(self) -> list[ObservedJob]:
        return [one for one in self.jobs if one.track.taken]

    def _pinned(
        self,
        read: set[str],
        needed: Iterable[str],
        tracks: Mapping[str, Track],
        barriers: Iterable[Barrier],
        wanted: str = "at any barrier that is kept",
    ) -> Pinned:
        """The first of the barriers at which all tables are valid."""
        same = SameRows()
        behind: list[str] | None = None
        for barrier in barriers:
            # A job that began later holds back only those who read its table.
            begun = {t for t in needed if t not in tracks or tracks[t].last_until(barrier.number)}
            tables = sorted(read | begun)
            found = snapshots_at(barrier, tables, tracks, same)
            if len(found) == len(tables):
                return Pinned(barrier=barrier.number, snapshots={t: found[t] for t in read})
            if behind is None:
                behind = [table for table in tables if table not in found]
        raise NoCommonBarrierError(tables=sorted(read), wanted=wanted, behind=behind or ())

    def _barriers(self, number: int | None, until_ms: int | None) -> Iterable[Barrier]:
        if number is not None:
            barrier = self.barriers.get(number)
            return () if barrier is None else (barrier,)
        newest_first = self.barriers.newest_first()
        if until_ms is None:
            return newest_first
        return (barrier for barrier in newest_first if barrier.number <= until_ms)


def _wanted(number: int | None, until_ms: int | None) -> str:
    if number is not None:
        return f"at barrier {number}"
    if until_ms is not None:
        return f"at any barrier that is kept until {until_ms} ms since 1970"
    return "at any barrier that is kept"
