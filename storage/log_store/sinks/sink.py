"""What takes the changes of a table out, and the changes as it gets them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable


class Sink(Protocol):
    """Where the rows of one table go."""

    @property
    def forgets(self) -> bool:
        """Whether rows that are out may go from the table, because no later change needs them."""

    def check_ready(self) -> None:
        """Check that changes could go out now.

        Raises:
            TableStoreError: they could not.
        """

    def deliver(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        """Bring out the changes of snapshots, in order; the first ones may be out already.

        Raises:
            TableStoreError: what takes them does not; the next call begins again.
        """


def changed_rows(table: FileStoreTable, snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    """Yield the changes of a snapshot, their kind (`CHANGE_TYPE`) last, without computed columns.

    A row from before an update stands directly in front of the one after it.
    """
    schema = table.schema_store.get(snapshot.schema_id)
    mode = ChangeMode(computes_updates=bool(schema.primary_key))
    scan = table.changes(snapshot.id, snapshot.id, mode=mode, labels=(CHANGE_TYPE,), schema=schema)
    names = [field.name for field in schema.fields if field.generated is None]
    for batch in scan.to_batches():
        if batch.num_rows:
            yield batch.select([*names, CHANGE_TYPE])
