"""Goal: the statements about a view do what they say, and one that fails leaves the view alone.

Oracle: Spark's own run of the query. Keyed views follow random histories of their sources.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store.catalog.jobs.ledger import Ledger
from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.fakes.counting_ids import CountingIds
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("statements"), OWN_NAME) as session:
        yield session


@pytest.fixture(autouse=True)
def namespace(spark: SparkSession) -> Iterator[None]:
    spark.sql("CREATE NAMESPACE made")
    spark.sql("USE made")
    yield
    spark.sql("USE default")
    spark.sql("DROP NAMESPACE made CASCADE")


def rows(spark: SparkSession, query: str) -> Counter[str]:
    return Counter(str(tuple(row)) for row in spark.sql(query).collect())


def refreshed(spark: SparkSession, view: str, options: str = "") -> list[tuple[str, str, int]]:
    """(view, rule, rows changed)."""
    done = spark.sql(f"REFRESH MATERIALIZED VIEW {view} {options}").collect()
    return [(row.view.split(".")[-1], row.rule, row.rows_changed) for row in done]


def refused(spark: SparkSession, statement: str) -> PySparkException:
    with unlogged_errors(), pytest.raises(PySparkException) as raised:
        spark.sql(statement).collect()
    return raised.value


def shown(spark: SparkSession, view: str) -> str:
    (row,) = spark.sql(f"SHOW CREATE MATERIALIZED VIEW {view}").collect()
    return str(row[0])


def described(spark: SparkSession, view: str) -> dict[str, str]:
    return {row[0]: row[1] for row in spark.sql(f"DESCRIBE EXTENDED {view}").collect()}


def roots_of_last_barrier(spark: SparkSession, *tables: str) -> set[str]:
    """Which of these tables are among them."""
    paths = {described(spark, table)["Location"]: table for table in tables}
    warehouse = str(Path(next(iter(paths))).parents[1])
    last = Ledger(LocalFileIO(warehouse), warehouse, CountingIds()).latest()
    assert last is not None
    return {table for path, table in paths.items() if path in last.roots}


@pytest.mark.parametrize("seed", [0, 1])
def test_keyed_views_are_their_queries(spark: SparkSession, seed: int) -> None:
    randomly = random.Random(seed)
    spark.sql("CREATE TABLE items (id INT, name STRING, f DOUBLE, PRIMARY KEY (id))")
    spark.sql("CREATE TABLE sales (item INT, pieces INT)")
    queries = {
        "named": "SELECT id, name, f FROM items WHERE f > 0 OR name IS NULL",
        "summed": "SELECT item, sum(pieces) AS n, count(*) AS c FROM sales "
        "WHERE item IS NOT NULL GROUP BY item",
        "joined": "SELECT i.id, s.item, i.name FROM items i JOIN (SELECT DISTINCT item FROM sales) "
        "s ON i.id <= s.item",
    }
    for view, query in queries.items():
        columns = {
            "named": "id, name, f COMMENT 'of 0.0', PRIMARY KEY (id) NOT ENFORCED",
            "summed": "item INT, n BIGINT, c BIGINT, CONSTRAINT one PRIMARY KEY (item)",
            "joined": "low, high, name, PRIMARY KEY (high, low)",
        }[view]
        spark.sql(f"CREATE MATERIALIZED VIEW {view} ({columns}) AS {query}")
    for _ in range(4):
        for _ in range(randomly.randrange(1, 4)):
            key, kind = randomly.randrange(6), randomly.randrange(6)
            text = randomly.choice(["'x'", "'y'", "NULL"])
            number = randomly.choice(["0.0", "-0.0", "1.5", "CAST('NaN' AS DOUBLE)", "NULL"])
            spark.sql(
                [
                    f"INSERT INTO items VALUES ({key}, {text}, {number})",
                    f"DELETE FROM items WHERE id = {key}",
                    f"UPDATE items SET id = id + 1, name = {text}",
                    f"INSERT INTO sales VALUES ({key}, {key}), (NULL, 1), ({key}, 1)",
                    f"DELETE FROM sales WHERE item < {key}",
                    f"UPDATE sales SET item = {key} WHERE pieces = 1",
                ][kind]
            )
        for view, query in queries.items():
            before = rows(spark, f"SELECT * FROM {view}")
            ((_, rule, changed),) = refreshed(spark, view)
            after = rows(spark, f"SELECT * FROM {view}")
            assert after == rows(spark, query), (view, rule)
            came, went = after - before, before - after
            assert max(came.total(), went.total()) <= changed <= came.total() + went.total()
            assert rule in ("none", "incremental"), (view, rule)


def test_a_result_without_one_row_for_each_key_is_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE many (k INT, v STRING)")
    spark.sql("INSERT INTO many VALUES (1, 'a'), (2, 'b')")
    spark.sql("CREATE MATERIALIZED VIEW one (k, v, PRIMARY KEY (k)) AS SELECT k, v FROM many")
    kept = rows(spark, "SELECT * FROM one")
    for inserted, problem in (
        ("(1, 'c')", 'two rows with the key {"k":1}'),
        ("(3, 'c'), (3, 'd')", 'two rows with the key {"k":3}'),
        ("(4, 'c'), (4, 'c')", 'two rows with the key {"k":4}'),
        ("(NULL, 'c')", 'a NULL in the key {"k":null}'),
    ):
        spark.sql(f"INSERT INTO many VALUES {inserted}")
        for options in ("", "FULL"):
            error = refused(spark, f"REFRESH MATERIALIZED VIEW one {options}")
            assert error.getCondition() == "TABLE_STORE_VIEW_KEY"
            assert error.getSqlState() == "23505"
            assert problem in str(error)
        error = refused(
            spark, "CREATE MATERIALIZED VIEW two (k, v, PRIMARY KEY (k)) AS SELECT k, v FROM many"
        )
        assert error.getCondition() == "TABLE_STORE_VIEW_KEY"
        assert not spark.catalog.tableExists("two")
        assert rows(spark, "SELECT * FROM one") == kept
        spark.sql("DELETE FROM many WHERE v IN ('c', 'd')")
    spark.sql("UPDATE many SET v = 'z' WHERE k = 1")
    assert refreshed(spark, "one") == [("one", "incremental", 1)]
    assert rows(spark, "SELECT * FROM one") == rows(spark, "SELECT * FROM many")


def test_all_of_a_definition_is_shown_and_taken_back(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE sold (day DATE, item STRING, pieces INT)")
    spark.sql("INSERT INTO sold VALUES (DATE '2026-01-01', 'bolt', 3)")
    spark.sql(
        "CREATE MATERIALIZED VIEW per_day (day, item COMMENT 'it''s', n, PRIMARY KEY (day, item) "
        "NOT ENFORCED) PARTITIONED BY (day) COMMENT 'pieces' WITH ('bucket' = '2') REFRESH POLICY "
        "INCREMENTAL TRIGGER ON UPDATE AT MOST EVERY INTERVAL '5' MINUTES "
        "AS SELECT day, item, sum(pieces) FROM sold GROUP BY ALL"
    )
    statement = shown(spark, "per_day")
    for part in (
        "item STRING COMMENT 'it\\'s'",
        "PRIMARY KEY (day, item) NOT ENFORCED",
        "PARTITIONED BY (day)",
        "'bucket' = '2'",
        "\nREFRESH POLICY INCREMENTAL\nTRIGGER ON UPDATE AT MOST EVERY INTERVAL 5 MINUTES\nAS ",
    ):
        assert part in statement
    spark.sql("DROP MATERIALIZED VIEW per_day")
    spark.sql(statement)
    assert shown(spark, "per_day") == statement
    assert (plan := spark.sql(f"EXPLAIN {statement}").collect()[0][0])
    assert "CreateMaterializedView" in plan
    told = described(spark, "per_day")
    assert told["refresh policy"] == "INCREMENTAL"
    assert told["schedule"] == "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 5 MINUTES"
    assert told["state"] == "active"
    assert "table-store.view-clauses" not in str(told) + statement
    spark.sql("ALTER MATERIALIZED VIEW per_day ALTER SCHEDULE EVERY 1 HOUR")
    spark.sql("ALTER MATERIALIZED VIEW per_day SET REFRESH POLICY AUTO")
    assert shown(spark, "per_day") == statement.replace("REFRESH POLICY INCREMENTAL\n", "").replace(
        "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 5 MINUTES", "SCHEDULE EVERY 1 HOUR"
    )
    assert "has SCHEDULE EVERY 1 HOUR already" in str(
        refused(spark, "ALTER MATERIALIZED VIEW per_day ADD TRIGGER ON UPDATE")
    )
    spark.sql("ALTER MATERIALIZED VIEW per_day DROP SCHEDULE")
    assert "no SCHEDULE" in str(refused(spark, "ALTER MATERIALIZED VIEW per_day DROP SCHEDULE"))
    spark.sql("ALTER MATERIALIZED VIEW per_day ADD TRIGGER ON UPDATE")
    assert "\nTRIGGER ON UPDATE\n" in shown(spark, "per_day")
    spark.sql("ALTER MATERIALIZED VIEW per_day SET TBLPROPERTIES ('num-levels' = '4')")
    assert "'num-levels' = '4'" in shown(spark, "per_day")
    spark.sql("ALTER MATERIALIZED VIEW per_day UNSET TBLPROPERTIES ('num-levels')")
    assert "num-levels" not in shown(spark, "per_day")
    spark.sql("ALTER MATERIALIZED VIEW per_day RENAME TO made.of_days")
    assert refreshed(spark, "of_days") == [("of_days", "none", 0)]


def test_policies(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (id BIGINT, v INT, PRIMARY KEY (id))")
    spark.sql("INSERT INTO t SELECT id, 1 FROM range(60000)")
    for view, policy in (
        ("auto", "AUTO"),
        ("either", "INCREMENTAL"),
        ("strict", "INCREMENTAL STRICT"),
        ("whole", "FULL"),
    ):
        spark.sql(
            f"CREATE MATERIALIZED VIEW {view} REFRESH POLICY {policy} "
            "AS SELECT id, v + 1 AS w FROM t WHERE v > 0"
        )
    expected = {"auto": "full", "either": "incremental", "strict": "incremental", "whole": "full"}
    spark.sql("UPDATE t SET v = v + 1")
    for view, rule in expected.items():
        assert refreshed(spark, view) == [(view, rule, 120_000)]
        assert refreshed(spark, view) == [(view, "none", 0)]
    spark.sql("INSERT INTO t WITH ('change-tracking' = 'false') VALUES (-1, 2)")
    assert refreshed(spark, "either") == [("either", "full", 1)]
    error = refused(spark, "REFRESH MATERIALIZED VIEW strict")
    assert error.getCondition() == "TABLE_STORE_NOT_INCREMENTAL"
    assert "made.t was changed without change tracking" in str(error)
    assert refreshed(spark, "strict", "FULL") == [("strict", "full", 1)]
    assert rows(spark, "SELECT * FROM strict") == rows(spark, "SELECT id, v + 1 FROM t WHERE v > 0")
    random_time = "SELECT id FROM t WHERE current_date > DATE '2000-01-01'"
    for statement in (
        f"CREATE MATERIALIZED VIEW x REFRESH POLICY INCREMENTAL STRICT AS {random_time}",
        f"ALTER MATERIALIZED VIEW strict AS {random_time.replace('id', 'id, v')}",
    ):
        error = refused(spark, statement)
        assert error.getCondition() == "TABLE_STORE_NOT_INCREMENTAL"
        assert "current_date depends on the time" in str(error)
    assert not spark.catalog.tableExists("x")
    spark.sql(f"CREATE MATERIALIZED VIEW timely AS {random_time}")
    error = refused(spark, "ALTER MATERIALIZED VIEW timely SET REFRESH POLICY INCREMENTAL STRICT")
    assert error.getCondition() == "TABLE_STORE_NOT_INCREMENTAL"
    assert described(spark, "timely")["refresh policy"] == "AUTO"


def test_suspended_views_stay_as_they_are(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (v INT)")
    spark.sql("CREATE MATERIALIZED VIEW low AS SELECT v FROM t")
    spark.sql("CREATE MATERIALIZED VIEW high AS SELECT v FROM low")
    spark.sql("ALTER MATERIALIZED VIEW low SUSPEND")
    spark.sql("INSERT INTO t VALUES (1)")
    error = refused(spark, "REFRESH MATERIALIZED VIEW low")
    assert (error.getCondition(), error.getSqlState()) == ("TABLE_STORE_VIEW_SUSPENDED", "55000")
    assert "RESUME" in str(error)
    error = refused(spark, "CREATE OR REFRESH MATERIALIZED VIEW low AS SELECT v FROM t")
    assert error.getCondition() == "TABLE_STORE_VIEW_SUSPENDED"
    assert refreshed(spark, "high") == [("high", "none", 0)]
    spark.sql("ALTER MATERIALIZED VIEW low AS SELECT v + 1 FROM t")
    assert described(spark, "low")["state"] == "suspended"
    assert refreshed(spark, "high") == [("high", "incremental", 1)]
    assert roots_of_last_barrier(spark, "low") == {"low"}
    spark.sql("ALTER MATERIALIZED VIEW low RESUME")
    spark.sql("INSERT INTO t VALUES (2)")
    assert refreshed(spark, "high") == [("low", "incremental", 1), ("high", "incremental", 1)]
    assert roots_of_last_barrier(spark, "t") == {"t"}
    assert rows(spark, "SELECT * FROM high") == Counter(["(2,)", "(3,)"])


def test_another_query_is_there_at_one_commit(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (k INT, v INT)")
    spark.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    spark.sql("CREATE MATERIALIZED VIEW low (a, b) AS SELECT k, v FROM t")
    spark.sql("CREATE MATERIALIZED VIEW high AS SELECT a, b FROM low")
    spark.sql("CACHE TABLE low")
    spark.sql("ALTER MATERIALIZED VIEW low AS SELECT k, v FROM t WHERE k > 1")
    assert rows(spark, "SELECT a, b FROM low") == Counter(["(2, 20)"])
    changes = spark.sql("SELECT a, _change_type FROM low CHANGES FROM VERSION 2").collect()
    assert [tuple(row) for row in changes] == [(1, "delete")]
    assert refreshed(spark, "low") == [("low", "none", 0)]
    assert refreshed(spark, "high") == [("low", "none", 0), ("high", "incremental", 1)]
    spark.sql("INSERT INTO t VALUES (3, 30)")
    assert refreshed(spark, "low") == [("low", "incremental", 1)]
    assert shown(spark, "low").endswith("AS SELECT k, v FROM t WHERE k > 1")
    # An equal result is a commit, too: what stood before was the result of another query.
    spark.sql("ALTER MATERIALIZED VIEW low AS SELECT k, v FROM t WHERE k >= 2")
    assert refreshed(spark, "low") == [("low", "none", 0)]
    for query, problem in (
        ("SELECT k, CAST(v AS STRING) FROM t", "it returns the columns k INT, v STRING now"),
        ("SELECT k FROM t", "it returns the columns k INT"),
        ("SELECT k, 1 / v AS v FROM t", "DOUBLE"),
        ("SELECT k, 1 div (v - 30) FROM t", "BIGINT"),
        ("SELECT k, CAST(1 div (v - 30) AS INT) FROM t", "DIVIDE_BY_ZERO"),
        ("SELECT a, b FROM high", "low reads table_store.made.high reads table_store.made.low"),
        ("SELECT k, CAST(rand() AS INT) FROM t", "not deterministic"),
        ("SELECT * FROM absent", "TABLE_OR_VIEW_NOT_FOUND"),
    ):
        before = rows(spark, "SELECT * FROM low")
        assert problem in str(refused(spark, f"ALTER MATERIALIZED VIEW low AS {query}"))
        assert shown(spark, "low").endswith("WHERE k >= 2")
        assert rows(spark, "SELECT * FROM low") == before


@pytest.mark.parametrize("is_published", [False, True])
def test_a_crash_in_alter_as_costs_one_comparison(spark: SparkSession, is_published: bool) -> None:
    """The rows are committed first; then the query is published, then the progress is written."""
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1), (2)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k FROM t")
    path = Path(described(spark, "m")["Location"])
    progress = path / "job" / "PROGRESS"
    before = progress.read_bytes()
    # The result is equal, so that only the commit itself tells that there was a change.
    spark.sql("ALTER MATERIALIZED VIEW m AS SELECT k FROM t WHERE k < 3")
    progress.write_bytes(before)
    if not is_published:
        (path / "schema" / "schema-1").unlink()
    spark.sql("INSERT INTO t VALUES (3)")
    assert refreshed(spark, "m") == [("m", "full", 0 if is_published else 1)]
    condition = "k < 3" if is_published else "true"
    assert rows(spark, "SELECT * FROM m") == rows(spark, f"SELECT * FROM t WHERE {condition}")
    assert refreshed(spark, "m") == [("m", "none", 0)]


def test_or_replace_and_or_refresh(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (k INT, v INT)")
    spark.sql("INSERT INTO t VALUES (1, 10), (2, 0)")
    spark.sql("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT k FROM t")
    assert rows(spark, "SELECT * FROM m") == Counter(["(1,)", "(2,)"])
    spark.sql("CACHE TABLE m")
    assert spark.table("m").count() == 2
    spark.sql("CREATE OR REPLACE MATERIALIZED VIEW m (k, v, PRIMARY KEY (k)) AS SELECT k, v FROM t")
    assert rows(spark, "SELECT k, v FROM m") == Counter(["(1, 10)", "(2, 0)"])
    before = shown(spark, "m")
    error = refused(spark, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 1 / v AS r FROM t")
    assert "DIVIDE_BY_ZERO" in str(error)
    assert shown(spark, "m") == before
    assert rows(spark, "SELECT k, v FROM m") == Counter(["(1, 10)", "(2, 0)"])
    assert "would read itself" in str(
        refused(spark, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT k FROM m")
    )
    same = "CREATE OR REFRESH MATERIALIZED VIEW m (k, v, PRIMARY KEY (k)) {} AS SELECT k, v FROM t"
    spark.sql("INSERT INTO t VALUES (3, 30)")
    spark.sql(same.format(""))
    assert rows(spark, "SELECT k, v FROM m VERSION AS OF 1") == Counter(["(1, 10)", "(2, 0)"])
    assert rows(spark, "SELECT k, v FROM m") == Counter(["(1, 10)", "(2, 0)", "(3, 30)"])
    spark.sql(same.format("REFRESH POLICY FULL"))
    assert described(spark, "m")["refresh policy"] == "FULL"
    assert refreshed(spark, "m") == [("m", "none", 0)]
    spark.sql("CREATE OR REFRESH MATERIALIZED VIEW m COMMENT 'other' AS SELECT k, v FROM t")
    assert "PRIMARY KEY" not in shown(spark, "m")
    assert rows(spark, "SELECT k, v FROM m") == rows(spark, "SELECT * FROM t")
    spark.sql("CREATE OR REFRESH MATERIALIZED VIEW fresh AS SELECT count(*) AS n FROM t")
    assert rows(spark, "SELECT * FROM fresh") == Counter(["(3,)"])


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        (
            "CREATE OR REPLACE MATERIALIZED VIEW t AS SELECT 1 AS a",
            "WRONG_RELATION_KIND",
        ),
        (
            "CREATE OR REFRESH MATERIALIZED VIEW t AS SELECT 1 AS a",
            "WRONG_RELATION_KIND",
        ),
        ("CREATE MATERIALIZED VIEW t (a) AS SELECT 1", "ALREADY_EXISTS"),
        ("CREATE MATERIALIZED VIEW x (a, b) AS SELECT 1", "INVALID_SCHEMA"),
        (
            "CREATE MATERIALIZED VIEW x (a STRING, PRIMARY KEY (a)) AS SELECT 1",
            "INVALID_SCHEMA",
        ),
        (
            "CREATE MATERIALIZED VIEW x (a, PRIMARY KEY (b)) AS SELECT 1",
            "INVALID_SCHEMA",
        ),
        (
            "CREATE MATERIALIZED VIEW x WITH ('bukket' = '1') AS SELECT 1 AS a",
            "UNKNOWN_OPTION",
        ),
        (
            "CREATE MATERIALIZED VIEW x WITH ('bucket' = 'x') AS SELECT 1 AS a",
            "INVALID_OPTION",
        ),
        (
            "CREATE MATERIALIZED VIEW x TBLPROPERTIES ('table-store.view-clauses' = 1) AS SELECT 1",
            "INVALID_OPTION",
        ),
        ("CREATE MATERIALIZED VIEW x REFRESH POLICY NEVER AS SELECT 1", "SYNTAX_ERROR"),
        (
            "CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS x AS SELECT 1",
            "SYNTAX_ERROR",
        ),
        ("ALTER MATERIALIZED VIEW t SUSPEND", "WRONG_RELATION_KIND"),
        ("ALTER MATERIALIZED VIEW absent RESUME", "NOT_FOUND"),
        ("ALTER MATERIALIZED VIEW t AS SELECT 1 AS v", "WRONG_RELATION_KIND"),
        ("ALTER MATERIALIZED VIEW absent AS SELECT 1 AS v", "NOT_FOUND"),
        ("ALTER MATERIALIZED VIEW t RENAME TO u", "WRONG_RELATION_KIND"),
        ("ALTER MATERIALIZED VIEW t PAUSE", "SYNTAX_ERROR"),
        ("SHOW CREATE MATERIALIZED VIEW t", "WRONG_RELATION_KIND"),
        ("CREATE OR REPLACE TABLE seen (v INT)", "WRONG_RELATION_KIND"),
        ("CREATE OR REPLACE TABLE seen AS SELECT 1 AS v", "WRONG_RELATION_KIND"),
        ("CREATE OR REPLACE TABLE seen USING parquet AS SELECT 1 AS v", "WRONG_RELATION_KIND"),
    ],
)
def test_what_is_refused(spark: SparkSession, statement: str, condition: str) -> None:
    spark.sql("CREATE TABLE t (v INT)")
    spark.sql("CREATE MATERIALIZED VIEW seen AS SELECT sum(v) AS v FROM t")
    error = refused(spark, statement)
    assert str(error.getCondition()).endswith(f"_{condition}"), str(error)
    assert {row.tableName for row in spark.sql("SHOW TABLES").collect()} == {"t", "seen"}
    assert refreshed(spark, "seen") == [("seen", "none", 0)]
