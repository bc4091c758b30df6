"""A read of the changes between two snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from table_store.storage.file_store.changes.change_history import (
    BucketHistory,
    for_all_versions,
    kept_commits,
    read_histories,
    snapshot_histories,
)
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS, LABELS
from table_store.storage.file_store.changes.change_planner import plan_changes
from table_store.storage.file_store.changes.change_range import (
    ChangeHistory,
    ChangeRange,
    check_tracked,
)
from table_store.storage.file_store.changes.change_reader import ChangeReader
from table_store.storage.file_store.changes.change_split import ChangeMode, ChangeSplit
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.metadata.manifest_file import MetadataReader
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.scan.split_reader import few_rows, under_schema
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.types import arrow_field


@dataclass(frozen=True, kw_only=True)
class ChangeScan:
    """A read of the changes of a range of snapshots under one schema; it never changes.

    Attributes:
        history: of the table.
        metadata: reads its manifests.
        files: reads its data files as rows of `schema`.
        schema: of all rows, also of those that were written under an older one.
        range: which snapshots.
        begins_with_snapshot: whether all rows of the first snapshot are returned, as inserts.
        mode: which changes are returned, and in which form.
        columns: names of the answer, of the schema or of `labels`.
        predicate: which change rows; None means all.
        labels: columns that the changes have besides those of the table.
        skips_untracked: whether commits without change tracking are skipped.
        moved_schemas: ids of schemas under which rows may lie in other buckets than today.
        target_bytes: most bytes of files that one split reads.
        parallelism: tasks that the changes are to be spread over.
    """

    history: ChangeHistory
    metadata: MetadataReader
    files: DataFileReader
    schema: TableSchema
    range: ChangeRange
    mode: ChangeMode
    columns: tuple[str, ...]
    predicate: Predicate | None
    labels: tuple[str, ...] = CHANGE_LABELS
    skips_untracked: bool = False
    begins_with_snapshot: bool = False
    moved_schemas: frozenset[int] = frozenset()
    target_bytes: int
    parallelism: int = 1

    def splits(self) -> tuple[ChangeSplit, ...]:
        """Return what tasks read; files that cannot hold a row of the answer are left out.

        Raises:
            UntrackedChangesError: a commit was made without change tracking.
            SnapshotNotFoundError: a snapshot of the range has expired meanwhile.
        """
        return self._splits

    @cached_property
    def _splits(self) -> tuple[ChangeSplit, ...]:
        return plan_changes(
            self._histories(),
            self.schema,
            self.mode,
            parallelism=self.parallelism,
            limit_bytes=self.target_bytes,
        )

    def _histories(self) -> tuple[BucketHistory, ...]:
        kept = self._kept()
        snapshots = self.history.load(replace(self.range, first_id=self.range.first_id + len(kept)))
        if not (kept or snapshots):
            return ()
        predicate = for_all_versions(self.predicate, self.schema)
        whole: tuple[BucketHistory, ...] = ()
        before: Snapshot | None = None
        if self.begins_with_snapshot:
            before, *snapshots_after = snapshots
            snapshots = tuple(snapshots_after)
            whole = snapshot_histories(
                self.metadata, before, self.schema, predicate, self.moved_schemas
            )
        elif snapshots and snapshots[0].id > 1:
            before = self.history.snapshots.get(snapshots[0].id - 1)
        if not self.skips_untracked:
            check_tracked((*kept, *snapshots), self.history.table)
        archive = self.history.archive
        changed = read_histories(
            self.metadata,
            before,
            snapshots,
            self.schema,
            predicate,
            self.moved_schemas,
            kept_commits(archive, kept, self.schema, predicate) if archive else (),
        )
        return (*whole, *changed)

    def _kept(self) -> tuple[Snapshot, ...]:
        """Return the first snapshots of the range, whose changes are only in the archive."""
        archive = self.history.archive
        if self.begins_with_snapshot or archive is None:
            return ()
        stop = min(self.history.archived().stop, self.range.last_id + 1)
        return tuple(archive.snapshots.get(i) for i in range(self.range.first_id, stop))

    def reader(self) -> ChangeReader:
        """Return the reader of the splits, for this process or another one."""
        return ChangeReader(self.files, self.schema, self.mode, self.labels)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all change rows, split after split."""
        yield from self._batches(self.splits())

    def to_arrow(self) -> pa.Table:
        """Return all change rows as one table, in any order."""
        return pa.Table.from_batches(list(self.to_batches()), schema=self.arrow_schema)

    def possible_rows(self, splits: Sequence[ChangeSplit]) -> int:
        """Return how many rows are looked at for those of some splits; reads footers."""
        reader = self.reader()
        return sum(map(reader.possible_rows, splits))

    def few_rows(self, splits: Sequence[ChangeSplit], rows_max: int) -> pa.Table | None:
        """Return the change rows of some splits; None if there are more than `rows_max`."""
        return few_rows(self._batches(splits), self.arrow_schema, rows_max)

    def _batches(self, splits: Sequence[ChangeSplit]) -> Iterator[pa.RecordBatch]:
        reader = self.reader()
        for split in splits:
            found = reader.read(split, self.columns, self.predicate)
            yield from under_schema(found, self.arrow_schema)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Arrow schema of the answer."""
        return pa.schema([self._field(name) for name in self.columns])

    def _field(self, name: str) -> pa.Field:
        if name in self.labels:
            return pa.field(name, LABELS[name], nullable=False)
        field = self.schema.field_named(name)
        return arrow_field(field.name, field.type, nullable=field.nullable)


def check_labels(schema: TableSchema, labels: tuple[str, ...]) -> None:
    """Check that no column of the table has the name of a label.

    Raises:
        InvalidSchemaError: one has.
    """
    for field in schema.fields:
        if field.name.lower() in labels:
            raise InvalidSchemaError(
                column=field.name,
                reason="changes have a column of this name that says what happened; rename it "
                "to read them",
            )
