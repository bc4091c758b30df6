"""Goal: after each REFRESH a view is its query's result, and only the difference was written.

Oracle: Spark's own run of the same query. Histories of random statements change both sources; views
of every kind of operator follow them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from table_store import open_table
from table_store.catalog.jobs.progress import Progress
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import (
    location_of,
    shared_jvm,
    spark_session,
    unlogged_errors,
)

pytestmark = pytest.mark.spark

QUERIES = {
    "projected": "SELECT id, v * 2 AS w, upper(s) AS s FROM a WHERE v > 2 ORDER BY w",
    "joined": "SELECT a.id, a.v, b.f FROM a JOIN b ON a.v = b.v",
    "outer_joined": "SELECT a.id, b.f FROM a FULL OUTER JOIN b ON a.v = b.v AND b.f > 0",
    "summed": "SELECT v, count(*) AS n, sum(id) AS s, avg(id) AS m, min(s) AS l FROM a GROUP BY v",
    "floating": "SELECT f, -f AS g, count(*) n FROM b GROUP BY f UNION ALL SELECT f, f, v FROM b",
    "global": "SELECT count(*) AS n, max(v) AS m, sum(f) AS s FROM b WHERE f < 1000",
    "distinct_rows": "SELECT DISTINCT v, s FROM a",
    "without": "SELECT v FROM a EXCEPT ALL SELECT v FROM b",
    "not_in": "SELECT id FROM a WHERE v NOT IN (SELECT v FROM b WHERE v IS NOT NULL)",
    "correlated": "SELECT id, (SELECT count(*) FROM b WHERE b.v = a.v) AS n FROM a",
    "ranked": "SELECT id, row_number() OVER (PARTITION BY v ORDER BY id) AS r FROM a",
    "united": "SELECT a.id, o.v FROM a JOIN a AS o ON a.v = o.v UNION ALL SELECT v, 1 FROM b",
    "three_times": "SELECT a.id FROM a JOIN b ON a.v = b.v JOIN b AS c ON b.v < c.v",
    "exploded": "SELECT id, explode(array(v, v + 1)) AS x FROM a WHERE v + id BETWEEN 1 AND 9",
    "exists_or": "SELECT id FROM a WHERE v > 3 OR v IN (SELECT v FROM b) OR v IS NULL",
    "nullable_not_in": "SELECT id FROM a WHERE v NOT IN (SELECT v FROM b WHERE f > 1)",
    "exists": "SELECT v, f FROM b WHERE EXISTS (SELECT 1 FROM a WHERE a.v = b.v AND a.id > 3)",
    "above_average": "SELECT id FROM a WHERE v >= (SELECT avg(v) FROM a) + (SELECT count(f) "
    "FROM b)",
    "one_or_none": "SELECT v, (SELECT s FROM a WHERE id = 3) AS s FROM b",
    "left_summed": "SELECT a.v, count(b.f) AS n, max(f) AS m FROM a LEFT JOIN b USING (v) "
    "GROUP BY ALL",
    "of_groups": "SELECT n, count(*) AS c FROM (SELECT v, count(*) AS n FROM b GROUP BY v) "
    "GROUP BY n",
    "inside_each_other": "SELECT id FROM a WHERE v IN (SELECT v FROM b WHERE f < "
    "(SELECT count(*) FROM a AS o WHERE o.v = b.v))",
    "not_in_either": "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM (SELECT v FROM a "
    "UNION ALL SELECT v FROM b) AS o WHERE o.v > a.v)",
    "having": "SELECT s, sum(v) AS t FROM a GROUP BY s HAVING count(DISTINCT v) > 1",
    "cubed": "SELECT v, s, count(*) AS n FROM a GROUP BY CUBE (v, s)",
    "common": "SELECT v FROM a INTERSECT SELECT v FROM b",
    "minus": "WITH t AS (SELECT v FROM b) SELECT v FROM a EXCEPT SELECT v FROM t",
    "framed": "SELECT v, lag(s) OVER w AS l, sum(id) OVER (PARTITION BY v ORDER BY s) AS t, "
    "rank() OVER w AS r FROM a WINDOW w AS (PARTITION BY v ORDER BY s)",
    "newest": "SELECT v, n FROM (SELECT *, rank() OVER (ORDER BY n DESC, v) AS r FROM "
    "(SELECT v, count(*) AS n FROM b GROUP BY v)) WHERE r <= 2",
    "lateral": "SELECT a.id, l.m FROM a, LATERAL (SELECT max(b.v) AS m FROM b "
    "WHERE b.v < a.v) AS l",
    "pivoted": "SELECT * FROM (SELECT v, s, id FROM a) PIVOT (count(id) FOR s IN ('x', 'Y'))",
    "theta": "SELECT a.id, b.v FROM a LEFT JOIN b ON a.v < b.v",
    "limited": "SELECT id, v FROM a ORDER BY v DESC NULLS LAST, id LIMIT 3",
    "all_exact": "SELECT bool_and(v > 1) AS b, some(v > 3) AS o, count_if(v > 2) AS c, bit_or(v) "
    "AS i, percentile_disc(0.5) WITHIN GROUP (ORDER BY v) AS p, approx_count_distinct(id) AS d, "
    "sum(CAST(v AS DECIMAL(9, 2))) AS s, every(v > 1) FILTER (WHERE v < 4) AS e FROM a GROUP BY s",
    "unordered": "SELECT s, array_size(collect_set(v)) AS n, max_by(v, id) AS m FROM a GROUP BY s",
    "unordered_alone": "SELECT sort_array(collect_set(v)) AS l FROM a GROUP BY s",
    "nested": "SELECT v, struct(s, array(v) AS l) AS x, map('k', v, 'l', id) AS m FROM a",
}
RECOMPUTED = {"limited", "unordered_alone"}
"""Those without an incremental rule."""

FLOATS = ("0.0", "-0.0", "1.5", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "NULL")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("views"), OWN_NAME) as session:
        yield session


def rows(frame: DataFrame) -> Counter[str]:
    """A bag; texts tell 0.0 from -0.0, and NaN is NaN."""
    return Counter(map(str, frame.collect()))


def warehouse_of(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")


def commit_count(table: FileStoreTable) -> int:
    """How many snapshots there are without those of compactions."""
    kinds = [table.snapshot_store.get(at).commit_kind for at in table.snapshot_store.ids()]
    return sum(kind is not CommitKind.COMPACT for kind in kinds)


def refreshed(spark: SparkSession, view: str, options: str = "") -> list[tuple[str, str, int]]:
    """(view, rule, rows changed)."""
    done = spark.sql(f"REFRESH MATERIALIZED VIEW {view} {options}").collect()
    return [(row.view.split(".")[-1], row.rule, row.rows_changed) for row in done]


def change(spark: SparkSession, randomly: random.Random) -> None:
    """A statement on one of the sources."""
    value = randomly.choice(["NULL", *map(str, range(6))])
    key, kind = randomly.randrange(12), randomly.randrange(7)
    if kind <= 1:
        text = randomly.choice(["'x'", "'Y'", "NULL"])
        spark.sql(f"INSERT INTO a VALUES ({key}, {value}, {text})")
    elif kind == 2:
        spark.sql(f"DELETE FROM a WHERE id % 4 = {key % 4}")
    elif kind == 3:
        spark.sql(f"UPDATE a SET v = {value} WHERE id < {key}")
    elif kind == 4:
        spark.sql(f"DELETE FROM b WHERE v = {key}")
    else:
        floats = ", ".join(f"({value}, {randomly.choice(FLOATS)})" for _ in range(3))
        spark.sql(f"INSERT INTO b VALUES {floats}")


def test_views_are_their_queries(spark: SparkSession) -> None:
    """One of every kind, by one history; the campaign has random queries and histories."""
    randomly = random.Random(10436)  # inserts, deletes and updates in both epochs
    spark.sql("CREATE NAMESPACE followed_by_views")
    spark.sql("USE followed_by_views")
    spark.sql("CREATE TABLE a (id BIGINT, v INT, s STRING, PRIMARY KEY (id))")
    spark.sql("CREATE TABLE b (v INT, f DOUBLE)")
    spark.sql("INSERT INTO a SELECT id, id % 5, 'x' FROM range(10)")
    spark.sql("INSERT INTO b VALUES (1, -0.0), (1, 0.0), (2, NULL), (NULL, 1.5)")
    known, tables = {}, {}
    for view, query in QUERIES.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS {query}")
        known[view], tables[view] = (
            rows(spark.table(view)),
            open_table(location_of(spark, view)).storage,
        )
        assert known[view] == rows(spark.sql(query)), view
    for epoch in range(2):
        for _ in range(3):
            change(spark, randomly)
        for view, query in QUERIES.items():
            before, commits = known[view], commit_count(tables[view])
            ((_, rule, changed),) = refreshed(spark, view)
            known[view] = after = rows(spark.table(view))
            assert after == rows(spark.sql(query)), (view, epoch)
            assert changed == sum(((before - after) + (after - before)).values()), (view, epoch)
            assert commit_count(tables[view]) == commits + (changed > 0)
            assert rule in ("none", "full" if view in RECOMPUTED else "incremental"), (view, rule)
    assert refreshed(spark, "joined") == [("joined", "none", 0)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT o.id, b.k, b.v FROM o FULL JOIN b ON o.id = b.k",
        "SELECT k, max(v) AS m FROM (SELECT 7 AS k, v FROM o UNION ALL TABLE b) GROUP BY k",
        "SELECT id, lag(v) OVER (PARTITION BY id ORDER BY v) AS w FROM (TABLE o UNION ALL TABLE b)",
        (
            "SELECT count(i) AS a, count(n) AS b FROM (SELECT id AS i, NULL AS n FROM o UNION ALL "
            "SELECT NULL, 1 FROM b)"
        ),
        "SELECT id FROM o INTERSECT ALL SELECT k FROM b",
        (
            "SELECT count(c.x) AS n FROM (SELECT struct(id AS x) AS c FROM o UNION ALL "
            "SELECT struct(k) FROM b)"
        ),
    ],
)
def test_null_comes_where_only_one_input_may_have_it(spark: SparkSession, query: str) -> None:
    """Both inputs change in the same epoch."""
    spark.sql("USE default")
    spark.sql("CREATE OR REPLACE TABLE o (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE OR REPLACE TABLE b (k INT, v INT)")
    spark.sql("INSERT INTO o VALUES (1, 1), (2, 2)")
    spark.sql("INSERT INTO b VALUES (1, 1), (5, 2)")
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW with_null AS {query}")
    spark.sql("INSERT INTO o VALUES (3, 3)")
    spark.sql("INSERT INTO b VALUES (NULL, 9), (3, 4), (5, 2)")
    for _ in range(2):
        ((_, rule, _),) = refreshed(spark, "with_null")
        assert rule == "incremental"
        assert rows(spark.table("with_null")) == rows(spark.sql(query))
        spark.sql("DELETE FROM o WHERE id < 3")
        spark.sql("DELETE FROM b WHERE k = 5 OR k IS NULL")


def test_lambda_functions_of_rows_that_are_computed_at_once(spark: SparkSession) -> None:
    """Threads compute the rows of both inputs, each with the variables' values for its own."""
    spark.sql("USE default")
    spark.sql("CREATE TABLE low (id BIGINT)")
    spark.sql("CREATE TABLE high (id BIGINT)")
    query = (
        "SELECT id, size(filter(sequence(1L, 2000L), x -> x <= id)) AS n "
        "FROM (TABLE low UNION ALL TABLE high)"
    )
    spark.sql(f"CREATE MATERIALIZED VIEW counted_below AS {query}")
    spark.sql("INSERT INTO low SELECT id FROM range(300)")
    spark.sql("INSERT INTO high SELECT id + 1500 FROM range(300)")
    assert refreshed(spark, "counted_below") == [("counted_below", "incremental", 600)]
    assert rows(spark.table("counted_below")) == rows(spark.sql(query))


SESSION = "session_window(at, '5 minutes')"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (f"SELECT session_window AS w, k, count(*) AS n FROM heard GROUP BY {SESSION}, k", ""),
        (f"SELECT session_window.start AS s, max(k) AS m FROM heard GROUP BY {SESSION}", ""),
        (f"SELECT count(*) AS n FROM (SELECT k FROM heard GROUP BY {SESSION}, k)", ""),
        (f"SELECT {SESSION} AS w FROM heard", "FULL"),
    ],
)
def test_sessions_are_those_of_all_rows(spark: SparkSession, query: str, options: str) -> None:
    """Spark merges sessions where it runs a plan, whose aggregates do not show it."""
    spark.sql("USE default")
    spark.sql("CREATE OR REPLACE TABLE heard (id INT, k INT, at TIMESTAMP)")

    def heard(key: int, kind: int, minute: int) -> str:
        return f"({key}, {kind}, TIMESTAMP'2026-01-01 00:{minute:02}:00')"

    spark.sql(f"INSERT INTO heard VALUES {heard(1, 1, 0)}, {heard(2, 1, 8)}, {heard(3, 2, 1)}")
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW sessions REFRESH POLICY INCREMENTAL AS {query}")
    for statement in (
        f"INSERT INTO heard VALUES {heard(4, 1, 4)}",
        f"INSERT INTO heard VALUES {heard(5, 2, 5)}, {heard(6, 1, 10)}",
        "DELETE FROM heard WHERE id IN (3, 4)",
    ):
        spark.sql(statement)
        refreshed(spark, "sessions", options)
        assert rows(spark.table("sessions")) == rows(spark.sql(query)), statement


def test_a_subquery_with_more_than_one_row(spark: SparkSession) -> None:
    spark.sql("USE default")
    spark.sql("CREATE TABLE chosen (id INT, s STRING)")
    spark.sql("INSERT INTO chosen VALUES (1, 'x'), (2, 'y')")
    query = "SELECT id, (SELECT s FROM chosen WHERE id > 1) AS s FROM chosen"
    spark.sql(f"CREATE MATERIALIZED VIEW with_chosen AS {query}")
    spark.sql("INSERT INTO chosen VALUES (3, 'z')")
    with unlogged_errors(), pytest.raises(PySparkException) as raised:
        spark.sql("REFRESH MATERIALIZED VIEW with_chosen")
    assert raised.value.getCondition() == "SCALAR_SUBQUERY_TOO_MANY_ROWS"
    spark.sql("DELETE FROM chosen WHERE id = 2")
    assert refreshed(spark, "with_chosen") == [("with_chosen", "incremental", 4)]
    assert rows(spark.table("with_chosen")) == rows(spark.sql(query))


def test_views_below_are_refreshed_first(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE chained")
    spark.sql("USE chained")
    spark.sql("CREATE TABLE base (k INT, v INT)")
    spark.sql("CREATE MATERIALIZED VIEW low AS SELECT k, sum(v) AS v FROM base GROUP BY k")
    spark.sql("CREATE VIEW plain AS SELECT * FROM low WHERE v > 10")
    spark.sql("CREATE MATERIALIZED VIEW high AS SELECT count(*) AS n FROM plain")
    spark.sql("INSERT INTO base VALUES (1, 20), (2, 5)")
    assert refreshed(spark, "high") == [("low", "incremental", 2), ("high", "incremental", 2)]
    assert spark.table("high").collect()[0].n == 1
    spark.sql("INSERT INTO base VALUES (2, 1)")
    assert refreshed(spark, "high") == [("low", "incremental", 2), ("high", "incremental", 0)]
    assert refreshed(spark, "high") == [("low", "none", 0), ("high", "none", 0)]
    assert refreshed(spark, "high", "FULL") == [("low", "none", 0), ("high", "full", 0)]


def test_it_is_a_table_for_every_reader(spark: SparkSession) -> None:
    spark.sql("USE default")
    spark.sql("CREATE TABLE sold (item STRING, pieces INT)")
    spark.sql("INSERT INTO sold VALUES ('bolt', 3), ('nut', 4)")
    spark.sql(
        "CREATE MATERIALIZED VIEW IF NOT EXISTS per_item (item STRING COMMENT 'what', n BIGINT) "
        "PARTITIONED BY (item) COMMENT 'pieces' AS SELECT item, sum(pieces) FROM sold GROUP BY item"
    )
    spark.sql("CREATE MATERIALIZED VIEW IF NOT EXISTS per_item AS SELECT 1 AS x")
    (plan,) = spark.sql("EXPLAIN CREATE MATERIALIZED VIEW x AS SELECT * FROM sold").collect()[0]
    assert "CreateMaterializedView table_store.default.x" in plan
    assert not spark.catalog.tableExists("x")
    spark.sql("INSERT INTO sold VALUES ('nut', 1)")
    spark.sql("CACHE TABLE per_item")
    refreshed(spark, "per_item")
    assert spark.table("per_item").count() == 2
    assert rows(spark.table("per_item")) == rows(
        spark.sql("SELECT 'bolt' item, 3L n UNION SELECT 'nut', 5")
    )
    assert open_table(location_of(spark, "per_item")).storage.scan().to_arrow().num_rows == 2
    assert (
        spark.sql("SELECT n FROM per_item VERSION AS OF 1 WHERE item = 'nut'").collect()[0].n == 4
    )
    changes = spark.sql("SELECT n, _change_type FROM per_item CHANGES FROM VERSION 2")
    assert {tuple(row) for row in changes.collect()} == {(4, "delete"), (5, "insert")}
    (shown,) = spark.sql("SHOW CREATE TABLE per_item").collect()[0]
    assert shown.startswith("CREATE MATERIALIZED VIEW table_store.default.per_item (")
    spark.sql("DROP MATERIALIZED VIEW per_item")
    assert not spark.catalog.tableExists("per_item")
    spark.sql(shown)
    assert rows(spark.table("per_item")) == rows(
        spark.sql("SELECT 'bolt' item, 3L n UNION SELECT 'nut', 5")
    )
    spark.sql("CALL sys.compact(table => 'per_item')")
    assert refreshed(spark, "per_item") == [("per_item", "none", 0)]
    spark.sql("INSERT INTO sold VALUES ('nut', 1)")
    refreshed(spark, "per_item")
    spark.sql("CALL sys.rollback(table => 'per_item', snapshot => 1)")
    assert refreshed(spark, "per_item") == [("per_item", "incremental", 2)]
    assert rows(spark.table("per_item")) == rows(
        spark.sql("SELECT item, sum(pieces) AS n FROM sold GROUP BY item")
    )
    listed = spark.sql("SHOW MATERIALIZED VIEWS IN default").collect()
    assert ("default", "per_item") in {tuple(row)[:2] for row in listed}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v FROM grown EXCEPT ALL SELECT v FROM grown VERSION AS OF 1",
        "SELECT o.v AS v FROM grown VERSION AS OF 1 o RIGHT JOIN grown n ON o.v = n.v - 1",
    ],
)
def test_a_table_at_two_versions(spark: SparkSession, query: str) -> None:
    spark.sql("USE default")
    spark.sql("CREATE OR REPLACE TABLE grown (v INT)")
    spark.sql("INSERT INTO grown VALUES (1)")
    spark.sql(f"CREATE MATERIALIZED VIEW of_grown AS {query}")
    spark.sql("INSERT INTO grown VALUES (2)")
    assert [changed for _, _, changed in refreshed(spark, "of_grown")] == [1]
    assert rows(spark.table("of_grown")) == rows(spark.sql(query))
    spark.sql("DROP MATERIALIZED VIEW of_grown")


def test_when_changes_cannot_be_used(spark: SparkSession) -> None:
    """The result is computed again, and the reason is told."""
    spark.sql("USE default")
    spark.sql("CREATE TABLE followed (id BIGINT, v INT, PRIMARY KEY (id))")
    spark.sql("INSERT INTO followed SELECT id, 1 FROM range(15000)")
    spark.sql("CREATE MATERIALIZED VIEW follows AS SELECT id + v AS s FROM followed WHERE v > 0")

    def told() -> tuple[str, str, int, int]:
        (row,) = spark.sql("REFRESH MATERIALIZED VIEW follows").collect()
        query = "SELECT id + v AS s FROM followed WHERE v > 0"
        assert rows(spark.table("follows")) == rows(spark.sql(query))
        return row.rule, row.reason, row.rows_read, row.rows_changed

    spark.sql("UPDATE followed SET v = 5 WHERE id < 3")
    assert told() == ("incremental", "changed: default.followed", 3, 6)
    spark.sql("UPDATE followed SET v = v + 1")
    assert told()[:2] == ("full", "more than a quarter of default.followed has changed")
    spark.sql("INSERT INTO followed WITH ('change-tracking' = 'false') VALUES (-1, 2)")
    assert told()[:2] == ("full", "default.followed was changed without change tracking")
    spark.sql("ALTER TABLE followed ADD COLUMN w INT")
    spark.sql("DELETE FROM followed WHERE id = 7")
    assert told()[:2] == ("incremental", "changed: default.followed")
    spark.sql("CALL sys.rollback(table => 'followed', snapshot => 2)")
    assert told()[0] in ("incremental", "full")
    spark.sql("CREATE OR REPLACE TABLE followed AS SELECT 1L AS id, 2 AS v")
    assert told()[:2] == ("full", "default.followed is another table by now")
    spark.sql("CREATE MATERIALIZED VIEW one AS SELECT id FROM followed ORDER BY id LIMIT 1")
    spark.sql("DELETE FROM followed")
    (row,) = spark.sql("REFRESH MATERIALIZED VIEW one").collect()
    assert (row.rule, row.reason) == ("full", "there is no incremental rule for GlobalLimit")


def test_a_table_that_is_made_again_in_its_directory(spark: SparkSession) -> None:
    """It has as many snapshots as the one before, and other rows."""
    create = f"CREATE TABLE made (v INT) LOCATION '{warehouse_of(spark)}/own_folder'"
    spark.sql(create)
    spark.sql("INSERT INTO made VALUES (1), (2)")
    spark.sql("CREATE MATERIALIZED VIEW view_of_made AS SELECT v FROM made")
    spark.sql("CREATE MATERIALIZED VIEW above_made AS SELECT count(*) AS n FROM view_of_made")
    before = location_of(spark, "made")
    spark.sql("DROP TABLE made")
    spark.sql(create)
    spark.sql("INSERT INTO made VALUES (2), (3), (3)")
    assert location_of(spark, "made") == before
    plan = str(spark.sql("EXPLAIN REFRESH MATERIALIZED VIEW view_of_made").collect()[0][0])
    assert "Rule: full (default.made is another table by now)" in plan
    spark.sql("ALTER MATERIALIZED VIEW view_of_made RESUME")
    (below, above) = spark.sql("REFRESH MATERIALIZED VIEW above_made").collect()
    assert (below.rule, above.rule) == ("none", "incremental")
    assert rows(spark.table("view_of_made")) == rows(spark.table("made"))
    assert [row.n for row in spark.table("above_made").collect()] == [3]


def test_a_crash_before_the_progress_is_written_costs_nothing(spark: SparkSession) -> None:
    """So does a look between the commit of another refresh and its progress."""
    spark.sql("USE default")
    spark.sql("CREATE TABLE crashed (v INT)")
    spark.sql("CREATE MATERIALIZED VIEW of_crashed AS SELECT v FROM crashed")
    progress = Path(location_of(spark, "of_crashed")) / "job" / "PROGRESS"
    before = progress.read_bytes()
    spark.sql("INSERT INTO crashed VALUES (1), (1)")
    assert refreshed(spark, "of_crashed") == [("of_crashed", "incremental", 2)]
    noted = progress.read_bytes()
    for left in (before, before[:-7]):
        progress.write_bytes(left)
        assert refreshed(spark, "of_crashed") == [("of_crashed", "none", 0)]
        again, told = (
            Progress.from_bytes(data, path="") for data in (progress.read_bytes(), noted)
        )
        assert (again.followed, again.sink) == (told.followed, told.sink)
    progress.write_bytes(before)
    spark.sql("DELETE FROM crashed")
    assert refreshed(spark, "of_crashed") == [("of_crashed", "incremental", 2)]
    assert spark.table("of_crashed").isEmpty()


def test_a_plain_view_below_is_defined_anew(spark: SparkSession) -> None:
    spark.sql("USE default")
    spark.sql("CREATE TABLE beneath (v INT)")
    spark.sql("INSERT INTO beneath VALUES (1), (2), (3)")
    spark.sql("CREATE VIEW cut AS SELECT v FROM beneath WHERE v > 1")
    query = "SELECT transform(array(v), x -> x + 1) AS a FROM cut"
    spark.sql(f"CREATE MATERIALIZED VIEW above AS {query}")
    assert refreshed(spark, "above") == [("above", "none", 0)]
    spark.sql("CREATE OR REPLACE VIEW cut AS SELECT v FROM beneath WHERE v > 2")
    spark.sql("INSERT INTO beneath VALUES (4)")
    assert refreshed(spark, "above") == [("above", "full", 2)]
    assert rows(spark.table("above")) == rows(spark.sql(query))
    assert refreshed(spark, "above") == [("above", "none", 0)]


def test_explain_tells_what_a_change_reads(spark: SparkSession) -> None:
    spark.sql("USE default")
    spark.sql("CREATE TABLE told (k INT, v INT)")
    query = "SELECT k, max(v) AS m FROM told WHERE v > 0 GROUP BY k"
    (plan,) = spark.sql(f"EXPLAIN CREATE MATERIALIZED VIEW tells AS {query}").collect()[0]
    assert "Aggregate [rows with changed keys, as they are; as they were from the view]" in plan
    assert not spark.catalog.tableExists("tells")
    spark.sql(f"CREATE MATERIALIZED VIEW tells AS {query}")
    spark.sql("INSERT INTO told VALUES (1, 2)")
    (plan,) = spark.sql("EXPLAIN REFRESH MATERIALIZED VIEW tells").collect()[0]
    lines = [line.strip() for line in plan.splitlines()]
    assert "Rule: incremental (changed: default.told)" in lines
    assert lines[-1].endswith("default.told [its changes]")
    assert spark.table("tells").count() == 0


def test_the_meaning_of_the_definition_stays(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS meant")
    spark.sql("USE meant")
    spark.sql("CREATE TABLE t (x STRING, at TIMESTAMP)")
    spark.sql("INSERT INTO t VALUES ('1', TIMESTAMP '2026-01-01 23:30:00Z')")
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        spark.sql("CREATE MATERIALIZED VIEW days AS SELECT day(at) AS d, int(x) AS x FROM t")
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    spark.sql("USE default")
    spark.sql("INSERT INTO meant.t VALUES ('2', TIMESTAMP '2026-01-02 23:30:00Z')")
    spark.sql("REFRESH MATERIALIZED VIEW meant.days")
    assert {tuple(row) for row in spark.table("meant.days").collect()} == {(2, 1), (3, 2)}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * FROM known TABLESAMPLE (50 PERCENT) REPEATABLE (1)", "it has TABLESAMPLE"),
        (
            """SELECT v FROM known WHERE v IN (
                SELECT v FROM known TABLESAMPLE (BUCKET 1 OUT OF 2) REPEATABLE (1))""",
            "it has TABLESAMPLE",
        ),
        ("SELECT spark_partition_id() AS p FROM known", "it has SPARK_PARTITION_ID"),
        ("SELECT rand(1) AS r FROM known", "not deterministic"),
    ],
)
def test_layout_and_chance_are_refused(spark: SparkSession, query: str, reason: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS known (v INT)")
    with unlogged_errors(), pytest.raises(PySparkException, match=reason):
        spark.sql(f"CREATE MATERIALIZED VIEW chance AS {query}")


def test_rows_of_a_limit_do_not_depend_on_their_order(spark: SparkSession) -> None:
    """Rows that the ORDER BY leaves tied, or all without one, count in the order of all columns.

    Texts that a collation calls equal have one order, too, and so do rows behind an OFFSET.
    """
    spark.sql("CREATE NAMESPACE IF NOT EXISTS tied")
    spark.sql("USE tied")
    spark.sql("CREATE TABLE t (k INT, s STRING COLLATE UTF8_LCASE)")
    queries = {
        "some": "SELECT k, s FROM t LIMIT 2",
        "sampled": "SELECT k, s FROM t TABLESAMPLE (2 ROWS)",
        "behind": "SELECT k, s FROM t ORDER BY s LIMIT 1 OFFSET 1",
        "numbered": "SELECT k, hex(s) AS h, row_number() OVER (ORDER BY s) AS n FROM t",
    }
    for view, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS {query}")
    found = []
    for values in ("(1, 'a'), (1, 'A'), (2, 'a')", "(2, 'a'), (1, 'A'), (1, 'a')"):
        spark.sql(f"INSERT OVERWRITE t VALUES {values}")
        for view in queries:
            spark.sql(f"REFRESH MATERIALIZED VIEW {view}")
        found.append([rows(spark.table(view)) for view in queries])
    spark.sql("USE default")
    assert found[0] == found[1]
    assert found[0][0] == found[0][1] == Counter(["Row(k=1, s='A')", "Row(k=1, s='a')"])


def test_settings_that_change_results_stay(spark: SparkSession) -> None:
    """Those of the session that made the view count, and none of a program that refreshes it."""
    legacy = "spark.sql.optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled"
    query = (
        "SELECT id, (SELECT count(x) FROM counted AS c WHERE c.id = l.id GROUP BY c.id) AS n "
        "FROM looked AS l"
    )
    spark.sql("CREATE NAMESPACE IF NOT EXISTS meant")
    spark.sql("USE meant")
    spark.sql("CREATE TABLE counted (id INT, x INT)")
    spark.sql("CREATE TABLE looked (id INT)")
    spark.sql("INSERT INTO looked VALUES (1), (2)")
    spark.sql("INSERT INTO counted VALUES (1, 5)")
    program = spark.sparkContext._jsc.sc().conf()

    def see_views_are_their_queries(options: str) -> None:
        for view in ("counts", "legacy_counts"):
            spark.sql(f"REFRESH MATERIALIZED VIEW {view} {options}")
        assert rows(spark.table("counts")) == rows(spark.sql(query)), options
        spark.conf.set(legacy, "true")
        assert rows(spark.table("legacy_counts")) == rows(spark.sql(query)), options
        assert rows(spark.table("legacy_counts")) != rows(spark.table("counts"))
        spark.conf.unset(legacy)

    spark.sql(f"CREATE MATERIALIZED VIEW counts AS {query}")
    spark.conf.set(legacy, "true")
    spark.sql(f"CREATE MATERIALIZED VIEW legacy_counts AS {query}")
    spark.conf.unset(legacy)
    spark.sql("INSERT INTO looked VALUES (3)")
    see_views_are_their_queries("")
    try:
        program.set(legacy, "true")
        see_views_are_their_queries("FULL")
    finally:
        program.remove(legacy)
        spark.sql("USE default")


def test_all_other_settings_are_kept(spark: SparkSession) -> None:
    """A setting that a new version of Spark has is kept, or is named here.

    Move it to `settings_left_out.txt` if it changes no result, and else out of what `KeptSettings`
    leaves out.
    """
    apache, session = shared_jvm().org.apache.spark, spark._jsparkSession.newSession()
    bridge, conf = apache.sql, session.sessionState().conf()
    left_out = Path(__file__).with_name("settings_left_out.txt").read_text().splitlines()
    found = bridge.tablestore.KeptSettings.leftOutKeys().splitlines()
    assert set(found).symmetric_difference(left_out) == set()
    entries, stated = apache.internal.config.ConfigEntry.listAllEntries().toArray(), {}
    for entry in entries:
        key, value = entry.key(), entry.defaultValueString()
        is_set = key.startswith("spark.sql.") and not bridge.internal.SQLConf.isStaticConfigKey(key)
        if is_set and not value.startswith("<"):
            others = entry.alternatives()
            conf.setConfString(key if others.isEmpty() else others.head(), value)
            stated[key] = value
    assert len(stated) > 600
    kept = json.loads(bridge.tablestore.StoredQueries.textOf(session, "SELECT 1"))["settings"]
    assert kept.keys() & stated.keys() == stated.keys() - set(left_out)
    of_delta = {"spark.sql.parquet.fieldId.read.enabled"}  # set in every session that it sees
    assert {key for key in kept.keys() & stated.keys() if kept[key] != stated[key]} <= of_delta


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("CREATE MATERIALIZED VIEW x AS SELECT rand() AS r FROM kept", "UNSUPPORTED_VIEW_QUERY"),
        ("CREATE MATERIALIZED VIEW x AS SELECT first(v) AS f FROM kept", "UNSUPPORTED_VIEW_QUERY"),
        (
            "CREATE MATERIALIZED VIEW x AS SELECT nth_value(v, 2) OVER (ORDER BY 1) n FROM kept",
            "UNSUPPORTED_VIEW_QUERY",
        ),
        (
            "CREATE MATERIALIZED VIEW x AS SELECT * FROM kept TABLESAMPLE (50 PERCENT)",
            "UNSUPPORTED_VIEW_QUERY",
        ),
        ("CREATE MATERIALIZED VIEW x AS SELECT current_user() AS u", "UNSUPPORTED_VIEW_QUERY"),
        ("CREATE MATERIALIZED VIEW x AS SELECT * FROM kept.snapshots", "UNSUPPORTED_VIEW_QUERY"),
        ("CREATE MATERIALIZED VIEW x AS SELECT * FROM mine", "INVALID_TEMP_OBJ_REFERENCE"),
        ("CREATE MATERIALIZED VIEW x AS SELECT * FROM absent", "TABLE_OR_VIEW_NOT_FOUND"),
        ("CREATE MATERIALIZED VIEW x AS SELECT 1 AS a, 2 AS a", "TABLE_STORE_INVALID_SCHEMA"),
        ("CREATE MATERIALIZED VIEW x USING parquet AS SELECT 1 AS a", "INVALID_SCHEMA"),
        ("CREATE MATERIALIZED VIEW x (a STRING) AS SELECT v FROM kept", "INVALID_SCHEMA"),
        ("CREATE MATERIALIZED VIEW kept AS SELECT 1 AS a", "ALREADY_EXISTS"),
        ("CREATE MATERIALIZED VIEW no_such.x AS SELECT 1 AS a", "SCHEMA_NOT_FOUND"),
        ("CREATE MATERIALIZED VIEW x AS SELECT 1 / v AS a FROM kept", "DIVIDE_BY_ZERO"),
        ("INSERT INTO view_of_kept VALUES (1)", "TABLE_STORE_MATERIALIZED_VIEW"),
        ("INSERT OVERWRITE view_of_kept VALUES (1)", "TABLE_STORE_MATERIALIZED_VIEW"),
        ("UPDATE view_of_kept SET v = 1", "TABLE_STORE_MATERIALIZED_VIEW"),
        ("DELETE FROM view_of_kept WHERE v = 1", "TABLE_STORE_MATERIALIZED_VIEW"),
        ("DELETE FROM view_of_kept", "TABLE_STORE_MATERIALIZED_VIEW"),
        ("TRUNCATE TABLE view_of_kept", "TABLE_STORE_MATERIALIZED_VIEW"),
        (
            "MERGE INTO view_of_kept t USING kept s ON t.v = s.v WHEN MATCHED THEN DELETE",
            "TABLE_STORE_MATERIALIZED_VIEW",
        ),
        ("ALTER TABLE view_of_kept ADD COLUMN w INT", "TABLE_STORE_MATERIALIZED_VIEW"),
        ("REFRESH MATERIALIZED VIEW kept", "TABLE_STORE_WRONG_RELATION_KIND"),
        ("REFRESH MATERIALIZED VIEW absent", "TABLE_STORE_NOT_FOUND"),
        ("DROP MATERIALIZED VIEW kept", "TABLE_STORE_WRONG_RELATION_KIND"),
        ("DROP MATERIALIZED VIEW absent", "TABLE_STORE_NOT_FOUND"),
        ("SHOW MATERIALIZED VIEWS IN no_such", "TABLE_STORE_NAMESPACE_NOT_FOUND"),
    ],
)
def test_what_is_refused(spark: SparkSession, statement: str, condition: str) -> None:
    spark.sql("USE default")
    if not spark.catalog.tableExists("view_of_kept"):
        spark.sql("CREATE TABLE kept (v INT)")
        spark.sql("INSERT INTO kept VALUES (0)")
        spark.sql("CREATE MATERIALIZED VIEW view_of_kept AS SELECT * FROM kept")
        spark.range(1).createTempView("mine")
    with unlogged_errors(), pytest.raises(PySparkException) as raised:
        spark.sql(statement)
    assert condition in str(raised.value.getCondition()), str(raised.value)
    assert not spark.catalog.tableExists("x")
    assert [row.v for row in spark.table("view_of_kept").collect()] == [0]


def test_all_views_of_a_refresh_are_at_one_barrier(spark: SparkSession) -> None:
    """A view over a view and its root: both are of one moment.

    Meanwhile the root changes, and somebody else brings the view below to later barriers.
    """
    spark.sql("CREATE NAMESPACE at_once")
    spark.sql("USE at_once")
    spark.sql("CREATE TABLE root (k INT, v INT)")
    spark.sql("INSERT INTO root VALUES (1, 1)")
    spark.sql("CREATE MATERIALIZED VIEW low AS SELECT sum(v) AS v FROM root")
    spark.sql(
        "CREATE MATERIALIZED VIEW high AS "
        "SELECT low.v - r.v AS off, r.n FROM low, (SELECT sum(v) AS v, count(*) AS n FROM root) r"
    )
    root = open_table(location_of(spark, "root")).storage
    stop = Event()

    def insert() -> None:
        rows = pa.table({"k": [1], "v": [3]}, schema=root.scan().arrow_schema)
        while not stop.wait(0.05):
            root.append(rows)

    other = spark.newSession()
    other.sql("USE at_once")

    def refresh_below() -> None:
        while not stop.wait(0.5):
            other.sql("REFRESH MATERIALIZED VIEW low").collect()

    threads = [Thread(target=insert), Thread(target=refresh_below)]
    for thread in threads:
        thread.start()
    barriers, counts = [], []
    try:
        for _ in range(5):
            done = spark.sql("REFRESH MATERIALIZED VIEW high").collect()
            assert len({row.barrier for row in done}) == 1
            assert all("another meaning" not in row.reason for row in done)
            barriers.append(done[0].barrier)
            (found,) = spark.table("high").collect()
            assert found.off == 0
            counts.append(found.n)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert barriers == sorted(set(barriers))
    assert counts[-1] > counts[0]
    spark.sql("REFRESH MATERIALIZED VIEW high")
    ledger = Path(root.path).parents[1] / "_barriers"
    records = sorted(ledger.iterdir())
    quiet = spark.sql("REFRESH MATERIALIZED VIEW high").collect()
    assert [row.rule for row in quiet] == ["none", "none"]
    assert sorted(ledger.iterdir()) == records


def test_a_compaction_is_nothing_new(spark: SparkSession) -> None:
    """Neither of a table nor of a view below another one: no barrier, and no file."""
    spark.sql("CREATE NAMESPACE compacted")
    spark.sql("USE compacted")
    spark.sql("CREATE TABLE root (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql("INSERT INTO root VALUES (1, 1), (2, 2)")
    spark.sql("CREATE MATERIALIZED VIEW low AS SELECT v, count(*) AS n FROM root GROUP BY v")
    spark.sql("CREATE MATERIALIZED VIEW high AS SELECT sum(n) AS n FROM low")
    spark.sql("INSERT INTO root VALUES (2, 3), (3, 3)")
    spark.sql("REFRESH MATERIALIZED VIEW high")
    tables = {name: open_table(location_of(spark, name)).storage for name in ("root", "low")}
    ledger = Path(tables["root"].path).parents[1] / "_barriers"
    records = sorted(ledger.iterdir())
    for table in tables.values():
        before = table.latest_snapshot()
        table.compact()
        after = table.latest_snapshot()
        assert before is not None
        assert after is not None
        assert (after.id, after.commit_kind) == (before.id + 1, CommitKind.COMPACT)
        quiet = spark.sql("REFRESH MATERIALIZED VIEW high").collect()
        assert [row.rule for row in quiet] == ["none", "none"]
        assert sorted(ledger.iterdir()) == records
    spark.sql("DELETE FROM root WHERE k = 1")
    done = spark.sql("REFRESH MATERIALIZED VIEW high").collect()
    assert [row.rule for row in done] == ["incremental", "incremental"]
    assert [row.n for row in spark.table("high").collect()] == [2]
