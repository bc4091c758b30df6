"""What jobs leave in the registry of their warehouse: which tables hang together."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping

from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob, sink_digest
from table_store.catalog.names.found_name import FoundName
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import Job
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.errors import CorruptFileError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.secrets import SECRET_TEXT, holds_secret

_log = logging.getLogger(__name__)


def found_names(query: JobQuery) -> dict[str, FoundName]:
    """By which names a query found its tables, by directory; without those it found otherwise."""
    found: dict[str, FoundName] = {}
    for source in query.facts.sources:
        access = CatalogAccess.of(query.session, source.relation.catalog)
        name = source.found_name(access.warehouse.root)
        if name is not None:
            found[source.table_handle.path] = name
    return found


def register_view(view: Sink, sources: Iterable[str], names: Mapping[str, FoundName]) -> None:
    """Register the job of a materialized view, which reads the tables in these directories.

    `names` are those by which it found them.
    """
    _register(
        view.access.warehouse,
        RegisteredJob(
            id=sink_digest(view.table.path),
            name=view.name,
            commit_user=view.job,
            sink=view.table.path,
            sources=frozenset(sources),
            names=FrozenMap(names),
        ),
    )


def register_job(
    session: PlannerSession,
    job: Job,
    sources: Iterable[str],
    names: Mapping[str, FoundName],
    state: JobState,
) -> None:
    """Register a streaming INSERT, unless its table is temporary and so nobody else's concern."""
    access = CatalogAccess.of(session, job.sink.catalog)
    if access.temporary.holds(job.path):
        return
    insert = kept_statement(job)
    _register(
        access.warehouse,
        RegisteredJob(
            id=job.id,
            name=job.name,
            commit_user=job.commit_user,
            sink=job.path,
            sources=frozenset(sources),
            names=FrozenMap(names),
            state=state,
            insert=insert,
            options=FrozenMap() if insert is None else FrozenMap(job.options),
            starts_late=job.starts_late and insert is not None,
        ),
    )


def kept_statement(job: Job) -> StoredQuery | None:
    """Return the statement that everybody may read; None if it holds a secret."""
    is_in_text = re.search(SECRET_TEXT, job.insert.text) is not None
    is_secret = is_in_text or holds_secret(job.options) or holds_secret(job.insert.settings)
    return None if is_secret else job.insert


def forget_job(session: PlannerSession, job: Job) -> None:
    """Forget a streaming INSERT that has ended, unless its table has another job by now."""
    registry = JobRegistry.of(CatalogAccess.of(session, job.sink.catalog).warehouse)
    try:
        registry.remove(job.path, job=job.id)
    except CorruptFileError as error:
        _log.warning("job %s stays registered: %s", job.name, error)


def forget_sink(warehouse: Warehouse, location: str) -> None:
    """Forget the job of a table that was dropped."""
    JobRegistry.of(warehouse).remove(location)


def _register(warehouse: Warehouse, job: RegisteredJob) -> None:
    registry = JobRegistry.of(warehouse)
    try:
        registry.register(job)
    except CorruptFileError as error:
        _log.warning("the registration of %s is written anew: %s", job.name, error)
        registry.remove(job.sink)
        registry.register(job)
