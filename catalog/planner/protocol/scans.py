"""Requests about reading tables, and plans of scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.python_tasks import PythonTask
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.spark_values import SparkColumns, SparkExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedScan:
    """What a query reads from a table.

    Attributes:
        table: the table that is read.
        columns: names of the columns to read.
        schema: the same columns with their types.
        predicates: conditions that a row must all satisfy; Spark evaluates them again.
        limit: how many rows are enough.
        options: the options of this read.
        parallelism: how many tasks Spark runs at once.
        answered_rows: up to how many rows should be the answer instead of the splits.
    """

    table: TableReference
    columns: tuple[str, ...]
    schema: SparkColumns
    predicates: tuple[SparkExpression, ...] = ()
    limit: int | None = None
    options: Mapping[str, str]
    parallelism: int = 1
    answered_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanScan:
    """Asks for the splits of a scan."""

    scan: AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedRead:
    """A table and its snapshot that a query, by its execution's id in the JVM, reads for long."""

    table: TableReference
    snapshot: int
    execution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReads:
    """Renews the leases of queries on what they read; `is_over`: ends them."""

    reads: tuple[LeasedRead, ...]
    is_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """COUNT(*), or MIN or MAX of the column with this path."""

    name: str
    column: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAggregates:
    """Aggregates over a whole table; `options` are those of the read."""

    table: TableReference
    functions: tuple[AggregateFunction, ...]
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateRow:
    """One row with an aggregate in each column."""

    schema: SparkColumns
    rows: ArrowRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSplits:
    """Splits of files that Spark's own reader reads.

    Each row of `parts` describes a part of a file that one task reads: split, bucket, path below
    `root`, start of the part, its length, and the size of the file.
    """

    root: str
    parts: ArrowRows


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSplit:
    """A split for a Python worker; `payload` is base64 that only the worker can interpret.

    `live` identifies the split's live rows, if Spark can read these file by file instead.
    """

    bucket: int
    payload: str
    live: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketedBy:
    """The splits are buckets, by hash of this key column; `buckets` is their number."""

    column: str
    buckets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRows:
    """The task that finds a split's live rows; `at_first`: whether it pays at the first read."""

    at_first: bool
    task: PythonTask


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScan:
    """The splits of a scan; `files`, `rows` and `size_bytes` are totals over its tasks.

    `task` is the one that reads `splits`; None if there are none.
    """

    snapshot: int | None = None
    raw: RawSplits | None = None
    splits: tuple[WorkerSplit, ...]
    files: int
    rows: int
    size_bytes: int
    bucketed_by: BucketedBy | None = None
    live: LiveRows | None = None
    task: PythonTask | None = None
