"""Goal: UPDATE, DELETE and MERGE that meet on the same rows all count, as in some serial order.

The oracle is arithmetic: increments commute, so whatever the order, their sum is known.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from table_store.catalog.bridge.shared_text import shared_name
from table_store.storage.options.table_options import COMMIT_MAX_RETRIES
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = pytest.mark.spark

WRITERS = 12
MERGE = "MERGE INTO m USING (SELECT * FROM VALUES (0, 1), (1, 10) AS s(k, n)) s ON m.k = s.k "
MERGE += "WHEN MATCHED THEN UPDATE SET v = m.v + s.n"
"""Adds one to a row and ten to another."""
VIEWS, ROUNDS = 4, 6


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("contended"), OWN_NAME) as session:
        yield session


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """Four rows of value 0, in one bucket."""
    spark.sql("CREATE TABLE m (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    spark.sql("INSERT INTO m VALUES (0, 0), (1, 0), (2, 0), (3, 0)")
    yield "m"
    spark.sql("DROP TABLE m")


def together(count: int, statement: Callable[[int], None]) -> None:
    """Run a statement in many threads at once; the first error is raised."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(statement, range(count)))


def values(spark: SparkSession) -> dict[int, int]:
    return {row.k: row.v for row in spark.table("m").collect()}


def test_the_engine_repeats_what_lost_a_race(spark: SparkSession, table: str) -> None:
    def run(number: int) -> None:
        kind = number % 3
        if kind == 0:
            spark.sql(MERGE)
        elif kind == 1:
            spark.sql(f"UPDATE {table} SET v = v + 100 WHERE k <= 1")
        else:
            spark.sql(
                f"UPDATE {table} SET v = v + (SELECT count(*) FROM {table}) * 1000 WHERE k = 2"
            )

    together(WRITERS, run)
    third = WRITERS // 3
    assert values(spark) == {0: 101 * third, 1: 110 * third, 2: 4000 * third, 3: 0}


def test_a_delete_and_an_update_of_the_same_row(spark: SparkSession, table: str) -> None:
    """Whatever came first, no deleted row is back, and the other row has all its changes."""

    def run(number: int) -> None:
        if number == 3:
            spark.sql(f"DELETE FROM {table} WHERE v >= 0 AND k = 1")
        else:
            spark.sql(f"UPDATE {table} SET v = v + 1")

    together(8, run)
    assert values(spark) == {0: 7, 2: 7, 3: 7}


@pytest.mark.parametrize("key", ["PRIMARY KEY (k) NOT ENFORCED", ""])
def test_merges_that_only_insert(spark: SparkSession, key: str) -> None:
    """Each finds the rows of those before it: it writes no row that they have written."""
    columns = ", ".join(filter(None, ["k INT", "v INT", key]))
    spark.sql(f"CREATE TABLE inserted ({columns})")
    spark.sql("INSERT INTO inserted VALUES (0, 0)")

    def run(number: int) -> None:
        spark.sql(
            f"MERGE INTO inserted t USING (SELECT {number % 2 + 1} AS k, {number} AS v) s "
            "ON t.k = s.k WHEN NOT MATCHED AND s.v > 1 THEN INSERT * "
            "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
        )

    together(6, run)
    found = sorted((row.k, row.v % 2) for row in spark.table("inserted").collect())
    assert found == [(0, 0), (1, 0), (2, 1)]
    spark.sql("DROP TABLE inserted")


def test_keys_are_checked_again(spark: SparkSession, table: str) -> None:
    """A key that another statement writes meanwhile is found; its row is not lost."""
    slow = "if(java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', 1500000000L) = ''"
    statements = [
        f"UPDATE {table} SET k = 10 + {slow}, 1, 0) WHERE k = 0",
        f"INSERT INTO {table} SELECT 10, 1",
    ]

    def run(number: int) -> str | None:
        time.sleep(number * 0.5)
        return condition_of(spark, statements[number])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == ["TABLE_STORE_DUPLICATE_KEY", None]
    assert values(spark) == {0: 0, 1: 0, 2: 0, 3: 0, 10: 1}
    merge = f"MERGE INTO {table} t USING (SELECT 5 AS v) s ON t.v = s.v + t.k "
    merge += "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (11, s.v)"
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: condition_of(spark, merge), range(4)))
    assert Counter(found) == {None: 1, "TABLE_STORE_DUPLICATE_KEY": 3}


KEYS = (
    (
        "a INT, b STRING",
        "PARTITIONED BY (a)",
        [f"({n}, repeat('z', {600 + n % 3}))" for n in range(6)],
    ),
    (
        "a DECIMAL(30, 10), b TIMESTAMP",
        "",
        [f"({n}.5, TIMESTAMP'2024-01-0{n + 1}')" for n in range(6)],
    ),
)


@pytest.mark.parametrize(("columns", "partitioned", "keys"), KEYS)
def test_random_key_changes(
    spark: SparkSession, columns: str, partitioned: str, keys: list[str]
) -> None:
    """As a dict of the rows, with keys of two columns in partitions and buckets."""
    randomly = random.Random(f"{columns}{partitioned}")
    spark.sql(
        f"CREATE TABLE pairs ({columns}, n INT, PRIMARY KEY (a, b) NOT ENFORCED) {partitioned} "
        "TBLPROPERTIES ('bucket' = '3')"
    )
    listed = [key[1:-1].partition(", ")[::2] for key in keys]
    model = dict(zip(range(4), range(4), strict=True))
    rows = ", ".join(f"({listed[k][0]}, {listed[k][1]}, {n})" for k, n in model.items())
    spark.sql(f"INSERT INTO pairs VALUES {rows}")
    for step in range(5):
        moved = randomly.sample(sorted(model.values()), randomly.randint(1, len(model)))
        new = {n: randomly.randrange(len(keys)) for n in moved}
        added = {100 + step: randomly.randrange(len(keys))} if step % 2 else {}
        source = " UNION ALL ".join(
            f"SELECT {n} AS n, {listed[k][0]} AS a, {listed[k][1]} AS b"
            for n, k in (new | added).items()
        )
        found = condition_of(
            spark,
            f"MERGE INTO pairs t USING ({source}) s ON t.n = s.n "
            "WHEN MATCHED THEN UPDATE SET a = s.a, b = s.b "
            "WHEN NOT MATCHED THEN INSERT (a, b, n) VALUES (s.a, s.b, s.n)",
        )
        after = [(k, n) for k, n in model.items() if n not in new]
        after += [(k, n) for n, k in (new | added).items()]
        if len(dict(after)) < len(after):
            assert found == "TABLE_STORE_DUPLICATE_KEY"
        else:
            assert found is None
            model = dict(after)
        whole = " UNION ALL ".join(
            f"SELECT {listed[k][0]} AS a, {listed[k][1]} AS b, {n} AS n" for k, n in model.items()
        )
        assert spark.sql(f"({whole}) EXCEPT ALL SELECT * FROM pairs").count() == 0
        assert spark.table("pairs").count() == len(model)
    spark.sql("DROP TABLE pairs")


def condition_of(spark: SparkSession, statement: str) -> str | None:
    """The condition of the error of a statement; None if it succeeds."""
    try:
        with unlogged_errors():
            spark.sql(statement)
    except PySparkException as error:
        return str(error.getCondition())
    return None


def test_others_that_are_always_faster(spark: SparkSession, table: str) -> None:
    """It ends with the conflict, after as many repeats as the table allows."""
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('commit.max-retries' = '0')")
    failed = []

    def run(_: int) -> None:
        try:
            spark.sql(f"UPDATE {table} SET v = v + 1 WHERE k = 0")
        except PySparkException as error:
            failed.append(error.getCondition())

    together(8, run)
    assert set(failed) == {"TABLE_STORE_COMMIT_CONFLICT"}
    assert values(spark)[0] == 8 - len(failed)


def test_both_sides_know_the_option() -> None:
    assert shared_name("commit-max-retries") == COMMIT_MAX_RETRIES.key
    assert int(shared_name("commit-max-retries-default")) == COMMIT_MAX_RETRIES.default


def test_refreshes_of_the_same_views_tell_each_change_once(spark: SparkSession, table: str) -> None:
    """Those that lose a race at a view still tell what they did with the views below it."""
    below, views = table, [f"r{number}" for number in range(VIEWS)]
    for view in views:
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS SELECT k, v + 1 AS v FROM {below}")
        below = view
    told: list[Row] = []

    def refresh(number: int) -> None:
        view = views[-1 - number % 2]
        told.extend(spark.sql(f"REFRESH MATERIALIZED VIEW {view}").collect())

    for value in range(1, ROUNDS + 1):
        spark.sql(f"UPDATE {table} SET v = {value} WHERE k = 0")
        together(VIEWS, refresh)
    changed: Counter[str] = Counter()
    for row in told:
        changed[row.view.split(".")[-1]] += row.rows_changed
    # Of a view without key a row goes, and another comes.
    assert changed == dict.fromkeys(views, 2 * ROUNDS)
    for view in reversed(views):
        spark.sql(f"DROP MATERIALIZED VIEW {view}")
