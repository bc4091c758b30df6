"""Names of Spark jobs and stages while a statement runs, as Spark's UI shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from table_store.catalog.planner.process.session import PlannerSession


@contextmanager
def jobs_named(session: PlannerSession, statement: str) -> Iterator[None]:
    """Let jobs within the block bear the name of a statement, whatever runs them.

    The outermost name counts. Costs two calls to the JVM.
    """
    names = session.bridge.JobNames
    before = names.begin(session.spark._jsparkSession, statement)
    try:
        yield
    finally:
        names.end(session.spark._jsparkSession, before)
