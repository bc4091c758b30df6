"""Compaction, as Spark jobs if it is large: on demand, and behind the commits of writers."""

from __future__ import annotations

import dataclasses
import logging
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.background_compaction import COMPACTION
from table_store.catalog.planner.write.python_writers import work_written
from table_store.catalog.planner.write.write_task import (
    WrittenFiles,
    answers_of,
)
from table_store.storage.file_store.compaction.compaction_picker import (
    pick_compaction,
    pick_small_files,
)
from table_store.storage.file_store.compaction.compaction_task import (
    CompactionResult,
    CompactionTask,
)
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.scan.scan_planner import share_bytes
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.unpublished_files import (
    all_written,
    commit_or_delete,
)
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.values import Value

_log = logging.getLogger(__name__)

# The planner itself runs compactions up to this size: a Spark job would cost more.
_LOCAL_BYTES_MAX = 32 << 20

# The same where nobody waits for it; more than this is shared among the cores of the cluster.
_BACKGROUND_BYTES_MAX = 256 << 20


def compact_table(
    session: PlannerSession,
    table: FileStoreTable,
    schema: TableSchema,
    partition: Mapping[str, Value],
    *,
    name: str,
) -> dict[str, int]:
    """Merge all files of each bucket into one run; return files and bytes before and after.

    `partition` has values of some or all partition columns; if empty, it is the whole table. `name`
    is what Spark's UI calls the table.

    Raises:
        CommitConflictError: another commit replaced the same files; a retry is safe.
    """
    scope = Scope(spec=partition) if partition else None
    snapshot = table.latest_snapshot()
    live = table.live_files(snapshot, schema).in_scope(scope)
    tasks = table.compaction_tasks(live, schema)
    _run_and_commit(session, table, schema, tasks, name)
    after = table.live_files(table.latest_snapshot(), schema).in_scope(scope)
    return dataclasses.asdict(CompactionResult.of(live, after))


def compact_after_write(
    session: PlannerSession,
    opened: OpenedTable,
    written: Sequence[CommitMessage],
    *,
    is_stream: bool,
    waits: bool = True,
) -> None:
    """Compact the buckets just written where one of the three triggers asks for it.

    A table without key is compacted only after writes of streams and jobs, which keep adding
    small files, and after deletes, whose rows each read has to find. The rows are committed
    already, so an error here must not fail the statement, which the user would run again. The next
    write tries to compact again.

    Args:
        session: whose workers compact what is large.
        opened: the table.
        written: what was committed.
        is_stream: whether small commits follow each other.
        waits: whether all is done at the end. If not, the table is compacted in the background; and
            not at all if that still compacts what was written before.
    """
    settings = StorageSettings.of(opened.schema)
    has_key = bool(opened.schema.primary_key)
    deletes = any(file.delete_count for message in written for file in message.added)
    if settings.is_write_only or not written or not (has_key or is_stream or deletes):
        return
    table = opened.table
    if not waits and not COMPACTION.is_free(table.path):
        return
    scope = Scope(
        partitions=tuple(dict.fromkeys(message.partition for message in written)),
        buckets=tuple({message.bucket for message in written}),
    )
    pick = pick_compaction if has_key else pick_small_files
    with _warned(table):
        live = table.live_files(table.latest_snapshot(), opened.schema).in_scope(scope)
        tasks = table.compaction_tasks(live, opened.schema, pick)
        if tasks and not waits and _size_of(tasks) <= _BACKGROUND_BYTES_MAX:
            COMPACTION.start(table.path, partial(_compact_alone, table, opened.schema, tasks))
        else:
            _run_and_commit(session, table, opened.schema, tasks, opened.name)


@contextmanager
def _warned(table: FileStoreTable) -> Iterator[None]:
    try:
        yield
    except (TableStoreError, PySparkException, Py4JJavaError, OSError) as error:
        _log.warning("the compaction of %s after a write failed: %s", table.path, error)


def _compact_alone(
    table: FileStoreTable, schema: TableSchema, tasks: Sequence[CompactionTask]
) -> None:
    with _warned(table):
        _commit(table, schema, tasks, _run_here(tasks))


def _run_and_commit(
    session: PlannerSession,
    table: FileStoreTable,
    schema: TableSchema,
    tasks: Sequence[CompactionTask],
    name: str,
) -> None:
    if not tasks:
        return
    size = _size_of(tasks)
    if size <= _LOCAL_BYTES_MAX:
        messages = _run_here(tasks)
    else:
        share = share_bytes(size, session.spark.sparkContext.defaultParallelism, size)
        target = max(_LOCAL_BYTES_MAX, share)
        parts = [part for task in tasks for part in task.split(target)]
        messages = _run_in_spark(session, parts, name)
    _commit(table, schema, tasks, messages)


def _size_of(tasks: Sequence[CompactionTask]) -> int:
    return sum(file.size_bytes for task in tasks for file in task.unit.files)


def _commit(
    table: FileStoreTable,
    schema: TableSchema,
    tasks: Sequence[CompactionTask],
    messages: tuple[CommitMessage, ...],
) -> None:
    commit_or_delete(tasks[0].context, messages, lambda: table.commit_compaction(messages, schema))


def _run_here(tasks: Sequence[CompactionTask]) -> tuple[CommitMessage, ...]:
    return all_written(tasks[0].context, (task.run for task in tasks))


def _run_in_spark(
    session: PlannerSession, tasks: Sequence[CompactionTask], name: str
) -> tuple[CommitMessage, ...]:
    work = [pickle.dumps(task) for task in tasks]
    context = tasks[0].context
    return work_written(session, context, work, CompactionWork(), f"COMPACT {name}").messages


class CompactionWork:
    """A worker's task: run pickled compaction tasks, one in each row; answer their messages."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the commit message of each compaction task, or its error."""
        for batch in batches:
            for payload in batch.column(0).to_pylist():
                task: CompactionTask = pickle.loads(payload)
                yield from answers_of(partial(_run_one, task))


def _run_one(task: CompactionTask) -> WrittenFiles:
    return WrittenFiles((task.run(),))
