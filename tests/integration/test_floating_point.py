"""Goal: NaN and the two zeros mean to managed tables what they mean to Spark's own of Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

NAN = "double('NaN')"
CONDITIONS = [
    *(
        f"x {op} {value}"
        for op in ("=", "<=>", "<", "<=", ">", ">=", "<>")
        for value in (NAN, "0D", "-0D", "10D", "7D")
    ),
    f"x IN ({NAN}, 0D)",
    "x IN (-0D, 7D)",
    "NOT x < 10D",
    f"NOT (x <=> {NAN})",
    "x > 10D OR x < -10D",
    "x IS NULL",
    "isnan(x)",
    "y = float(0)",
    "y > float(10)",
    "s.x > 10D",
    "s.x = 0D",
]
TABLES = {
    "bag": "CREATE TABLE bag (id INT, x DOUBLE, y FLOAT, s STRUCT<x: DOUBLE>)",
    "keyed": "CREATE TABLE keyed (id INT, x DOUBLE, y FLOAT, s STRUCT<x: DOUBLE>, "
    "PRIMARY KEY (id) NOT ENFORCED)",
    "parted": "CREATE TABLE parted (id INT, x DOUBLE, y FLOAT, s STRUCT<x: DOUBLE>) "
    "PARTITIONED BY (x)",
}
FILES = [
    [f"(1, {NAN}, float('NaN'), struct({NAN}))", "(2, 7D, float(7), struct(7D))"],
    ["(3, -0D, float('-0.0'), struct(-0D))"],
    ["(4, 0D, float(0), struct(0D))", "(5, NULL, NULL, NULL)", "(6, -9D, float(-9), NULL)"],
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Tables with the same rows; `plain` is Spark's own."""
    with spark_session(tmp_path_factory.mktemp("floating"), OWN_NAME) as session:
        session.sql(
            "CREATE TABLE plain (id INT, x DOUBLE, y FLOAT, s STRUCT<x: DOUBLE>) USING parquet"
        )
        for create in TABLES.values():
            session.sql(create)
        for rows in FILES:
            for table in ("plain", *TABLES):
                session.sql(
                    f"INSERT INTO {table} (id, x, y, s) "
                    f"SELECT /*+ REPARTITION(1) */ * FROM VALUES {', '.join(rows)}"
                )
        # Older rows of the same keys, which a merge takes away.
        session.sql(
            "CREATE TABLE merged (id INT, x DOUBLE, y FLOAT, s STRUCT<x: DOUBLE>, "
            "PRIMARY KEY (id) NOT ENFORCED)"
        )
        session.sql("INSERT INTO merged SELECT id, 10 - x, y, s FROM plain")
        session.sql("INSERT INTO merged SELECT * FROM plain")
        yield session


def rows_of_conditions(spark: SparkSession, table: str) -> dict[str, Counter[int]]:
    """The ids of the rows that satisfy each of the conditions."""
    return {
        condition: Counter(
            row.id for row in spark.sql(f"SELECT id FROM {table} WHERE {condition}").collect()
        )
        for condition in CONDITIONS
    }


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> dict[str, Counter[int]]:
    """What Spark's own table gives."""
    return rows_of_conditions(spark, "plain")


@pytest.mark.parametrize("table", [*TABLES, "merged"])
def test_conditions(spark: SparkSession, expected: dict[str, Counter[int]], table: str) -> None:
    assert rows_of_conditions(spark, table) == expected


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_keys_and_partitions(spark: SparkSession, kind: str) -> None:
    """All NaN are one key and one partition, and so are both zeros."""
    spark.sql(
        f"CREATE OR REPLACE TABLE named (p {kind}, k {kind}, v INT, "
        "PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)"
    )
    for v, (zero, nan) in enumerate([("0.0", "NaN"), ("-0.0", "NaN"), ("0.0", "NaN")]):
        spark.sql(
            f"INSERT INTO named VALUES ({kind}('{zero}'), {kind}('NaN'), {v}), "
            f"({kind}('{nan}'), {kind}('{zero}'), {v})"
        )
    rows = "SELECT isnan(p), isnan(k), v FROM named ORDER BY 1"
    assert [tuple(row) for row in spark.sql(rows).collect()] == [(False, True, 2), (True, False, 2)]
    assert len(spark.sql("SHOW PARTITIONS named").collect()) == 2
    spark.sql("UPDATE named SET v = 9")
    assert [tuple(row) for row in spark.sql(rows).collect()] == [(False, True, 9), (True, False, 9)]
    compacted = spark.sql("ALTER TABLE named PARTITION (p = 'NaN') COMPACT").collect()[0]
    assert compacted.files_after == 1
    spark.sql(f"DELETE FROM named WHERE p = {kind}('NaN')")
    assert [tuple(row) for row in spark.sql(rows).collect()] == [(False, True, 9)]
    spark.sql(f"DELETE FROM named WHERE p = {kind}('-0.0')")
    assert spark.sql(rows).collect() == []


FRACTIONS = {
    "bag": "(id INT, y FLOAT)",
    "keyed": "(id INT, y FLOAT, PRIMARY KEY (id) NOT ENFORCED)",
    "first of the key": "(id INT, y FLOAT, PRIMARY KEY (y, id) NOT ENFORCED)",
    "parted": "(id INT, y FLOAT) PARTITIONED BY (y)",
}


@pytest.mark.parametrize("table", FRACTIONS)
def test_numbers_that_are_no_binary_fractions(spark: SparkSession, table: str) -> None:
    """As FLOAT 0.1 and 0.7 are other numbers than as DOUBLE, wherever they are compared."""

    def ids(query: str) -> set[int]:
        return {row.id for row in spark.sql(query).collect()}

    spark.sql("DROP TABLE IF EXISTS fractions")
    spark.sql(f"CREATE TABLE fractions {FRACTIONS[table]}")
    spark.sql("INSERT INTO fractions VALUES (1, 0.1F), (2, 0.7F), (3, 5F)")
    spark.sql("INSERT INTO fractions VALUES (4, 0.7F), (5, 0.1F), (6, -0.1F)")
    assert ids("SELECT id FROM fractions WHERE y >= 0.7F") == {2, 3, 4}
    assert ids("SELECT id FROM fractions WHERE id = 1 AND y = 0.1F") == {1}
    assert ids("SELECT id FROM fractions CHANGES FROM VERSION 1 WHERE y = 0.7F") == {2, 4}
    spark.sql("CREATE MATERIALIZED VIEW large AS SELECT id, y FROM fractions WHERE y >= 0.7F")
    assert ids("SELECT id FROM large") == {2, 3, 4}
    spark.sql("DROP MATERIALIZED VIEW large")
    spark.sql("INSERT INTO fractions REPLACE WHERE y > 0.1F AND y <= 0.7F SELECT 9, 0.7F")
    assert ids("SELECT id FROM fractions") == {1, 3, 5, 6, 9}
    spark.sql("DELETE FROM fractions WHERE y = 0.1F AND id = 1")
    spark.sql("DELETE FROM fractions WHERE y IN (-0.1F, 0.3F)")
    assert ids("SELECT id FROM fractions") == {3, 5, 9}
    spark.sql("ALTER TABLE fractions ADD COLUMN late FLOAT DEFAULT 0.1F")
    assert ids("SELECT id FROM fractions WHERE late = 0.1F AND id < 9") == {3, 5}
    assert ids("SELECT id FROM fractions WHERE late > 0.1F") == set()
