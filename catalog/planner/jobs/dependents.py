"""What becomes of the jobs that stand on a table when a statement changes the table."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from table_store.catalog.definition.fate import Fate
from table_store.catalog.jobs.job_errors import DependentsError
from table_store.catalog.jobs.progress import read_progress
from table_store.catalog.names.identifier import quoted_parts
from table_store.catalog.names.name_record import NameRecord, RelationKind, TableTarget
from table_store.catalog.planner.epochs.consumers import (
    UNREADABLE,
    Dependent,
    dependents,
    forget_consumer,
)
from table_store.catalog.planner.jobs.job_registry import listed_jobs, suspend_job
from table_store.catalog.planner.jobs.redefinition import change_schema
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.log_store.logged_table import open_logged

_log = logging.getLogger(__name__)


_STATED: Final[ContextVar[Fate | None]] = ContextVar("fate of dependents", default=None)


@contextmanager
def stated_fate(fate: Fate) -> Iterator[None]:
    """Let a statement that this thread runs have said what becomes of dependents."""
    token = _STATED.set(fate)
    try:
        yield
    finally:
        _STATED.reset(token)


def fate_or(default: Fate) -> Fate:
    """What the statement has said; `default` if it has said nothing."""
    return _STATED.get() or default


def refuse(operation: str, table: str, stopped: Sequence[tuple[Dependent, str]]) -> None:
    """Return quietly if no dependent would be stopped.

    Raises:
        DependentsError: one would; `stopped` has them with the reasons.
    """
    for dependent, reason in stopped:
        raise DependentsError(
            operation=operation,
            table=table,
            dependent=dependent.text,
            reason=reason,
            writes=dependent.writes,
        )


def stop(
    session: PlannerSession,
    access: CatalogAccess,
    stopped: Sequence[tuple[Dependent, str]],
    fate: Fate,
) -> None:
    """Suspend dependents, or drop them if they are views and the fate is CASCADE; jobs end.

    Each is told as a warning, for DROP and ALTER answer nothing.
    """
    for dependent, reason in stopped:
        if not dependent.is_view:
            _stop_job(session, dependent, reason)
        elif fate is Fate.CASCADE:
            _drop(session, access, dependent, reason)
        else:
            _suspend(dependent, reason)


def all_dependents(record: NameRecord, access: CatalogAccess) -> list[Dependent]:
    """Those of a table, in whichever of its directories they have followed it."""
    target = record.target
    locations = target.locations if isinstance(target, TableTarget) else ()
    return dependents([access.warehouse.places.absolute(location) for location in locations])


def writers(session: PlannerSession, location: str) -> list[Dependent]:
    """The streaming INSERTs of this program that write a table."""
    return [
        Dependent(listed.job.name, listed.job.commit_user, open_logged(location), writes=True)
        for listed in listed_jobs(session)
        if listed.is_kept and listed.job.path == location
    ]


def running(session: PlannerSession, found: Sequence[Dependent]) -> list[Dependent]:
    """Those that are views, or run in this program."""
    users = {j.job.commit_user for j in listed_jobs(session) if j.is_kept}
    return [one for one in found if one.is_view or one.job in users]


def release_sources(name: str, location: str) -> None:
    """Let the sources of a view that gets another name, or none, forget it.

    What is damaged can be dropped: its sources then keep what they kept for it, and a warning is
    logged.
    """
    try:
        table = open_logged(location)
        progress = None if table.schema.query is None else read_progress(table.file_io, table.path)
    except UNREADABLE as error:
        _log.warning("what %s stands on is not known: %s", name, error)
        return
    if progress is not None:
        forget_consumer(name, progress.followed.sources)


def _suspend(dependent: Dependent, reason: str) -> None:
    table = dependent.table
    try:
        change_schema(
            table,
            lambda old: replace(
                old, upkeep=replace(old.upkeep, is_suspended=True, suspended_because=reason)
            ),
        )
    except NotFoundError:
        return  # it was dropped meanwhile
    _log.warning(
        "%s is suspended: %s. ALTER MATERIALIZED VIEW … RESUME goes on.", dependent.text, reason
    )


def _stop_job(session: PlannerSession, dependent: Dependent, reason: str) -> None:
    for listed in listed_jobs(session):
        if listed.job.commit_user == dependent.job and listed.is_kept:
            suspend_job(session, listed, reason)
            _log.warning("%s has ended: %s. The same INSERT resumes.", dependent.text, reason)


def _drop(
    session: PlannerSession, access: CatalogAccess, dependent: Dependent, reason: str
) -> None:
    """By a statement of its own, so that Spark forgets what it has cached of it."""
    for namespace in access.warehouse.namespaces():
        for record in access.warehouse.records(namespace, (RelationKind.TABLE,)):
            if access.warehouse.location(record) == dependent.table.path:
                name = (access.name, record.identifier.namespace, record.identifier.name)
                session.spark.sql(f"DROP TABLE IF EXISTS {quoted_parts(name)}")
                _log.warning("%s is dropped: %s.", dependent.text, reason)
                return
    _suspend(dependent, reason)
