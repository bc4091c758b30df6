"""Goal: every statement of ours gives exactly the value, SQL or error its fixture says.

The fixtures were made by reading the seeds' syntax and by giving each rendered text to Spark 4.2's
own parser, as `tests/integration/test_sql_fixtures.py` does again.
"""

from __future__ import annotations

import pytest

from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.statement_parser import parse_statement
from table_store.sql_ext.statements.create_table_sql import render_create_table
from table_store.sql_ext.statements.statements import CreateTable, Rewritten
from tests.unit.sql_ext.sql_fixture import (
    SqlCase,
    load_cases,
    load_plain_statements,
)


def cases(rule: str) -> pytest.MarkDecorator:
    """Run the test once for every case of a fixture file."""
    return pytest.mark.parametrize("case", load_cases(rule), ids=lambda case: case.title)


@cases("create_table")
def test_create_table_becomes_sql_of_sparks(case: SqlCase) -> None:
    statement = parse_statement(case.sql)
    assert isinstance(statement, CreateTable)
    types = {column.name: "BIGINT" for column in statement.computed_columns}
    assert render_create_table(statement, types, {}) == case.expected


@cases("option_hints")
def test_hints_become_with_clauses(case: SqlCase) -> None:
    statement = parse_statement(case.sql)
    assert isinstance(statement, Rewritten)
    assert statement.sql == case.expected


@cases("commands")
def test_commands_are_read(case: SqlCase) -> None:
    assert repr(parse_statement(case.sql)) == case.expected


@cases("syntax_errors")
def test_mistakes_are_named_with_their_place(case: SqlCase) -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse_statement(case.sql)
    assert str(caught.value) == case.expected


@pytest.mark.parametrize("sql", load_plain_statements())
def test_plain_statements_are_left_to_spark(sql: str) -> None:
    assert parse_statement(sql) is None


def test_syntax_error_points_at_its_place() -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse_statement("CREATE TABLE t (\n  a AS b,\n  c\n) WITH (x)")
    error = caught.value
    assert (error.line, error.column, error.found) == (4, 0, ")")
    assert error.context() == ("\n== SQL ==\nCREATE TABLE t (\n  a AS b,\n  c\n) WITH (x)\n^^^")


def test_extra_properties_give_way_to_the_statements_own() -> None:
    statement = parse_statement("CREATE TABLE t (a INT) WITH ('bucket' = '3')")
    assert isinstance(statement, CreateTable)
    sql = render_create_table(statement, {}, {"bucket": "1", "log.system": "kafka"})
    assert "'bucket' = '3'" in sql
    assert "'log.system' = 'kafka'" in sql
    assert "'1'" not in sql


def test_computed_column_without_a_type_is_refused() -> None:
    statement = parse_statement("CREATE TABLE t (a INT, b AS a)")
    assert isinstance(statement, CreateTable)
    with pytest.raises(KeyError):
        render_create_table(statement, {}, {})
