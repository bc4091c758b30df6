"""Goal: groups that are held give the same result as the rows, whatever becomes of their tables.

Oracle: Spark's own run of the same query.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from table_store import open_table
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

QUERIES = {
    "grouped": "SELECT g, h, count(*) AS n, count(i) AS c, sum(i) AS s, avg(l) AS a FROM t "
    "GROUP BY g, h",
    "exact": "SELECT g, sum(d) AS s, avg(d) AS a, sum(i) FILTER (WHERE l > 0) AS f, "
    "count(i, d) AS c FROM t GROUP BY g",
    "all_rows": "SELECT count(*) AS n, sum(l) AS s, avg(d) + sum(i) AS a FROM t",
    "wide": "SELECT g, sum(CAST(l AS DECIMAL(38, 5)) / -3) AS s, avg(d * d * d) AS a, "
    "sum(CAST(l AS DECIMAL(30, 2))) FILTER (WHERE i > 1) AS f FROM t GROUP BY g",
    "of_floats": "SELECT f, count(*) AS n FROM t GROUP BY f",
    "having": "SELECT upper(h) AS u, sum(i) + 1 AS s FROM t GROUP BY upper(h) HAVING count(*) > 2",
    "of_groups": "SELECT n, sum(s) AS s FROM (SELECT g, count(*) AS n, sum(i) AS s FROM t "
    "GROUP BY g) GROUP BY n",
    "joined": "SELECT t.id, o.s FROM t JOIN (SELECT g, sum(l) AS s FROM t GROUP BY g) AS o "
    "ON t.g = o.g WHERE t.i > 2",
    "outer_joined": "SELECT o.g, p.n FROM (SELECT g, count(*) AS n FROM t GROUP BY g) AS o "
    "FULL JOIN (SELECT i, count(h) AS n FROM t GROUP BY i) AS p ON o.n = p.n",
    "first_groups": "SELECT g, h, sum(l) AS s FROM t GROUP BY g, h ORDER BY s DESC, g, h LIMIT 3",
    "later_groups": "SELECT o.s, o.g + 1 AS g FROM (SELECT g, sum(i) AS s FROM t GROUP BY g) AS o "
    "JOIN (SELECT i, count(*) AS n FROM t GROUP BY i) AS p ON o.s >= p.n "
    "ORDER BY o.s, o.g LIMIT 4 OFFSET 1",
    "long_text": "SELECT repeat(h, 40) AS r, h, array(g, i) AS l, count(*) AS n FROM t "
    "GROUP BY h, array(g, i)",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("states"), OWN_NAME) as session:
        yield session


@pytest.fixture
def table(spark: SparkSession) -> str:
    name = f"n{random.getrandbits(40)}"
    spark.sql(f"CREATE NAMESPACE {name}")
    spark.sql(f"USE {name}")
    spark.sql(
        "CREATE TABLE t (id BIGINT, g INT, h STRING, i INT, l BIGINT, d DECIMAL(12,3), f DOUBLE, "
        "PRIMARY KEY (id))"
    )
    return name


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(map(str, frame.collect()))


def refresh(spark: SparkSession, view: str) -> str:
    return str(spark.sql(f"REFRESH MATERIALIZED VIEW {view}").collect()[-1].rule)


def change(spark: SparkSession, randomly: random.Random) -> None:
    begin, count = randomly.randrange(40), randomly.randrange(1, 20)
    match randomly.randrange(4):
        case 0:
            spark.sql(f"DELETE FROM t WHERE id >= {begin}")
        case 1:
            spark.sql(f"UPDATE t SET g = g + 1, i = NULL WHERE id % 7 = {begin % 7}")
        case _:
            spark.sql(
                f"INSERT INTO t SELECT id, IF(id % 5 = 0, NULL, id % 3), "
                f"IF(id % 4 = 0, NULL, concat('x', id % 3)), IF(id % 6 = 0, NULL, id % {count}), "
                "(id % 3 - 1) * 1000000000000 + id, id * 7.125, "
                "IF(id % 3 = 0, -0.0, IF(id % 3 = 1, 'NaN', 0.0)) "
                f"FROM range({begin}, {begin + count})"
            )


def groups(spark: SparkSession, view: str) -> list[Path]:
    """The directories of the tables with groups."""
    path = spark.sql(f"DESCRIBE EXTENDED {view}").where("col_name = 'Location'").first()
    assert path is not None
    return sorted((Path(path.data_type.removeprefix("file:")) / "job" / "state").glob("*"))


def test_the_result_follows_from_the_groups(spark: SparkSession, table: str) -> None:
    randomly = random.Random(1)
    change(spark, randomly)
    for view, query in QUERIES.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS {query}")
        assert groups(spark, view), view
    for _ in range(2):
        change(spark, randomly)
        for view, query in QUERIES.items():
            assert refresh(spark, view) != "full", view
            assert rows(spark.table(view)) == rows(spark.sql(query)), view


def test_near_rows_of_large_tables_need_no_spark_job(spark: SparkSession, table: str) -> None:
    """Both tables have runs to be merged, and a thousand keys are looked up in each."""
    query = "SELECT t.g, sum(o.v) AS v FROM t JOIN o ON t.id = o.id GROUP BY t.g"
    spark.sql("INSERT INTO t SELECT id, id % 9, 'x', id, id, id, id FROM range(600000)")
    spark.sql("CREATE TABLE o (id BIGINT, v BIGINT, PRIMARY KEY (id))")
    spark.sql("INSERT INTO o SELECT id, id FROM range(500000)")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    spark.sql("UPDATE t SET g = g + 1 WHERE id BETWEEN 300000 AND 300999")
    spark.sql("UPDATE o SET v = 0 WHERE id BETWEEN 300500 AND 301499")
    tracker = spark.sparkContext.statusTracker()
    before = tracker.getJobIdsForGroup()
    assert refresh(spark, "v") == "incremental"
    assert tracker.getJobIdsForGroup() == before
    assert rows(spark.table("v")) == rows(spark.sql(query))


def test_plans_do_not_tell_all_keys_that_are_looked_up(spark: SparkSession, table: str) -> None:
    """Spark writes the text of a plan for each of its states, and searches it for secrets."""
    query = "SELECT t.g, sum(o.v) AS v FROM t JOIN o ON t.id = o.id GROUP BY t.g"
    spark.sql("INSERT INTO t SELECT id, id % 9, 'x', id, id, id, id FROM range(300000)")
    spark.sql("CREATE TABLE o (id BIGINT, v BIGINT)")
    spark.sql("INSERT INTO o SELECT id, id FROM range(300000)")
    spark.sql(f"CREATE MATERIALIZED VIEW v REFRESH POLICY INCREMENTAL AS {query}")
    spark.sql("UPDATE t SET g = g + 1 WHERE id % 100 = 7")
    tracker = spark.sparkContext.statusTracker()
    jobs = tracker.getJobIdsForGroup()
    assert refresh(spark, "v") == "incremental"
    assert tracker.getJobIdsForGroup() != jobs
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    texts = [executions.apply(at).physicalPlanDescription() for at in range(executions.size())]
    (looked_up,) = [text for text in texts if f"{table}.o" in text and "among 3000 keys" in text]
    assert len(looked_up) < 10_000
    assert rows(spark.table("v")) == rows(spark.sql(query))


def test_keys_of_all_types_are_looked_up(spark: SparkSession, table: str) -> None:
    columns = {
        "y": "CAST(id % 100 AS TINYINT)",
        "s": "CAST(id % 9000 AS SMALLINT)",
        "i": "CAST(id AS INT)",
        "l": "id * 10000000000",
        "d": "date_add(DATE'2020-01-01', CAST(id % 5000 AS INT))",
        "m": "timestamp_micros(id * 1000001)",
        "p": "CAST(id / 8 AS DECIMAL(9, 3))",
        "q": "CAST(id AS DECIMAL(30, 3)) / 8",
        "c": "concat('k', id)",
        "x": "CAST(concat('k', id) AS BINARY)",
    }
    made = ", ".join(f"{made} AS {name}" for name, made in columns.items())
    spark.sql(f"CREATE TABLE large AS SELECT {made}, id AS v FROM range(60000)")
    spark.sql(f"CREATE TABLE few AS SELECT {made} FROM range(50) WHERE id < 0")
    queries = {
        name: f"SELECT f.{name}, sum(v) AS v, count(*) AS n FROM few f JOIN large l "
        f"ON f.{name} = l.{name} GROUP BY f.{name}"
        for name in columns
    }
    for name, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW by_{name} REFRESH POLICY INCREMENTAL AS {query}")
    spark.sql(f"INSERT INTO few SELECT {made} FROM range(0, 60000, 700)")
    spark.sql(f"INSERT INTO few VALUES ({', '.join(['NULL'] * len(columns))})")
    for name, query in queries.items():
        assert refresh(spark, f"by_{name}") == "incremental"
        assert rows(spark.table(f"by_{name}")) == rows(spark.sql(query)), name


def test_few_changes_need_no_spark_job(spark: SparkSession, table: str) -> None:
    spark.sql("INSERT INTO t SELECT id, id % 9, 'x', id, id, id, id FROM range(100000)")
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT g, sum(i) AS s FROM t GROUP BY g")
    spark.sql("CREATE MATERIALIZED VIEW w AS SELECT v.g, s.s FROM v JOIN v AS s ON v.g = s.g + 1")
    spark.sql("UPDATE t SET i = 0 WHERE id < 4")
    tracker = spark.sparkContext.statusTracker()
    before = tracker.getJobIdsForGroup()
    assert refresh(spark, "w") == "incremental"
    assert tracker.getJobIdsForGroup() == before
    assert rows(spark.table("w")) == rows(
        spark.sql(
            "WITH v AS (SELECT g, sum(i) AS s FROM t GROUP BY g) "
            "SELECT v.g, s.s FROM v JOIN v AS s ON v.g = s.g + 1"
        )
    )


@pytest.mark.parametrize("query", ["grouped", "all_rows", "of_groups", "wide"])
def test_groups_of_an_epoch_that_died_are_taken_back(
    spark: SparkSession, table: str, query: str
) -> None:
    randomly = random.Random(7)
    change(spark, randomly)
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES[query]}")
    for number in range(2):
        for path in groups(spark, "v"):
            state: FileStoreTable = open_table(str(path)).storage
            wrong = state.scan().to_arrow()
            for at, field in enumerate(wrong.schema):
                if field.name[0] in "ncs":  # numbers of rows and of values, and sums
                    wrong = wrong.set_column(at, field, pa.array([99] * len(wrong), field.type))
            state.upsert(wrong)
        # One group changes; what is held of the others is looked at when all do.
        spark.sql(f"INSERT INTO t (id, g, l, d) VALUES ({100 + number}, 1, 7, 2.5)")
        assert refresh(spark, "v") == "incremental"
        assert rows(spark.table("v")) == rows(spark.sql(QUERIES[query]))
    spark.sql("UPDATE t SET i = id, l = -id, d = d + 1")
    assert refresh(spark, "v") == "incremental"
    assert rows(spark.table("v")) == rows(spark.sql(QUERIES[query]))


def test_groups_are_written_whatever_the_job_commits_to_them_meanwhile(
    spark: SparkSession, table: str
) -> None:
    """Two epochs of a view that are under way at once name their commits by the same user."""
    change(spark, random.Random(5))
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    (path,) = groups(spark, "v")
    committer, stop = open_table(str(path)).storage.committer(), Event()

    def commit_nothing() -> None:
        for number in count(round(time.time() * 1000) + 1_000_000):
            if stop.wait(0.1):
                return
            committer.commit(
                (),
                kind=CommitKind.APPEND,
                commit_user=JOB_OF_VIEW,
                commit_identifier=number,
                allow_empty=True,
            )

    thread = Thread(target=commit_nothing)
    thread.start()
    try:
        for number in range(3):
            spark.sql(f"INSERT INTO t (id, g, l, d) VALUES ({100 + number}, 1, 7, 2.5)")
            assert refresh(spark, "v") == "incremental"
            assert rows(spark.table("v")) == rows(spark.sql(QUERIES["grouped"]))
    finally:
        stop.set()
        thread.join()


def test_groups_that_are_lost_are_computed_again(spark: SparkSession, table: str) -> None:
    randomly = random.Random(3)
    change(spark, randomly)
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['grouped']}")
    for path in groups(spark, "v"):
        shutil.rmtree(path)
    spark.sql("INSERT INTO t (id, g) VALUES (100, 1)")
    assert refresh(spark, "v") == "incremental"
    assert rows(spark.table("v")) == rows(spark.sql(QUERIES["grouped"]))
    spark.sql("REFRESH MATERIALIZED VIEW v FULL")
    assert len(groups(spark, "v")) == 1


@pytest.mark.parametrize("statement", ["ALTER MATERIALIZED VIEW v SET", "CREATE OR REFRESH"])
def test_groups_are_not_held_while_the_whole_result_is_wanted(
    spark: SparkSession, table: str, statement: str
) -> None:
    """They would stay behind the rows, and the next increment would begin with them."""
    query = "SELECT g, sum(i) AS s FROM t GROUP BY g"

    def set_policy(policy: str) -> None:
        if statement.startswith("ALTER"):
            spark.sql(f"{statement} REFRESH POLICY {policy}")
        else:
            spark.sql(f"{statement} MATERIALIZED VIEW v REFRESH POLICY {policy} AS {query}")

    spark.sql("INSERT INTO t (id, g, i) VALUES (1, 1, 1), (2, 2, 2)")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert groups(spark, "v")
    set_policy("FULL")
    spark.sql("INSERT INTO t (id, g, i) VALUES (3, 1, 100)")
    assert refresh(spark, "v") == "full"
    assert not groups(spark, "v")
    set_policy("INCREMENTAL")
    spark.sql("INSERT INTO t (id, g, i) VALUES (4, 1, 1000)")
    assert refresh(spark, "v") == "incremental"
    assert rows(spark.table("v")) == rows(spark.sql(query))


def test_groups_of_another_query_go_with_it(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES['of_groups']}")
    before = groups(spark, "v")
    assert len(before) == 2
    spark.sql("ALTER MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(l) AS s FROM t")
    after = groups(spark, "v")
    assert len(after) == 1
    assert not set(after) & set(before)


def test_groups_that_spare_nothing_are_not_held(spark: SparkSession, table: str) -> None:
    """As many as the rows, all of them are read to find the first three."""
    spark.sql("INSERT INTO t (id, g, l) SELECT id, id, id FROM range(30000)")
    query = "SELECT g, sum(l) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 3"
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert groups(spark, "v")
    for number in range(2):
        spark.sql(f"INSERT INTO t (id, g, l) VALUES ({30000 + number}, {number}, 50000)")
        assert refresh(spark, "v") == "full"
        assert not groups(spark, "v")
        assert rows(spark.table("v")) == rows(spark.sql(query))
    spark.sql("REFRESH MATERIALIZED VIEW v FULL")
    assert groups(spark, "v"), "what may have changed is found out again"
