"""The jobs that a session sees: those of its program, which the JVM keeps, and of job runners."""

from __future__ import annotations

import json
from dataclasses import replace

from table_store.catalog.jobs.job_errors import JobNotFoundError
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.jobs.sink_options import is_emitted_on_watermark
from table_store.catalog.meta_service.submitted_jobs import Order
from table_store.catalog.planner.epochs.emission import refuse_full
from table_store.catalog.planner.epochs.registration import forget_job
from table_store.catalog.planner.jobs.hosted_jobs import Submitter, hosted_jobs
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import JobText, ListedJob


def listed_jobs(session: PlannerSession) -> list[ListedJob]:
    """All jobs of this program, also those that have ended, in the order of their start.

    Behind them those of the job runners of the session's catalogs.
    """
    own = [ListedJob.of(JobText(text)) for text in json.loads(session.bridge.Jobs.all())]
    ids = {one.job.id for one in own}
    return own + [one for one in hosted_jobs(session) if one.job.id not in ids]


def progress(session: PlannerSession) -> dict[str, str]:
    """How far the epochs of this program's jobs have come, by the jobs' ids."""
    return dict(json.loads(session.bridge.Jobs.progress()))


def listed_job(session: PlannerSession, job: str) -> ListedJob:
    """The job of an id or name.

    Raises:
        JobNotFoundError: there is none.
    """
    for listed in reversed(listed_jobs(session)):
        if job in (listed.job.id, listed.job.name):
            return listed
    raise JobNotFoundError(job=job)


def stop_job(session: PlannerSession, job: str, *, drains: bool) -> ListedJob:
    """Stop a job and return what has become of it.

    With `drains` it first has epochs until one has followed the sources up to now. Else the running
    epoch is cancelled. A job that failures have suspended holds up no other one any more.

    Raises:
        JobNotFoundError: there is none of this id or name.
    """
    found = listed_job(session, job)
    if found.job.is_hosted:
        if not found.is_kept:
            return found
        order = Order.DRAIN if drains else Order.STOP
        return Submitter.of(session, found).end(found, order)
    if found.status.state is JobState.SUSPENDED:
        stopped = replace(found, status=found.status.ended(JobState.STOPPED))
        session.bridge.Jobs.note(found.job.id, stopped.text)
        forget_job(session, found.job)
    elif not found.status.is_over:
        session.bridge.Jobs.stop(found.job.id, drains)
    return listed_job(session, found.job.id)


def refresh_job(session: PlannerSession, job: str) -> ListedJob:
    """Let the next epoch of a job remove from its table what others wrote, and return the job.

    Raises:
        JobNotFoundError: none of this id or name runs.
        StreamingInsertError: its rows are final.
    """
    found = listed_job(session, job)
    if not found.is_kept:
        raise JobNotFoundError(job=job)
    if is_emitted_on_watermark(found.job.options):
        refuse_full()
    if found.job.is_hosted:
        return Submitter.of(session, found).ask(found, Order.REFRESH)
    session.bridge.Jobs.refresh(found.job.id)
    return found


def suspend_job(session: PlannerSession, listed: ListedJob, reason: str) -> None:
    """End a running job, which cannot go on for a reason."""
    if listed.job.is_hosted:
        Submitter.of(session, listed).end(listed, Order.SUSPEND, reason)
        return
    session.bridge.Jobs.suspend(listed.job.id, reason)


def writing_queries(session: PlannerSession) -> list[str]:
    """What writes tables in this program: ids of streaming queries, commit users of jobs."""
    text = session.bridge.StreamWriters.all(session.spark._jsparkSession)
    return [str(query) for query in json.loads(text)]
