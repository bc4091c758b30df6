"""The changes of snapshots that have expired, as files beside the data.

For each such snapshot there is a copy, `log/snapshot-N`. Its delta list names files of the archive
alone: the added ones hold the rows that the commit added, the deleted ones those it removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.metadata.live_files import LiveFiles, manifests_of, read_delta
from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.file_store.metadata.manifest_file import MetadataReader
from table_store.storage.file_store.metadata.snapshot_files import SnapshotFiles
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.scan.pruning import prune
from table_store.storage.kernel.predicate import Predicate

LOG_FOLDER: Final = "log"
"""Folder of all that a log keeps beside the data of its table."""


@dataclass(frozen=True, slots=True)
class ChangeArchive:
    """The kept changes of one table, of snapshots that follow each other."""

    metadata: MetadataReader

    @property
    def snapshots(self) -> SnapshotFiles:
        """The snapshots whose changes are kept."""
        folder = join_path(self.metadata.table_path, LOG_FOLDER)
        return SnapshotFiles(self.metadata.file_io, folder)

    def ids(self) -> range:
        """Return the newest ids that follow each other without a gap; one listing."""
        ids = self.snapshots.ids()
        if not ids:
            return range(0)
        first = next((i for before, i in reversed(list(pairwise(ids))) if before < i - 1), ids[0])
        return range(first, ids[-1] + 1)

    def delta(
        self, snapshot: Snapshot, schema: TableSchema, predicate: Predicate | None = None
    ) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
        """Return the files with the rows that a kept snapshot removed, and those it added.

        Args:
            snapshot: of this archive.
            schema: under which the rows are to be read.
            predicate: from `for_all_versions`; files that cannot satisfy it are left out.

        Raises:
            MissingFileError, CorruptFileError: a manifest of the archive is gone or damaged.
        """
        entries = read_delta(self.metadata, snapshot, schema)
        live = prune(LiveFiles(snapshot_id=snapshot.id, schema=schema, entries=entries), predicate)
        kinds = live.entries["kind"].to_pylist()
        files = live.files()
        removed = tuple(f for f, kind in zip(files, kinds, strict=True) if kind != FileKind.ADD)
        added = tuple(f for f, kind in zip(files, kinds, strict=True) if kind == FileKind.ADD)
        return removed, added

    def file_names(self, schema: TableSchema) -> set[str]:
        """Return the names of all files that belong to kept changes."""
        names: set[str] = set()
        for snapshot_id in self.snapshots.ids():
            snapshot = self.snapshots.get(snapshot_id)
            base, delta = manifests_of(self.metadata, snapshot)
            names |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
            names |= {manifest.name for manifest in (*base, *delta)}
            names |= set(read_delta(self.metadata, snapshot, schema)["name"].to_pylist())
        return names
