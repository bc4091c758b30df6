"""The scan of a range of changes: which splits it has, and what reads them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.planner.names.changelog import ChangelogHandle
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.read.jvm_schema import jvm_schema
from table_store.catalog.planner.read.read_options import read_options
from table_store.catalog.planner.read.read_task import ReadTask
from table_store.catalog.planner.read.spark_predicate import necessary
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.changes.change_split import ChangeSplit
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.log_options import UNTRACKED_CHANGES
from table_store.storage.options.table_options import SOURCE_SPLIT_TARGET_SIZE


def plan_changes(argument: Argument) -> dict[str, Any]:
    """The splits of a scan of changes; Python workers read them all."""
    handle = ChangelogHandle.from_json(argument["handle"])
    handle.check_available(".".join([*argument["namespace"], argument["name"]]))
    table = open_logged(handle.path)
    schema = table.schema_store.get(handle.schema_id)
    options = read_options(argument)
    skips_untracked = read_options(argument, schema).get(UNTRACKED_CHANGES) == "skip"
    columns, predicate = tuple(argument["columns"]), necessary(argument["predicates"])
    scan = table.changes(
        columns=columns,
        predicate=predicate,
        mode=handle.mode,
        labels=handle.labels,
        skips_untracked=skips_untracked,
        schema=schema,
    )
    scan = replace(scan, range=handle.range, parallelism=argument.get("parallelism", 1))
    if options.is_given(SOURCE_SPLIT_TARGET_SIZE):
        scan = replace(scan, target_bytes=options.get(SOURCE_SPLIT_TARGET_SIZE), parallelism=1)
    splits = scan.splits()
    files = [file for split in splits for file in split.files]
    return {
        "snapshot": handle.range.last_id,
        "splits": payloads(splits),
        "files": len(files),
        "rows": sum(file.row_count for file in files),
        "sizeBytes": sum(file.size_bytes for file in files),
        **change_task(scan, argument),
    }


def payloads(splits: Sequence[ChangeSplit]) -> list[dict[str, Any]]:
    """Splits as the bridge takes them."""
    return [
        {"bucket": split.bucket, "payload": base64.b64encode(split.to_bytes()).decode()}
        for split in splits
    ]


def change_task(scan: ChangeScan, argument: Argument) -> dict[str, str]:
    """What a Python worker needs to read the splits of a scan of changes."""
    task = ReadTask(
        reader=scan.reader(),
        stored=scan.columns,
        columns=tuple(argument["columns"]),
        schema=jvm_schema(columns_from_spark(argument["schema"])),
        predicate=scan.predicate,
        limit=argument.get("limit"),
    )
    return python_task(task, argument["schema"])
