"""The storage table that a request is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from table_store.catalog.planner.protocol.handles import TableReference
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedTable:
    """A table at the snapshot and schema that the JVM's table object was loaded with."""

    table: FileStoreTable
    schema: TableSchema
    snapshot_id: int | None
    name: str


def opened_table(reference: TableReference, *, on_newest: bool = False) -> OpenedTable:
    """The table whose handle a request carries, at the handle's snapshot or the newest one."""
    handle = reference.table_handle
    table = open_logged(handle.path)
    if handle.staged is not None:
        table = replace(table, listener=NO_LISTENER)  # a staged table has no topic yet
    newest = table.latest_snapshot() if on_newest else None
    return OpenedTable(
        table=table,
        schema=table.schema_store.get(handle.schema_id),
        snapshot_id=handle.snapshot_id if newest is None else newest.id,
        name=reference.relation.text,
    )
