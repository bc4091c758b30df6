"""The plan of a scan of changes: its splits, and the task that reads them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.protocol.handles import ChangelogHandle
from table_store.catalog.planner.protocol.python_tasks import PythonTask
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.scans import AskedScan, PlannedScan, WorkerSplit
from table_store.catalog.planner.read.arrow_answer import arrow_answer, is_found_at_once
from table_store.catalog.planner.read.jvm_schema import jvm_rows, jvm_schema
from table_store.catalog.planner.read.read_options import read_options
from table_store.catalog.planner.read.read_task import ReadTask
from table_store.catalog.planner.read.spark_predicate import necessary
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.changes.change_split import ChangeSplit
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.log_options import UNTRACKED_CHANGES
from table_store.storage.options.options import OptionValues
from table_store.storage.options.table_options import SOURCE_SPLIT_TARGET_SIZE

_ROWS_MAX: Final = 100_000
_BYTES_MAX: Final = 64 << 20
"""More changes are not worth sending to the driver."""


def plan_changes(
    handle: ChangelogHandle, asked: AskedScan, options: OptionValues
) -> PlannedScan | ArrowRows:
    """The splits of a scan of changes, which Python workers read; few changes themselves."""
    handle.check_available(asked.table.relation.text)
    table = open_logged(handle.path)
    schema = table.schema_store.get(handle.schema_id)
    of_table = read_options(asked.options, schema, of_changes=True)
    skips_untracked = of_table.get(UNTRACKED_CHANGES) == "skip"
    predicate = necessary(asked.predicates)
    scan = table.changes(
        columns=asked.columns,
        predicate=predicate,
        mode=handle.mode,
        labels=handle.labels,
        skips_untracked=skips_untracked,
        schema=schema,
    )
    scan = replace(scan, range=handle.range, parallelism=asked.parallelism)
    if options.is_given(SOURCE_SPLIT_TARGET_SIZE):
        scan = replace(scan, target_bytes=options.get(SOURCE_SPLIT_TARGET_SIZE), parallelism=1)
    splits = scan.splits()
    files = [file for split in splits for file in split.files]
    row_count = sum(file.row_count for file in files)
    size_bytes = sum(file.size_bytes for file in files)
    # Without predicates a stream may have asked, which needs splits.
    if (
        asked.predicates
        and asked.columns
        and is_found_at_once(len(files), row_count, size_bytes, partial(scan.possible_rows, splits))
    ):
        rows = scan.few_rows(splits, _ROWS_MAX)
        if rows is not None and rows.nbytes <= _BYTES_MAX:
            return arrow_answer(jvm_rows(rows, columns_from_spark(asked.schema)))
    return PlannedScan(
        snapshot=handle.range.last_id,
        splits=payloads(splits),
        files=len(files),
        rows=row_count,
        size_bytes=size_bytes,
        task=change_task(scan, asked),
    )


def payloads(splits: Sequence[ChangeSplit]) -> tuple[WorkerSplit, ...]:
    """Splits in the form that the bridge needs."""
    return tuple(
        WorkerSplit(bucket=split.bucket, payload=base64.b64encode(split.to_bytes()).decode())
        for split in splits
    )


def change_task(scan: ChangeScan, asked: AskedScan) -> PythonTask:
    """The task with which Python workers read the splits of a scan of changes."""
    task = ReadTask(
        reader=scan.reader(),
        stored=scan.columns,
        columns=asked.columns,
        schema=jvm_schema(columns_from_spark(asked.schema)),
        predicate=scan.predicate,
        limit=asked.limit,
    )
    return python_task(task, asked.schema)
