"""What the service tells of a look at the warehouse: one function for each path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from table_store.catalog.meta_service.consistency import Consistency
from table_store.catalog.meta_service.job_orders import JobOrder, give_order
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.meta_service.versions import versions_by_name
from table_store.catalog.service.models import (
    BarrierRecord,
    BarriersAnswer,
    ColumnsAnswer,
    DelaysAnswer,
    Epoch,
    JobsAnswer,
    LineageAnswer,
    LineageRow,
    OrderAnswer,
    ProgressAnswer,
    TablesAnswer,
    TableSnapshot,
    TableVersion,
    TopologyAnswer,
    VersionsAnswer,
)
from table_store.catalog.service.observation import Observation
from table_store.catalog.service.query import LIMIT, Parameter, Query
from table_store.catalog.service.shown_columns import table_columns
from table_store.catalog.service.shown_delays import job_share, table_delay
from table_store.catalog.service.shown_topology import shown_job, shown_tables
from table_store.catalog.shown.topology_tables import TOPOLOGY_TABLES
from table_store.storage.kernel.errors import NotFoundError


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A path of the service.

    Attributes:
        path: below the service's address.
        summary: what it answers.
        parameters: that it knows.
        answer: the class of what `tell` returns.
        tell: makes the answer; reads storage only where it must.
        is_order: whether it changes something: asked by POST, and only by who bears a token.
    """

    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: type
    tell: Callable[[Observation, Query], object]
    is_order: bool = False


def _topology(seen: Observation, _: Query) -> TopologyAnswer:
    last = next(seen.barriers.newest_first(), None)
    return TopologyAnswer(
        observed_ms=seen.observed_ms,
        barrier=None if last is None else last.number,
        readable_barrier=seen.readable_barrier,
        tables=tuple(shown_tables(seen)),
        jobs=tuple(shown_job(seen, one) for one in seen.jobs),
    )


def _tables(seen: Observation, query: Query) -> TablesAnswer:
    known = {table.name: table for table in shown_tables(seen)}
    wanted = query.texts("table") or tuple(known)
    for name in wanted:
        if name not in known:
            raise NotFoundError(kind="table of the topology", name=name)
    tables = tuple(known[name] for name in wanted[: query.limit])
    return TablesAnswer(observed_ms=seen.observed_ms, tables=tables)


def _jobs(seen: Observation, query: Query) -> JobsAnswer:
    jobs = tuple(shown_job(seen, one) for one in _wanted(seen, query)[: query.limit])
    return JobsAnswer(observed_ms=seen.observed_ms, jobs=jobs)


def _barriers(seen: Observation, query: Query) -> BarriersAnswer:
    barriers = []
    for barrier in islice(seen.barriers.newest_first(), query.limit):
        looked_at = (
            TableSnapshot(table=seen.topology.name_of(path), snapshot=root.head.snapshot)
            for path, root in sorted(barrier.roots.items())
            if root.position == barrier.position
        )
        barriers.append(
            BarrierRecord(number=barrier.number, position=barrier.position, tables=tuple(looked_at))
        )
    return BarriersAnswer(observed_ms=seen.observed_ms, barriers=tuple(barriers))


def _progress(seen: Observation, query: Query) -> ProgressAnswer:
    epochs = sorted(_epochs(seen, query), key=lambda epoch: epoch.finished_ms, reverse=True)
    return ProgressAnswer(observed_ms=seen.observed_ms, epochs=tuple(epochs[: query.limit]))


def _epochs(seen: Observation, query: Query) -> Iterator[Epoch]:
    barrier = query.number("barrier")
    for one in _wanted(seen, query):
        for epoch in seen.epochs[one.job.sink]:
            if barrier in (None, epoch.barrier):
                yield Epoch(
                    job=one.job.id,
                    table=seen.topology.name_of(one.job.sink),
                    barrier=epoch.barrier or None,
                    started_ms=epoch.ended_ms - epoch.milliseconds,
                    finished_ms=epoch.ended_ms,
                    milliseconds=epoch.milliseconds,
                    rule=epoch.rule,
                    reason=epoch.reason,
                    rows_read=epoch.rows_read,
                    rows_changed=epoch.rows_changed,
                    error=epoch.error,
                )


def _source_lineage(seen: Observation, query: Query) -> LineageAnswer:
    return _lineage(seen, query, "source_snapshot_lineage")


def _sink_lineage(seen: Observation, query: Query) -> LineageAnswer:
    return _lineage(seen, query, "sink_snapshot_lineage")


def _lineage(seen: Observation, query: Query, table: str) -> LineageAnswer:
    barrier = query.number("barrier")
    jobs = {one.job.id for one in _wanted(seen, query)}
    rows: Iterable[LineageRow] = (
        LineageRow(
            job=row["job_id"],
            barrier=row["barrier"],
            table=row["table_name"],
            snapshot=row["snapshot"],
        )
        for row in TOPOLOGY_TABLES[table].records(seen.topology)
        if barrier in (None, row["barrier"]) and row["job_id"] in jobs
    )
    found = sorted(rows, key=lambda row: row.barrier, reverse=True)
    return LineageAnswer(observed_ms=seen.observed_ms, lineage=tuple(found[: query.limit]))


def _column_lineage(seen: Observation, query: Query) -> ColumnsAnswer:
    return table_columns(seen, query.text("table") or "")


def _delays(seen: Observation, query: Query) -> DelaysAnswer:
    jobs = _wanted(seen, query)[: query.limit]
    return DelaysAnswer(
        observed_ms=seen.observed_ms,
        tables=tuple(table_delay(seen, one) for one in jobs),
        jobs=tuple(job_share(seen, one) for one in jobs),
    )


def _versions(seen: Observation, query: Query) -> VersionsAnswer:
    consistency = Consistency.of(query.text("consistency") or "", key="consistency")
    found = versions_by_name(
        seen.topology.warehouse,
        query.texts("table"),
        consistency,
        barrier=query.number("barrier"),
        reads=lambda: seen.reads,
    )
    return VersionsAnswer(
        observed_ms=seen.observed_ms,
        consistency=consistency.value,
        versions=tuple(
            TableVersion(table=name, version=at.snapshot, barrier=at.barrier)
            for name, at in found.items()
        ),
    )


def _ordered(order: JobOrder) -> Callable[[Observation, Query], OrderAnswer]:
    def give(seen: Observation, query: Query) -> OrderAnswer:
        (one,) = _wanted(seen, query)
        given = give_order(seen.topology.warehouse, one, order)
        return OrderAnswer(job=one.job.id, order=order.name.lower(), has_runner=given.has_runner)

    return give


def _wanted(seen: Observation, query: Query) -> list[ObservedJob]:
    """The job that is asked for, or all."""
    wanted = query.text("job")
    jobs = [one for one in seen.jobs if wanted in (None, one.job.id)]
    if wanted is not None and not jobs:
        raise NotFoundError(kind="job", name=wanted)
    return jobs


_JOB: Final = Parameter(name="job", description="The id of a job: nothing of others is answered.")
_NEEDED_JOB: Final = Parameter(name="job", description="The id of a job.", is_needed=True)
_BARRIER: Final = Parameter(name="barrier", description="The number of a barrier.", is_number=True)
_TABLE: Final = Parameter(name="table", description="The name of a table.", is_many=True)
_NEEDED_TABLE: Final = Parameter(
    name="table",
    description="The name of a table, `[namespace.]table`.",
    is_many=True,
    is_needed=True,
)
_ONE_TABLE: Final = Parameter(
    name="table", description="The name of a table of the topology.", is_needed=True
)
_CONSISTENCY: Final = Parameter(
    name="consistency",
    description="What is read of tables that hang together: RepeatableRead, ReadCommitted or "
    "ReadUncommitted.",
    default=Consistency.REPEATABLE_READ.value,
)

ENDPOINTS: Final = (
    Endpoint(
        path="/v1/topology",
        summary="All tables and jobs, as the page draws them.",
        parameters=(),
        answer=TopologyAnswer,
        tell=_topology,
    ),
    Endpoint(
        path="/v1/tables",
        summary="Tables that jobs connect: the barrier and snapshot of each, and how late it is.",
        parameters=(_TABLE, LIMIT),
        answer=TablesAnswer,
        tell=_tables,
    ),
    Endpoint(
        path="/v1/jobs",
        summary="Jobs: what they read and write, their states and last epochs.",
        parameters=(_JOB, LIMIT),
        answer=JobsAnswer,
        tell=_jobs,
    ),
    Endpoint(
        path="/v1/barriers",
        summary="The last barriers, and the snapshots of the roots that were looked at for them.",
        parameters=(LIMIT,),
        answer=BarriersAnswer,
        tell=_barriers,
    ),
    Endpoint(
        path="/v1/progress",
        summary="The last epochs: which barrier each brought, from when to when, and what it cost.",
        parameters=(_JOB, _BARRIER, LIMIT),
        answer=ProgressAnswer,
        tell=_progress,
    ),
    Endpoint(
        path="/v1/lineage/sources",
        summary="The snapshots that jobs read at barriers.",
        parameters=(_JOB, _BARRIER, LIMIT),
        answer=LineageAnswer,
        tell=_source_lineage,
    ),
    Endpoint(
        path="/v1/lineage/sinks",
        summary="The snapshots that jobs wrote at barriers.",
        parameters=(_JOB, _BARRIER, LIMIT),
        answer=LineageAnswer,
        tell=_sink_lineage,
    ),
    Endpoint(
        path="/v1/lineage/columns",
        summary="The columns of a table, and from which columns of which tables each comes.",
        parameters=(_ONE_TABLE,),
        answer=ColumnsAnswer,
        tell=_column_lineage,
    ),
    Endpoint(
        path="/v1/delays",
        summary="How late tables are and barriers came to them, and what each job added to it.",
        parameters=(_JOB, LIMIT),
        answer=DelaysAnswer,
        tell=_delays,
    ),
    Endpoint(
        path="/v1/versions",
        summary="The versions with which tables are read together.",
        parameters=(_NEEDED_TABLE, _CONSISTENCY, _BARRIER),
        answer=VersionsAnswer,
        tell=_versions,
    ),
    *(
        Endpoint(
            path=f"/v1/jobs/{order.name.lower()}",
            summary=summary,
            parameters=(_NEEDED_JOB,),
            answer=OrderAnswer,
            tell=_ordered(order),
            is_order=True,
        )
        for order, summary in (
            (JobOrder.PAUSE, "Lets a job of a job runner have no epochs until it is resumed."),
            (JobOrder.RESUME, "Lets a job of a job runner go on at once."),
            (JobOrder.REFRESH, "Lets a job of a job runner compute its whole result next."),
        )
    ),
)
"""All paths that tell something of the warehouse as JSON, or that give orders to its job runner."""
