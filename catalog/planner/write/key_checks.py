"""Which keys a statement may not write: those of UPDATE and MERGE that another row has."""

from __future__ import annotations

from typing import Final

from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.writes import Write
from table_store.catalog.planner.write.write_plan import AddedKinds, DeltaColumns, moves_keys
from table_store.storage.file_store.scan.stored_keys import StoredKeys
from table_store.storage.file_store.write.key_check import KIND_CLAIM, KeyCheck
from table_store.storage.options.options import SESSION_PREFIX
from table_store.storage.options.table_options import DUPLICATE_KEY, TABLE_OPTIONS

_SESSION_KEY: Final = SESSION_PREFIX + DUPLICATE_KEY.key


def key_check(session: PlannerSession, opened: OpenedTable, request: Write) -> KeyCheck | None:
    """The check of a statement's keys; None if it changes no key, or may replace any row.

    An INSERT replaces, and a DELETE writes no key.
    """
    schema = opened.schema
    if not schema.primary_key or request.command not in ("UPDATE", "MERGE"):
        return None
    delta = DeltaColumns(row=request.row, row_id=request.row_id)
    if request.command == "UPDATE" and not moves_keys(schema, delta):
        return None
    told = session.conf(_SESSION_KEY)
    given = {} if told is None else {_SESSION_KEY: told}
    options = {**schema.options, **TABLE_OPTIONS.parse_session(given).text}
    if DUPLICATE_KEY.parse(options.get(DUPLICATE_KEY.key, DUPLICATE_KEY.default)) == "replace":
        return None
    version = opened.snapshot_id
    snapshot = None if version is None else opened.table.snapshot(version=version)
    table = opened.table
    stored = StoredKeys.of(table.file_io, table.path, schema, snapshot)
    return KeyCheck(table=opened.name, stored=stored)


def added_kinds(check: KeyCheck | None, request: Write) -> AddedKinds:
    """How rows are marked whose keys are looked up among the stored ones."""
    if check is None:
        return AddedKinds()
    if request.absent_keys:
        return AddedKinds(moved=KIND_CLAIM)
    return AddedKinds(moved=KIND_CLAIM, inserted=KIND_CLAIM)
