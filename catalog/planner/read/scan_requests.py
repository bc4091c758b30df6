"""Requests about scans: their splits, and the task with which Python workers read them."""

from __future__ import annotations

import base64
from dataclasses import replace
from functools import partial

import pyarrow as pa

from table_store.catalog.connectors.sink import check_readable
from table_store.catalog.connectors.source import source_of
from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.opened_table import OpenedTable, opened_table
from table_store.catalog.planner.names.row_column import ROW_COLUMN
from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import (
    ChangelogHandle,
    SystemTableHandle,
    TopologyTableHandle,
)
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.scans import (
    AskedScan,
    LiveRows,
    PlannedScan,
    PlanScan,
    WorkerSplit,
)
from table_store.catalog.planner.read.arrow_answer import arrow_answer, is_found_at_once
from table_store.catalog.planner.read.bucketing import bucketed_by
from table_store.catalog.planner.read.change_plan import plan_changes
from table_store.catalog.planner.read.jvm_schema import jvm_rows, jvm_schema
from table_store.catalog.planner.read.live_rows_task import LIVE_ROWS, LiveRowsTask
from table_store.catalog.planner.read.raw_split import StoredColumns, raw_answer
from table_store.catalog.planner.read.read_options import read_options
from table_store.catalog.planner.read.read_task import ReadTask
from table_store.catalog.planner.read.source_plan import plan_source
from table_store.catalog.planner.read.spark_predicate import necessary
from table_store.catalog.shown.system_tables import SYSTEM_TABLES
from table_store.catalog.shown.topology_tables import TOPOLOGY_TABLES, WarehouseTopology
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS
from table_store.storage.file_store.scan.live_rows import LiveRowsReader, live_rows_id
from table_store.storage.file_store.scan.pruning import conjuncts
from table_store.storage.file_store.scan.scan import Scan
from table_store.storage.file_store.scan.scan_planner import (
    OPEN_COST_BYTES,
    ScanPlan,
    raw_splits,
    share_bytes,
)
from table_store.storage.file_store.scan.split import Split, SplitKind
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import OptionValues
from table_store.storage.options.table_options import SOURCE_SPLIT_TARGET_SIZE


def plan_scan(session: PlannerSession, request: PlanScan) -> PlannedScan | ArrowRows:
    """The splits of a scan: raw ones as files for Spark's reader, others for a Python worker.

    If the planner can read the rows itself and they are few, the answer is the rows instead.

    Raises:
        UnknownOptionError, InvalidOptionError: the read has such an option.
    """
    asked = request.scan
    options = read_options(
        asked.options, of_changes=isinstance(asked.table.handle, ChangelogHandle)
    )
    match asked.table.handle:
        case SystemTableHandle() as handle:
            return _system_rows(handle, asked)
        case TopologyTableHandle() as handle:
            warehouse = CatalogAccess.of(session, asked.table.relation.catalog).warehouse
            topology = WarehouseTopology(warehouse, handle.namespace)
            rows = TOPOLOGY_TABLES[handle.table].rows(topology)
            return arrow_answer(rows.select(list(asked.columns)))
        case ChangelogHandle() as changes:
            return plan_changes(changes, asked, options)
    opened = opened_table(asked.table)
    check_readable(opened.schema, opened.name)
    source = source_of(opened.table, opened.schema)
    if source is None:
        return _table_rows(opened, asked, options)
    return plan_source(session, source, opened, asked, options)


def _table_rows(
    opened: OpenedTable, asked: AskedScan, options: OptionValues
) -> PlannedScan | ArrowRows:
    columns = asked.columns
    if not set(columns).isdisjoint(CHANGE_LABELS):
        raise InvalidSchemaError(
            column=next(name for name in columns if name in CHANGE_LABELS),
            reason="it tells changes from each other; read it in a stream, or in a query FROM "
            f"{opened.name} CHANGES FROM VERSION …",
        )
    predicate = necessary(asked.predicates)
    stored = opened.schema.column_names if ROW_COLUMN in columns else columns
    scan = opened.table.scan(
        columns=stored, predicate=predicate, version=opened.snapshot_id, schema=opened.schema
    )
    lookup = scan.lookup()
    if lookup is not None:
        if lookup.is_small and columns:
            found = scan.looked_up(lookup)
            return arrow_answer(jvm_rows(found, columns_from_spark(asked.schema)))
        scan = replace(scan, live=lookup.live)
    scan, pack_bytes = _with_split_sizes(scan, options, asked.parallelism)
    by = bucketed_by(scan, asked.parallelism)
    plan = scan.plan()
    few = _few_rows(scan, plan, asked)
    if few is not None:
        return arrow_answer(jvm_rows(few, columns_from_spark(asked.schema)))
    stored_columns = StoredColumns(opened.table, opened.schema, columns)
    is_readable = stored_columns.readable(plan.live)[plan.raw]
    others = raw_splits(plan.live.take(plan.raw[~is_readable]), scan.target_bytes)
    parts = tuple(_part(split, stored_columns, opened) for split in (*others, *plan.merges))
    task = ReadTask(
        reader=scan.reader(),
        stored=stored,
        columns=columns,
        schema=jvm_schema(columns_from_spark(asked.schema)),
        predicate=predicate,
        limit=asked.limit,
    )
    return PlannedScan(
        snapshot=opened.snapshot_id,
        raw=raw_answer(
            plan.live,
            plan.raw[is_readable],
            opened.table.path,
            part_bytes=scan.target_bytes,
            pack_bytes=pack_bytes,
            by_bucket=by is not None,
        ),
        splits=parts,
        **_amounts(plan),
        bucketed_by=by,
        live=_live_rows(scan, asked) if any(part.live for part in parts) else None,
        # Pickling the task costs as much as the rest of a small plan.
        task=python_task(task, asked.schema) if parts else None,
    )


def _few_rows(scan: Scan, plan: ScanPlan, asked: AskedScan) -> pa.Table | None:
    """The rows of a scan, if few are wanted and they are found by reading few."""
    if not asked.answered_rows or not asked.columns or ROW_COLUMN in asked.columns:
        return None
    amounts = _amounts(plan)
    if scan.predicate is None and amounts["rows"] > asked.answered_rows:
        return None
    possible = partial(scan.possible_rows, plan)
    if not is_found_at_once(amounts["files"], amounts["rows"], amounts["size_bytes"], possible):
        return None
    return scan.few_rows(plan, asked.answered_rows)


def _amounts(plan: ScanPlan) -> dict[str, int]:
    """The numbers of files, stored rows and bytes that the tasks of a plan read."""
    rows, sizes = (
        int(plan.live.entries[name].to_numpy()[plan.raw].sum())
        for name in ("row_count", "size_bytes")
    )
    return {
        "files": len(plan.raw) + sum(len(split.files) for split in plan.merges),
        "rows": rows + sum(split.row_count for split in plan.merges),
        "size_bytes": sizes + sum(split.size_bytes for split in plan.merges),
    }


def _with_split_sizes(scan: Scan, options: OptionValues, parallelism: int) -> tuple[Scan, int]:
    """The scan with the size of its splits, and the size of splits of whole files.

    The latter includes the cost of opening each file, so that many small files are few splits.
    """
    if options.is_given(SOURCE_SPLIT_TARGET_SIZE):
        target = options.get(SOURCE_SPLIT_TARGET_SIZE)
        return replace(scan, target_bytes=target), target
    size, count = scan.live.size_bytes, scan.live.file_count
    share, packed = (
        share_bytes(cost, parallelism, scan.target_bytes)
        for cost in (size, size + count * OPEN_COST_BYTES)
    )
    return replace(scan, target_bytes=share), packed


def _live_rows(scan: Scan, asked: AskedScan) -> LiveRows:
    """The task that finds live rows, and whether it pays off when a split is read the first time.

    It does not with a limit or a condition on the key within a partition: merging the few rows
    that are left reads less. A condition on partition columns alone leaves whole buckets.
    """
    task = LiveRowsTask(LiveRowsReader(scan.files, scan.schema))
    key, partition = set(scan.schema.primary_key), set(scan.schema.partition_keys)
    terms = () if scan.predicate is None else conjuncts(scan.predicate)
    is_part = asked.limit is not None or any(
        term.columns() <= key and not term.columns() <= partition for term in terms
    )
    return LiveRows(at_first=not is_part, task=python_task(task, LIVE_ROWS))


def _system_rows(handle: SystemTableHandle, asked: AskedScan) -> ArrowRows:
    rows = SYSTEM_TABLES[handle.system].rows(open_logged(handle.path))
    return arrow_answer(rows.select(list(asked.columns)))


def _part(split: Split, stored: StoredColumns, opened: OpenedTable) -> WorkerSplit:
    """A split for Python workers in the form that the bridge needs."""
    is_merge = split.kind is SplitKind.MERGE and bool(opened.schema.primary_key)
    can_spark = is_merge and stored.can_read(split)
    return WorkerSplit(
        bucket=split.bucket,
        payload=base64.b64encode(split.to_bytes()).decode(),
        live=live_rows_id(split, opened.table.path) if can_spark else None,
    )
