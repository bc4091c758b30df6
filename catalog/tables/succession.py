"""A table takes the place of another one, with all of its rows or with none.

With none (REPLACE TABLE), the old table's next schema names the successor, and then the name gets
it, both under the lock of names. So statements that begin later are refused in the old directory,
which nobody reads any more. Whoever finds a successor in the directory that a name has waits for
the lock; if the name has it still, the owner has died in between, and the schema loses it again.
Who does not get the lock, or may not write, can read the table all the same.

With all, the rows are copied from a snapshot, while others write. So that none of their rows is
lost:

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

from contextlib import suppress
from dataclasses import replace
from functools import partial

from table_store.catalog.errors import LockTimeoutError, StagedTableGoneError
from table_store.catalog.names.name_record import NameRecord
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.managed_table import schemas_at
from table_store.catalog.tables.staged_table import StagedTable
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FileAccessError,
    MissingFileError,
    NotFoundError,
)
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
    return schemas_at(warehouse, location).publish(announced)


def mark_replaced(warehouse: Warehouse, new_location: str, location: str) -> None:
    """Publish that the table at a location has a successor with none of its rows.

    A table that cannot be read takes no rows, and can be replaced all the same.
    """
    successor = Successor(location=new_location)
    with suppress(CorruptFileError, MissingFileError, NotFoundError):
        schemas_at(warehouse, location).evolve(
            lambda latest: replace(latest, id=latest.id + 1, successor=successor)
        )


def settle_succession(warehouse: Warehouse, record: NameRecord, location: str) -> None:
    """Let the announced successor of a table take its name, or the table go on without one.

    Raises:
        NotFoundError: the table was dropped or renamed meanwhile.
    """
    table = open_logged(location, warehouse.places.file_io_of(location))
    successor = table.schema.successor
    if successor is None:
        return
    if successor.snapshot_id is None or successor.claim is None:
        withdraw = partial(_withdraw, table.schema_store, successor)
        with suppress(FileAccessError, LockTimeoutError):
            warehouse.staging.while_named(record, location, withdraw)
        return
    if not _has_changed(table, successor.snapshot_id):
        directory = StagedTable.from_json(successor.claim).directory
        try:
            warehouse.staging.publish_replacement(record, directory, replaces=location)
            return
        except StagedTableGoneError:
            pass  # its owner died, and it was cleared away, before somebody came here
    _withdraw(table.schema_store, successor)


def _withdraw(schemas: SchemaStore, successor: Successor) -> None:
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
