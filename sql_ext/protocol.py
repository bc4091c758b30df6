"""What goes over the border between Scala and Python about statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.sql_ext.statements.statements import (
    Compact,
    CreateCatalog,
    DescribeExtended,
    DescribeJob,
    DropCatalog,
    DropTemporaryTable,
    ExecuteStatementSet,
    FatedStatement,
    RefreshJob,
    ResetOption,
    SetOption,
    ShowCreateTable,
    ShowJobs,
    ShowOption,
    StopJob,
)
from table_store.sql_ext.statements.view_statements import (
    AlterMaterializedView,
    RefreshMaterializedView,
    ShowCreateMaterializedView,
    ShowMaterializedViews,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCommand:
    """EXPLAIN of a command of ours: `plan` is all that there is to show."""

    plan: str


RunnableCommand: TypeAlias = (
    AlterMaterializedView
    | Compact
    | CreateCatalog
    | DescribeExtended
    | DescribeJob
    | DropCatalog
    | DropTemporaryTable
    | ExecuteStatementSet
    | ExplainedCommand
    | FatedStatement
    | RefreshJob
    | RefreshMaterializedView
    | ResetOption
    | SetOption
    | ShowCreateMaterializedView
    | ShowCreateTable
    | ShowJobs
    | ShowMaterializedViews
    | ShowOption
    | StopJob
)
"""A statement that the planner runs when Spark executes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parse:
    """The text of a statement that may be ours."""

    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkStatement:
    """A text for Spark's parser."""

    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommand:
    """A command with its result columns; the rows of `before`, Spark's statement, come first."""

    name: str
    command: RunnableCommand
    schema: SparkColumns
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatement:
    """Run a command that `parse` has answered with."""

    command: RunnableCommand
