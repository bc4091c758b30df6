"""Procedures about jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from table_store.catalog.jobs.history import read_histories
from table_store.catalog.jobs.job_errors import JobNotFoundError
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.shown.procedure import (
    Arguments,
    Procedure,
    ProcedureParameter,
    optional_parameter,
)
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.catalog.tables.stream_writer_claim import StreamWriterClaim
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.types import STRING

_AWAIT_RESULT: Final = pa.schema([("jobs", pa.int64())])
_FLUSH_RESULT: Final = pa.schema(
    [("table", pa.string()), ("job", pa.string()), ("barrier", pa.int64())]
)
_FORGET_RESULT: Final = pa.schema([("job", pa.string())])
_PIN_RESULT: Final = pa.schema([("barrier", pa.int64())])
_HISTORY_RESULT: Final = pa.schema(
    [
        ("table", pa.string()),
        ("job", pa.string()),
        ("barrier", pa.int64()),
        ("ended", pa.timestamp("us", "UTC")),
        ("rule", pa.string()),
        ("reason", pa.string()),
        ("rows_read", pa.int64()),
        ("rows_changed", pa.int64()),
        ("milliseconds", pa.int64()),
        ("error", pa.string()),
    ]
)


def _await_jobs(context: ProcedureContext, _: Arguments) -> pa.Table:
    return pa.table([[context.await_jobs()]], schema=_AWAIT_RESULT)


def _flush(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    named = arguments.optional_text("table") is not None
    done = context.flush(context.table(arguments) if named else None)
    return pa.Table.from_pylist([asdict(table) for table in done], schema=_FLUSH_RESULT)


def _history(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    if arguments.optional_text("table") is not None:
        tables = [context.table(arguments)]
    else:
        tables = list(_tables(context))
    rows = [row for table in tables for row in _epochs(context, table)]
    rows.sort(key=lambda row: (row["ended"], row["table"]))
    return pa.Table.from_pylist(rows, schema=_HISTORY_RESULT)


def _tables(context: ProcedureContext) -> Iterator[ManagedTable]:
    """The managed tables of the current namespace."""
    warehouse = context.lifecycle.warehouse
    for record in warehouse.records(context.namespace, (RelationKind.TABLE,)):
        try:
            yield context.lifecycle.load(Identifier(context.namespace, record.identifier.name))
        except TableStoreError:
            continue  # it was dropped just now, or is damaged, which a statement about it tells


def _epochs(context: ProcedureContext, table: ManagedTable) -> Iterator[dict[str, Any]]:
    file_io = context.lifecycle.warehouse.places.file_io_of(table.location)
    identifier = table.identifier
    name = f"{context.catalog_name}.{identifier.namespace}.{identifier.name}"
    for epoch in read_histories(file_io, table.location):
        shown = asdict(epoch)
        shown["ended"] = shown.pop("ended_ms") * 1000
        yield {**shown, "table": name, "job": epoch.job or None, "barrier": epoch.barrier or None}


def _pin(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    named = arguments.optional_text("table") is not None
    barrier = context.pin(context.table(arguments) if named else None)
    return pa.table([[barrier]], schema=_PIN_RESULT)


def _forget_job(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    """Raises StreamWriterExistsError if the job runs, and JobNotFoundError if there is none."""
    name, warehouse = arguments.text("job"), context.lifecycle.warehouse
    registry = JobRegistry.of(warehouse)
    for job in registry.all():
        if name in (job.id, job.name) and job.commit_user != JOB_OF_VIEW:
            claim = StreamWriterClaim(
                file_io=warehouse.places.file_io_of(job.sink),
                path=job.sink,
                name=job.name,
                clock=warehouse.clock,
            )
            claim.check_free()
            registry.remove(job.sink, job=job.id)
            return pa.table([[job.id]], schema=_FORGET_RESULT)
    raise JobNotFoundError(job=name)


JOB_PROCEDURES: Final = (
    Procedure(
        name="await_jobs",
        description="Returns when no streaming INSERT of this program runs any more.",
        parameters=(),
        result=_AWAIT_RESULT,
        run=_await_jobs,
    ),
    Procedure(
        name="flush",
        description="Brings a table up to now: by its job, or a materialized view by a refresh.",
        parameters=(
            optional_parameter(
                "table", STRING, "The table; by default all that jobs of this program write."
            ),
        ),
        result=_FLUSH_RESULT,
        run=_flush,
    ),
    Procedure(
        name="forget_job",
        description="Lets a streaming INSERT whose program has ended hold back no reader any more.",
        parameters=(
            ProcedureParameter(
                name="job", type=STRING, is_required=True, description="Its id or name in sys.jobs."
            ),
        ),
        result=_FORGET_RESULT,
        run=_forget_job,
    ),
    Procedure(
        name="pin",
        description="Lets the session read one barrier until RESET 'table-store.barrier'.",
        parameters=(
            optional_parameter(
                "table", STRING, "With what hangs together with it; by default the warehouse."
            ),
        ),
        result=_PIN_RESULT,
        run=_pin,
    ),
    Procedure(
        name="refresh_history",
        description="The last epochs of materialized views and streaming INSERTs, oldest first.",
        parameters=(
            optional_parameter(
                "table", STRING, "The table; by default all of the current namespace."
            ),
        ),
        result=_HISTORY_RESULT,
        run=_history,
    ),
)
