"""Goal: the filter finds every statement of ours, spares Spark's, and is quick on any text."""

from __future__ import annotations

import time

import pytest

from table_store.sql_ext.prefilter import is_maybe_ours
from tests.unit.sql_ext.sql_fixture import load_our_statements


@pytest.mark.parametrize("sql", load_our_statements())
def test_every_statement_of_ours_is_found(sql: str) -> None:
    assert is_maybe_ours(sql)
    assert is_maybe_ours(f"\u2003/* a /* b */ c */ -- SELECT\n {sql}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t JOIN s ON t.a = s.a WHERE a = 'INSERT'",
        "  (SELECT 1) UNION SELECT 2",
        "-- a comment\nSELECT a FROM t",
        "WITH q AS (SELECT 1) SELECT * FROM q",
        "SELECT /*+ BROADCAST(t) */ * FROM t",
        "EXPLAIN SELECT * FROM t",
        "SHOW TABLES IN db",
        "SHOW TBLPROPERTIES t",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "UPDATE t SET a = 1",
        "DELETE FROM t WHERE a = 'SET'",
        "USE `default`",
        "SET a.b = c",
        "DROP TABLE t",
        "DESCRIBE t",
        "ALTER TABLE t ADD COLUMN a INT",
        "CREATE VIEW v AS SELECT 1",
        "TRUNCATE TABLE t",
        "INSERT INTO t VALUES (1)",
        "WITH q AS (SELECT 1) INSERT OVERWRITE t SELECT * FROM q",
        "EXPLAIN INSERT INTO t SELECT 1",
    ],
)
def test_plain_statements_are_spared(sql: str) -> None:
    assert not is_maybe_ours(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "FROM INSERT CREATE WITH " * 20_000,
        "-- c\n" + "EXPLAIN WITH FROM TEMP " * 20_000,
        "/*+ " * 100_000,
        "(" * 400_000,
        "SELECT " + "/* c */ " * 50_000,
        "DROP " + "TEMP " * 2_000,
    ],
    ids=["query", "comment first", "hints", "parentheses", "comments", "drop"],
)
def test_long_texts_take_no_longer_than_their_length(sql: str) -> None:
    """A quadratic pattern would take minutes here; the limit leaves room for a busy machine."""
    started = time.process_time()
    is_maybe_ours(sql)
    assert time.process_time() - started < 0.5
