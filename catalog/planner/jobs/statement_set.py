"""EXECUTE STATEMENT SET: several INSERTs whose jobs begin with the same barrier."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.catalog.planner.jobs.job_registry import stop_job
from table_store.catalog.planner.jobs.streaming_insert import DML_SYNC
from table_store.catalog.planner.process.session import PlannerSession


def start_together(session: PlannerSession, inserts: Sequence[str]) -> list[str]:
    """Run INSERTs; the ids of their jobs.

    If one cannot start, no job of the others stays, and the error is that of the one. With
    `table.dml-sync` it returns when all jobs have ended.
    """
    started: list[str] = []
    sync = session.conf(DML_SYNC)
    # A statement that waited for its job would never let the next one start.
    session.set_conf(DML_SYNC, "false")
    session.bridge.Jobs.hold()
    try:
        for insert in inserts:
            started += [str(row[0]) for row in session.spark.sql(insert).collect() if len(row)]
    except Exception:
        for job in started:
            stop_job(session, job, drains=False)
        raise
    finally:
        session.bridge.Jobs.release()
        session.set_conf(DML_SYNC, sync)
    if (sync or "").lower() == "true":
        session.bridge.Jobs.awaitEnded(started)
    return started
