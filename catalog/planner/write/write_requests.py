"""Requests that change rows: INSERT in all its forms, UPDATE, DELETE, MERGE, TRUNCATE."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.errors import ChangeTypeError
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.names.opened_table import OpenedTable, opened_table
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.background_expiry import EXPIRY
from table_store.catalog.planner.write.key_parts import KeyParts, cut_by_key
from table_store.catalog.planner.write.maintenance import compact_after_write
from table_store.catalog.planner.write.overwrite import (
    overwrite_scope,
    replace_condition,
    replaced_rows,
)
from table_store.catalog.planner.write.stream_commit import commit_properties, stream_write_options
from table_store.catalog.planner.write.write_plan import (
    DeltaColumns,
    PlannedRows,
    at_writers,
    delta_rows,
    inserted_rows,
    upserted_rows,
)
from table_store.catalog.planner.write.write_task import (
    ANSWER,
    WorkerError,
    WriteTask,
    messages_of,
    write_rows,
)
from table_store.catalog.tables.write_options import CommitName, WriteOptions
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import DuplicateKeyError
from table_store.storage.file_store.model.scope import WHOLE_TABLE, Scope, partitions_of
from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER, CommitKind
from table_store.storage.file_store.write.table_writer import WriterContext
from table_store.storage.file_store.write.unpublished_files import commit_or_delete, delete_files
from table_store.storage.kernel.errors import InvalidOptionError, TableStoreError
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN

# A Spark job and its Python worker cost as much as the planner takes for this many rows.
_LOCAL_ROWS_MAX: Final = 100_000

# More tasks would leave more small files than a shuffle to a bucket's writer costs.
_TASKS_OF_CORE_MAX: Final = 2

# Marks the error that Spark raises for a bad value while it evaluates the query.
_BAD_CHANGE_TYPE = "table-store change type: "
_BAD_CHANGE_TYPE_VALUE = re.compile(
    re.escape(_BAD_CHANGE_TYPE) + r"(.*?)(?: SQLSTATE: |$)", re.DOTALL
)
_OPERATIONS = {"append": "INSERT", "overwrite": "OVERWRITE", "overwrite_dynamic": "OVERWRITE"}
_CHANGE_TYPES = {"insert": 0, "update_postimage": 0, "delete": 1, "update_preimage": 1}


def write(session: PlannerSession, argument: Argument, data: Any) -> dict[str, int]:
    """Run a write statement's query and commit what it wrote, as one snapshot.

    `data` is the JVM's `WriteQuery`. The answer is the number of rows written.
    """
    opened = opened_table(argument)
    options = stream_write_options(argument["options"], argument.get("stream"))
    named = options.commit
    if named and opened.table.committer().has_committed(named.user, named.identifier):
        return {"rows": 0}
    condition = replace_condition(opened.schema, argument.get("predicates", ()))
    context = replace(opened.table.writer_context(opened.schema), condition=condition)
    messages = _written(session, opened, context, argument, data)
    _commit(opened, context, argument, messages, options)
    compact_after_write(session, opened, messages, is_stream="stream" in argument)
    EXPIRY.after_commit(opened.table, opened.schema)
    return {"rows": sum(file.row_count for message in messages for file in message.added)}


def _written(
    session: PlannerSession,
    opened: OpenedTable,
    context: WriterContext,
    argument: Argument,
    query: Any,
) -> tuple[CommitMessage, ...]:
    """Write the rows of the query: here where they are known and few, else in a Spark job.

    A MERGE that only `upserts` is tried without its target. Where the source has a key twice, the
    target tells whether it may.
    """
    if argument.get("upserts"):
        once = replace(context, distinct_keys=True)
        try:
            return _written_rows(session, opened, once, argument, query.upserts())
        except TableStoreError as error:
            if error.condition != DuplicateKeyError.condition:
                raise
            argument = {**argument, "upserts": False}
    return _written_rows(session, opened, context, argument, query)


def _written_rows(
    session: PlannerSession,
    opened: OpenedTable,
    context: WriterContext,
    argument: Argument,
    query: Any,
) -> tuple[CommitMessage, ...]:
    is_plain = argument["mode"] != "delta" and "changeTypeColumn" not in argument["handle"]
    if is_plain and all(field.generated is None for field in opened.schema.fields):
        known = query.rows(_LOCAL_ROWS_MAX)
        if known is not None:
            return write_rows(context, known, opened.schema.column_names)
    try:
        planned = _planned_rows(session, opened, argument, query)
        rows = planned.frame
        known = query.rowsOf(rows._jdf, _LOCAL_ROWS_MAX)
        if known is not None:
            return write_rows(context, known, rows.columns, are_deletes=planned.are_deletes)
        parallelism = session.spark.sparkContext.defaultParallelism
        parts = KeyParts()
        # Other statements read more than they write: that is not read again for a sample.
        if argument["mode"] != "delta" or argument["upserts"]:
            rows, parts = cut_by_key(
                rows, opened.schema, query, buckets=context.bucket_count, parallelism=parallelism
            )
        tasks_max = max(context.bucket_count, _TASKS_OF_CORE_MAX * parallelism)
        # No two tasks have a key in common then: each may write what it has read.
        if not (planned.keep_keys and 0 < query.taskCount(rows._jdf) <= tasks_max):
            rows = at_writers(rows, context.schema, context.bucket_count, parallelism, parts)
        return _written_by_workers(context, rows, query, are_deletes=planned.are_deletes)
    except CapturedException as error:
        found = _BAD_CHANGE_TYPE_VALUE.search(str(error))
        if found is None:
            raise
        raise ChangeTypeError(value=found[1]) from None


def _planned_rows(
    session: PlannerSession, opened: OpenedTable, argument: Argument, query: Any
) -> PlannedRows:
    frame = DataFrame(query.frame(), session.spark)
    if argument["mode"] == "delta":
        if argument["upserts"]:
            return upserted_rows(frame, opened.schema, argument["row"])
        delta = DeltaColumns(
            row=None if argument.get("row") is None else tuple(argument["row"]),
            row_id=tuple(argument["rowId"]),
        )
        is_merge = argument["command"] == "MERGE"
        return delta_rows(frame, opened.schema, delta, is_merge=is_merge)
    written = argument["handle"]["written"]
    return inserted_rows(frame, opened.schema, written, _kind(argument))


def can_delete_where(session: PlannerSession, argument: Argument) -> bool:
    """Whether a DELETE can be done by dropping whole partitions."""
    opened = opened_table(argument)
    return overwrite_scope(opened.schema, argument["predicates"]) is not None


def delete_where(session: PlannerSession, argument: Argument) -> None:
    """Drop the partitions that a DELETE or TRUNCATE names."""
    opened = opened_table(argument)
    scope = overwrite_scope(opened.schema, argument["predicates"])
    assert scope is not None, "Spark asks can_delete_where first"
    opened.table.committer().commit(
        (),
        kind=CommitKind.OVERWRITE,
        commit_user=opened.table.ids.unique(),
        overwrite=scope,
        operation="DELETE" if argument["predicates"] else "TRUNCATE",
    )
    EXPIRY.after_commit(opened.table, opened.schema)


def _kind(argument: Argument) -> str | None:
    column = argument["handle"].get("changeTypeColumn")
    if column is None:
        return None
    if argument["mode"] != "append":
        raise InvalidOptionError(
            key=CHANGE_TYPE_COLUMN.key, value=column, reason="it goes with INSERT INTO alone"
        )
    text = f"CAST({quoted(column)} AS STRING)"
    cases = " ".join(f"WHEN '{name}' THEN {value}" for name, value in _CHANGE_TYPES.items())
    error = f"raise_error(concat('{_BAD_CHANGE_TYPE}', coalesce({text}, 'NULL')))"
    return f"CASE lower({text}) {cases} ELSE CAST({error} AS INT) END"


def _written_by_workers(
    context: WriterContext, rows: DataFrame, query: Any, *, are_deletes: bool
) -> tuple[CommitMessage, ...]:
    task = python_task(WriteTask(context, tuple(rows.columns), are_deletes), ANSWER.json())
    answers = json.loads(query.answers(rows._jdf, json.dumps(task)))
    try:
        return messages_of([(message, error) for message, error in answers])
    except WorkerError:
        delete_files(context, messages_of([(message, None) for message, _ in answers]))
        raise


def _commit(
    opened: OpenedTable,
    context: WriterContext,
    argument: Argument,
    messages: tuple[CommitMessage, ...],
    options: WriteOptions,
) -> None:
    mode, is_stream = argument["mode"], "stream" in argument
    read = opened.snapshot_id or 0
    command = argument.get("command")
    named = options.commit or CommitName(
        user=opened.table.ids.unique(), identifier=BATCH_IDENTIFIER
    )
    overwrite = None
    if mode == "overwrite":
        overwrite = overwrite_scope(opened.schema, argument["predicates"])
        condition = replace_condition(opened.schema, argument["predicates"])
        if overwrite is None and condition is not None:
            messages = replaced_rows(opened, context, condition, messages)
    elif mode == "overwrite_dynamic":
        overwrite = WHOLE_TABLE
        if opened.schema.partition_keys:
            overwrite = _touched(messages)
    publish = partial(
        opened.table.committer().commit,
        messages,
        kind=CommitKind.APPEND if overwrite is None else CommitKind.OVERWRITE,
        commit_user=named.user,
        commit_identifier=named.identifier,
        overwrite=overwrite,
        # An INSERT changes nothing that it read; a MERGE that only inserts has read what is there.
        # A stream's whole result takes the place of whatever is there.
        read_snapshot_id=None if is_stream or (mode == "append" and not command) else read,
        since_snapshot_id=read,
        track_changes=options.is_tracked,
        operation="STREAM" if is_stream else command or _OPERATIONS[mode],
        expected_schema_id=opened.schema.id,
        properties=commit_properties(argument.get("stream")),
    )
    commit_or_delete(context, messages, publish)


def _touched(messages: tuple[CommitMessage, ...]) -> Scope:
    return partitions_of([message.partition for message in messages])
