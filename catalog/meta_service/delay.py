"""How late the tables of jobs are, and which job is to blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass

from table_store.catalog.jobs.ledger import Barrier, Head, Root
from table_store.catalog.jobs.progress import Track
from table_store.catalog.meta_service.consistency import Barriers
from table_store.catalog.meta_service.observed_job import (
    ObservedJob,
    SameRows,
    topology_of,
    tracks_of,
)
from table_store.catalog.meta_service.topology import snapshots_at
from table_store.catalog.names.name_looks import NameLooks
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How late a table is.

    Attributes:
        job: that writes it.
        barrier: the last one at which the table is valid; None if it is at none that is kept.
        delay_ms: the age of the oldest change of a root that the table does not show; 0 if it
            shows all. None if that is not known.
        bottlenecks: the jobs for which it waits: those below it, or itself, whose sources have
            all that there is.
    """

    job: ObservedJob
    barrier: int | None
    delay_ms: int | None
    bottlenecks: tuple[ObservedJob, ...]


def heads_of_roots(jobs: Sequence[ObservedJob]) -> dict[str, Head]:
    """Return what the roots of jobs are now, by their directories.

    Those that are gone, and those in whose place their names stand for others, are absent.
    """
    looks, sinks = NameLooks(), {one.job.sink for one in jobs}
    found = {(path, one.job.names.get(path)) for one in jobs for path in one.job.sources - sinks}
    replaced = {path for path, name in found if looks.location(path, name) != path}
    heads = {}
    for path in sorted({path for path, _ in found} - replaced):
        with suppress(MissingFileError, NotFoundError):
            heads[path] = Head.of(open_logged(path))
    return heads


def delays(
    jobs: Sequence[ObservedJob], barriers: Barriers, heads: Mapping[str, Head], now_ms: int
) -> list[Delay]:
    """Return how late the table of each job is.

    Args:
        jobs: all jobs of a warehouse.
        barriers: of the warehouse.
        heads: from `heads_of_roots`.
        now_ms: the time, ms since 1970.

    Raises:
        CorruptFileError: the ledger is damaged.
    """
    same = SameRows()
    tracks, topology = tracks_of(jobs), topology_of(jobs)
    by_sink = {one.job.sink: one for one in jobs}
    roots = {path: Root(head=head, position=0) for path, head in heads.items()}
    now = Barrier(number=now_ms, position=0, id="", previous="", roots=roots)
    current = snapshots_at(now, by_sink, tracks, same)
    last = _last_valid(by_sink.keys(), tracks, barriers, same)
    found = []
    for sink, one in by_sink.items():
        barrier = last.get(sink)
        if sink in current:
            number = one.track.taken[-1].barrier if barrier is None else barrier.number
            found.append(Delay(job=one, barrier=number, delay_ms=0, bottlenecks=()))
            continue
        late = topology.below([sink]) & (by_sink.keys() - current.keys())
        blamed = tuple(
            by_sink[other] for other in sorted(late) if not by_sink[other].job.sources & late
        )
        since = None
        if barrier is not None:
            below = topology.below([sink]) - by_sink.keys()
            since = min(_unseen(below, barrier, now, same), default=now_ms)
        found.append(
            Delay(
                job=one,
                barrier=None if barrier is None else barrier.number,
                delay_ms=None if since is None else max(0, now_ms - since),
                bottlenecks=blamed,
            )
        )
    return found


def _last_valid(
    sinks: AbstractSet[str], tracks: Mapping[str, Track], barriers: Barriers, same: SameRows
) -> Mapping[str, Barrier]:
    """The last barrier at which each table is valid."""
    found: dict[str, Barrier] = {}
    for barrier in barriers.newest_first():
        if found.keys() >= sinks:
            break
        for sink in snapshots_at(barrier, sinks - found.keys(), tracks, same):
            found[sink] = barrier
    return found


def _unseen(roots: frozenset[str], barrier: Barrier, now: Barrier, same: SameRows) -> list[int]:
    """When each root that has changed since a barrier has done so first.

    Where nothing tells, because the snapshot has expired, a connector makes the rows, or the table
    is gone or replaced, it was when the barrier was cut: not later than the change, and next to it
    where barriers are cut often.
    """
    found = []
    for path in roots:
        if path not in now.roots:
            found.append(barrier.number)
        elif path in barrier.roots:
            seen, newest = barrier.roots[path].head.snapshot, now.roots[path].head.snapshot
            changed = same.first_change(path, seen, newest)
            if changed is not None:
                found.append(max(changed, barrier.number))
    return found
