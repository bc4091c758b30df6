"""A table of which only the metadata matters: data files are a few bytes under their names.

Tests of commits, expiry and pruning build their histories with it and compare with plain sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.commit.commit import TableCommit
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.expiry.expire import SnapshotExpiry
from table_store.storage.file_store.metadata.live_files import LiveFiles, read_live_files
from table_store.storage.file_store.metadata.manifest_file import ManifestCache, MetadataReader
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.data_file import ColumnStats, CommitMessage, DataFile
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.storage_settings import RetryPolicy
from table_store.storage.kernel.types import LONG, STRING
from table_store.storage.kernel.values import Value
from tests.fakes.counting_ids import CountingIds
from tests.fakes.failing_file_io import FailingFileIO
from tests.fakes.manual_clock import ManualClock

# Writers of one table hand out different ids, as random ones would be.
_WRITERS = itertools.count(1)

KEYED = new_schema(
    fields=[
        Field(id=0, name="p", type=STRING),
        Field(id=0, name="k", type=LONG),
        Field(id=0, name="v", type=LONG),
    ],
    primary_key=["p", "k"],
    partition_keys=["p"],
    time_ms=0,
)
KEYLESS = new_schema(
    fields=[Field(id=0, name="k", type=LONG), Field(id=0, name="v", type=LONG)], time_ms=0
)


def make_file(
    name: str,
    *,
    partition: tuple[Value, ...] = (),
    keys: tuple[int, int] | None = None,
    bucket: int = 0,
    level: int = 0,
    sequence: tuple[int, int] = (0, 9),
    rows: int = 10,
    deletes: int = 0,
    size: int = 100,
    stats: dict[int, ColumnStats] | None = None,
    created_ms: int = 0,
) -> DataFile:
    """Return a file; `keys` are those after the partition columns, which precede them."""
    return DataFile(
        name=name,
        partition=partition,
        bucket=bucket,
        level=level,
        schema_id=0,
        row_count=rows,
        delete_count=deletes,
        size_bytes=size,
        key_min=None if keys is None else (*partition, keys[0]),
        key_max=None if keys is None else (*partition, keys[1]),
        min_sequence=sequence[0],
        max_sequence=sequence[1],
        stats=stats or {},
        checksum=0,
        created_ms=created_ms,
    )


def add(*files: DataFile) -> list[CommitMessage]:
    """Return messages that add the files."""
    return [CommitMessage(partition=f.partition, bucket=f.bucket, added=(f,)) for f in files]


@dataclass
class MetadataTable:
    """A table at `path`, seen through `file_io` (default: the local one, never failing)."""

    path: str
    schema: TableSchema = KEYED
    file_io: FileIO | None = None
    clock: ManualClock = field(default_factory=ManualClock)
    retry: RetryPolicy = field(default_factory=lambda: RetryPolicy(max_retries=3))
    ids: CountingIds = field(default_factory=lambda: CountingIds(f"id{next(_WRITERS)}"))

    def __post_init__(self) -> None:
        self.io: FileIO = self.file_io or LocalFileIO(self.path)
        self.schemas = SchemaStore(self.io, self.path)
        self.snapshots = SnapshotStore(self.io, self.path)
        self.cache = ManifestCache()
        self.reader = MetadataReader(file_io=self.io, table_path=self.path, cache=self.cache)
        self.commit = _WritingCommit(
            self.io,
            self.path,
            self.schemas,
            self.clock,
            self.ids,
            cache=self.cache,
            retry=self.retry,
        )
        self.expiry = SnapshotExpiry(self.io, self.path, self.schemas, cache=self.cache)

    def create(self) -> MetadataTable:
        """Publish the first schema."""
        assert self.schemas.publish(self.schema)
        return self

    def write(self, *files: DataFile) -> list[CommitMessage]:
        """Write the files' bytes, and return the messages that add them."""
        for file in files:
            self.io.write_files({self.file_path(file): file.name.encode()})
        return add(*files)

    def file_path(self, file: DataFile) -> str:
        return data_file_path(self.path, self.schema.partition_keys, file)

    def live(self, snapshot_id: int | None = None) -> LiveFiles:
        """Return the live files of a snapshot, by default the latest."""
        found = self.snapshots.latest() if snapshot_id is None else self.snapshots.get(snapshot_id)
        return read_live_files(self.reader, found, self.schema)

    def names(self, snapshot_id: int | None = None) -> set[str]:
        """Return the names of the live files; fails when one is listed twice."""
        names = self.live(snapshot_id).names()
        assert len(names) == len(set(names)), names
        return set(names)


class _WritingCommit(TableCommit):
    """Makes the data files of which its messages only tell."""

    def commit(self, messages: Sequence[CommitMessage], **arguments: Any) -> Committed | NoChange:
        schema = self._schemas.latest()
        for file in (file for message in messages for file in message.added):
            path = data_file_path(self._table_path, schema.partition_keys, file)
            file_io = self._attempt.planner.reader.file_io
            plain = file_io._inner if isinstance(file_io, FailingFileIO) else file_io
            if not plain.exists(path):
                plain.write_files({path: file.name.encode()})
        return super().commit(messages, **arguments)
