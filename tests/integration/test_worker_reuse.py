"""Goal: Python workers serve task after task; to start one takes longer than most statements."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.test_planner_process import descendants

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A table whose rows workers merge."""
    with spark_session(tmp_path_factory.mktemp("workers"), OWN_NAME) as session:
        session.conf.set("spark.table-store.answered-rows", "0")
        session.conf.set("spark.sql.codegen.wholeStage", "false")  # rows are asked for one by one
        session.conf.set("spark.sql.adaptive.enabled", "false")
        session.sql(
            "CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) "
            "TBLPROPERTIES ('bucket' = '2')"
        )
        for v in range(3):
            session.sql(f"INSERT INTO t SELECT id, {v} FROM range(20)")
        yield session


def workers() -> set[int]:
    """The daemon and its workers, of which there is one at least."""
    found = {pid for pid, line in descendants(os.getpid()).items() if "pyspark.worker" in line}
    assert len(found) > 1, "no worker has outlived its task"
    return found


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM t WHERE v < {} LIMIT 1",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM t WHERE v < {})",
        "SELECT count(*) FROM (SELECT id FROM t WHERE v < {} LIMIT 2) AS q",
    ],
)
def test_unread_rows(spark: SparkSession, query: str) -> None:
    """No worker goes, and none comes."""
    for value in (5, 6):
        spark.sql(query.format(value)).collect()
    before = workers()
    for value in range(7, 12):
        assert spark.sql(query.format(value)).collect()
    assert workers() == before


def test_writers(spark: SparkSession) -> None:
    """Neither do the workers of statements that change rows end."""
    merge = (
        "MERGE INTO t USING (SELECT explode(sequence(0, 40, 2)) AS k) ON id = k "
        "WHEN MATCHED THEN UPDATE SET v = v + 1 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (k, k)"
    )
    statements = (
        "UPDATE t SET v = v + 1 WHERE id % 3 = 1",
        "DELETE FROM t WHERE id = 30 + {}",
        merge,
        "ALTER TABLE t COMPACT",
    )
    for statement in statements:
        spark.sql(statement.format(0)).collect()
    before = workers()
    for value in range(1, 4):
        for statement in statements:
            spark.sql(statement.format(value)).collect()
            assert workers() == before, statement
