"""Removing files that nothing refers to: left over from crashes and failed statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa

from table_store.storage.file_io.file_io import TEMP_PREFIX, FileIO, FileStatus
from table_store.storage.file_store.changes.change_archive import LOG_FOLDER, ChangeArchive
from table_store.storage.file_store.metadata.consumer import CONSUMER_FOLDER
from table_store.storage.file_store.metadata.live_files import (
    manifests_of,
    read_delta,
    read_live_files,
)
from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.file_store.metadata.manifest_file import (
    MANIFEST_FOLDER,
    ManifestCache,
    MetadataReader,
)
from table_store.storage.file_store.metadata.pin import PIN_FOLDER, Pins
from table_store.storage.file_store.metadata.retention_floor import FLOOR_FOLDER
from table_store.storage.file_store.metadata.schema_store import SCHEMA_FOLDER, SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import SNAPSHOT_FOLDER, SnapshotStore
from table_store.storage.file_store.metadata.tag import TAG_FOLDER, Tags
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import MissingFileError

_BUCKET = re.compile(r"bucket-\d+")
_METADATA_FOLDERS: Final = frozenset(
    {
        SCHEMA_FOLDER,
        SNAPSHOT_FOLDER,
        MANIFEST_FOLDER,
        PIN_FOLDER,
        FLOOR_FOLDER,
        CONSUMER_FOLDER,
        LOG_FOLDER,
        TAG_FOLDER,
    }
)


def find_orphan_files(
    file_io: FileIO, table_path: str, schema_store: SchemaStore, *, older_than_ms: int
) -> tuple[FileStatus, ...]:
    """Return the files below `table_path` that no snapshot needs, by path.

    Candidates are data files in bucket folders, manifests, pins, and temporary files anywhere;
    all other files belong to somebody else. Only files last modified before `older_than_ms` (a
    time since 1970) count, because the files of a running statement are in no snapshot yet. Pins
    that are older belong to statements that died, and keep nothing.

    Raises:
        CorruptFileError: metadata is damaged, so that nobody knows which files are needed.
        MissingFileError: metadata is gone, with the same consequence.
    """
    # Files are listed before references are read, so that files committed in between count as
    # needed.
    candidates = [
        status
        for status in _candidates(file_io, table_path, table_path)
        if status.modified_ms < older_than_ms
    ]
    if not candidates:
        return ()
    needed = _needed_names(file_io, table_path, schema_store, since_ms=older_than_ms)
    return tuple(
        status
        for status in candidates
        if status.name.startswith(TEMP_PREFIX) or status.name not in needed
    )


def remove_orphan_files(
    file_io: FileIO, table_path: str, schema_store: SchemaStore, *, older_than_ms: int
) -> tuple[FileStatus, ...]:
    """Delete what `find_orphan_files` finds, and return it.

    Raises:
        CorruptFileError: see `find_orphan_files`; nothing is deleted.
        MissingFileError: see `find_orphan_files`; nothing is deleted.
        FileAccessError: the store refused; the next call finds the rest again.
    """
    orphans = find_orphan_files(file_io, table_path, schema_store, older_than_ms=older_than_ms)
    for status in orphans:
        file_io.delete(status.path)
    return orphans


def _candidates(file_io: FileIO, table_path: str, folder: str) -> Iterator[FileStatus]:
    inner = folder.removeprefix(table_path).strip("/")
    holds_ours = inner in (MANIFEST_FOLDER, PIN_FOLDER)
    ours = holds_ours or _BUCKET.fullmatch(inner.rsplit("/", 1)[-1]) is not None
    for status in file_io.list(folder):
        if status.is_dir:
            is_metadata = not inner and status.name in _METADATA_FOLDERS
            if is_metadata or (_holds_data(status.name) and inner not in _METADATA_FOLDERS):
                yield from _candidates(file_io, table_path, status.path)
        elif ours or status.name.startswith(TEMP_PREFIX):
            yield status


def _holds_data(folder_name: str) -> bool:
    return "=" in folder_name or _BUCKET.fullmatch(folder_name) is not None


def _needed_names(
    file_io: FileIO, table_path: str, schema_store: SchemaStore, *, since_ms: int
) -> set[str]:
    """Return the names of all files that any snapshot, tag, or pin from `since_ms` on refers to.

    Snapshots and tags are read, then pins, then tags again, then snapshots that came meanwhile: a
    rollback to a snapshot that expired or lost its tag meanwhile has either pinned it or published
    its own, and a tag is written while its snapshot is pinned. Everything is read from storage and
    not from the cache of the process, so that a missing manifest stops the removal.
    """
    reader = MetadataReader(file_io=file_io, table_path=table_path, cache=ManifestCache())
    schema = schema_store.latest()
    store, tags = SnapshotStore(file_io, table_path), Tags(file_io, table_path)
    while True:
        snapshots, tagged = list(store.newest_first()), tags.all()
        needed = ChangeArchive(reader).file_names(schema)
        needed |= _names_of(reader, snapshots[::-1], schema)
        for pinned in Pins(file_io, table_path).all(since_ms=since_ms):
            with suppress(MissingFileError):  # it had expired before it was pinned
                needed |= _names_of(reader, [pinned], schema)
        for snapshot in {tag.snapshot for tag in (*tagged, *tags.all())}:
            needed |= _names_of(reader, [snapshot], schema)
        if store.latest_id() == (snapshots[0].id if snapshots else None):
            return needed


def _names_of(
    reader: MetadataReader, snapshots: Sequence[Snapshot], schema: TableSchema
) -> set[str]:
    """Return the names of all files of consecutive snapshots, oldest first."""
    needed: set[str] = set()
    for position, snapshot in enumerate(snapshots):
        base, delta = manifests_of(reader, snapshot)
        needed |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        needed |= {m.name for m in (*base, *delta)}
        if position == 0:
            needed |= set(read_live_files(reader, snapshot, schema).names())
        else:
            # A file that is live here and was not live before was added by this snapshot.
            entries = read_delta(reader, snapshot, schema)
            added = entries["kind"].to_numpy() == FileKind.ADD
            needed |= set(entries["name"].filter(pa.array(added)).to_pylist())
    return needed
