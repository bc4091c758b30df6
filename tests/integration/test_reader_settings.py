"""Goal: readers are set up once for many queries, and always by the settings of the query."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

ROWS = [(1, "a"), (2, "b"), (3, "c")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A table of three rows in one file."""
    with spark_session(tmp_path_factory.mktemp("settings"), OWN_NAME) as session:
        session.sql("CREATE TABLE t (id INT, p STRING)")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        yield session


def _read(spark: SparkSession, condition: str = "true") -> list[tuple[int, str]]:
    return sorted(map(tuple, spark.table("t").where(condition).collect()))


def _broadcasts(spark: SparkSession) -> int:
    """How many values were broadcast until now, by Spark itself, too."""
    broadcast = spark.sparkContext._jsc.broadcast(None)
    return int(broadcast.id())


def test_one_broadcast(spark: SparkSession) -> None:
    """A query like one before broadcasts what its one stage runs, and no configuration."""
    _read(spark, "id > 1")
    before = _broadcasts(spark)
    assert _read(spark, "id > 2") == ROWS[2:]
    assert _broadcasts(spark) - before == 2  # the stage's, and this count's own


def test_conditions(spark: SparkSession) -> None:
    """Queries that differ in their condition alone do not share it."""
    for _ in range(2):
        for id_ in range(5):
            assert _read(spark, f"id = {id_}") == [row for row in ROWS if row[0] == id_]


def test_setting_of_files(spark: SparkSession) -> None:
    """What was set meanwhile, in a session or for all, is what the next query reads by."""
    assert _read(spark) == ROWS
    other = spark.newSession()
    other.conf.set("fs.file.impl.disable.cache", "true")
    other.conf.set("fs.file.impl", "no.such.FileSystem")
    with pytest.raises(Exception, match=r"no\.such\.FileSystem"):
        _read(other)
    assert _read(spark) == ROWS
    other.conf.unset("fs.file.impl")
    assert _read(other) == ROWS
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.file.impl", "not.one.Either")
    try:
        with pytest.raises(Exception, match=r"not\.one\.Either"):
            _read(other)
    finally:
        hadoop.unset("fs.file.impl")
    assert _read(other) == ROWS


def test_vectors(spark: SparkSession) -> None:
    """Rows come as vectors or singly, as the session wants them at the time."""
    for is_vectorized in (True, False, True):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", is_vectorized)
        frame = spark.table("t")
        assert sorted(map(tuple, frame.collect())) == ROWS
        text = frame._jdf.queryExecution().executedPlan().toString()
        assert "TableStoreScan" in text
        assert ("ColumnarToRow" in text) == is_vectorized
