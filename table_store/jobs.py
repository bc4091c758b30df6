"""The streaming INSERTs of a Spark program, from Python: list them, wait for them, stop them.

All of it works by SQL, so with a classic session and with one of Spark Connect, whose server has
the jobs then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from table_store.catalog.definition.sql_literal import string_literal

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

__all__ = ["Job", "await_jobs", "flush", "list_jobs", "stop_job"]

_LOOK_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of SHOW JOBS; see docs/sql.md.

    Attributes:
        job: its id.
        name: `pipeline.name`, or the table's name.
        sink: the table that it writes.
        state: RUNNING, FINISHED, STOPPED, SUSPENDED or FAILED.
        barrier: of the last epoch that had something to do, ms since 1970; None before the first.
        lag_ms: the time since the table last was up to date; None if it does not run.
        rule: of that epoch.
        reason: why it was this rule.
        rows_changed: rows inserted and deleted since the start.
        rows_per_second: how many rows the epochs read per second; None before the first one.
        progress: of its epoch, while Spark works for it, as "12 of 30 tasks, 240000 rows".
        failures: failed epochs since the last good one.
        error: of the last epoch, if it failed.
    """

    job: str
    name: str
    sink: str
    state: str
    barrier: int | None
    lag_ms: int | None
    rule: str | None
    reason: str | None
    rows_changed: int
    rows_per_second: int | None
    progress: str | None
    failures: int
    error: str | None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.state == "RUNNING"


def list_jobs(spark: SparkSession) -> list[Job]:
    """Return the jobs of the session's program, also those that have ended, oldest first."""
    return [_job(row) for row in spark.sql("SHOW JOBS").collect()]


def await_jobs(spark: SparkSession, *jobs: str, timeout_s: float | None = None) -> list[Job]:
    """Return when jobs have ended, or after `timeout_s` seconds, with how they are then.

    `jobs` are ids or names; without any it waits for all that run now.
    """
    end = None if timeout_s is None else time.monotonic() + timeout_s
    wanted = set(jobs) or {job.job for job in list_jobs(spark) if job.is_running}
    while True:
        found = [job for job in list_jobs(spark) if {job.job, job.name} & wanted]
        if not any(job.is_running for job in found):
            return found
        if end is not None and time.monotonic() >= end:
            return found
        time.sleep(_LOOK_S)


def stop_job(spark: SparkSession, job: str, *, drain: bool = False) -> Job:
    """Stop a job, by id or name, and return how it is when it has ended.

    With `drain` it first brings its table up to now.

    Raises:
        AnalysisException: there is none (TABLE_STORE_JOB_NOT_FOUND).
    """
    return _job(
        spark.sql(f"STOP JOB {string_literal(job)}{' WITH DRAIN' if drain else ''}").collect()[0]
    )


def flush(spark: SparkSession, table: str | None = None) -> dict[str, int]:
    """Return when a table, or all tables of jobs, have what their sources have now.

    The answer has the barrier of each table.

    Raises:
        AnalysisException: a job fails (TABLE_STORE_JOB_BEHIND), or none writes the table
            (TABLE_STORE_NO_JOB).
    """
    argument = "" if table is None else string_literal(table)
    rows = spark.sql(f"CALL sys.flush({argument})").collect()
    return {row["table"]: row["barrier"] for row in rows}


def _job(row: Row) -> Job:
    return Job(**{field.name: row[field.name] for field in fields(Job)})
