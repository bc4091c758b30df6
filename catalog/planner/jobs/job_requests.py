"""Requests about streaming INSERTs: one starts a job, one is an epoch of it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.database_errors import (
    SourceBusyError,
    SourceUnavailableError,
)
from table_store.catalog.connectors.sink import deliver, is_append_only, is_sink
from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.jobs.job_errors import StreamingInsertError
from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.jobs.sink_commit import is_alone
from table_store.catalog.jobs.sink_options import check_options, is_emitted_on_watermark
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.epochs.appended_rows import check_append_only
from table_store.catalog.planner.epochs.consumers import hold_rows
from table_store.catalog.planner.epochs.emission import check_emission
from table_store.catalog.planner.epochs.epoch import advance
from table_store.catalog.planner.epochs.epoch_record import error_text, recording
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.lasting_queries import Target
from table_store.catalog.planner.epochs.registration import (
    forget_job,
    found_names,
    kept_statement,
    register_job,
)
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.step import Rule
from table_store.catalog.planner.jobs.hosted_jobs import (
    Host,
    Submitter,
    behind,
    has_runner,
    host_of,
)
from table_store.catalog.planner.jobs.job_registry import listed_jobs
from table_store.catalog.planner.jobs.job_sink import (
    claim,
    give_back,
    noted,
    opened_sink,
    sink_of,
)
from table_store.catalog.planner.jobs.scan_start import begin_late, late_start
from table_store.catalog.planner.jobs.streaming_insert import (
    DML_SYNC,
    PIPELINE_NAME,
    begin_sources,
    check_alone,
    check_no_cycle,
    commit_user_of,
    insert_query,
    interval_ms,
    is_exhausted,
)
from table_store.catalog.planner.jobs.temporary_names import (
    seen_by_job,
    why_temporary,
    with_sources,
)
from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.table_requests import managed_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import (
    AdvancedJob,
    AdvanceJob,
    Epoch,
    Job,
    JobCommand,
    ListedJob,
    StartedJob,
    StartJob,
)
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import NotFoundError, TableStoreError
from table_store.storage.log_store.log_errors import (
    LogUnavailableError,
    SchemaRegistryUnavailableError,
)
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN

_log = logging.getLogger(__name__)
_ERROR_LENGTH_MAX = 2_000
_NOTE_MS = 60_000
_CLOCK = SystemClock()
_SOURCE_GONE = "TABLE_OR_VIEW_NOT_FOUND"
_AWAY = tuple(
    f"[{error.condition}]"
    for error in (
        LogUnavailableError,
        SchemaRegistryUnavailableError,
        SourceBusyError,
        SourceUnavailableError,
    )
)
_ENDING = (JobCommand.DRAIN, JobCommand.STOP)


def start_job(session: PlannerSession, request: StartJob) -> StartedJob:
    """Check an INSERT in streaming mode; the answer is the job that may begin.

    Raises:
        StreamingInsertError: no job can do what it says.
        JobExistsError: a job writes the table already.
        StreamWriterExistsError: a streaming query or a job of another program writes it.
        UnknownOptionError, InvalidOptionError: as `check_options`.
    """
    check_options(request.options)
    interval = interval_ms(session)
    if request.table.table_handle.change_type_column is not None:
        raise StreamingInsertError(
            reason=f"{CHANGE_TYPE_COLUMN.key} is for changes that a query lists, and a job finds "
            "the changes itself",
            remedy="Leave the option out",
        )
    access, managed = managed_table(session, request.table.relation)
    sink_name = access.qualified(managed.identifier)
    refuse_derived(managed.schema, sink_name, "INSERT")
    relation = request.table.relation
    insert = with_sources(session, request.insert)
    is_temporary = access.temporary.holds(managed.location)
    is_hosted = not is_temporary and _is_for_runner(session, request, access.warehouse)
    if is_temporary:
        insert, relation = seen_by_job(session, insert, relation)
    name = session.conf(PIPELINE_NAME) or sink_name
    commit_user = commit_user_of(name, insert)
    jobs = listed_jobs(session)
    waits = (session.conf(DML_SYNC) or "false").strip().lower() == "true"
    if is_hosted:
        for known in jobs:
            is_same = known.job.is_hosted and known.job.commit_user == commit_user
            if is_same and known.is_kept:
                return _submitted(session, known, waits=waits)
    check_alone(jobs, name, managed.location)
    query = _checked_query(session, insert, managed, sink_name, request.options)
    check_no_cycle(session, query, jobs, (sink_name, managed.location))
    begin_sources(query, interval)
    start = late_start(query)
    job = Job(
        id=uuid.uuid4().hex,
        name=name,
        commit_user=commit_user,
        sink=relation,
        sink_name=sink_name,
        path=managed.location,
        insert=insert,
        options=request.options,
        interval_ms=interval,
        starts_late=start is not None,
        is_hosted=is_hosted,
    )
    if is_hosted and kept_statement(job) is None:
        raise StreamingInsertError(
            reason="it holds a secret, and a job runner would find it in a file of the warehouse",
            remedy="Write ${env:NAME} in its place, or SET 'table-store.jobs' = 'driver'",
        )
    sink = sink_of(job, access, managed)
    claim(session, job, sink)
    hold_rows(sink, query.sources)
    if start is not None:
        begin_late(sink, late_start(query) or start)
    listed = _registered(session, job, query)
    if is_hosted:
        # The runner claims the table before the job's first epoch.
        give_back(session, job)
        listed = replace(listed, status=listed.status.ended(JobState.SUBMITTED))
        return _submitted(session, listed, waits=waits)
    return _started(listed, waits=waits, is_temporary=is_temporary)


def _checked_query(
    session: PlannerSession,
    insert: StoredQuery,
    managed: ManagedTable,
    sink_name: str,
    options: Mapping[str, str],
) -> JobQuery:
    """Return the query of an INSERT; it fits what the table takes.

    Raises:
        StreamingInsertError: no job can write its result there.
    """
    target = Target.of(open_logged(managed.location), managed.schema)
    query = insert_query(session, insert, target)
    reason = why_temporary(session, query)
    if reason is not None:
        raise StreamingInsertError(reason=reason)
    if is_emitted_on_watermark(options):
        check_emission(query)
    elif is_append_only(managed.schema):
        check_append_only(query, sink_name, str(connector_of(managed.schema)))
    return query


def _registered(session: PlannerSession, job: Job, query: JobQuery) -> ListedJob:
    """Note that a job begins."""
    names = found_names(query)
    register_job(session, job, query.sources, names, JobState.RUNNING)
    status = JobStatus(
        started_ms=_CLOCK.now_ms(), sources=query.sources, created=query.created, names=names
    )
    return ListedJob(job=job, status=status)


def _is_for_runner(session: PlannerSession, request: StartJob, warehouse: Warehouse) -> bool:
    """Whether a job runner is to have the job.

    Raises:
        StreamingInsertError: it has to, for the statement comes from a server, and none works.
    """
    host = host_of(session, request.table.relation.catalog)
    if host is Host.RUNNER or (host is Host.AUTO and has_runner(warehouse)):
        return True
    if request.is_server:
        raise StreamingInsertError(
            reason="a server's sessions come and go, and a job would end with its server",
            remedy="Start a job runner with `table-store jobs`, or run the statement with "
            "spark-sql -f, or in a program of yours",
        )
    return False


def _submitted(session: PlannerSession, listed: ListedJob, *, waits: bool) -> StartedJob:
    """Submit a job, also one that was submitted before: so it goes on at once if it had failed.

    Raises:
        JobBehindError: the statement waits for the job, which has failed.
    """
    submitter = Submitter.of(session, listed)
    submitter.submit(listed)
    if waits:
        done = submitter.await_over(listed)
        if done.status.error is not None:
            raise behind(done, done.status.error)
    return _started(listed, waits=waits, is_temporary=False)


def _started(listed: ListedJob, *, waits: bool, is_temporary: bool) -> StartedJob:
    job = listed.job
    return StartedJob(
        id=job.id,
        name=job.name,
        commit_user=job.commit_user,
        listed=listed.text,
        waits=waits,
        is_temporary=is_temporary,
        is_hosted=job.is_hosted,
    )


def advance_job(session: PlannerSession, request: AdvanceJob) -> AdvancedJob:
    """One epoch, whose failure is part of the answer; or the end of a job."""
    listed = ListedJob.of(request.listed)
    job, status = listed.job, listed.status
    if request.command is JobCommand.SUSPEND:
        status = replace(status, error=request.lost).ended(JobState.SUSPENDED)
    elif request.lost is not None:
        status = status.failed(request.lost)
    if request.command is JobCommand.LEAVE:
        status = status.ended(JobState.SUBMITTED)
    elif request.command is JobCommand.STOP:
        status = replace(status, failures=0, waits=0, error=None).ended(JobState.STOPPED)
    elif not status.is_over:
        if request.epoch is not None:
            below = [ListedJob.of(text) for text in request.below]
            epoch = Epoch.of(request.epoch)
            status = _advanced(session, job, status, epoch, below, request.command)
        if request.command is JobCommand.DRAIN and not status.failures and not status.is_over:
            status = status.ended(JobState.FINISHED)
    if status.is_over:
        give_back(session, job)
    if status.state is JobState.SUSPENDED:
        register_job(session, job, status.sources or (), status.names, status.state)
    elif status.is_over and status.state is not JobState.SUBMITTED:
        forget_job(session, job)
    return AdvancedJob(
        listed=ListedJob(job=job, status=status).text,
        is_over=status.is_over,
        has_failed=status.failures > 0 or status.state is JobState.SUSPENDED,
        error=status.error if status.is_over else None,
    )


def _advanced(
    session: PlannerSession,
    job: Job,
    status: JobStatus,
    epoch: Epoch,
    below: Sequence[ListedJob],
    command: JobCommand,
) -> JobStatus:
    is_full = command is JobCommand.REFRESH
    try:
        sink = opened_sink(session, job)
        if sink is None:
            return status.failed(f"{job.sink_name} is another table by now").ended(JobState.FAILED)
        if epoch.obstacle is not None:
            return status.failed(epoch.obstacle)
        claim(session, job, sink)
        pins = {**epoch.snapshots, **{one.job.path: one.status.snapshot for one in below}}
        followed = _followed(session, sink, job, status, epoch, pins, is_full=is_full)
        deliver(sink.table, sink.schema)
        status = followed
        now_ms = _CLOCK.now_ms()
        status = status.followed(epoch.cut_ms).paced(now_ms - epoch.cut_ms, job.interval_ms)
        return noted(sink, status, now_ms)
    except (NotFoundError, WrongRelationKindError) as error:
        return status.failed(str(error)).ended(JobState.FAILED)
    except (TableStoreError, CapturedException, Py4JJavaError) as error:
        text = error_text(error)
        # Who is to end does not wait for what may never come.
        failed = status.failed(text, waits=text.startswith(_AWAY) and command not in _ENDING)
        is_gone = isinstance(error, CapturedException) and error.getCondition() == _SOURCE_GONE
        return failed.ended(JobState.SUSPENDED) if is_gone else failed


def _followed(
    session: PlannerSession,
    sink: Sink,
    job: Job,
    status: JobStatus,
    epoch: Epoch,
    pins: Mapping[str, int],
    *,
    is_full: bool,
) -> JobStatus:
    latest = sink.table.latest_snapshot()
    rollback = 0 if latest is None else latest.last_rollback
    is_same = status.barrier and rollback == status.rollback and not status.failures
    is_same = is_same and not is_full
    if is_same and (pins, epoch.created) == (status.sources, status.created):
        return status
    is_alone_there = is_alone(sink.table.snapshot_store, latest, job.commit_user)
    # After a late start the rows are not those of the result, even if nobody else wrote any.
    is_shared = not is_full and (job.starts_late or not is_alone_there)
    sink = replace(sink, is_shared=is_shared or is_sink(sink.schema))
    with recording(session, sink, epoch.barrier, name=job.name) as record:
        target = Target.of(sink.table, sink.schema)
        query = insert_query(session, job.insert, target, pins)
        names = found_names(query)
        if query.sources.keys() != (status.sources or {}).keys() or names != status.names:
            register_job(session, job, query.sources, names, status.state)
        skipped = session.bridge.SkippedRecords if query.external else None
        if skipped is not None:
            skipped.begin(job.id)
        done = advance(session, sink, query, is_full=is_full, barrier=epoch.barrier)
        if skipped is not None:
            count = status.records_skipped + int(skipped.take(job.id))
            status = replace(status, records_skipped=count)
        record(done)
    status = replace(
        status,
        sources=query.sources,
        created=query.created,
        names=names,
        rollback=rollback,
        snapshot=done.snapshot,
        diverged=done.diverged,
        noted_ms=0,
    )
    if is_exhausted(query):
        # Its last rows are in, and none will come.
        status = status.ended(JobState.FINISHED)
    if done.rule == Rule.NONE.value and status.barrier:
        return status
    return status.worked(
        barrier=done.barrier,
        rule=done.rule,
        reason=done.reason,
        rows_read=done.rows_read,
        rows_changed=done.rows_changed,
        rows_absent=done.rows_absent,
        rows_late=done.rows_late,
        milliseconds=done.milliseconds,
    )
