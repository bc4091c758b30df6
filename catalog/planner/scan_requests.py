"""Requests about reading: which splits a scan has, and what a Python worker needs to read them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from table_store.catalog.planner.arrow_answer import arrow_answer
from table_store.catalog.planner.bucketing import bucketed_by
from table_store.catalog.planner.change_plan import plan_changes
from table_store.catalog.planner.endpoint import Argument
from table_store.catalog.planner.jvm_schema import jvm_rows, jvm_schema
from table_store.catalog.planner.key_lookup import narrowed_to_keys
from table_store.catalog.planner.live_rows_task import LIVE_ROWS, LiveRowsTask
from table_store.catalog.planner.managed_table import ROW_COLUMN
from table_store.catalog.planner.opened_table import opened_table
from table_store.catalog.planner.python_task import python_task
from table_store.catalog.planner.raw_split import StoredColumns, byte_ranges
from table_store.catalog.planner.read_options import read_options
from table_store.catalog.planner.read_task import ReadTask
from table_store.catalog.planner.session import PlannerSession
from table_store.catalog.planner.spark_predicate import conjunction
from table_store.catalog.system_tables import SYSTEM_TABLES
from table_store.catalog.table_definition import columns_from_spark
from table_store.storage.file_store.change_labels import CHANGE_LABELS
from table_store.storage.file_store.live_rows import LiveRowsReader, live_rows_id
from table_store.storage.file_store.pruning import conjuncts
from table_store.storage.file_store.scan import Scan
from table_store.storage.file_store.scan_planner import share_bytes
from table_store.storage.file_store.split import Split, SplitKind
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.table_options import SOURCE_SPLIT_TARGET_SIZE


def plan_scan(session: PlannerSession, argument: Argument) -> dict[str, Any]:
    """The splits of a scan: raw ones as files for Spark's reader, others for a Python worker."""
    if "system" in argument["handle"]:
        return _system_rows(argument)
    if "changes" in argument["handle"]:
        return plan_changes(argument)
    opened = opened_table(argument)
    columns = tuple(argument["columns"])
    if not set(columns).isdisjoint(CHANGE_LABELS):
        raise InvalidSchemaError(
            column=next(name for name in columns if name in CHANGE_LABELS),
            reason="it tells changes from each other; read it in a stream, or in a query FROM "
            f"{opened.name} CHANGES FROM VERSION …",
        )
    predicate = conjunction(argument["predicates"])
    stored = opened.schema.column_names if ROW_COLUMN in columns else columns
    scan = opened.table.scan(
        columns=stored, predicate=predicate, version=opened.snapshot_id, schema=opened.schema
    )
    scan, is_small = narrowed_to_keys(scan)
    if is_small and columns:
        return arrow_answer(jvm_rows(scan.to_arrow(), columns_from_spark(argument["schema"])))
    options = read_options(argument)
    parallelism = argument.get("parallelism", 1)
    by = bucketed_by(scan, parallelism)
    if options.is_given(SOURCE_SPLIT_TARGET_SIZE):
        scan = replace(scan, target_bytes=options.get(SOURCE_SPLIT_TARGET_SIZE))
    else:
        target = share_bytes(scan.live.size_bytes, parallelism, scan.target_bytes)
        scan = replace(scan, target_bytes=target)
    splits = scan.splits()
    stored_columns = StoredColumns(opened.table, opened.schema, columns)
    task = ReadTask(
        reader=scan.reader(),
        stored=stored,
        columns=columns,
        schema=jvm_schema(columns_from_spark(argument["schema"])),
        predicate=predicate,
        limit=argument.get("limit"),
    )
    parts = [
        part for split in splits for part in _parts(split, stored_columns, scan, opened.table.path)
    ]
    files = [file for split in splits for file in split.files]
    return {
        "snapshot": opened.snapshot_id,
        "splits": parts,
        "files": len(files),
        "rows": sum(file.row_count for file in files),
        "sizeBytes": sum(file.size_bytes for file in files),
        "bucketedBy": by,
        "live": _live_rows(scan, argument) if any("live" in part for part in parts) else None,
        **python_task(task, argument["schema"]),
    }


def _live_rows(scan: Scan, argument: Argument) -> dict[str, Any]:
    """What finds the live rows of a split, and whether that is worth it the first time.

    A condition on the key within a partition, or a limit, reads less by merging the few rows that
    it leaves. One on the partition alone leaves whole buckets.
    """
    task = LiveRowsTask(LiveRowsReader(scan.files, scan.schema))
    key, partition = set(scan.schema.primary_key), set(scan.schema.partition_keys)
    terms = () if scan.predicate is None else conjuncts(scan.predicate)
    is_part = argument.get("limit") is not None or any(
        term.columns() <= key and not term.columns() <= partition for term in terms
    )
    return {"atFirst": not is_part, **python_task(task, LIVE_ROWS)}


def _system_rows(argument: Argument) -> dict[str, Any]:
    """The rows of a system table; there are few, so the planner has them at once."""
    handle = argument["handle"]
    rows = SYSTEM_TABLES[handle["system"]].rows(open_logged(handle["path"]))
    return arrow_answer(rows.select(argument["columns"]))


def _parts(
    split: Split, stored: StoredColumns, scan: Scan, table_path: str
) -> Iterator[dict[str, Any]]:
    """The split as the bridge takes it; a large file that is read as it is becomes several."""
    bucket: dict[str, Any] = {"bucket": split.bucket}
    can_read = stored.can_read(split)
    if split.kind is SplitKind.MERGE or not can_read:
        part = {**bucket, "payload": base64.b64encode(split.to_bytes()).decode()}
        if can_read and scan.schema.primary_key:
            part["live"] = live_rows_id(split, table_path)
        yield part
        return
    ranges = [
        {"path": scan.files.path_of(file), "start": start, "length": length}
        | {"size": file.size_bytes}
        for file in split.files
        for start, length in byte_ranges(
            row_count=file.row_count, size_bytes=file.size_bytes, target_bytes=scan.target_bytes
        )
    ]
    if len(ranges) == len(split.files):
        yield {**bucket, "files": ranges}
    else:
        yield from ({**bucket, "files": [part]} for part in ranges)
