"""A read of one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.scan.key_lookup import KeyLookup, key_lookup
from table_store.storage.file_store.scan.scan_planner import ScanPlan, plan_scan, raw_splits
from table_store.storage.file_store.scan.split import Split
from table_store.storage.file_store.scan.split_reader import SplitReader, few_rows, under_schema
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.types import arrow_field


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A read of one snapshot; it never changes. A snapshot of None is the empty table."""

    live: LiveFiles
    schema: TableSchema
    files: DataFileReader
    columns: tuple[str, ...]
    predicate: Predicate | None
    target_bytes: int
    moved_schemas: frozenset[int] = frozenset()

    def plan(self) -> ScanPlan:
        """Return what tasks read; files that cannot hold a row of the answer are left out."""
        return plan_scan(
            self.live,
            self.moved_schemas,
            target_bytes=self.target_bytes,
            key_at=partial(self.files.range_key_at, snapshot_id=self.live.snapshot_id),
        )

    def splits(self) -> tuple[Split, ...]:
        """Return the plan as split objects."""
        return self._splits(self.plan())

    def _splits(self, plan: ScanPlan) -> tuple[Split, ...]:
        return (*raw_splits(plan.live.take(plan.raw), self.target_bytes), *plan.merges)

    def lookup(self) -> KeyLookup | None:
        """Return this scan as a read of single keys, or None if it is none."""
        return key_lookup(self.live, self.predicate)

    def looked_up(self, lookup: KeyLookup) -> pa.Table:
        """Return the rows of a `lookup` of this scan, which must have columns."""
        schema = self.arrow_schema
        found = lookup.rows(self.files, self.columns).to_batches()
        return pa.Table.from_batches(list(under_schema(found, schema)), schema=schema)

    def reader(self) -> SplitReader:
        """Return the reader of the splits, for this process or another one."""
        return SplitReader(self.files, self.schema)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, split after split."""
        lookup = self.lookup()
        if lookup is not None and lookup.is_small and self.columns:
            yield from self.looked_up(lookup).to_batches()
            return
        yield from self._read(self.plan())

    def possible_rows(self, plan: ScanPlan) -> int:
        """Return how many rows of a `plan` may have the keys that are asked for; reads footers."""
        reader = self.reader()
        return sum(reader.possible_rows(split, self.predicate) for split in self._splits(plan))

    def few_rows(self, plan: ScanPlan, rows_max: int) -> pa.Table | None:
        """Return the rows of a `plan` of this scan; None if there are more than `rows_max`."""
        return few_rows(self._read(plan), self.arrow_schema, rows_max)

    def _read(self, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
        reader = self.reader()
        for split in self._splits(plan):
            found = reader.read(split, self.columns, self.predicate)
            yield from under_schema(found, self.arrow_schema)

    def to_arrow(self) -> pa.Table:
        """Return all rows as one table."""
        return pa.Table.from_batches(list(self.to_batches()), schema=self.arrow_schema)

    def count(self) -> int:
        """Return the number of rows; reads no more than keys and kinds."""
        reader = self.reader()
        return sum(
            batch.num_rows
            for split in self.splits()
            for batch in reader.read(split, (), self.predicate)
        )

    @property
    def arrow_schema(self) -> pa.Schema:
        """Arrow schema of the answer."""
        fields = (self.schema.field_named(name) for name in self.columns)
        return pa.schema([arrow_field(f.name, f.type, nullable=f.nullable) for f in fields])
