"""Requests about the partitions of a table."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.opened_table import OpenedTable, opened_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.partitions import (
    DropPartitions,
    ListPartitions,
    LoadPartition,
)
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.internal_values import internal_value
from table_store.catalog.planner.read.jvm_schema import jvm_rows
from table_store.storage.file_store.metadata.live_files import PartitionSummary
from table_store.storage.file_store.model.scope import Scope, partitions_of
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.kernel.types import to_arrow
from table_store.storage.kernel.values import Value


def list_partitions(session: PlannerSession, request: ListPartitions) -> ArrowRows:
    """The partitions that have rows and match the given values, as rows."""
    opened = opened_table(request.table)
    spec = _values(opened, request.partition)
    schema = opened.schema
    found = _summaries(opened, Scope(spec=spec))
    columns = {
        field.name: pa.array([s.partition[i] for s in found], to_arrow(field.type))
        for i, field in enumerate(schema.partition_fields)
    }
    return arrow_answer(jvm_rows(pa.table(columns), schema.partition_fields))


def load_partition(session: PlannerSession, request: LoadPartition) -> Mapping[str, str]:
    """The statistics of one partition; empty if it has no rows."""
    opened = opened_table(request.table)
    found = _summaries(opened, Scope(spec=_values(opened, request.partition)))
    if not found:
        return {}
    summary = found[0]
    return {
        "num-files": str(summary.file_count),
        "numRows": str(summary.record_count),
        "totalSize": str(summary.size_bytes),
        "last-modified": str(summary.last_modified_ms),
        "compacted": str(summary.compacted).lower(),
    }


def drop_partitions(session: PlannerSession, request: DropPartitions) -> bool:
    """Remove all rows of the partitions in one commit; return whether there were any."""
    opened = opened_table(request.table)
    refuse_derived(opened.schema, opened.name, "DROP PARTITION")
    names = opened.schema.partition_keys
    specs = [_values(opened, spec) for spec in request.partitions]
    scope = partitions_of([tuple(spec[name] for name in names) for spec in specs])
    had_rows = bool(_summaries(opened, scope))
    opened.table.committer().commit(
        (),
        kind=CommitKind.OVERWRITE,
        commit_user=opened.table.ids.unique(),
        overwrite=scope,
        operation="DROP PARTITION",
    )
    return had_rows


def _summaries(opened: OpenedTable, scope: Scope) -> tuple[PartitionSummary, ...]:
    snapshot = opened.table.latest_snapshot()
    return opened.table.live_files(snapshot, opened.schema).in_scope(scope).partitions()


def _values(opened: OpenedTable, texts: Mapping[str, str | None]) -> dict[str, Value]:
    fields = ((opened.schema.field_named(name), text) for name, text in texts.items())
    return {field.name: internal_value(text, field.type) for field, text in fields}
