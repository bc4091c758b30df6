"""Requests that change rows: INSERT in all its forms, UPDATE, DELETE, MERGE, TRUNCATE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from py4j.java_gateway import is_instance_of
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.connectors.sink import deliver
from table_store.catalog.errors import ChangeTypeError
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.names.checked_rows import checked_rows
from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.opened_table import OpenedTable, opened_table
from table_store.catalog.planner.process.job_names import jobs_named
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.writes import (
    CanDeleteWhere,
    DeleteWhere,
    Write,
    WriteMode,
    WrittenRows,
)
from table_store.catalog.planner.write.background_expiry import EXPIRY
from table_store.catalog.planner.write.key_checks import added_kinds, key_check
from table_store.catalog.planner.write.key_parts import KeyParts, cut_by_key
from table_store.catalog.planner.write.maintenance import compact_after_write
from table_store.catalog.planner.write.overwrite import (
    overwrite_scope,
    replace_condition,
    replaced_rows,
)
from table_store.catalog.planner.write.python_writers import rows_written
from table_store.catalog.planner.write.stated_commit import commit_name
from table_store.catalog.planner.write.stream_commit import commit_properties, stream_write_options
from table_store.catalog.planner.write.write_plan import (
    KIND,
    AddedKinds,
    DeltaColumns,
    PlannedRows,
    at_writers,
    delta_rows,
    inserted_rows,
    upserted_rows,
)
from table_store.catalog.planner.write.write_task import (
    WriteTask,
    WrittenFiles,
    write_changes,
    write_rows,
)
from table_store.catalog.tables.write_options import WriteOptions
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.model.data_file import KIND_ADD, CommitMessage
from table_store.storage.file_store.model.errors import DuplicateKeyError
from table_store.storage.file_store.model.scope import WHOLE_TABLE, Scope, partitions_of
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.write.key_check import KeyCheck
from table_store.storage.file_store.write.table_writer import WriterContext
from table_store.storage.file_store.write.unpublished_files import commit_or_delete
from table_store.storage.kernel.errors import InvalidOptionError, TableStoreError
from table_store.storage.kernel.stopwatch import Stopwatch
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN

# Writing this many rows in the planner takes as long as a Spark job and its Python worker.
_LOCAL_ROWS_MAX: Final = 100_000

# With more tasks, the small files that they write cost more than a shuffle to a bucket's writer.
_TASKS_OF_CORE_MAX: Final = 2

# Prefix of the error that Spark raises if the query evaluates to an unknown change type.
_BAD_CHANGE_TYPE = "table-store change type: "
# The condition of errors from Spark's `raise_error`.
_RAISED = "USER_RAISED_EXCEPTION"
_OPERATIONS: Final = {
    WriteMode.APPEND: "INSERT",
    WriteMode.OVERWRITE: "OVERWRITE",
    WriteMode.OVERWRITE_DYNAMIC: "OVERWRITE",
}
_VERBS: Final = {
    "INSERT": "INSERT INTO",
    "OVERWRITE": "INSERT OVERWRITE",
    "MERGE": "MERGE INTO",
    "DELETE": "DELETE FROM",
}
_CHANGE_TYPES = {"insert": 0, "update_postimage": 0, "delete": 1, "update_preimage": 1}


def write(session: PlannerSession, request: Write, data: Any) -> WrittenRows:
    """Run a write statement's query and commit its rows as one snapshot.

    `data` is the JVM's `WriteQuery`. Returns what was written, and is out where it goes.
    """
    opened = opened_table(request.table, on_newest=request.on_newest)
    done = _write(session, opened, request, data, commit_properties(request.stream))
    deliver(opened.table, opened.schema)
    return done.written


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What was written, and the snapshot that has it.

    There is none without rows, nor if the commit's user had made this commit before, or a later
    one.
    """

    written: WrittenRows
    snapshot: Snapshot | None

    @property
    def rows(self) -> int:
        """How many rows were written."""
        return self.written.rows


def write_with(
    session: PlannerSession,
    request: Write,
    data: Any,
    properties: Mapping[str, str],
    *,
    previous_identifier: int | None = None,
    waits: bool = True,
) -> WriteResult:
    """Commit the same with `properties` of the snapshot; a sink's rows are not out yet.

    For `previous_identifier` see `TableCommit`, for `waits` see `compact_after_write`.
    """
    opened = opened_table(request.table)
    return _write(
        session,
        opened,
        request,
        data,
        properties,
        previous_identifier=previous_identifier,
        waits=waits,
    )


def _write(
    session: PlannerSession,
    opened: OpenedTable,
    request: Write,
    data: Any,
    properties: Mapping[str, str],
    *,
    previous_identifier: int | None = None,
    waits: bool = True,
) -> WriteResult:
    makes_table = request.table.table_handle.staged is not None
    options = stream_write_options(request.options, request.stream, makes_table=makes_table)
    named = options.commit
    if named and opened.table.committer().has_committed(named.user, named.identifier):
        return WriteResult(WrittenRows(), None)
    condition = replace_condition(opened.schema, request.predicates)
    context = replace(
        opened.table.writer_context(opened.schema),
        condition=condition,
        key_check=key_check(session, opened, request),
    )
    written = _written(session, opened, context, request, data)
    commit = partial(
        opened.table.committer().commit,
        properties=properties,
        previous_identifier=previous_identifier,
    )
    committing, compacting = Stopwatch(), Stopwatch()
    with committing:
        outcome = _commit(opened, context, request, written.messages, options, commit)
    with compacting:
        compact_after_write(
            session, opened, written.messages, is_stream=named is not None, waits=waits
        )
    EXPIRY.after_commit(session, request.table.relation, opened)
    is_new = isinstance(outcome, Committed) and not outcome.repeated
    return WriteResult(_told(written, committing, compacting), outcome.snapshot if is_new else None)


def _told(written: WrittenFiles, committing: Stopwatch, compacting: Stopwatch) -> WrittenRows:
    files = [file for message in written.messages for file in message.added]
    return WrittenRows(
        rows=sum(file.row_count for file in files),
        deletes=sum(file.delete_count for file in files),
        files=len(files),
        size_bytes=sum(file.size_bytes for file in files),
        spilled_bytes=written.cost.spilled_bytes,
        sort_ns=written.cost.sort_ns,
        encode_ns=written.cost.encode_ns,
        commit_ns=committing.elapsed_ns,
        compact_ns=compacting.elapsed_ns,
    )


def _statement_name(opened: OpenedTable, request: Write) -> str:
    """What Spark's UI calls the jobs of a write."""
    if request.stream is not None:
        return f"STREAM INTO {opened.name}: batch {request.stream.batch}"
    verb = request.command or _OPERATIONS[request.mode]
    return f"{_VERBS.get(verb, verb)} {opened.name}"


def raised_text(session: PlannerSession, error: CapturedException, prefix: str) -> str | None:
    """What `raise_error` in a query said behind `prefix`; None for any other failure."""
    cause, gateway = error._origin, session.spark.sparkContext._gateway
    while cause is not None:
        is_spark_s = is_instance_of(gateway, cause, "org.apache.spark.SparkThrowable")
        if is_spark_s and cause.getCondition() == _RAISED:
            said = str(cause.getMessageParameters().get("errorMessage"))
            if said.startswith(prefix):
                return said.removeprefix(prefix)
        cause = cause.getCause()
    return None


def _written(
    session: PlannerSession,
    opened: OpenedTable,
    context: WriterContext,
    request: Write,
    query: Any,
) -> WrittenFiles:
    """Write the rows of the query: in the planner if they are known and few, else in a Spark job.

    A MERGE that only `upserts` is first tried without reading its target. If the source has a key
    twice, the MERGE is run with its target, which decides which error the duplicate is.
    """
    if request.upserts:
        once = replace(context, key_check=KeyCheck(table=opened.name))
        try:
            return _written_rows(session, opened, once, request, query.upserts())
        except TableStoreError as error:
            if error.condition != DuplicateKeyError.condition:
                raise
            request = replace(request, upserts=False)
    return _written_rows(session, opened, context, request, query)


def _written_rows(
    session: PlannerSession,
    opened: OpenedTable,
    context: WriterContext,
    request: Write,
    query: Any,
) -> WrittenFiles:
    is_delta = request.mode is WriteMode.DELTA
    names, handle = opened.schema.column_names, request.table.table_handle
    is_plain = all(field.generated is None for field in opened.schema.fields)
    kinds = added_kinds(context.key_check, request)
    if not is_delta and is_plain and not opened.schema.checks and kinds.inserted == KIND_ADD:
        change_type = handle.change_type_column
        if change_type is None:
            known = query.rows(_LOCAL_ROWS_MAX)
            if known is not None:
                return write_rows(context, known, names)
        elif request.mode is WriteMode.APPEND and handle.written == (*names, change_type):
            known = query.rows(_LOCAL_ROWS_MAX)
            if known is not None:
                return write_changes(context, known, names, _CHANGE_TYPES)
    try:
        planned = _planned_rows(session, opened, request, query, kinds)
        rows = planned.frame
        if not planned.are_deletes:
            kind = KIND if KIND in rows.columns else None
            rows = checked_rows(session, rows, opened.schema.checks, kind)
        known = query.rowsOf(rows._jdf, _LOCAL_ROWS_MAX)
        if known is not None:
            return write_rows(context, known, rows.columns, are_deletes=planned.are_deletes)
        parallelism = session.spark.sparkContext.defaultParallelism
        parts = KeyParts()
        # UPDATE, DELETE and other MERGEs read more than they write: a sample would read it twice.
        if not is_delta or request.upserts:
            with jobs_named(session, f"{_statement_name(opened, request)}: sample of the keys"):
                rows, parts = cut_by_key(
                    rows,
                    opened.schema,
                    query,
                    buckets=context.bucket_count,
                    parallelism=parallelism,
                )
        tasks_max = max(context.bucket_count, _TASKS_OF_CORE_MAX * parallelism)
        # With `keep_keys` no two tasks share a key, so each may write its own rows unshuffled.
        if not (planned.keep_keys and 0 < query.taskCount(rows._jdf) <= tasks_max):
            rows = at_writers(rows, context.schema, context.bucket_count, parallelism, parts)
        task = WriteTask(context, tuple(rows.columns), planned.are_deletes)
        return rows_written(session, context, rows, task, _statement_name(opened, request))
    except CapturedException as error:
        value = raised_text(session, error, _BAD_CHANGE_TYPE)
        if value is None:
            raise
        raise ChangeTypeError(value=value) from None


def _planned_rows(
    session: PlannerSession, opened: OpenedTable, request: Write, query: Any, kinds: AddedKinds
) -> PlannedRows:
    frame = DataFrame(query.frame(), session.spark)
    if request.mode is WriteMode.DELTA:
        if request.upserts:
            return upserted_rows(session, frame, opened.schema, request.row or ())
        delta = DeltaColumns(row=request.row, row_id=request.row_id)
        is_merge = request.command == "MERGE"
        return delta_rows(session, frame, opened.schema, delta, kinds, is_merge=is_merge)
    written = request.table.table_handle.written
    kind = _kind(request) if kinds.inserted == KIND_ADD else str(kinds.inserted)
    return inserted_rows(session, frame, opened.schema, written, kind)


def can_delete_where(session: PlannerSession, request: CanDeleteWhere) -> bool:
    """Whether a DELETE can be done by dropping whole partitions."""
    opened = opened_table(request.table)
    return overwrite_scope(opened.schema, request.predicates) is not None


def delete_where(session: PlannerSession, request: DeleteWhere) -> None:
    """Drop the partitions that a DELETE or TRUNCATE names."""
    opened = opened_table(request.table)
    refuse_derived(opened.schema, opened.name, "DELETE" if request.predicates else "TRUNCATE")
    scope = overwrite_scope(opened.schema, request.predicates)
    assert scope is not None, "Spark asks can_delete_where first"
    named = commit_name(opened.table)
    opened.table.committer().commit(
        (),
        kind=CommitKind.OVERWRITE,
        commit_user=named.user,
        commit_identifier=named.identifier,
        overwrite=scope,
        operation="DELETE" if request.predicates else "TRUNCATE",
    )
    EXPIRY.after_commit(session, request.table.relation, opened)


def _kind(request: Write) -> str | None:
    column = request.table.table_handle.change_type_column
    if column is None:
        return None
    if request.mode is not WriteMode.APPEND:
        raise InvalidOptionError(
            key=CHANGE_TYPE_COLUMN.key, value=column, reason="it goes with INSERT INTO alone"
        )
    text = f"CAST({quoted(column)} AS STRING)"
    cases = " ".join(f"WHEN '{name}' THEN {value}" for name, value in _CHANGE_TYPES.items())
    error = f"raise_error(concat('{_BAD_CHANGE_TYPE}', coalesce({text}, 'NULL')))"
    return f"CASE lower({text}) {cases} ELSE CAST({error} AS INT) END"


def _commit(
    opened: OpenedTable,
    context: WriterContext,
    request: Write,
    messages: tuple[CommitMessage, ...],
    options: WriteOptions,
    commit: Callable[..., Committed | NoChange],
) -> Committed | NoChange:
    mode, command, is_stream = request.mode, request.command, request.stream is not None
    read = opened.snapshot_id or 0
    named = options.commit or commit_name(opened.table)
    overwrite = None
    if mode is WriteMode.OVERWRITE:
        overwrite = overwrite_scope(opened.schema, request.predicates)
        condition = replace_condition(opened.schema, request.predicates)
        if overwrite is None and condition is not None:
            messages = replaced_rows(opened, context, condition, messages)
    elif mode is WriteMode.OVERWRITE_DYNAMIC:
        overwrite = WHOLE_TABLE
        if opened.schema.partition_keys:
            overwrite = _touched(messages)
    publish = partial(
        commit,
        messages,
        kind=CommitKind.APPEND if overwrite is None else CommitKind.OVERWRITE,
        commit_user=named.user,
        commit_identifier=named.identifier,
        overwrite=overwrite,
        # None: no later commit conflicts. An INSERT changes no rows that it has read. A MERGE
        # depends on what it has read, even if it only inserts. A stream's batch is not checked,
        # and its whole result replaces whatever is there.
        read_snapshot_id=None if is_stream or (mode is WriteMode.APPEND and not command) else read,
        since_snapshot_id=read,
        track_changes=options.is_tracked,
        operation="STREAM" if is_stream else command or _OPERATIONS[mode],
        expected_schema_id=opened.schema.id,
    )
    return commit_or_delete(context, messages, publish)


def _touched(messages: tuple[CommitMessage, ...]) -> Scope:
    return partitions_of([message.partition for message in messages])
