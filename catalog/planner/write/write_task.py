"""The task of a Python worker for a write statement: writes rows as data files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from table_store.catalog.errors import ChangeTypeError
from table_store.catalog.planner.process.worker_process import begin_task, leave
from table_store.catalog.planner.protocol.failure import Failure
from table_store.catalog.planner.protocol.json_form import to_json
from table_store.catalog.planner.write.write_plan import BUCKET, KIND, ORDER
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.write.table_writer import TableWriter, WriterContext
from table_store.storage.file_store.write.write_cost import NO_COST, WriteCost
from table_store.storage.kernel.errors import TableStoreError

_COLUMNS: Final = ("message", "error", "cost")
_ANSWER_SCHEMA = pa.schema([(name, pa.string()) for name in _COLUMNS])
ANSWER: Final = StructType()
for _name in _COLUMNS:
    ANSWER.add(_name, "string")


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files that wait for their commit, and what writing them has cost."""

    messages: tuple[CommitMessage, ...]
    cost: WriteCost = NO_COST


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Writes the rows it receives as data files and answers with the commit messages.

    `columns` are the names of the received columns by position; only the key columns if
    `are_deletes`. A `TableStoreError` is also sent as an answer, so that the user sees its text
    and not the worker's stack trace.
    """

    context: WriterContext
    columns: tuple[str, ...]
    are_deletes: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a message for each partition and bucket written, or one error."""
        yield from answers_of(lambda: self._write(batches))

    def _write(self, batches: Iterator[pa.RecordBatch]) -> WrittenFiles:
        """Write the rows; without an empty batch as the last Spark failed to compute them all.

        The stream is read to its end: a worker that has not can do no other task.
        """
        are_all = False
        with TableWriter(self.context) as writer:
            for batch in batches:
                are_all = batch.num_rows == 0
                rows = batch.rename_columns(list(self.columns))
                write_batch(writer, rows, are_deletes=self.are_deletes)
            return written_by(writer) if are_all else leave()


def write_rows(
    context: WriterContext, stream: bytes, columns: Sequence[str], *, are_deletes: bool = False
) -> WrittenFiles:
    """Write the rows of an Arrow stream in their order; the last row of a key wins.

    `columns` are the names of the stream's columns: the table's, and `KIND` and `ORDER` if
    present; only the key columns if `are_deletes`.
    """
    with pa.ipc.open_stream(stream) as batches, TableWriter(context) as writer:
        for batch in batches:
            rows = batch.rename_columns(list(columns))
            write_batch(writer, rows, are_deletes=are_deletes)
        return written_by(writer)


def write_changes(
    context: WriterContext, stream: bytes, columns: Sequence[str], kinds: Mapping[str, int]
) -> WrittenFiles:
    """Write the rows of an Arrow stream, whose last column says what to do with each.

    `columns` are the names of the others, all of the table's; `kinds` has the `KIND` of each text
    in the last column, in lower case.

    Raises:
        ChangeTypeError: a text is none of them, or NULL.
    """
    known, values = pa.array(kinds, pa.string()), np.array(list(kinds.values()), np.int8)
    with pa.ipc.open_stream(stream) as batches, TableWriter(context) as writer:
        for batch in batches:
            told = batch.column(len(columns))
            found = pc.index_in(pc.utf8_lower(told), known)
            if found.null_count:
                wrong = told.filter(found.is_null())[0].as_py()
                raise ChangeTypeError(value="NULL" if wrong is None else wrong)
            rows = batch.select(range(len(columns))).rename_columns(list(columns))
            writer.write(rows, kinds=values[found.to_numpy(zero_copy_only=False)])
        return written_by(writer)


def written_by(writer: TableWriter) -> WrittenFiles:
    """Write what a writer holds; see `prepare_commit`."""
    messages = writer.prepare_commit()
    return WrittenFiles(messages, writer.cost)


def write_batch(writer: TableWriter, batch: pa.RecordBatch, *, are_deletes: bool) -> None:
    """Pass `writer` a batch with the table's columns and any of `KIND`, `ORDER` and `BUCKET`."""
    known = {
        name: batch.column(name).to_numpy(zero_copy_only=False)
        for name in (KIND, ORDER, BUCKET)
        if name in batch.schema.names
    }
    rows, buckets = batch.drop_columns(list(known)), known.get(BUCKET)
    if are_deletes:
        writer.delete(rows, buckets=buckets)
    else:
        writer.write(rows, kinds=known.get(KIND), order=known.get(ORDER), buckets=buckets)


def answers_of(work: Callable[[], WrittenFiles]) -> Iterator[pa.RecordBatch]:
    """A worker's answer: the files that `work` returns, or the `TableStoreError` that it raises.

    Without files there is no batch: Arrow's Java reader rejects a worker's struct of zero rows.
    """
    begin_task()
    try:
        written = work()
    except TableStoreError as error:
        yield _answer([(None, json.dumps(to_json(Failure.of(error))), None)])
        return
    if written.messages:
        costs = [json.dumps(asdict(written.cost)), *[None] * (len(written.messages) - 1)]
        texts = [message.to_json() for message in written.messages]
        yield _answer([(text, None, cost) for text, cost in zip(texts, costs, strict=True)])


def _answer(rows: Sequence[tuple[str | None, str | None, str | None]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        dict(zip(_COLUMNS, map(list, columns), strict=True)), schema=_ANSWER_SCHEMA
    )
