"""Goal: views follow their tables as views of Spark's own session catalog do, in each mode.

The same statements make views on managed tables and, as the oracle, on Spark's own tables of
Parquet; both tables are made anew with other columns. What each view shows must be alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

MODES = ("BINDING", "COMPENSATION", "TYPE EVOLUTION", "EVOLUTION")
VIEWS = [
    *((f"v{i}", f"WITH SCHEMA {mode} AS SELECT * FROM t") for i, mode in enumerate(MODES)),
    ("named", "(x COMMENT 'its own', y, z) WITH SCHEMA TYPE EVOLUTION AS SELECT * FROM t"),
    ("above", "WITH SCHEMA EVOLUTION AS SELECT * FROM v3"),
    ("plain", "AS SELECT * FROM t"),
    ("sums", "WITH SCHEMA TYPE EVOLUTION AS SELECT sum(a) AS s, max(b) AS b FROM t"),
]
COLUMNS = [
    "a INT, b VARCHAR(5), c CHAR(3)",
    "a INT, b VARCHAR(5), c CHAR(3), d DATE COMMENT 'new'",
    "a BIGINT, b VARCHAR(9), c CHAR(3), d DATE COMMENT 'other'",
    "a BIGINT, b STRING, c CHAR(3), e INT",
    "e INT, a DOUBLE, b STRING, c STRING",
    "a INT",
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Our catalog under its own name; `spark_catalog` is Spark's."""
    with spark_session(tmp_path_factory.mktemp("views"), OWN_NAME) as session:
        yield session


def shown(spark: SparkSession, view: str) -> object:
    """Columns, rows and what DESCRIBE says afterwards; the condition of an error."""
    try:
        found = spark.sql(f"SELECT * FROM {view}")
        rows = [tuple(row) for row in found.collect()]
        result: object = (found.schema.simpleString(), rows)
    except PySparkException as error:
        result = error.getCondition()
    described = [(row[0], row[1], row[2]) for row in spark.sql(f"DESCRIBE {view}").collect()]
    return result, described


def followed(spark: SparkSession, using: str) -> list[object]:
    """What all views show at each stage of their table."""
    seen: list[object] = []
    for stage, columns in enumerate(COLUMNS):
        spark.sql("DROP TABLE IF EXISTS t")
        spark.sql(f"CREATE TABLE t ({columns}) {using}")
        spark.sql("INSERT INTO t (a) VALUES (1)")
        if stage == 0:
            for name, definition in VIEWS:
                spark.sql(f"CREATE VIEW {name} {definition}")
        for name, _ in VIEWS:
            seen.append((columns, name, shown(spark, name)))
    return seen


def test_as_in_the_session_catalog(spark: SparkSession) -> None:
    spark.sql("USE spark_catalog.default")
    expected = followed(spark, "USING parquet")
    spark.sql("USE table_store.default")
    for found, oracle in zip(followed(spark, ""), expected, strict=True):
        assert found == oracle


def test_a_change_is_noted_once(spark: SparkSession) -> None:
    """By whatever statement meets the view first; who finds nothing new writes nothing."""
    spark.sql("CREATE TABLE table_store.default.once (a INT, b VARCHAR(3))")
    spark.sql(
        "CREATE VIEW table_store.default.of_once WITH SCHEMA EVOLUTION AS "
        "SELECT * FROM table_store.default.once"
    )
    warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    (record,) = (warehouse / "default.db").glob("**/of_once.json")
    written = record.read_bytes(), record.stat().st_mtime_ns
    read = "SELECT count(*) FROM table_store.default.of_once"
    assert spark.sql(read).collect()[0][0] == 0
    assert (record.read_bytes(), record.stat().st_mtime_ns) == written
    spark.sql("ALTER TABLE table_store.default.once ADD COLUMN c INT")
    spark.sql("INSERT INTO table_store.default.once VALUES (1, 'x', 2)")
    assert (
        spark.sql(f"SELECT (SELECT max(c) FROM table_store.default.of_once) + ({read})").collect()[
            0
        ][0]
        == 3
    )
    noted = record.read_bytes(), record.stat().st_mtime_ns
    assert noted != written
    assert spark.table("table_store.default.of_once").columns == ["a", "b", "c"]
    assert spark.sql(read).collect()[0][0] == 1
    assert (record.read_bytes(), record.stat().st_mtime_ns) == noted
