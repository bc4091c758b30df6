"""Requests about the changes of a table: `FROM t CHANGES …` and `spark.read.changes`."""

from __future__ import annotations

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.errors import RelationNotFoundError
from table_store.catalog.names.name_record import TableTarget
from table_store.catalog.planner.names.changelog import describe_changes
from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.table_requests import managed_table, version_number
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.changes import Changelog, LoadChangelog, StatedBound
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.changes.change_range import ChangeBound
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.model.errors import ChangesNotAvailableError
from table_store.storage.kernel.clock import time_text
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.log_store.logged_table import open_logged


def load_changelog(session: PlannerSession, request: LoadChangelog) -> Changelog:
    """The changes of a managed table in a range, pinned to versions.

    If the history does not cover the range, no error is raised; the handle notes it.

    Raises:
        RelationNotFoundError: there is no table of this name.
        WrongRelationKindError: the name is that of a view or foreign table.
        InvalidChangeRangeError: it starts after its end.
    """
    try:
        access, managed = managed_table(session, request.relation)
    except NotFoundError:
        raise RelationNotFoundError(name=request.relation.text) from None
    name = access.qualified(managed.identifier)
    if connector_of(managed.schema) is not None:
        refuse_derived(managed.schema, name, "CHANGES")
    table = open_logged(managed.location)
    mode = ChangeMode(
        deduplication=request.deduplication_mode,
        computes_updates=request.compute_updates,
    )
    start, end = _bound(request.start), _bound(request.end)
    unavailable = None
    try:
        scan = table.changes(start, end, mode=mode)
    except ChangesNotAvailableError as error:
        unavailable = error.asked, f"{error.available}{_replacement(managed)}"
        scan = table.changes(mode=mode)
    return describe_changes(
        scan,
        name=f"{name} CHANGES",
        path=managed.location,
        has_start=start is not None,
        has_end=end is not None,
        unavailable=unavailable,
        is_named=not access.temporary.holds(managed.location),
    )


def _bound(given: StatedBound | None) -> ChangeBound | None:
    if given is None:
        return None
    return ChangeBound(
        version=None if given.version is None else version_number(given.version),
        timestamp_us=given.timestamp_us,
        is_inclusive=given.is_inclusive,
    )


def _replacement(managed: ManagedTable) -> str:
    """A sentence about the history that REPLACE TABLE ended."""
    target = managed.record.target
    if not isinstance(target, TableTarget) or not target.previous:
        return ""
    moment = time_text(target.previous[-1].until_ms * 1000)
    return f". The table was replaced at {moment}, which began a new history"
