"""Where the rows of an epoch's tables lie, as far as their files tell."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import reduce

from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.source_changes import Change, SourceChange
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.storage.file_store.model.key_range import range_columns
from table_store.storage.file_store.model.key_spans import KeySpans
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True)
class TableKeyPlaces:
    """The places of keys in the tables of a plan.

    Attributes:
        query: whose plan it is.
        changed: how its tables have changed, by number.
    """

    query: JobQuery
    changed: Mapping[int, Change]
    _spans: dict[str, KeySpans] = field(default_factory=dict)

    def first_key(self, table: int) -> str | None:
        """See `KeyPlaces`. Where a connector makes the rows of a table, nothing is known of it."""
        if not isinstance(self.changed.get(table), SourceChange | None):
            return None
        return next(iter(range_columns(self._schema(table))), None)

    def key_count(self, changed: Set[int]) -> float:
        """See `KeyPlaces`."""
        return self._all_spans(changed).value_count

    def rows_near(self, table: int, changed: Set[int]) -> float:
        """See `KeyPlaces`."""
        handle, schema = self._handle(table), self._schema(table)
        files = open_logged(handle.path)
        snapshot = files.snapshot(version=handle.snapshot_id) if handle.snapshot_id else None
        live = files.live_files(snapshot, schema)
        return self._all_spans(changed).row_count(live.entries, _place(schema))

    def _all_spans(self, changed: Set[int]) -> KeySpans:
        return reduce(KeySpans.__or__, map(self._spans_of, changed))

    def _spans_of(self, table: int) -> KeySpans:
        change, path = self.changed[table], self._handle(table).path
        assert isinstance(change, SourceChange)
        if path not in self._spans:
            self._spans[path] = change.key_spans(_place(self._schema(table)))
        return self._spans[path]

    def _handle(self, table: int) -> TableHandle:
        source = self.query.plan.nodes[table].source
        assert source is not None
        return self.query.facts.sources[source].table_handle

    def _schema(self, table: int) -> TableSchema:
        handle = self._handle(table)
        return open_logged(handle.path).schema_store.get(handle.schema_id)


def _place(schema: TableSchema) -> int:
    return schema.primary_key.index(range_columns(schema)[0])
