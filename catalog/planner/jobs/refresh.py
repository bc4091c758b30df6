"""Brings materialized views to the results of their queries, those below first."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.jobs.job_errors import (
    TransactionOpenError,
    UnsupportedQueryError,
    ViewRedefinedError,
)
from table_store.catalog.jobs.ledger import Barrier, Head, Ledger
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.meta_service.barrier_holds import BARRIER_HOLDS
from table_store.catalog.meta_service.event_time import taken_at_event_time
from table_store.catalog.meta_service.one_moment import LOOKS_MAX, Heads, roots_at_once
from table_store.catalog.meta_service.revision import RevisionClaim
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.epochs.epoch import advance, left_as_it_is
from table_store.catalog.planner.epochs.epoch_record import recording
from table_store.catalog.planner.epochs.job_query import AS_THEY_ARE, JobQuery
from table_store.catalog.planner.epochs.lasting_queries import analysed, context_of, moved
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.epochs.step import Rule
from table_store.catalog.planner.jobs.shared_barrier import Moment, shared_barrier
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.parallel_steps import at_once
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.types import to_arrow
from table_store.storage.log_store.logged_table import known_table

_Job: TypeAlias = tuple[Sink, JobQuery]
_Done: TypeAlias = dict[str, Refreshed]
"""What all attempts of a REFRESH have done together with each view, by its directory."""

_ATTEMPTS_MAX: Final = 10
_PATIENCE_S: Final = 10
"""So long a REFRESH waits for the end of a producer's transaction."""
_LOOK_MS: Final = 100


def refresh(session: PlannerSession, view: Sink, *, is_full: bool) -> list[Refreshed]:
    """Refresh the views that a view reads, then the view itself, which is the last of the answer.

    A view below that is suspended stays as it is, with all that only it reads. `is_full` recomputes
    the view itself even if nothing has changed that it reads.

    Where another refresh has meanwhile brought one of the views to a later barrier, all is done
    again for a barrier after that. The answer also has what was done with the others until then.

    Raises:
        UnsupportedQueryError: the query has become one that no view can be kept equal to.
        RevisionOpenError: a revision brings one of the tables anew.
        TransactionOpenError: the transaction of a producer does not come to its end.
        CommitConflictError: other refreshes of the same views were faster again and again.
    """
    done: _Done = {}
    for _ in range(_ATTEMPTS_MAX - 1):
        with suppress(CommitConflictError):
            return _refreshed(session, view, done, is_full=is_full)
    return _refreshed(session, view, done, is_full=is_full)


def _refreshed(
    session: PlannerSession, view: Sink, done: _Done, *, is_full: bool
) -> list[Refreshed]:
    ledger = Ledger.of(view.access.warehouse)
    end = time.monotonic() + _PATIENCE_S
    roots = _RootsAtOnce(session, view.access.warehouse, end)
    while True:
        last = ledger.latest()
        jobs = list(_jobs(session, view, context_of(session), seen=set()))
        _refuse_revised(view, jobs)
        standings = [Standing.of(sink) for sink, _ in jobs]
        if last is not None and not is_full and _are_current(jobs, standings, last):
            for standing, (sink, query) in zip(standings, jobs, strict=True):
                _note_done(done, sink, left_as_it_is(standing, query, last.number))
            _hold_barriers(view, jobs)
            return [done[sink.table.path] for sink, _ in jobs]
        moment = _shared(view, jobs, standings, is_full=is_full)
        if moment is None:
            now_ms = max(view.table.clock.now_ms(), _reached(standings) + 1)
            heads = roots.heads(jobs, last)
            barrier = None if heads is None else ledger.extended(last, now_ms, heads)
            if barrier is None:
                continue
            moment = Moment(number=barrier.number, snapshots=barrier.snapshots)
        try:
            _advance(session, view, jobs, moment, done, is_full=is_full)
            return [done[sink.table.path] for sink, _ in jobs]
        except ViewRedefinedError:
            view = replace(view, schema=view.table.schema)


def _refuse_revised(view: Sink, jobs: Sequence[_Job]) -> None:
    """Look for a revision of the tables, after the ledger and before a barrier is cut.

    Raises:
        RevisionOpenError: one is open.
    """
    revision = RevisionClaim.of(view.access.warehouse).current()
    if revision is not None:
        for sink, query in jobs:
            if revision.holds(sink.table.path, query.sources):
                raise revision.error()


def analysed_query(
    session: PlannerSession,
    schema: TableSchema,
    snapshots: Mapping[str, int] = AS_THEY_ARE,
    context: str | None = None,
) -> JobQuery:
    """The query of a materialized view, checked against the view's columns.

    `snapshots` has those of tables, by directory, that are not read as they are now, `context` is
    that of the session, if it is known.

    Raises:
        UnsupportedQueryError: the columns of its result are others by now.
    """
    assert schema.query is not None, "only materialized views are refreshed"
    query = analysed(session, schema.query, snapshots, context=context)
    check_no_external(query)
    now = columns_from_spark(query.facts.schema)
    if [to_arrow(field.type) for field in now] != [to_arrow(field.type) for field in schema.fields]:
        raise UnsupportedQueryError(
            reason=f"it returns the columns {_listed(now)} now, and the view has "
            + _listed(schema.fields)
        )
    return query


def check_no_external(query: JobQuery) -> None:
    """Check that a view's query reads no rows from elsewhere.

    Raises:
        UnsupportedQueryError: it does.
    """
    external = query.external
    for source in query.facts.sources:
        if source.table_handle.path in external:
            name = source.relation.text
            raise UnsupportedQueryError(
                reason=f"{name} is an external source, which only streaming INSERTs read; INSERT "
                f"INTO t SELECT * FROM {name} in streaming mode loads it into a table"
            )


def _listed(fields: Sequence[Field]) -> str:
    return ", ".join(f"{field.name} {field.type.sql_name()}" for field in fields)


def _jobs(session: PlannerSession, view: Sink, context: str, *, seen: set[str]) -> Iterator[_Job]:
    """The views to refresh that a view reads, before those that read them, and the view itself."""
    seen.add(view.table.path)
    query = analysed_query(session, view.schema, context=context)
    for other in views_below(session, query):
        if other.table.path not in seen and not other.schema.upkeep.is_suspended:
            yield from _jobs(session, other, context, seen=seen)
    yield view, query


def _reached(standings: Sequence[Standing]) -> int:
    """The last barrier to which any of the views was brought."""
    return max(standing.barrier for standing in standings)


def _are_current(jobs: Sequence[_Job], standings: Sequence[Standing], last: Barrier) -> bool:
    """Whether all views have the results over what they read is now, so nothing is to be done."""
    return last.number >= _reached(standings) and all(
        standing.is_current(query) for standing, (_, query) in zip(standings, jobs, strict=True)
    )


def _hold_barriers(view: Sink, jobs: Sequence[_Job]) -> None:
    if view.staged is None:
        BARRIER_HOLDS.renew(view.access.warehouse, {sink.table.path for sink, _ in jobs})


def _shared(
    view: Sink, jobs: Sequence[_Job], standings: Sequence[Standing], *, is_full: bool
) -> Moment | None:
    """The last barrier of the streaming INSERTs whose tables the queries read, if that will do."""
    sinks = {sink.table.path for sink, _ in jobs}
    sources = {path for _, query in jobs for path in query.sources} - sinks
    after = _reached(standings)
    moment = shared_barrier(view.access.warehouse, sources, after)
    if moment is None or moment.number > after:
        return moment
    # All views are there, or they have rows of other moments and need a later barrier.
    followed = [standing.followed() for standing in standings]
    is_there = not is_full and all(
        one is not None and all(moment.snapshots.get(p, at) == at for p, at in one.sources.items())
        for one in followed
    )
    return moment if is_there else None


def _roots(jobs: Sequence[_Job]) -> dict[str, Head]:
    """What the analysis has found the roots to be: read AS OF an older version alone, that one."""
    sinks = {sink.table.path for sink, _ in jobs}
    heads: dict[str, Head] = {}
    for _, query in jobs:
        for path in query.sources.keys() - sinks:
            seen = heads[path].snapshot if path in heads else 0
            snapshot = max(seen, query.sources[path])
            heads[path] = Head(snapshot=snapshot, created_ms=query.created[path])
    return heads


@dataclass(slots=True)
class _RootsAtOnce:
    """Finds what the roots are for a barrier, all at one moment, within a bounded time.

    Attributes:
        seen: what they were at the last look.
        looks: how many there were.
        end: until when it waits for producers, by a steady clock.
    """

    session: PlannerSession
    warehouse: Warehouse
    end: float
    seen: Heads | None = None
    looks: int = 0

    def heads(self, jobs: Sequence[_Job], last: Barrier | None) -> Heads | None:
        """Return what a barrier takes of the roots.

        None if the queries have to be analysed again before the next look.

        Raises:
            TransactionOpenError: the transaction of a producer is open, and the time has passed.
        """
        seen = self._at_one_moment(jobs, last)
        return None if seen is None else taken_at_event_time(self.warehouse, seen)

    def _at_one_moment(self, jobs: Sequence[_Job], last: Barrier | None) -> Heads | None:
        analysed_as = _roots(jobs)
        try:
            now = roots_at_once(self.warehouse, analysed_as)
        except TransactionOpenError:
            if time.monotonic() >= self.end:
                raise
            self.session.bridge.Jobs.pause(_LOOK_MS)
            return None
        before, self.seen, self.looks = self.seen, now, self.looks + 1
        if any(
            path not in now or now[path].created_ms != head.created_ms
            for path, head in analysed_as.items()
        ):
            return None  # it is gone, or another table by now
        if all(query.facts.is_lasting for _, query in jobs):
            return now
        # Where nothing has changed between two looks, what is older is meant to be older.
        is_moment = now == before or all(now[path] == head for path, head in analysed_as.items())
        if not is_moment:
            return now if self.looks >= LOOKS_MAX else None
        known = {} if last is None else last.roots
        return now | {
            path: head
            for path, head in analysed_as.items()
            if path not in known or head.snapshot >= known[path].head.snapshot
        }


def _advance(
    session: PlannerSession,
    view: Sink,
    jobs: Sequence[_Job],
    moment: Moment,
    done: _Done,
    *,
    is_full: bool,
) -> None:
    sinks = {sink.table.path for sink, _ in jobs}
    # What a view has at the barrier is read, also if another refresh has gone on since.
    pins = {path: at for path, at in moment.snapshots.items() if path not in sinks}
    left = list(jobs)
    while left:
        waiting = {sink.table.path for sink, _ in left}
        # Views that read each other in a circle, which nobody can define, come in their order.
        ready = [job for job in left if waiting.isdisjoint(job[1].sources)] or left[:1]
        epochs = [
            partial(
                _epoch, session, job, pins, moment.number, done, is_full=is_full and job[0] is view
            )
            for job in ready
        ]
        at_once(session, epochs)
        pins |= {sink.table.path: done[sink.table.path].snapshot for sink, _ in ready}
        left = [job for job in left if job[0].table.path not in pins]
    _hold_barriers(view, jobs)


def _epoch(
    session: PlannerSession,
    job: _Job,
    pins: Mapping[str, int],
    barrier: int,
    done: _Done,
    *,
    is_full: bool,
) -> None:
    """Bring a view to a barrier, over snapshots of its tables by directory."""
    sink, query = job
    with recording(session, sink, barrier) as record:
        if any(at != pins.get(path, at) for path, at in query.sources.items()):
            query = moved(query, pins) or analysed_query(session, sink.schema, pins)
        refreshed = advance(session, sink, query, is_full=is_full, barrier=barrier)
        record(refreshed)
    _note_done(done, sink, refreshed)


def _note_done(done: _Done, sink: Sink, now: Refreshed) -> None:
    """Add what an attempt did with a view to what those before it did."""
    before = done.get(sink.table.path)
    if before is not None:
        told = before if now.rule == Rule.NONE.value else now
        now = replace(
            now,
            rule=told.rule,
            reason=told.reason,
            rows_read=before.rows_read + now.rows_read,
            rows_changed=before.rows_changed + now.rows_changed,
            rows_absent=before.rows_absent + now.rows_absent,
            rows_late=before.rows_late + now.rows_late,
            milliseconds=before.milliseconds + now.milliseconds,
        )
    done[sink.table.path] = now


def views_below(session: PlannerSession, query: JobQuery) -> Iterator[Sink]:
    """The materialized views that a query reads."""
    for source in query.facts.sources:
        table = known_table(source.table_handle.path)
        schema = table.schema
        if schema.query is not None:
            access = CatalogAccess.of(session, source.relation.catalog)
            yield Sink(
                relation=source.relation, access=access, table=table, schema=schema, job=JOB_OF_VIEW
            )
