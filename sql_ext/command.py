"""The commands among our statements: the columns that each returns, and how it is executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa

from table_store.catalog.errors import CatalogInUseError, WrongRelationKindError
from table_store.catalog.planner.jobs import hosted_jobs, streaming_insert
from table_store.catalog.planner.jobs.dependents import stated_fate
from table_store.catalog.planner.jobs.job_registry import (
    listed_job,
    listed_jobs,
    progress,
    refresh_job,
    stop_job,
)
from table_store.catalog.planner.jobs.job_rows import (
    DETAIL_COLUMNS,
    JOB_COLUMNS,
    job_details,
    job_row,
)
from table_store.catalog.planner.jobs.materialized_view_requests import (
    change_upkeep,
    listed_materialized_views,
    materialized_view,
    refresh_materialized_view,
)
from table_store.catalog.planner.jobs.statement_set import start_together
from table_store.catalog.planner.meta_service import consistency_requests
from table_store.catalog.planner.names.catalog_of import CATALOG_CLASS, require_managed
from table_store.catalog.planner.names.table_requests import drop_temporary, managed_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.partition_values import stated_partition
from table_store.catalog.planner.write.maintenance import compact_table
from table_store.catalog.shown.describe import describe_rows
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.sql_ext.catalog_option import check_catalog_option
from table_store.sql_ext.protocol import ExplainedCommand, RunnableCommand, RunStatement
from table_store.sql_ext.statements.show_create import create_statement
from table_store.sql_ext.statements.statements import (
    Compact,
    CreateCatalog,
    DescribeExtended,
    DescribeJob,
    DropCatalog,
    DropTemporaryTable,
    ExecuteStatementSet,
    FatedStatement,
    PartitionTerm,
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
from table_store.storage.kernel.errors import AlreadyExistsError, NotFoundError
from table_store.storage.kernel.secrets import shown_value
from table_store.storage.kernel.values import Value
from table_store.storage.log_store.logged_table import open_logged

Rows = list[dict[str, Any]]
_SPARK_TYPES = {pa.string(): "string", pa.int64(): "long"}


@dataclass(frozen=True, slots=True)
class CommandKind:
    """Result columns of a command, and the function that runs it: (session, command) -> rows."""

    columns: tuple[tuple[str, pa.DataType], ...]
    run: Callable[[PlannerSession, Any], Rows]

    @property
    def schema(self) -> SparkColumns:
        """The result columns."""
        fields = [
            {"name": name, "type": _SPARK_TYPES[kind], "nullable": True, "metadata": {}}
            for name, kind in self.columns
        ]
        return SparkColumns(json.dumps({"type": "struct", "fields": fields}))


def run_statement(session: PlannerSession, request: RunStatement) -> ArrowRows:
    """Run a command and return its rows."""
    kind = COMMANDS[type(request.command)]
    rows = kind.run(session, request.command)
    return arrow_answer(pa.Table.from_pylist(rows, schema=pa.schema(list(kind.columns))))


def command_schema(command: RunnableCommand) -> SparkColumns:
    """The result columns of a command."""
    return COMMANDS[type(command)].schema


def _compact(session: PlannerSession, command: Compact) -> Rows:
    name = require_managed(session, command.name)
    _, managed = managed_table(session, name)
    partition = _partition(session, name, managed, command.partition)
    table, shown = open_logged(managed.location), managed.identifier.text
    return [compact_table(session, table, managed.schema, partition, name=shown)]


def _describe(session: PlannerSession, command: DescribeExtended) -> Rows:
    name = require_managed(session, command.name)
    try:
        _, managed = managed_table(session, name)
    except WrongRelationKindError:
        return []
    rows = describe_rows(
        open_logged(managed.location),
        partition=_partition(session, name, managed, command.partition),
        time_zone=session.conf("spark.sql.session.timeZone") or "UTC",
    )
    return [
        {"col_name": row.name, "data_type": row.value or "", "comment": row.description}
        for row in rows
    ]


def _show_create(session: PlannerSession, command: ShowCreateTable) -> Rows:
    managed = require_managed(session, command.name)
    access, table = managed_table(session, managed)
    name: tuple[str, ...] = (access.name, *managed.namespace, table.identifier.name)
    is_temporary = access.temporary.holds(table.location)
    statement = create_statement(
        table.schema, name[-1:] if is_temporary else name, is_temporary=is_temporary
    )
    return [{"createtab_stmt": statement}]


def _show_create_view(session: PlannerSession, command: ShowCreateMaterializedView) -> Rows:
    materialized_view(session, require_managed(session, command.name))
    return _show_create(session, ShowCreateTable(command.name))


def _set(session: PlannerSession, command: SetOption) -> Rows:
    key, value = command.key, command.value
    streaming_insert.check_setting(key, value)
    consistency_requests.check_setting(key, value)
    hosted_jobs.check_setting(key, value)
    session.set_conf(key, value)
    return [{"key": key, "value": shown_value(key, value)}]


def _show(session: PlannerSession, command: ShowOption) -> Rows:
    key = command.key
    value = session.conf(key)
    return [{"key": key, "value": "<undefined>" if value is None else shown_value(key, value)}]


def _reset(session: PlannerSession, command: ResetOption) -> Rows:
    session.set_conf(command.key, None)
    return []


def _create_catalog(session: PlannerSession, command: CreateCatalog) -> Rows:
    key = f"spark.sql.catalog.{command.name}"
    if session.conf(key) is not None:
        if command.if_not_exists:
            return []
        remedy = "DROP CATALOG it first"
        raise AlreadyExistsError(kind="catalog", name=command.name, remedy=remedy)
    for option, value in command.options:
        check_catalog_option(option, value)
    for option, value in command.options:
        session.set_conf(f"{key}.{option}", value)
    session.set_conf(key, CATALOG_CLASS)
    return []


def _drop_catalog(session: PlannerSession, command: DropCatalog) -> Rows:
    key = f"spark.sql.catalog.{command.name}"
    if session.conf(key) != CATALOG_CLASS:
        if command.if_exists:
            return []
        raise NotFoundError(kind="catalog of the table store", name=command.name)
    if session.application_conf(key) is not None:
        reason = "it is set for all sessions; take its settings out of the configuration"
        raise CatalogInUseError(catalog=command.name, reason=reason)
    if session.current()[0] == command.name:
        reason = "it is the session's current catalog; USE CATALOG another one first"
        raise CatalogInUseError(catalog=command.name, reason=reason)
    for option in session.confs(f"{key}."):
        session.set_conf(option, None)
    session.set_conf(key, None)
    session.forget_catalog(command.name)
    return []


def _drop_temporary(session: PlannerSession, command: DropTemporaryTable) -> Rows:
    drop_temporary(session, require_managed(session, command.name), command.if_exists)
    return []


def _fated(session: PlannerSession, command: FatedStatement) -> Rows:
    with stated_fate(command.fate):
        session.spark.sql(command.sql)
    return []


def _refresh(session: PlannerSession, command: RefreshMaterializedView) -> Rows:
    relation = require_managed(session, command.name)
    done = refresh_materialized_view(session, relation, is_full=command.is_full)
    return [asdict(view) for view in done]


def _alter_view(session: PlannerSession, command: AlterMaterializedView) -> Rows:
    change_upkeep(session, require_managed(session, command.name), command.change)
    return []


def _show_views(session: PlannerSession, command: ShowMaterializedViews) -> Rows:
    relation = require_managed(session, (*command.namespace, "any"))
    found = listed_materialized_views(session, relation)
    return [
        {
            "namespace": view.identifier.namespace,
            "view": view.identifier.name,
            "state": "suspended" if view.upkeep.is_suspended else "active",
            "policy": view.upkeep.policy.value,
            "schedule": None if view.upkeep.schedule is None else view.upkeep.schedule.sql,
            "barrier": view.barrier,
        }
        for view in found
    ]


def _show_jobs(session: PlannerSession, _: ShowJobs) -> Rows:
    come = progress(session)
    return [job_row(listed, come) for listed in listed_jobs(session)]


def _describe_job(session: PlannerSession, command: DescribeJob) -> Rows:
    return job_details(listed_job(session, command.job), progress(session))


def _refresh_job(session: PlannerSession, command: RefreshJob) -> Rows:
    return [job_row(refresh_job(session, command.job))]


def _stop_job(session: PlannerSession, command: StopJob) -> Rows:
    return [job_row(stop_job(session, command.job, drains=command.drains))]


def _statement_set(session: PlannerSession, command: ExecuteStatementSet) -> Rows:
    """Run the INSERTs; if one cannot start, no job of the others stays."""
    return [{"job": job} for job in start_together(session, command.inserts)]


def _explain(_: PlannerSession, command: ExplainedCommand) -> Rows:
    return [{"plan": f"== Physical Plan ==\n{command.plan}\n"}]


def _partition(
    session: PlannerSession,
    name: RelationReference,
    managed: ManagedTable,
    terms: Sequence[PartitionTerm],
) -> dict[str, Value]:
    parts = (name.catalog.name, *name.namespace, name.name)
    constants = [(term.column, term.sql or "") for term in terms]
    return stated_partition(session, parts, managed.schema, constants)


_KEY_VALUE = (("key", pa.string()), ("value", pa.string()))

COMMANDS: Final[Mapping[type[RunnableCommand], CommandKind]] = {
    Compact: CommandKind(
        (
            ("files_before", pa.int64()),
            ("files_after", pa.int64()),
            ("bytes_before", pa.int64()),
            ("bytes_after", pa.int64()),
        ),
        _compact,
    ),
    DescribeExtended: CommandKind(
        (("col_name", pa.string()), ("data_type", pa.string()), ("comment", pa.string())),
        _describe,
    ),
    ShowCreateTable: CommandKind((("createtab_stmt", pa.string()),), _show_create),
    ShowCreateMaterializedView: CommandKind((("createtab_stmt", pa.string()),), _show_create_view),
    SetOption: CommandKind(_KEY_VALUE, _set),
    ShowOption: CommandKind(_KEY_VALUE, _show),
    ResetOption: CommandKind((), _reset),
    CreateCatalog: CommandKind((), _create_catalog),
    DropCatalog: CommandKind((), _drop_catalog),
    DropTemporaryTable: CommandKind((), _drop_temporary),
    FatedStatement: CommandKind((), _fated),
    AlterMaterializedView: CommandKind((), _alter_view),
    RefreshMaterializedView: CommandKind(
        (
            ("view", pa.string()),
            ("barrier", pa.int64()),
            ("rule", pa.string()),
            ("reason", pa.string()),
            ("rows_read", pa.int64()),
            ("rows_changed", pa.int64()),
            ("milliseconds", pa.int64()),
        ),
        _refresh,
    ),
    ShowMaterializedViews: CommandKind(
        (
            ("namespace", pa.string()),
            ("view", pa.string()),
            ("state", pa.string()),
            ("policy", pa.string()),
            ("schedule", pa.string()),
            ("barrier", pa.int64()),
        ),
        _show_views,
    ),
    ShowJobs: CommandKind(JOB_COLUMNS, _show_jobs),
    DescribeJob: CommandKind(DETAIL_COLUMNS, _describe_job),
    RefreshJob: CommandKind(JOB_COLUMNS, _refresh_job),
    StopJob: CommandKind(JOB_COLUMNS, _stop_job),
    ExecuteStatementSet: CommandKind((("job", pa.string()),), _statement_set),
    ExplainedCommand: CommandKind((("plan", pa.string()),), _explain),
}
