"""Requests about streaming INSERTs: one starts a job, one is an epoch of it."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.errors import (
    StreamingInsertError,
    StreamingStatementError,
    WrongRelationKindError,
)
from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.jobs.sink_commit import is_alone
from table_store.catalog.planner.jobs.consumers import note_consumer
from table_store.catalog.planner.jobs.epoch import Refreshed, advance
from table_store.catalog.planner.jobs.job_registry import listed_jobs, writing_queries
from table_store.catalog.planner.jobs.scan_start import begin_late, late_start
from table_store.catalog.planner.jobs.sink import Sink
from table_store.catalog.planner.jobs.step import Rule
from table_store.catalog.planner.jobs.streaming_insert import (
    DML_SYNC,
    PIPELINE_NAME,
    check_alone,
    check_no_cycle,
    commit_user_of,
    insert_query,
    interval_ms,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess, jvm_process
from table_store.catalog.planner.names.managed_table import refuse_view
from table_store.catalog.planner.names.table_requests import managed_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import (
    AdvancedJob,
    AdvanceJob,
    Job,
    JobCommand,
    ListedJob,
    RefusedStatement,
    RefuseStreaming,
    StartedJob,
    StartJob,
)
from table_store.catalog.tables.lifecycle import ManagedTable
from table_store.catalog.tables.stream_writer_claim import StreamWriter, StreamWriterClaim
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import MissingFileError, NotFoundError, TableStoreError
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN

_log = logging.getLogger(__name__)
_ERROR_LENGTH_MAX = 2_000
_NOTE_MS = 60_000
_CLOCK = SystemClock()
_SOURCE_GONE = "TABLE_OR_VIEW_NOT_FOUND"


def start_job(session: PlannerSession, request: StartJob) -> StartedJob:
    """Check an INSERT in streaming mode; the answer is the job that may begin.

    Raises:
        StreamingInsertError: no job can do what it says.
        JobExistsError: a job writes the table already.
        StreamWriterExistsError: a streaming query or a job of another program writes it.
    """
    if request.is_server:
        raise StreamingInsertError(
            reason="a server's sessions come and go, and a job would end with its server",
            remedy="Run the statement with spark-sql -f, or in a program of yours",
        )
    interval = interval_ms(session)
    if request.table.table_handle.change_type_column is not None:
        raise StreamingInsertError(
            reason=f"{CHANGE_TYPE_COLUMN.key} is for changes that a query lists, and a job finds "
            "the changes itself",
            remedy="Leave the option out",
        )
    access, managed = managed_table(session, request.table.relation)
    sink_name = access.qualified(managed.identifier)
    refuse_view(managed.schema, sink_name, "INSERT")
    if access.temporary.holds(managed.location):
        raise StreamingInsertError(
            reason=f"{sink_name} is a temporary table, which a job's session does not see",
            remedy="Insert into another table",
        )
    name = session.conf(PIPELINE_NAME) or sink_name
    jobs = listed_jobs(session)
    check_alone(jobs, name, managed.location)
    query = insert_query(session, request.insert)
    check_no_cycle(session, query, jobs, (sink_name, managed.location))
    start = late_start(query)
    job = Job(
        id=uuid.uuid4().hex,
        name=name,
        commit_user=commit_user_of(name, request.insert),
        sink=request.table.relation,
        sink_name=sink_name,
        path=managed.location,
        insert=request.insert,
        options=request.options,
        interval_ms=interval,
        starts_late=start is not None,
    )
    _claim(_table(access, managed), job).take(_writer(job), writing_queries(session))
    if start is not None:
        begin_late(_sink(access, managed, job), start)
    status = JobStatus(started_ms=_CLOCK.now_ms(), sources=query.sources)
    return StartedJob(
        id=job.id,
        name=job.name,
        commit_user=job.commit_user,
        listed=ListedJob(job=job, status=status).text,
        waits=(session.conf(DML_SYNC) or "false").strip().lower() == "true",
    )


def advance_job(session: PlannerSession, request: AdvanceJob) -> AdvancedJob:
    """One epoch, whose failure is part of the answer; or the end of a job."""
    listed = ListedJob.of(request.listed)
    job, status = listed.job, listed.status
    if request.command is JobCommand.SUSPEND:
        status = replace(status, error=request.lost).ended(JobState.SUSPENDED)
    elif request.lost is not None:
        status = status.failed(request.lost)
    if request.command is JobCommand.STOP:
        status = replace(status, failures=0, error=None).ended(JobState.STOPPED)
    elif not status.is_over:
        is_full = request.command is JobCommand.REFRESH
        status = _advanced(session, job, status, is_full=is_full)
        if request.command is JobCommand.DRAIN and not status.failures and not status.is_over:
            status = status.ended(JobState.FINISHED)
    if status.is_over:
        _give_back(session, job)
    return AdvancedJob(
        listed=ListedJob(job=job, status=status).text,
        pause_ms=job.interval_ms,
        is_over=status.is_over,
        error=status.error if status.is_over else None,
    )


def refuse_streaming(session: PlannerSession, request: RefuseStreaming) -> None:
    """Say why a statement cannot run in streaming mode.

    Raises:
        StreamingStatementError: always.
    """
    match request.statement:
        case RefusedStatement.SELECT:
            reason = f"the changes of {', '.join(request.reads)} have no end, and so the result "
            reason += "would have none"
            remedy = "INSERT the result INTO a table, read changes with CHANGES FROM VERSION or "
            remedy += "spark.readStream, add a LIMIT, read the tables WITH ('scan.bounded.mode' = "
            remedy += "'latest')"
        case RefusedStatement.OVERWRITE:
            reason = "a result without an end replaces nothing"
            remedy = "Use INSERT INTO"
        case RefusedStatement.SEVERAL:
            reason = "each INSERT is a job of its own"
            remedy = "Write one INSERT for each table, between EXECUTE STATEMENT SET BEGIN and END"
        case RefusedStatement.FOREIGN:
            reason = "only a managed table gets rows and the job's progress in one commit"
            remedy = "Insert into a managed table"
    raise StreamingStatementError(statement=request.statement.value, reason=reason, remedy=remedy)


def _advanced(session: PlannerSession, job: Job, status: JobStatus, *, is_full: bool) -> JobStatus:
    now_ms = _CLOCK.now_ms()
    try:
        access, managed = managed_table(session, job.sink)
        if managed.location != job.path:
            return status.failed(f"{job.sink_name} is another table by now").ended(JobState.FAILED)
        sink = _sink(access, managed, job, is_full=is_full)
        return _followed(session, sink, job, status, now_ms, is_full=is_full).followed(now_ms)
    except (NotFoundError, WrongRelationKindError) as error:
        return status.failed(str(error)).ended(JobState.FAILED)
    except (TableStoreError, CapturedException, Py4JJavaError) as error:
        failed = status.failed(_text_of(error))
        is_gone = isinstance(error, CapturedException) and error.getCondition() == _SOURCE_GONE
        return failed.ended(JobState.SUSPENDED) if is_gone else failed


def _followed(
    session: PlannerSession,
    sink: Sink,
    job: Job,
    status: JobStatus,
    now_ms: int,
    *,
    is_full: bool,
) -> JobStatus:
    table = sink.table
    _claim(table, job).take(_writer(job), writing_queries(session))
    latest = table.latest_snapshot()
    rollback = 0 if latest is None else latest.last_rollback
    is_same = status.barrier and rollback == status.rollback and not is_full
    if is_same and _are_unchanged(status):
        return _noted(sink, status, now_ms)
    query = insert_query(session, job.insert)
    done = advance(session, sink, query, is_full=is_full)
    status = _noted(
        sink, replace(status, sources=query.sources, created=query.created, noted_ms=0), now_ms
    )
    status = replace(status, rollback=rollback)
    if done.rule == Rule.NONE.value and status.barrier:
        return status
    return replace(
        status,
        barrier=done.barrier,
        rule=done.rule,
        reason=done.reason,
        rows_changed=status.rows_changed + done.rows_changed,
        rows_absent=status.rows_absent + done.rows_absent,
        diverged=_diverged(done) or status.diverged,
    )


def _diverged(done: Refreshed) -> str | None:
    if not done.left_out:
        return None
    names = ", ".join(done.left_out)
    return f"changes of {names} without change tracking are left out at barrier {done.barrier}"


def _sink(access: CatalogAccess, managed: ManagedTable, job: Job, *, is_full: bool = False) -> Sink:
    """The job's table; with `is_full` as if the job had written all of its rows."""
    table = _table(access, managed)
    is_alone_there = is_alone(table.snapshot_store, table.latest_snapshot(), job.commit_user)
    return Sink(
        relation=job.sink,
        access=access,
        table=table,
        schema=managed.schema,
        job=job.commit_user,
        # After a late start the rows are not those of the result, even if nobody else wrote any.
        is_shared=not is_full and (job.starts_late or not is_alone_there),
        options=job.options,
    )


def _noted(sink: Sink, status: JobStatus, now_ms: int) -> JobStatus:
    """Tell the sources which of their snapshots the job goes on from, so that these stay."""
    if status.noted_ms + _NOTE_MS > now_ms:
        return status
    note_consumer(sink, status.sources or {})
    return replace(status, noted_ms=now_ms)


def _are_unchanged(status: JobStatus) -> bool:
    """Whether each directory still has the table and the snapshot that were followed."""
    created = status.created or {}
    for path, followed in (status.sources or {}).items():
        try:
            table = open_logged(path)
            latest = table.latest_snapshot()
            if table.created_ms != created.get(path):
                return False
        except (MissingFileError, NotFoundError):
            return False
        if (0 if latest is None else latest.id) != followed:
            return False
    return True


def _give_back(session: PlannerSession, job: Job) -> None:
    try:
        access, managed = managed_table(session, job.sink)
        _claim(_table(access, managed), job).give_back(_writer(job))
    except TableStoreError as error:
        _log.warning("job %s does not give back its table: %s", job.name, error)


def _table(access: CatalogAccess, managed: ManagedTable) -> FileStoreTable:
    return open_logged(managed.location, access.warehouse.places.file_io_of(managed.location))


def _claim(table: FileStoreTable, job: Job) -> StreamWriterClaim:
    return StreamWriterClaim(
        file_io=table.file_io, path=table.path, name=job.sink_name, clock=table.clock
    )


def _writer(job: Job) -> StreamWriter:
    return StreamWriter(query=job.commit_user, run=job.id, holder=jvm_process())


def _text_of(error: Exception) -> str:
    """An error's text without the JVM's trace."""
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.getMessage())
    else:
        text = str(error)
    line = text.strip().partition("\n")[0]
    return f"{line}{_place_of(error)}"[:_ERROR_LENGTH_MAX]


def _place_of(error: Exception) -> str:
    """The expression of the query that has failed, if Spark tells which."""
    if not isinstance(error, CapturedException):
        return ""
    fragments = [c.fragment() for c in error.getQueryContext() if c.contextType().name == "SQL"]
    return f" It is: {fragments[0]}" if fragments else ""
