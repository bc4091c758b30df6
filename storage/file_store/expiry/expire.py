"""Removing old snapshots, and then the files that only they needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER, CommitListener
from table_store.storage.file_store.metadata.live_files import (
    manifests_of,
    read_delta,
    read_live_files,
)
from table_store.storage.file_store.metadata.manifest_entry import (
    FileKind,
    concat_entries,
    entries_from_files,
    files_from_entries,
)
from table_store.storage.file_store.metadata.manifest_file import (
    MANIFEST_FOLDER,
    PROCESS_CACHE,
    ManifestCache,
    MetadataReader,
)
from table_store.storage.file_store.metadata.pin import Pins
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.metadata.tag import Tags
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.kernel.counter import Counter
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError

_SNAPSHOTS: Final = Counter("expired_snapshots")
_FILES: Final = Counter("expired_files")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireResult:
    """What one run removed."""

    snapshot_ids: tuple[int, ...] = ()
    data_files: int = 0
    metadata_files: int = 0


def first_retained(snapshots: SnapshotStore, options: ExpireOptions) -> int | None:
    """Return the id of the oldest snapshot to keep, or None when there is no snapshot.

    Snapshots beyond `retain_max` are removed even if they are young, as in Paimon
    (`snapshot.num-retained.max`); the newest one always stays.
    """
    earliest, latest = snapshots.earliest_id(), snapshots.latest_id()
    if earliest is None or latest is None:
        return None
    retain_min = max(1, options.retain_min)
    least_stop = max(earliest, latest - max(retain_min, options.retain_max) + 1)
    stop = latest - retain_min + 1
    if options.needed_from_id is not None:
        stop = min(stop, options.needed_from_id)
        least_stop = min(least_stop, options.needed_from_id)
    stop = min(stop, earliest + options.expire_max)
    kept = max(earliest, min(least_stop, stop))
    while kept < stop and _time_ms(snapshots, kept, latest) < options.older_than_ms:
        kept += 1
    return kept


def _time_ms(snapshots: SnapshotStore, snapshot_id: int, latest: int) -> int:
    """Return when the snapshot was committed; if it is lost, when the next one was."""
    try:
        return snapshots.get(snapshot_id).time_ms
    except (CorruptFileError, MissingFileError):
        if snapshot_id == latest:
            raise
        return _time_ms(snapshots, snapshot_id + 1, latest)


class SnapshotExpiry:
    """Expires snapshots of one table.

    The order is this: tags are read, and a damaged one stops it while all is there; the floor
    is raised, so that nobody finds the snapshots any more; the snapshot files are deleted; pins,
    tags and newly published snapshots are read; data files are deleted, and then manifests. A
    crash in between leaves files that nothing refers to, which the removal of orphans finds, but
    never a snapshot whose files are gone.
    tests/property/test_commit_protocol.py is the proof.
    """

    def __init__(
        self,
        file_io: FileIO,
        table_path: str,
        schema_store: SchemaStore,
        *,
        cache: ManifestCache = PROCESS_CACHE,
    ) -> None:
        self._file_io = file_io
        self._table_path = table_path
        self._schemas = schema_store
        self._snapshots = SnapshotStore(file_io, table_path)
        self._pins = Pins(file_io, table_path)
        self._tags = Tags(file_io, table_path)
        self._reader = MetadataReader(file_io=file_io, table_path=table_path, cache=cache)

    def expire(
        self, options: ExpireOptions, listener: CommitListener = NO_LISTENER
    ) -> ExpireResult:
        """Remove the snapshots that `options` do not keep, and the files only they needed.

        Args:
            options: say which snapshots stay.
            listener: is told before; if it raises an error, nothing is removed.

        Raises:
            CorruptFileError: a tag is damaged; nothing is removed.
            FileAccessError: the store refused; the rest is removed as orphans later.
        """
        earliest = self._snapshots.earliest_id()
        try:
            first = first_retained(self._snapshots, options)
            if earliest is None or first is None or first <= earliest:
                return ExpireResult()
            tagged = self._tags.all()
            listener.before_expiry(first)
            expired = [s for i in range(earliest, first) if (s := self._readable(i)) is not None]
            retained = self._first_readable(first)
        except SnapshotNotFoundError:
            if self._snapshots.earliest_id() == earliest:
                raise
            return self.expire(options, listener)  # another process expires them, too
        schema = self._schemas.latest()
        after_first = [s for s in expired if s.id > earliest]
        gone = self._deleted_entries([*after_first, retained], schema)
        metadata = self._unneeded_metadata(expired, retained)

        self._snapshots.expire_before(first)
        # Pins are read before tags, for a tag is written while its snapshot is pinned; and behind
        # tags, for whoever rolls back to a tag pins its snapshot while the tag is there.
        pinned = {*self._pins.all(), *(tag.snapshot for tag in (*tagged, *self._tags.all()))}
        gone = self._not_pinned(self._not_needed(gone, retained, schema), pinned, schema)
        metadata -= self._metadata_of([*pinned, *self._since_rollback(retained)])
        files = {
            data_file_path(self._table_path, schema.partition_keys, file)
            for file in files_from_entries(gone, schema)
        }
        self._file_io.delete_files(sorted(files))
        self._file_io.delete_files(
            [join_path(self._table_path, MANIFEST_FOLDER, name) for name in sorted(metadata)]
        )
        _SNAPSHOTS.add(first - earliest)
        _FILES.add(len(files))
        return ExpireResult(
            snapshot_ids=tuple(range(earliest, first)),
            data_files=len(files),
            metadata_files=len(metadata),
        )

    def _first_readable(self, snapshot_id: int) -> Snapshot:
        newest = self._snapshots.latest_id() or snapshot_id
        for later in range(snapshot_id, newest):
            snapshot = self._readable(later)
            if snapshot is not None:
                return snapshot
        return self._snapshots.get(newest)

    def _readable(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot, or None if it is damaged or lost; then its files become orphans."""
        try:
            return self._snapshots.get(snapshot_id)
        except (CorruptFileError, MissingFileError):
            return None

    def _deleted_entries(self, snapshots: list[Snapshot], schema: TableSchema) -> pa.Table:
        """Return entries of the files these commits deleted; a damaged commit has none."""
        deltas = [entries_from_files(schema)]
        for snapshot in snapshots:
            try:
                delta = read_delta(self._reader, snapshot, schema)
            except (MissingFileError, CorruptFileError):
                continue  # its files stay until orphans are removed
            deltas.append(delta.filter(pc.equal(delta["kind"], FileKind.DELETE.value)))
        return concat_entries(deltas)

    def _not_needed(self, gone: pa.Table, retained: Snapshot, schema: TableSchema) -> pa.Table:
        """Return the entries whose file is live in no snapshot from `retained` on."""
        while gone.num_rows:
            try:
                needed = self._live_names(retained, schema)
            except (MissingFileError, SnapshotNotFoundError):
                earliest_id = self._snapshots.earliest_id() or 0
                if earliest_id <= retained.id:
                    raise
                retained = self._first_readable(earliest_id)  # others have expired those before it
                continue
            return gone.filter(pc.invert(pc.is_in(gone["name"], needed)))
        return gone

    def _live_names(self, retained: Snapshot, schema: TableSchema) -> pa.ChunkedArray:
        """Return the names of the files that are live in any snapshot from `retained` on.

        Only files matter that existed before `retained`: one that is not live there can come back
        only by a rollback. Without a rollback the live files of `retained` are enough. With one,
        those and all later additions are read; after a damaged snapshot it begins anew with the
        live files of the next.
        """
        needed = [read_live_files(self._reader, retained, schema).entries["name"]]
        newest = self._snapshots.latest_id() or retained.id
        last = self._readable(newest)
        # To look at all snapshots would cost more with each one that is kept.
        has_rollback = last is None or last.last_rollback > retained.id
        before: Snapshot | None = retained
        for snapshot_id in range(retained.id + 1, newest + 1) if has_rollback else ():
            snapshot = self._readable(snapshot_id)
            if snapshot is not None and before is not None:
                delta = read_delta(self._reader, snapshot, schema)
                needed.append(delta.filter(pc.equal(delta["kind"], FileKind.ADD.value))["name"])
            elif snapshot is not None:
                needed.append(read_live_files(self._reader, snapshot, schema).entries["name"])
            before = snapshot
        return pa.chunked_array(
            [chunk for column in needed for chunk in column.chunks], pa.string()
        )

    def _not_pinned(
        self, gone: pa.Table, pinned: Collection[Snapshot], schema: TableSchema
    ) -> pa.Table:
        for snapshot in pinned if gone.num_rows else ():
            # If its metadata is gone, the snapshot had expired before it was pinned.
            with suppress(MissingFileError):
                live = read_live_files(self._reader, snapshot, schema).entries["name"]
                gone = gone.filter(pc.invert(pc.is_in(gone["name"], live)))
        return gone

    def _since_rollback(self, retained: Snapshot) -> list[Snapshot]:
        """Return the snapshots after `retained` if they may hold files that were removed before."""
        latest = self._snapshots.latest()
        if latest is None or latest.last_rollback <= retained.id:
            return []
        found: list[Snapshot] = []
        for snapshot_id in range(retained.id + 1, latest.id + 1):
            with suppress(SnapshotNotFoundError, MissingFileError, CorruptFileError):
                found.append(self._snapshots.get(snapshot_id))
        return found

    def _unneeded_metadata(self, expired: list[Snapshot], retained: Snapshot) -> set[str]:
        """Return the names of lists and manifests that only `expired` snapshots refer to.

        Only consecutive snapshots share a manifest, so no later snapshot needs what the first
        retained one does not need. If its lists cannot be read, nothing is returned, and the
        removal of orphans does the rest.
        """
        try:
            needed = self._metadata_of([retained], strict=True)
        except (MissingFileError, CorruptFileError):
            return set()
        return self._metadata_of(expired) - needed

    def _metadata_of(self, snapshots: Sequence[Snapshot], *, strict: bool = False) -> set[str]:
        """Return names of lists and manifests; without `strict`, unreadable lists are skipped."""
        names: set[str] = set()
        for snapshot in snapshots:
            names |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
            with suppress(*() if strict else (MissingFileError, CorruptFileError)):
                base, delta = manifests_of(self._reader, snapshot)
                names |= {manifest.name for manifest in (*base, *delta)}
        return names
