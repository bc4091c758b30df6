"""The barrier that a view takes together with the jobs whose tables it reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from table_store.catalog.jobs.ledger import Head, Ledger
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.meta_service.event_time import taken_at_event_time
from table_store.catalog.meta_service.observed_job import (
    SameRows,
    observed_jobs,
    topology_of,
    tracks_of,
)
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.meta_service.topology import snapshots_at
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A barrier, and the snapshots of tables there, by directory."""

    number: int
    snapshots: Mapping[str, int]


def shared_barrier(warehouse: Warehouse, sources: Collection[str], after: int) -> Moment | None:
    """Return the last barrier, not before `after`, at which all sources are valid.

    A job is at most moments on its way to a barrier. A view that read its table then, and another
    one's as well, would have rows of two moments; and at a barrier of its own, cut before the job
    has come to the last one, it would never be valid together with the job's table.

    None if no source is the table of a streaming INSERT, if somebody else has written one, or if a
    source has changed with which these jobs have nothing to do: then a barrier is cut for what the
    sources are now. Costs a read for each source; where a job writes one, also a look at each
    source and at each job of the warehouse.

    Args:
        warehouse: of the sources.
        sources: the directories of tables.
        after: the barrier that the view has.
    """
    registry = JobRegistry.of(warehouse)
    found_jobs = map(registry.find, sources)
    followed = {job.sink for job in found_jobs if job and job.commit_user != JOB_OF_VIEW}
    if not followed:
        return None
    jobs = observed_jobs(registry)
    tracks = tracks_of(jobs)
    same = SameRows()
    now = {path: Head.of(open_logged(path)) for path in sources}
    reachable = taken_at_event_time(warehouse, now)
    heads = {path: head.snapshot for path, head in reachable.items()}
    for path in followed:
        taken = tracks[path].taken if path in tracks else ()
        if not taken or not same(path, taken[-1].snapshot, heads[path]):
            return None
    alone = heads.keys() - topology_of(jobs).below(followed)
    for barrier in Ledger.of(warehouse).newest_first():
        if barrier.number < after:
            return None
        found = snapshots_at(barrier, sources, tracks, same)
        is_now = all(found.get(path) == heads[path] for path in alone)
        if len(found) == len(heads) and is_now:
            return Moment(number=barrier.number, snapshots=found)
    return None
