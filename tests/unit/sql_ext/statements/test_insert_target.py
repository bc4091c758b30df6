"""Goal: a column list lands where Spark takes one, in one target or several."""

from __future__ import annotations

import pytest

from table_store.sql_ext.statement_parser import parse_statement
from table_store.sql_ext.statements.insert_target import with_column_list, with_column_lists
from table_store.sql_ext.statements.statements import Insert


def parsed(sql: str) -> Insert:
    """The INSERT that `sql` is."""
    statement = parse_statement(sql)
    assert isinstance(statement, Insert)
    return statement


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO t VALUES (1)", "INSERT INTO t (`a`, `b``c`) VALUES (1)"),
        ("INSERT INTO t(SELECT 1)", "INSERT INTO t (`a`, `b``c`)(SELECT 1)"),
        (
            "INSERT OVERWRITE t PARTITION (p = ')') IF NOT EXISTS SELECT 1",
            "INSERT OVERWRITE t PARTITION (p = ')') IF NOT EXISTS (`a`, `b``c`) SELECT 1",
        ),
        (
            "WITH q AS (SELECT 1) INSERT INTO a.`b`/* c */SELECT * FROM q",
            "WITH q AS (SELECT 1) INSERT INTO a.`b` (`a`, `b``c`)/* c */SELECT * FROM q",
        ),
        (
            "EXPLAIN INSERT INTO t /*+ OPTIONS('k' = 'v') */ SELECT 1",
            "EXPLAIN INSERT INTO t WITH ('k' = 'v') (`a`, `b``c`) SELECT 1",
        ),
    ],
)
def test_list_follows_the_head(sql: str, expected: str) -> None:
    assert with_column_list(parsed(sql), ["a", "b`c"]) == expected


def test_each_target_gets_its_own_list() -> None:
    insert = parsed("FROM s INSERT INTO t SELECT a INSERT INTO u SELECT b INSERT INTO v SELECT c")
    assert with_column_lists(insert, [["x"], None, ["y"]]) == (
        "FROM s INSERT INTO t (`x`) SELECT a INSERT INTO u SELECT b INSERT INTO v (`y`) SELECT c"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t (a) SELECT 1",
        "INSERT INTO t BY NAME SELECT 1",
        "INSERT INTO t REPLACE WHERE a = 1 SELECT 1",
    ],
)
def test_heads_without_room_refuse_a_list(sql: str) -> None:
    with pytest.raises(ValueError, match="takes no column list"):
        with_column_list(parsed(sql), ["a"])


def test_one_list_for_several_targets_is_refused() -> None:
    with pytest.raises(ValueError, match="several targets"):
        with_column_list(parsed("FROM s INSERT INTO t SELECT a INSERT INTO u SELECT b"), ["a"])


def test_a_long_insert_is_read_no_further_than_its_head() -> None:
    """An unclosed quote far behind the head would change the tokens, were they read."""
    insert = parsed("INSERT INTO t VALUES " + "(1), " * 100_000 + "('")
    assert insert.targets[0].name == ("t",)
