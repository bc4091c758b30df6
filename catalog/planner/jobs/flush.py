"""CALL sys.flush: brings tables up to now, and returns when they are there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.jobs.job_errors import NoCommonBarrierError, NoJobError
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.submitted_jobs import Order
from table_store.catalog.planner.jobs.hosted_jobs import Submitter, behind, is_passing
from table_store.catalog.planner.jobs.job_registry import listed_jobs
from table_store.catalog.planner.jobs.job_sink import opened_sink
from table_store.catalog.planner.jobs.materialized_view_requests import refresh_materialized_view
from table_store.catalog.planner.jobs.refresh import analysed_query
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import ListedJob
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.shown.procedure_context import FlushedTable
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.log_store.logged_table import open_logged

_GIVEN_UP = (JobState.SUSPENDED, JobState.FAILED)
_CLOCK = SystemClock()
_PATIENCE_S = 10
"""So long it waits for what passes by itself, such as a producer's transaction."""
_LOOK_MS = 100
_ROUNDS_MAX = 5


def flush(
    session: PlannerSession, catalog: CatalogReference, table: ManagedTable | None
) -> Sequence[FlushedTable]:
    """Bring a table up to now, or all tables that jobs of this program write.

    A materialized view is refreshed, after the jobs that write what it reads.

    Raises:
        NoJobError: no job of this program writes the table.
        JobBehindError: a job has been suspended, has failed, or fails.
        NoRunnerError: a job was submitted to a job runner, and none works.
        SuspendedViewError: the view is suspended.
    """
    jobs = {one.job.path: one for one in listed_jobs(session)}
    if table is None:
        return _followed(session, [one for one in jobs.values() if _is_awaited(session, one)])
    if table.schema.query is None:
        name = CatalogAccess.of(session, catalog).qualified(table.identifier)
        if table.location not in jobs:
            raise NoJobError(table=name)
        return _followed(session, [jobs[table.location]])
    below = _sources(session, table)
    _followed(session, [one for path, one in jobs.items() if path in below])
    identifier = table.identifier
    relation = RelationReference(
        catalog=catalog, namespace=(identifier.namespace,), name=identifier.name
    )
    done = refresh_materialized_view(session, relation, is_full=False)[-1]
    return [FlushedTable(table=done.view, job=None, barrier=done.barrier)]


def _is_awaited(session: PlannerSession, one: ListedJob) -> bool:
    """Whether a job runs, or has been given up while its table is still there."""
    if one.status.state not in _GIVEN_UP:
        return one.status.state is JobState.RUNNING
    try:
        return opened_sink(session, one.job) is not None
    except (NotFoundError, WrongRelationKindError):
        return False


def _sources(session: PlannerSession, view: ManagedTable) -> set[str]:
    """The directories of all tables that a view reads, be it through other views."""
    found: set[str] = set()
    left = [view.schema]
    while left:
        for path in analysed_query(session, left.pop()).sources:
            if path not in found:
                found.add(path)
                schema = open_logged(path).schema
                left += [schema] if schema.query is not None else []
    return found


def _followed(session: PlannerSession, jobs: Iterable[ListedJob]) -> list[FlushedTable]:
    """Let jobs follow their sources up to now.

    Raises:
        NoJobError, JobBehindError: see `flush`.
    """
    ids = [one.job.id for one in jobs]
    for one in jobs:
        if one.status.state in _GIVEN_UP:
            raise behind(one, one.status.error or "it has failed")
        if one.status.is_over and not one.job.is_hosted:
            raise NoJobError(table=one.job.sink_name)
    begin_ms = _CLOCK.now_ms()
    here = [one.job.id for one in jobs if not one.job.is_hosted]
    end = time.monotonic() + _PATIENCE_S
    session.bridge.Jobs.flush(here)
    while _is_delayed(session, here) and time.monotonic() < end:
        session.bridge.Jobs.pause(_LOOK_MS)
        session.bridge.Jobs.flush(here)
    _follow_in_runners(session, [one for one in jobs if one.job.is_hosted])
    now = {one.job.id: one for one in listed_jobs(session)}
    failed = [one for one in now.values() if one.status.failures and one.status.error]
    found = []
    for one in (now[job] for job in ids if job in now):
        # One that has finished has all that its sources will ever have, or was asked to end.
        if one.status.reached_ms < begin_ms and one.status.state is not JobState.FINISHED:
            # It may wait for one below it.
            other = one if one.status.error or not failed else failed[0]
            raise behind(one, f"job {other.job.name}: {other.status.error or 'it has ended'}")
        found.append(
            FlushedTable(table=one.job.sink_name, job=one.job.name, barrier=one.status.barrier)
        )
    return found


def _follow_in_runners(session: PlannerSession, jobs: Sequence[ListedJob]) -> None:
    """Let hosted jobs follow their sources up to now, to one barrier.

    Each is asked by itself, and its runner may have seen only some of that when it cuts one. Where
    they have come to different ones, all are asked again, but not for ever: others may hold them
    up.

    Raises:
        NoRunnerError, JobBehindError: see `flush`.
    """
    for _ in range(_ROUNDS_MAX):
        submitters = [(Submitter.of(session, one), one) for one in jobs]
        asked = [submitter.asked(one, Order.FLUSH) for submitter, one in submitters]
        begin_ms = min((each.begin_ms for each in asked), default=0)
        reached = [
            submitter.await_up_to(one, each)
            for (submitter, one), each in zip(submitters, asked, strict=True)
        ]
        has_new = any(one.status.barrier >= begin_ms for one in reached)
        if len(jobs) < 2 or not has_new or _have_one_barrier(submitters, begin_ms):
            return


def _have_one_barrier(submitters: Sequence[tuple[Submitter, ListedJob]], since_ms: int) -> bool:
    """Whether the tables of jobs that hang together can be read at one barrier since a time."""
    paths: dict[str, set[str]] = {}
    warehouses = {submitter.warehouse.root: submitter.warehouse for submitter, _ in submitters}
    for submitter, one in submitters:
        paths.setdefault(submitter.warehouse.root, set()).add(one.job.path)
    try:
        return all(
            pinned.barrier >= since_ms
            for root, warehouse in warehouses.items()
            for pinned in ConsistentReads.of(warehouse).pinned(
                paths[root], Consistency.READ_COMMITTED
            )
        )
    except NoCommonBarrierError:
        return False


def _is_delayed(session: PlannerSession, jobs: Sequence[str]) -> bool:
    """Whether a job is to be asked once more."""
    return any(is_passing(one.status) for one in listed_jobs(session) if one.job.id in jobs)
