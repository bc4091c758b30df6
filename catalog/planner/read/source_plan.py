"""The plan of a scan of rows that a connector makes: their ranges, and the task for them."""

from __future__ import annotations

import base64
from itertools import chain
from typing import Final

import pyarrow as pa

from table_store.catalog.connectors.connector_errors import UnboundedSourceError
from table_store.catalog.connectors.dead_letters import DeadLetters
from table_store.catalog.connectors.positions.source_read import SKIPPED, AskedRows
from table_store.catalog.connectors.source import Source
from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.planner.names.dead_letter_table import dead_letters, dead_letters_at
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.scans import AskedScan, PlannedScan, WorkerSplit
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.jvm_schema import jvm_rows, jvm_schema
from table_store.catalog.planner.read.read_task import ReadTask
from table_store.catalog.planner.read.spark_predicate import necessary
from table_store.storage.options.log_options import SCAN_BOUNDED_MODE
from table_store.storage.options.options import OptionValues

_VALUE_BYTES: Final = 8


def plan_source(
    session: PlannerSession,
    source: Source,
    opened: OpenedTable,
    asked: AskedScan,
    options: OptionValues,
) -> PlannedScan | ArrowRows:
    """The parts that Python workers read; few rows themselves if these are asked for.

    Records that are left out of these are counted where workers count theirs.

    Raises:
        UnboundedSourceError: nothing says where the rows end.
        SourcePositionLostError, SourceTopicError: the rows cannot be read any more.
        DeadLetterTableError: the table for what is no row is none.
    """
    wanted = AskedRows(
        table=opened.name,
        first=asked.table.table_handle.first_row,
        last=opened.snapshot_id,
        limit=asked.limit,
        is_bounded=options.get(SCAN_BOUNDED_MODE) != SCAN_BOUNDED_MODE.default,
        parallelism=asked.parallelism,
        dead_letters=_dead_letters(session, opened, asked),
        predicate=necessary(asked.predicates),
    )
    found = source.plan(wanted)
    if found is None:
        raise UnboundedSourceError(
            table=opened.name, connector=source.name, bound=source.connector.bound
        )
    columns = columns_from_spark(asked.schema)
    # Without such a wish the rows are no answer, even if there are none.
    is_few = found.rows <= asked.answered_rows or found.is_shared
    if asked.answered_rows and asked.columns and is_few:
        read = (found.reader.read_here(part, asked.columns) for part in found.parts)
        before = SKIPPED.of_thread
        batches = list(chain.from_iterable(read))
        if SKIPPED.of_thread > before:
            session.bridge.SkippedRecords.add(SKIPPED.of_thread - before)
        if not batches:
            return arrow_answer(jvm_schema(columns).empty_table())
        return arrow_answer(jvm_rows(pa.Table.from_batches(batches), columns))
    task = ReadTask(
        reader=found.reader,
        stored=asked.columns,
        columns=asked.columns,
        schema=jvm_schema(columns),
        predicate=None,
        limit=asked.limit,
    )
    return PlannedScan(
        splits=tuple(
            WorkerSplit(bucket=0, payload=base64.b64encode(part).decode()) for part in found.parts
        ),
        files=0,
        rows=found.rows,
        size_bytes=found.rows * _VALUE_BYTES * max(1, len(asked.columns)),
        task=python_task(task, asked.schema) if found.parts else None,
    )


def _dead_letters(
    session: PlannerSession, opened: OpenedTable, asked: AskedScan
) -> DeadLetters | None:
    location = asked.table.table_handle.dead_letters
    if location is not None:
        return dead_letters_at(location, opened.schema)
    catalog = asked.table.relation.catalog
    # What a job reads is in no catalog, and has been asked for before.
    return dead_letters(session, catalog, opened.schema) if catalog.name else None
