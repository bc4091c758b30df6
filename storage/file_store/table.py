"""A table: what a program opens, reads, writes and commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.resolve import file_io_for, named_path
from table_store.storage.file_store.bag.bag_place import moved_schemas
from table_store.storage.file_store.changes.change_archive import ChangeArchive
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS
from table_store.storage.file_store.changes.change_range import ChangeBound, ChangeHistory, as_bound
from table_store.storage.file_store.changes.change_scan import ChangeScan, check_labels
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.commit.commit import TableCommit
from table_store.storage.file_store.commit.commit_listener import CommitListener, heard_by
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.compaction.compaction_picker import (
    CompactionUnit,
    pick_compaction,
    pick_full_compaction,
)
from table_store.storage.file_store.compaction.compaction_task import (
    CompactionResult,
    CompactionTask,
    picked_tasks,
)
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.expiry.expire import ExpireResult, SnapshotExpiry
from table_store.storage.file_store.metadata.consumer import ConsumerStore
from table_store.storage.file_store.metadata.live_files import LiveFiles, read_live_files
from table_store.storage.file_store.metadata.manifest_file import PROCESS_CACHE, MetadataReader
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.metadata.tag import Tags
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.levels import Levels
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import WHOLE_TABLE, Scope
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.model.storage_settings import (
    ExpireOptions,
    PickerOptions,
    StorageSettings,
)
from table_store.storage.file_store.scan.partition_pruning import read_pruned
from table_store.storage.file_store.scan.scan import Scan
from table_store.storage.file_store.write.table_writer import TableWriter, WriterContext
from table_store.storage.file_store.write.unpublished_files import all_written, commit_or_delete
from table_store.storage.kernel.clock import Clock, SystemClock
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.ids import IdSource, RandomIds
from table_store.storage.kernel.predicate import Predicate

Pick = Callable[[Levels, PickerOptions], CompactionUnit | None]


@dataclass(frozen=True, slots=True)
class FileStoreTable:
    """A table at a path. It holds no state of the table: every call reads storage again."""

    file_io: FileIO
    path: str
    clock: Clock = field(default_factory=SystemClock)
    ids: IdSource = field(default_factory=RandomIds)
    listener: CommitListener | None = None

    @staticmethod
    def open(path: str, file_io: FileIO | None = None) -> FileStoreTable:
        """Return the table at a path.

        Raises:
            NotFoundError: there is none.
            MissingFileError: its definition is lost.
        """
        table = FileStoreTable(file_io or file_io_for(path), named_path(path))
        table.schema_store.latest_id()
        return table

    @staticmethod
    def create(path: str, schema: TableSchema, file_io: FileIO | None = None) -> FileStoreTable:
        """Create an empty table.

        Raises:
            InvalidSchemaError: the schema breaks a rule, or there is a table already.
        """
        schema.validate()
        table = FileStoreTable(file_io or file_io_for(path), named_path(path))
        if not table.schema_store.publish(schema):
            raise InvalidSchemaError(reason=f"there is a table at {path} already")
        return table

    @property
    def schema_store(self) -> SchemaStore:
        """The versions of the table's definition."""
        return SchemaStore(self.file_io, self.path)

    @property
    def snapshot_store(self) -> SnapshotStore:
        """The versions of the table's content."""
        return SnapshotStore(self.file_io, self.path)

    @property
    def consumers(self) -> ConsumerStore:
        """The streams that read the table under a name of their own."""
        expiration_ms = StorageSettings.of(self.schema).consumer_expiration_ms
        return ConsumerStore(
            file_io=self.file_io, path=self.path, clock=self.clock, expiration_ms=expiration_ms
        )

    @property
    def tags(self) -> Tags:
        """The names of snapshots."""
        return Tags(self.file_io, self.path)

    @property
    def metadata(self) -> MetadataReader:
        """Reads manifests, through the cache of this process."""
        return MetadataReader(file_io=self.file_io, table_path=self.path, cache=PROCESS_CACHE)

    @property
    def schema(self) -> TableSchema:
        """The latest definition."""
        return self.schema_store.latest()

    @property
    def created_ms(self) -> int:
        """When it was created, ms since 1970; a later table in its directory has another time."""
        return self.schema_store.get(0).time_ms

    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot, None before the first commit."""
        return self.snapshot_store.latest()

    def snapshot(
        self, *, version: int | None = None, timestamp_ms: int | None = None
    ) -> Snapshot | None:
        """Return the snapshot of a version, or the one current at a time; else the latest.

        An expired one is there as long as a tag keeps it.

        Raises:
            SnapshotNotFoundError: there is none; the error names those that exist.
        """
        if version is not None:
            return self.tags.snapshot(version)
        if timestamp_ms is not None:
            return self.snapshot_store.at_timestamp(timestamp_ms)
        return self.latest_snapshot()

    def live_files(self, snapshot: Snapshot | None, schema: TableSchema) -> LiveFiles:
        """Return the files of a snapshot, as columns."""
        return read_live_files(self.metadata, snapshot, schema)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        *,
        version: int | None = None,
        timestamp_ms: int | None = None,
        schema: TableSchema | None = None,
    ) -> Scan:
        """Return a read of the latest snapshot, or of the one that is named.

        Args:
            columns: names in the wanted order; None means all.
            predicate: which rows; None means all.
            version: id of the snapshot.
            timestamp_ms: the snapshot current then, in milliseconds since 1970.
            schema: the definition to read under; None is the latest, or the one that the
                named snapshot was committed with.

        Raises:
            SnapshotNotFoundError: there is no such snapshot.
            InvalidSchemaError: there is no such column.
        """
        snapshot = self.snapshot(version=version, timestamp_ms=timestamp_ms)
        travels = version is not None or timestamp_ms is not None
        if schema is None:
            at = snapshot.schema_id if travels and snapshot is not None else None
            schema = self.schema if at is None else self.schema_store.get(at)
        names = schema.column_names if columns is None else tuple(columns)
        live = read_pruned(self.metadata, snapshot, schema, predicate)
        return Scan(
            live=live,
            schema=schema,
            files=self.file_reader(schema),
            columns=tuple(schema.field_named(name).name for name in names),
            predicate=predicate,
            target_bytes=StorageSettings.of(schema).split_target_bytes,
            moved_schemas=moved_schemas(self.schema_store, live.schema_ids, schema),
        )

    def changes(
        self,
        from_version: int | ChangeBound | None = None,
        to_version: int | ChangeBound | None = None,
        *,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        mode: ChangeMode | None = None,
        labels: tuple[str, ...] = CHANGE_LABELS,
        skips_untracked: bool = False,
        schema: TableSchema | None = None,
    ) -> ChangeScan:
        """Return a read of what the commits of a range of snapshots changed.

        Replaying it onto the table as it was before gives the table as it is after.

        Args:
            from_version: first snapshot whose changes are read, or a bound that is exclusive or
                a time; None is the oldest whose changes are known.
            to_version: last snapshot, or a bound; None is the latest.
            columns: names in the wanted order, of the table or of `labels`; None means all.
            predicate: which change rows; None means all.
            mode: which changes, in which form; None leaves out unchanged rows.
            labels: columns that say what happened, from `change_labels.LABELS`.
            skips_untracked: skip commits without change tracking instead of failing.
            schema: the definition to read under; None is the latest, or the one that the
                snapshot named by `to_version` was committed with.

        Raises:
            ChangesNotAvailableError: a bound lies outside of the history.
            InvalidChangeRangeError: the start lies after the end.
            InvalidSchemaError: there is no such column, or it has the name of a label.
        """
        history = self.history()
        found = history.resolve(as_bound(from_version), as_bound(to_version))
        if schema is None:
            is_named = to_version is not None and found.last_id > 0
            at = history.get(found.last_id).schema_id if is_named else None
            schema = self.schema if at is None else self.schema_store.get(at)
        check_labels(schema, labels)
        names = (*schema.column_names, *labels) if columns is None else tuple(columns)
        return ChangeScan(
            history=history,
            metadata=self.metadata,
            files=self.file_reader(schema),
            schema=schema,
            range=found,
            mode=mode or ChangeMode(),
            columns=tuple(n if n in labels else schema.field_named(n).name for n in names),
            predicate=predicate,
            labels=labels,
            skips_untracked=skips_untracked,
            moved_schemas=moved_schemas(self.schema_store, range(schema.id + 1), schema),
            target_bytes=StorageSettings.of(schema).split_target_bytes,
        )

    def history(self, name: str = "") -> ChangeHistory:
        """Return the history whose changes can be read; errors call the table `name`."""
        return ChangeHistory(self.snapshot_store, name or self.path, ChangeArchive(self.metadata))

    def writer_context(self, schema: TableSchema | None = None) -> WriterContext:
        """Return what a writer of this table needs, in this process or another one."""
        schema = schema or self.schema
        options = StorageSettings.of(schema)
        return WriterContext(
            file_io=self.file_io,
            table_path=self.path,
            schema=schema,
            bucket_count=options.bucket_count,
            files=options.files,
            write_buffer_bytes=options.write_buffer_bytes,
            clock=self.clock,
            ids=self.ids,
        )

    def writer(self, schema: TableSchema | None = None) -> TableWriter:
        """Return a writer for `commit`; `schema` is the latest."""
        return TableWriter(self.writer_context(schema), self.snapshot_store)

    def committer(self, schema: TableSchema | None = None) -> TableCommit:
        """Return the committer of the table, which also tells the log; `schema` is the latest."""
        schema = schema or self.schema
        return TableCommit(
            self.file_io,
            self.path,
            self.schema_store,
            self.clock,
            self.ids,
            retry=StorageSettings.of(schema).retry,
            listener=heard_by(self.listener, schema, self.path),
        )

    def commit(
        self,
        messages: Sequence[CommitMessage],
        *,
        track_changes: bool | None = None,
        replaced_id: int | None = None,
    ) -> Committed | NoChange:
        """Publish written rows as one snapshot, under a user name that the messages give it.

        After an error the files stay, so that the same messages may be committed again, also by
        another process: they are committed once, and a repeated call returns the first snapshot.

        Args:
            messages: what writers returned.
            track_changes: whether readers of changes shall see it; None: as the table's option.
            replaced_id: the snapshot (0: none) whose whole content the rows replace; a later
                commit of others is a conflict. None: the rows are added.
        """
        schema, adds = self.schema, replaced_id is None
        return self.committer(schema).commit(
            messages,
            kind=CommitKind.APPEND if adds else CommitKind.OVERWRITE,
            commit_user=None,
            overwrite=None if adds else WHOLE_TABLE,
            read_snapshot_id=replaced_id,
            track_changes=track_changes,
            operation="WRITE" if adds else "OVERWRITE",
        )

    def upsert(self, rows: pa.Table) -> Committed | NoChange:
        """Do what `append` does; in a table with key this is the better name for it."""
        return self.append(rows)

    def append(self, rows: pa.Table) -> Committed | NoChange:
        """Add rows; in a table with key they replace the rows with the same key."""
        with self.writer() as writer:
            writer.write(rows)
            return self._committed(writer)

    def delete(self, rows: pa.Table) -> Committed | NoChange:
        """Delete rows: by their key alone, or, in a table without key, one equal row for each."""
        with self.writer() as writer:
            writer.delete(rows)
            return self._committed(writer)

    def overwrite(self, rows: pa.Table) -> Committed | NoChange:
        """Replace the whole content by the rows."""
        replaced_id = self.snapshot_store.latest_id() or 0
        with self.writer() as writer:
            writer.write(rows)
            return self._committed(writer, replaced_id)

    def _committed(
        self, writer: TableWriter, replaced_id: int | None = None
    ) -> Committed | NoChange:
        messages = writer.prepare_commit()
        publish = partial(self.commit, messages, replaced_id=replaced_id)
        return commit_or_delete(writer.context, messages, publish)

    def compaction_tasks(
        self, live: LiveFiles, schema: TableSchema, pick: Pick = pick_full_compaction
    ) -> tuple[CompactionTask, ...]:
        """Return the compactions that `pick` chooses in `live`; they can run anywhere."""
        options = StorageSettings.of(schema).picker
        return picked_tasks(
            live,
            lambda levels: pick(levels, options),
            files=self.file_reader(schema),
            context=self.writer_context(schema),
            moved=moved_schemas(self.schema_store, live.schema_ids, schema),
        )

    def commit_compaction(
        self, messages: Sequence[CommitMessage], schema: TableSchema
    ) -> Committed | NoChange:
        """Publish compactions that were run.

        Raises:
            CommitConflictError: a file that they replace is no longer live.
        """
        return self.committer().commit(
            messages,
            kind=CommitKind.COMPACT,
            commit_user=None,
            operation="COMPACT",
            expected_schema_id=schema.id,
        )

    def compact(self, scope: Scope | None = None, *, full: bool = True) -> CompactionResult:
        """Merge the files of each bucket in `scope` (None: all) into one run, in this process.

        With `full=False` it merges only what the triggers of universal compaction ask for. It
        fails as `commit_compaction` does.
        """
        schema = self.schema
        before = self.live_files(self.latest_snapshot(), schema).in_scope(scope)
        pick = pick_full_compaction if full else pick_compaction
        tasks = self.compaction_tasks(before, schema, pick)
        if tasks:
            context = self.writer_context(schema)
            written = all_written(context, (task.run for task in tasks))
            commit_or_delete(context, written, lambda: self.commit_compaction(written, schema))
        after = self.live_files(self.latest_snapshot(), schema).in_scope(scope)
        return CompactionResult.of(before, after)

    def expire_snapshots(self, options: ExpireOptions | None = None) -> ExpireResult:
        """Remove old snapshots that no consumer needs, and the files that only they needed.

        Args:
            options: say which snapshots stay; None means the table's own options.

        Raises:
            FileAccessError: the store refused; the rest is removed as orphans later.
        """
        schema = self.schema
        kept = options or StorageSettings.of(schema).expiry(self.clock.now_ms())
        kept = kept.needing(self.consumers.needed_from_id())
        expiry = SnapshotExpiry(self.file_io, self.path, self.schema_store)
        return expiry.expire(kept, heard_by(self.listener, schema, self.path))

    def file_reader(self, schema: TableSchema) -> DataFileReader:
        """Return the reader of data files as rows of this schema."""
        store = self.schema_store
        return DataFileReader(
            file_io=self.file_io, table_path=self.path, schema_store=store, schema=schema
        )
