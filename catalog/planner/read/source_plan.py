"""The plan of a scan of rows that a connector makes: their ranges, and the task for them."""

from __future__ import annotations

import base64
from typing import Final

import pyarrow as pa

from table_store.catalog.connectors.connector_errors import UnboundedSourceError
from table_store.catalog.connectors.source import BOUND, RowRange, Source
from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.scans import AskedScan, PlannedScan, WorkerSplit
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.jvm_schema import jvm_rows, jvm_schema
from table_store.catalog.planner.read.read_task import ReadTask

_VALUE_BYTES: Final = 8


def plan_source(source: Source, opened: OpenedTable, asked: AskedScan) -> PlannedScan | ArrowRows:
    """The ranges that Python workers read; few rows themselves if these are asked for.

    Raises:
        UnboundedSourceError: nothing says where the rows end.
    """
    rows = _asked_rows(source, opened, asked)
    reader, count = source.reader(), rows.last - rows.first
    if asked.columns and count <= asked.answered_rows:
        columns = columns_from_spark(asked.schema)
        batches = list(reader.read(rows, asked.columns))
        if not batches:
            return arrow_answer(jvm_schema(columns).empty_table())
        return arrow_answer(jvm_rows(pa.Table.from_batches(batches), columns))
    splits = rows.split(asked.parallelism)
    task = ReadTask(
        reader=reader,
        stored=asked.columns,
        columns=asked.columns,
        schema=jvm_schema(columns_from_spark(asked.schema)),
        predicate=None,
        limit=asked.limit,
    )
    return PlannedScan(
        splits=tuple(
            WorkerSplit(bucket=0, payload=base64.b64encode(split.to_bytes()).decode())
            for split in splits
        ),
        files=0,
        rows=count,
        size_bytes=count * _VALUE_BYTES * max(1, len(asked.columns)),
        task=python_task(task, asked.schema) if splits else None,
    )


def _asked_rows(source: Source, opened: OpenedTable, asked: AskedScan) -> RowRange:
    first = asked.table.table_handle.first_row
    ends = [opened.snapshot_id, source.rows_max]
    if asked.limit is not None:
        ends.append(first + asked.limit)
    last = min((end for end in ends if end is not None), default=None)
    if last is None:
        raise UnboundedSourceError(table=opened.name, connector=source.name, bound=BOUND)
    return RowRange(first, max(first, last))
