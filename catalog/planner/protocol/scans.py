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
    """What a query reads of a table.

    Attributes:
        table: which one.
        columns: names of those to read.
        schema: the same with their types.
        predicates: what rows must satisfy, all of them; Spark looks again.
        limit: how many rows are enough.
        options: those of this read.
        parallelism: how many tasks Spark runs at once.
    """

    table: TableReference
    columns: tuple[str, ...]
    schema: SparkColumns
    predicates: tuple[SparkExpression, ...] = ()
    limit: int | None = None
    options: Mapping[str, str]
    parallelism: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanScan:
    """Which splits a scan has."""

    scan: AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """COUNT(*), or MIN or MAX of the column with this path."""

    name: str
    column: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAggregates:
    """Aggregates over a whole table."""

    table: TableReference
    functions: tuple[AggregateFunction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateRow:
    """One row with an aggregate in each column."""

    schema: SparkColumns
    rows: ArrowRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSplits:
    """Splits of files that Spark's own reader reads.

    A row of `parts` is a part of a file that one task reads: split, bucket, path below `root`,
    start, length and size of the file.
    """

    root: str
    parts: ArrowRows


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSplit:
    """A split for a Python worker: `payload` is base64 of what only that understands.

    `live` names its live rows, where Spark can read these one file after the other.
    """

    bucket: int
    payload: str
    live: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketedBy:
    """Splits are buckets by this key column, of that many."""

    column: str
    buckets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRows:
    """What finds the live rows of a split, and whether that pays the first time it is read."""

    at_first: bool
    task: PythonTask


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScan:
    """The splits of a scan; `files`, `rows` and `size_bytes` are what its tasks meet.

    `task` is what reads `splits`, and None where there are none.
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
