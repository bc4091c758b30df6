"""Changes that outlive their snapshots, as files beside a table's data.

As long as the snapshots are there, readers compute the changes from them. So a commit writes
nothing; an expiry, which runs in the background, first writes the changes that would be lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.changes.change_archive import ChangeArchive
from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_split import ChangeMode, Deduplication
from table_store.storage.file_store.metadata.live_files import manifests_of
from table_store.storage.file_store.metadata.manifest_entry import entries_from_files
from table_store.storage.file_store.metadata.manifest_file import MANIFEST_FOLDER
from table_store.storage.file_store.metadata.manifest_writer import ManifestWriter
from table_store.storage.file_store.model.data_file import CommitMessage, DataFile
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.file_store.write.unpublished_files import delete_files
from table_store.storage.kernel.errors import (
    CorruptFileError,
    InvalidSchemaError,
    MissingFileError,
)
from table_store.storage.log_store.log_settings import kept_ms
from table_store.storage.log_store.log_store import is_logged

_TAKEN_AWAY: Final = pa.array(["delete", "update_preimage"])

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptChanges:
    """The changes of one table that are kept beside its data for `log.retention`."""

    table: FileStoreTable

    @property
    def archive(self) -> ChangeArchive:
        """The files of changes that are kept."""
        return ChangeArchive(self.table.metadata)

    def keep(self, first_retained: int) -> None:
        """Write the changes that nobody can compute once the snapshots before this one are gone.

        Changes that were committed longer than `log.retention` ago are removed. For each expiring
        commit it costs a read of the files that it touched, and a write of its changed rows.

        Raises:
            FileAccessError: the store refused; calling it again goes on.
        """
        retention_ms = kept_ms(self.table.schema)
        if retention_ms is not None:
            self._write_up_to(first_retained)
        stop_ms = self.table.clock.now_ms() - (retention_ms or 0)
        kept = self.archive.snapshots
        for snapshot_id in kept.ids():
            with suppress(MissingFileError):  # another expiry has removed the file
                snapshot = kept.get(snapshot_id)
                if retention_ms is not None and snapshot.time_ms >= stop_ms:
                    break
                self._remove(snapshot)

    def _write_up_to(self, last_id: int) -> None:
        earliest = self.table.snapshot_store.earliest_id() or 1
        first = 1 if earliest == 1 else earliest + 1
        kept = self.archive.ids()
        for snapshot_id in range(max(first, kept.stop), last_id + 1):
            try:
                self._write(self.table.snapshot_store.get(snapshot_id))
            except (CorruptFileError, MissingFileError, InvalidSchemaError) as error:
                if snapshot_id in self.archive.ids():
                    continue  # another expiry has kept these changes and removed the snapshot
                # The snapshots expire all the same; readers of changes get an error for the gap.
                _log.warning(
                    "the changes of snapshot %d of %s are lost: %s",
                    snapshot_id,
                    self.table.path,
                    error,
                )

    def _write(self, snapshot: Snapshot) -> None:
        schema = self.table.schema_store.get(snapshot.schema_id)
        brought, taken = self._changed_rows(snapshot, schema) if is_logged(snapshot) else ((), ())
        entries = entries_from_files(schema, added=_files(brought), deleted=_files(taken))
        manifests = ManifestWriter(reader=self.table.metadata, ids=self.table.ids)
        written = manifests.write(None, entries, schema)
        base_list, delta_list = written.lists
        kept = replace(snapshot, base_manifest_list=base_list, delta_manifest_list=delta_list)
        if not (self.archive.snapshots.create(kept) or self._is_there(kept)):
            manifests.discard(written)
            delete_files(self.table.writer_context(schema), (*brought, *taken))

    def _is_there(self, kept: Snapshot) -> bool:
        """Whether the existing file is ours: a store may repeat the request that created it."""
        try:
            found = self.archive.snapshots.get(kept.id)
        except MissingFileError:
            return False
        return found.delta_manifest_list == kept.delta_manifest_list

    def _changed_rows(
        self, snapshot: Snapshot, schema: TableSchema
    ) -> tuple[tuple[CommitMessage, ...], tuple[CommitMessage, ...]]:
        """Write the rows that a commit added and those that it removed."""
        mode = ChangeMode(
            deduplication=Deduplication.NONE, computes_updates=bool(schema.primary_key)
        )
        changes = self.table.changes(
            snapshot.id, snapshot.id, mode=mode, labels=(CHANGE_TYPE,), schema=schema
        )
        context = self.table.writer_context(schema)
        with TableWriter(context) as brought, TableWriter(context) as taken:
            for batch in changes.to_batches():
                rows = pa.Table.from_batches([batch])
                is_taken = pc.is_in(rows[CHANGE_TYPE], _TAKEN_AWAY)
                rows = rows.drop_columns([CHANGE_TYPE])
                brought.write(rows.filter(pc.invert(is_taken)))
                taken.write(rows.filter(is_taken))
            return brought.prepare_commit(), taken.prepare_commit()

    def _remove(self, snapshot: Snapshot) -> None:
        """Remove one snapshot's changes; after a crash the removal of orphans does the rest."""
        table, names = self.table, [snapshot.base_manifest_list, snapshot.delta_manifest_list]
        schema = table.schema
        paths: list[str] = []
        with suppress(CorruptFileError, MissingFileError):
            for files in self.archive.delta(snapshot, schema):
                paths += [data_file_path(table.path, schema.partition_keys, f) for f in files]
            names += [m.name for of_list in manifests_of(table.metadata, snapshot) for m in of_list]
        self.archive.snapshots.delete([snapshot.id])
        for path in (*paths, *(join_path(table.path, MANIFEST_FOLDER, name) for name in names)):
            table.file_io.delete(path)


def _files(messages: Iterable[CommitMessage]) -> list[DataFile]:
    return [file for message in messages for file in message.added]
