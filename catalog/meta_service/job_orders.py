"""Orders to the job runner for jobs that it has already, by who did not submit them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from table_store.catalog.jobs.job_errors import JobOrderError
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.meta_service.runner_lease import RunnerLease
from table_store.catalog.meta_service.submitted_jobs import Order, SubmittedJobs
from table_store.catalog.names.warehouse import Warehouse

_PAUSED: Final = "it was paused; the order to resume it, or the same INSERT, lets it go on"


class JobOrder(Enum):
    """What may be ordered; `refresh` lets the next epoch compute the whole result."""

    PAUSE = Order.PAUSE
    RESUME = Order.RUN
    REFRESH = Order.REFRESH


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenOrder:
    """An order that was given.

    Attributes:
        number: of the submission that says it.
        has_runner: whether a job runner works, which does it within a second or two.
    """

    number: int
    has_runner: bool


def give_order(warehouse: Warehouse, one: ObservedJob, order: JobOrder) -> GivenOrder:
    """Write down what is wanted of a job from now on, durable.

    Raises:
        JobOrderError: no job runner has the job, or is to have it.
        CorruptFileError: what was submitted is damaged.
    """
    if one.is_view:
        raise JobOrderError(
            job=one.job.name,
            reason="it is a materialized view, which statements alone refresh and suspend",
            remedy="Use REFRESH or ALTER MATERIALIZED VIEW",
        )
    jobs = SubmittedJobs.of(warehouse)
    number = jobs.numbers().get(jobs.digest_of(one.job.sink))
    known = None if number is None else jobs.get(jobs.digest_of(one.job.sink), number)
    if known is None or known.order.is_end:
        raise JobOrderError(
            job=one.job.name,
            reason="it runs in the program that has started it, or has ended",
            remedy="Use STOP JOB and REFRESH JOB there, or submit it to a job runner",
        )
    reason = _PAUSED if order is JobOrder.PAUSE else None
    given = jobs.submit(replace(known, order=order.value, reason=reason))
    return GivenOrder(
        number=given.number, has_runner=RunnerLease.of(warehouse).holder() is not None
    )
