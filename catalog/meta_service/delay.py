"""How late the tables of jobs are, and which job is to blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from table_store.catalog.jobs.ledger import Barrier, Head, Ledger, Root
from table_store.catalog.jobs.progress import Track
from table_store.catalog.meta_service.observed_job import (
    ObservedJob,
    SameRows,
    topology_of,
    tracks_of,
)
from table_store.catalog.meta_service.topology import snapshots_at
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


def delays(jobs: Sequence[ObservedJob], ledger: Ledger, now_ms: int) -> list[Delay]:
    """Return how late the table of each job is; costs a look at each root.

    Raises:
        CorruptFileError: the ledger is damaged.
    """
    same = SameRows()
    tracks, topology = tracks_of(jobs), topology_of(jobs)
    by_sink = {one.job.sink: one for one in jobs}
    now = _as_of_now(topology.below(by_sink) - by_sink.keys(), now_ms)
    current = snapshots_at(now, by_sink, tracks, same)
    last = _last_valid(by_sink.keys() - current.keys(), tracks, ledger, same)
    found = []
    for sink, one in by_sink.items():
        if sink in current:
            taken = one.track.taken[-1].barrier
            found.append(Delay(job=one, barrier=taken, delay_ms=0, bottlenecks=()))
            continue
        late = topology.below([sink]) & (by_sink.keys() - current.keys())
        blamed = tuple(
            by_sink[other] for other in sorted(late) if not by_sink[other].job.sources & late
        )
        barrier = last.get(sink)
        since = None
        if barrier is not None:
            roots = topology.below([sink]) - by_sink.keys()
            since = min(_unseen(roots, barrier, now, same), default=now_ms)
        found.append(
            Delay(
                job=one,
                barrier=None if barrier is None else barrier.number,
                delay_ms=None if since is None else max(0, now_ms - since),
                bottlenecks=blamed,
            )
        )
    return found


def _as_of_now(roots: frozenset[str], now_ms: int) -> Barrier:
    """What a barrier would be that is cut now."""
    heads = {}
    for path in roots:
        try:
            heads[path] = Root(head=Head.of(open_logged(path)), position=0)
        except (MissingFileError, NotFoundError):
            continue  # it was dropped
    return Barrier(number=now_ms, position=0, id="", previous="", roots=heads)


def _last_valid(
    sinks: frozenset[str] | set[str], tracks: Mapping[str, Track], ledger: Ledger, same: SameRows
) -> Mapping[str, Barrier]:
    """The last barrier at which each table is valid."""
    found: dict[str, Barrier] = {}
    for barrier in ledger.newest_first():
        if found.keys() >= sinks:
            break
        for sink in snapshots_at(barrier, sinks - found.keys(), tracks, same):
            found[sink] = barrier
    return found


def _unseen(roots: frozenset[str], barrier: Barrier, now: Barrier, same: SameRows) -> list[int]:
    """When each root that has changed since a barrier has done so first."""
    found = []
    for path in roots:
        if path in barrier.roots and path in now.roots:
            seen, newest = barrier.roots[path].head.snapshot, now.roots[path].head.snapshot
            changed = same.first_change(path, seen, newest)
            if changed is not None:
                found.append(changed)
    return found
