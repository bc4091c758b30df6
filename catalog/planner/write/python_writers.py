"""Spark jobs whose Python workers write data files; the bridge's `PythonWriters` run them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.planner.process.python_task import python_task
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.failure import Failure
from table_store.catalog.planner.protocol.json_form import from_json, to_json
from table_store.catalog.planner.write.write_task import ANSWER, WrittenFiles
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.write.table_writer import WriterContext
from table_store.storage.file_store.write.unpublished_files import delete_files
from table_store.storage.file_store.write.write_cost import NO_COST, WriteCost
from table_store.storage.kernel.errors import TableStoreError

Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a worker does with its rows; it answers as `answers_of` does."""


class WorkerError(TableStoreError):
    """An error of ours that a worker met; its text, condition and state are the worker's."""

    def __init__(self, text: str) -> None:
        failure = from_json(Failure, json.loads(text))
        # The attributes of the worker's error replace those of this class.
        self.condition = failure.condition  # type: ignore[misc]
        self.sql_state = failure.sql_state  # type: ignore[misc]
        self.message = failure.message
        Exception.__init__(self, failure.message)


def rows_written(
    session: PlannerSession, context: WriterContext, rows: DataFrame, task: Task, statement: str
) -> WrittenFiles:
    """Have workers do `task` with all rows of a query; see `_written`."""
    return _written(context, session.bridge.PythonWriters.of(rows._jdf, _told(task), statement))


def work_written(
    session: PlannerSession,
    context: WriterContext,
    work: Sequence[bytes],
    task: Task,
    statement: str,
) -> WrittenFiles:
    """Have workers do `task` with each piece of work, a row of one column; see `_written`."""
    spark = session.spark._jsparkSession
    return _written(context, session.bridge.PythonWriters.on(spark, work, _told(task), statement))


def _told(task: Task) -> str:
    return json.dumps(to_json(python_task(task, ANSWER.json())))


def _written(context: WriterContext, writers: Any) -> WrittenFiles:
    """Run a job and return the files of all its tasks.

    Unless all tasks write theirs, the files of those that did are deleted.

    Raises:
        WorkerError: a task answered with an error; the first one is raised.
        CapturedException, Py4JError: the job failed, or was cancelled.
    """
    try:
        writers.run()
    except (CapturedException, Py4JError):
        delete_files(context, _answered(writers)[0])
        raise
    messages, error, cost = _answered(writers)
    if error is not None:
        delete_files(context, messages)
        raise WorkerError(error)
    return WrittenFiles(messages, cost)


def _answered(writers: Any) -> tuple[tuple[CommitMessage, ...], str | None, WriteCost]:
    """What the tasks that ended have written, their first error, and the cost."""
    rows: list[list[str | None]] = json.loads(writers.answers())
    messages = tuple(CommitMessage.from_json(text) for text, _, _ in rows if text is not None)
    error = next((error for _, error, _ in rows if error is not None), None)
    costs = [WriteCost(**json.loads(cost)) for _, _, cost in rows if cost is not None]
    return messages, error, reduce(add, costs, NO_COST)
