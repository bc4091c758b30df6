"""Requests about aggregates that the manifests answer, so that no data file is opened."""

from __future__ import annotations

import pyarrow as pa

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.definition.declared_type import COLLATIONS
from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.planner.names.opened_table import opened_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.scans import (
    AggregateFunction,
    AggregateRow,
    ExactAggregates,
)
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.jvm_schema import jvm_rows
from table_store.catalog.planner.read.read_options import read_options
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.scan.pruning import exact_bounds, exact_row_count
from table_store.storage.kernel.types import LONG, is_orderable, to_arrow
from table_store.storage.kernel.values import Value


def exact_aggregates(session: PlannerSession, request: ExactAggregates) -> AggregateRow | None:
    """The one row of COUNT(*), MIN and MAX over a whole table; None if data files must be read.

    An aggregation without functions gets None, too: its row has no columns, and an answer without
    columns would lose the row.

    Raises:
        UnknownOptionError, InvalidOptionError: the read has such an option.
    """
    if not request.functions or not isinstance(request.table.handle, TableHandle):
        return None
    read_options(request.options)
    opened = opened_table(request.table)
    if connector_of(opened.schema) is not None:
        return None
    snapshot = opened.table.snapshot(version=opened.snapshot_id) if opened.snapshot_id else None
    live = opened.table.live_files(snapshot, opened.schema)
    fields, values = [], []
    for number, function in enumerate(request.functions):
        answer = _aggregate(live, function, Field(id=number, name=f"_{number}", type=LONG))
        if answer is None:
            return None
        fields.append(answer[0])
        values.append(answer[1])
    rows = pa.table(
        {f.name: pa.array([v], to_arrow(f.type)) for f, v in zip(fields, values, strict=True)}
    )
    return AggregateRow(
        schema=SparkColumns(columns_to_spark(fields)), rows=arrow_answer(jvm_rows(rows, fields))
    )


def _aggregate(
    live: LiveFiles, function: AggregateFunction, answer: Field
) -> tuple[Field, Value] | None:
    """The result column (`answer` with its actual type) and its value; None if it is unknown."""
    path = function.column
    if function.name == "count":
        count = exact_row_count(live)
        return None if count is None or path is not None else (answer, count)
    if path is None or len(path) != 1 or path[0] not in live.schema.column_names:
        return None
    asked = live.schema.field_named(path[0])
    # Bounds follow the order of bytes, which differs from the order of a collation.
    is_in_order = is_orderable(asked.type) and all(key != COLLATIONS for key, _ in asked.metadata)
    bounds = exact_bounds(live, asked.name) if is_in_order else None
    if bounds is None:
        return None
    typed = Field(id=answer.id, name=answer.name, type=asked.type)
    return typed, bounds[0 if function.name == "min" else 1]
