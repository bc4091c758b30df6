"""The bridge's requests about a statement: parse it for Spark, or run it as a command."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Final

from pyspark.sql.types import DataType, StructType

from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.catalog.planner.names.catalog_of import managed_argument
from table_store.catalog.planner.names.mirror_requests import mirror_when_asked
from table_store.catalog.planner.names.spark_table import TEMPORARY
from table_store.catalog.planner.names.table_requests import managed_table
from table_store.catalog.planner.process.endpoint import Argument, Handler
from table_store.catalog.planner.process.session import PlannerSession
from table_store.sql_ext.command import COMMANDS, command_schema, run_command
from table_store.sql_ext.statement_parser import parse_statement
from table_store.sql_ext.statements.create_table_sql import render_create_table
from table_store.sql_ext.statements.statements import (
    Command,
    CreateTable,
    DescribeExtended,
    Explained,
    Rewritten,
    ShowCreateTable,
    UseCatalog,
)
from table_store.storage.kernel.errors import NotFoundError

_CHAR_OR_VARCHAR: Final = re.compile(r'"(?:var)?char\(\d+\)"')


def parse(session: PlannerSession, argument: Argument) -> dict[str, Any]:
    """Return the statement as text for Spark's parser, or as a command with its result columns."""
    sql = argument["sql"]
    statement = parse_statement(sql)
    if statement is None:
        return {"sql": sql, "mirror": mirror_when_asked(session, sql)}
    if isinstance(statement, Rewritten):
        return {"sql": statement.sql}
    if isinstance(statement, Explained):
        return _explained(session, statement)
    return _command(session, statement, sql)


def _command(session: PlannerSession, command: Command, sql: str) -> dict[str, Any]:
    if isinstance(command, CreateTable):
        return {"sql": _create_table(session, command)}
    if isinstance(command, UseCatalog):
        return {"sql": f"SET CATALOG {quoted(command.name)}"}
    if isinstance(command, DescribeExtended | ShowCreateTable) and not _is_managed(
        session, command.name
    ):
        return {"sql": sql}
    answer = {
        "name": type(command).__name__,
        "request": {"command": type(command).__name__, **dataclasses.asdict(command)},
        "schema": json.dumps(command_schema(command)),
    }
    if isinstance(command, DescribeExtended):
        answer["before"] = f"DESCRIBE TABLE EXTENDED {quoted_parts(command.name)}"
    return answer


def _is_managed(session: PlannerSession, name: tuple[str, ...]) -> bool:
    """Whether the name is that of a managed table which no temporary view hides."""
    argument = managed_argument(session, name)
    if argument is None:
        return False
    if len(name) == 1 and session.has_temporary_view(name[0]):
        return False
    try:
        managed_table(session, argument)
    except (NotFoundError, WrongRelationKindError):
        return False
    return True


def _explained(session: PlannerSession, explained: Explained) -> dict[str, Any]:
    mode = f"{explained.mode} " if explained.mode else ""
    inner = _command(session, explained.command, "")
    if "sql" in inner:
        return {"sql": f"EXPLAIN {mode}{inner['sql']}"}
    return {
        "name": "Explain",
        "request": {"command": "Explain", "plan": f"TableStore {inner['name']}"},
        "schema": json.dumps(COMMANDS["Explain"].schema),
    }


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


STATEMENT_REQUESTS: Final[dict[str, Handler]] = {"parse": parse, "run_statement": run_command}
