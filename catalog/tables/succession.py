"""A table takes the place of another one and has all of its rows.

The rows are copied from a snapshot, while others write. So that none of their rows is lost:

1. The old table's next schema names the successor and the snapshot. From then on commits that see
   it are refused.
2. A snapshot that changes nothing, the *fence*, is committed. A commit behind it has seen the
   schema, so no rows come any more.
3. If no row has changed between the snapshot and the fence, the successor gets the name, in one
   step. Else the schema loses its successor again.

What the third step does follows from what is stored. So whoever loads the table after its owner has
died in between takes the last two steps with the same result, and two who do so at once agree.
"""

from __future__ import annotations

from dataclasses import replace

from table_store.catalog.errors import StagedTableGoneError
from table_store.catalog.names.name_record import NameRecord
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.staged_table import StagedTable
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.logged_table import open_logged


def announce_successor(
    warehouse: Warehouse,
    location: str,
    before: TableSchema,
    staged: StagedTable,
    snapshot_id: int,
) -> bool:
    """Publish that a staged table has the rows of a snapshot (0: none) of the table at a location.

    Returns whether `before` was the table's last schema, and it has happened.
    """
    successor = Successor(location=staged.location, snapshot_id=snapshot_id, claim=staged.to_json())
    announced = replace(before, id=before.id + 1, successor=successor)
    return SchemaStore(warehouse.places.file_io_of(location), location).publish(announced)


def settle_succession(warehouse: Warehouse, record: NameRecord, location: str) -> None:
    """Let the announced successor of a table take its name, or the table go on without one.

    Raises:
        NotFoundError: the table was dropped or renamed meanwhile.
    """
    table = open_logged(location, warehouse.places.file_io_of(location))
    successor = table.schema.successor
    if successor is None:
        return
    if not _has_changed(table, successor.snapshot_id):
        directory = StagedTable.from_json(successor.claim).directory
        try:
            warehouse.staging.publish_replacement(record, directory, replaces=location)
            return
        except StagedTableGoneError:
            pass  # its owner died, and it was cleared away, before somebody came here
    schemas = table.schema_store
    latest = schemas.latest()
    while latest.successor == successor:
        schemas.publish(replace(latest, id=latest.id + 1, successor=None))
        latest = schemas.latest()


def _has_changed(table: FileStoreTable, snapshot_id: int) -> bool:
    """Whether rows have changed after a snapshot; from now on none can change."""
    outcome = table.committer().commit(
        (),
        kind=CommitKind.COMPACT,
        commit_user=table.ids.unique(),
        operation="ALTER",
        allow_empty=True,
    )
    assert outcome.snapshot is not None, "an empty commit was allowed"
    store = table.snapshot_store
    try:
        kinds = {store.get(i).commit_kind for i in range(snapshot_id + 1, outcome.snapshot.id)}
    except SnapshotNotFoundError:
        return True  # it has expired, so nobody knows
    return bool(kinds - {CommitKind.COMPACT})
