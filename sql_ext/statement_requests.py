"""The bridge's requests about a statement: parse it for Spark, or run it as a command."""

from __future__ import annotations

import json
import re
from typing import Final

from pyspark.sql.types import DataType, StructType

from table_store.catalog.definition.rule_change import key_name
from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.catalog.planner.jobs.explain import explain_refresh
from table_store.catalog.planner.jobs.materialized_view_requests import materialized_view
from table_store.catalog.planner.names.catalog_of import managed_relation, require_managed
from table_store.catalog.planner.names.spark_table import TEMPORARY
from table_store.catalog.planner.names.table_requests import managed_table
from table_store.catalog.planner.process.handler import handlers
from table_store.catalog.planner.process.session import PlannerSession
from table_store.sql_ext.command import command_schema, run_statement
from table_store.sql_ext.protocol import ExplainedCommand, Parse, PlannedCommand, SparkStatement
from table_store.sql_ext.statement_parser import parse_statement
from table_store.sql_ext.statements.create_table_sql import render_create_table
from table_store.sql_ext.statements.create_view_sql import render_define_view
from table_store.sql_ext.statements.statements import (
    Command,
    CreateTable,
    DescribeExtended,
    DropPrimaryKey,
    Explained,
    Rewritten,
    ShowCreateTable,
    UseCatalog,
)
from table_store.sql_ext.statements.view_statements import (
    AlterViewAsTable,
    DefineMaterializedView,
    DescribeMaterializedView,
    DropMaterializedView,
    RefreshMaterializedView,
)
from table_store.storage.kernel.errors import NotFoundError

_CHAR_OR_VARCHAR: Final = re.compile(r'"(?:var)?char\(\d+\)"')


def parse(session: PlannerSession, request: Parse) -> SparkStatement | PlannedCommand:
    """Return the statement as text for Spark's parser, or as a command with its result columns."""
    sql = request.sql
    statement = parse_statement(sql)
    if statement is None:
        return SparkStatement(sql=sql)
    if isinstance(statement, Rewritten):
        return SparkStatement(sql=statement.sql)
    if isinstance(statement, Explained):
        return _explained(session, statement)
    return _command(session, statement, sql)


def _command(
    session: PlannerSession, command: Command, sql: str
) -> SparkStatement | PlannedCommand:
    if isinstance(command, CreateTable):
        return SparkStatement(sql=_create_table(session, command))
    if isinstance(command, UseCatalog):
        return SparkStatement(sql=f"SET CATALOG {quoted(command.name)}")
    if isinstance(command, DefineMaterializedView):
        return SparkStatement(sql=render_define_view(command))
    if isinstance(command, AlterViewAsTable):
        materialized_view(session, require_managed(session, command.name))
        return SparkStatement(sql=f"ALTER TABLE {quoted_parts(command.name)} {command.action}")
    if isinstance(command, DropPrimaryKey):
        return SparkStatement(sql=_drop_key(session, command))
    if isinstance(command, DropMaterializedView):
        return SparkStatement(sql=_drop_view(session, command))
    if isinstance(command, DescribeMaterializedView):
        materialized_view(session, require_managed(session, command.name))
        if not command.is_extended:
            return SparkStatement(sql=f"DESCRIBE TABLE {quoted_parts(command.name)}")
        command = DescribeExtended(command.name)
    if isinstance(command, DescribeExtended | ShowCreateTable) and not _is_managed(
        session, command.name
    ):
        return SparkStatement(sql=sql)
    before = None
    if isinstance(command, DescribeExtended):
        before = f"DESCRIBE TABLE EXTENDED {quoted_parts(command.name)}"
    return PlannedCommand(
        name=type(command).__name__,
        command=command,
        schema=command_schema(command),
        before=before,
    )


def _drop_view(session: PlannerSession, command: DropMaterializedView) -> str:
    """DROP TABLE, which also drops what Spark has cached of it."""
    relation = require_managed(session, command.name)
    try:
        materialized_view(session, relation)
    except NotFoundError:
        if not command.if_exists:
            raise
    return f"DROP TABLE IF EXISTS {quoted_parts(command.name)}"


def _drop_key(session: PlannerSession, command: DropPrimaryKey) -> str:
    _, managed = managed_table(session, require_managed(session, command.name))
    if not managed.schema.primary_key:
        raise NotFoundError(kind="primary key of table", name=str(managed.identifier))
    constraint = quoted(key_name(managed.schema))
    return f"ALTER TABLE {quoted_parts(command.name)} DROP CONSTRAINT {constraint}"


def _is_managed(session: PlannerSession, name: tuple[str, ...]) -> bool:
    """Whether the name is that of a managed table which no temporary view hides."""
    relation = managed_relation(session, name)
    if relation is None:
        return False
    if len(name) == 1 and session.has_temporary_view(name[0]):
        return False
    try:
        managed_table(session, relation)
    except (NotFoundError, WrongRelationKindError):
        return False
    return True


def _explained(session: PlannerSession, explained: Explained) -> SparkStatement | PlannedCommand:
    mode = f"{explained.mode} " if explained.mode else ""
    inner = _command(session, explained.command, "")
    if isinstance(inner, SparkStatement):
        return SparkStatement(sql=f"EXPLAIN {mode}{inner.sql}")
    if isinstance(explained.command, RefreshMaterializedView):
        refresh = explained.command
        view = materialized_view(session, require_managed(session, refresh.name))
        text = explain_refresh(session, view, is_full=refresh.is_full)
    else:
        text = f"Execute TableStore {inner.name}"
    command = ExplainedCommand(plan=text)
    return PlannedCommand(name="Explain", command=command, schema=command_schema(command))


def _create_table(session: PlannerSession, statement: CreateTable) -> str:
    extra = {TEMPORARY: "true"} if statement.temporary else {}
    return render_create_table(statement, _computed_types(session, statement), extra)


def _computed_types(session: PlannerSession, statement: CreateTable) -> dict[str, str]:
    """Return Spark's types of the computed columns; each may use the columns before it.

    Spark only analyses them, on an empty relation of the stored columns; nothing runs.
    """
    types: dict[str, str] = {}
    if not statement.computed_columns:
        return types
    relation = session.spark.createDataFrame([], _physical(session, statement))
    for column in statement.computed_columns:
        relation = relation.selectExpr("*", f"{column.expression} AS {quoted(column.name)}")
        types[column.name] = _type_sql(relation.schema[column.name].dataType)
    return types


def _type_sql(data_type: DataType) -> str:
    """Return the type as CREATE TABLE takes it, without a string's default collation."""
    return data_type.simpleString().replace(" collate UTF8_BINARY", "")


def _physical(session: PlannerSession, statement: CreateTable) -> StructType:
    """Return the stored columns as a Spark schema, with their names and types alone."""
    ddl = ", ".join(
        f"{quoted(column.name)} {column.type_sql}" for column in statement.physical_columns
    )
    parser = session.spark._jsparkSession.sessionState().sqlParser()
    # In expressions CHAR and VARCHAR columns are strings.
    described = _CHAR_OR_VARCHAR.sub('"string"', parser.parseTableSchema(ddl).json())
    return StructType.fromJson(json.loads(described))


STATEMENT_REQUESTS: Final = handlers((parse, run_statement))
