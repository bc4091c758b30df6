"""Goal: the queries of TPC-H and TPC-DS are materialized views.

Those of TPC-H follow the refresh functions RF1 and RF2, orders inserted and deleted with their
lines; DuckDB runs the same queries over copies of its own. Those of TPC-DS are accepted, and it is
told how each follows its tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.twin_tables import TwinTables
from tests.servers.tpc_queries import queries, tpcds_tables
from tests.servers.tpch_data import KEYS, TpchData

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCALE = 0.005
CHANGED = 75
"""How many orders a refresh function inserts and deletes: a hundredth of all."""
OF_FIXED_TABLES = {"q2", "q11", "q16"}
"""They read neither orders nor lines."""

ROUNDED = {"q39a", "q39b"}
"""Their stddev rounds by the order of rows."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("tpc"), OWN_NAME) as session:
        yield session


def test_tpch_views_follow_the_refresh_functions(spark: SparkSession) -> None:
    twins, data = TwinTables(spark), TpchData(SCALE)
    for table, rows in data.tables().items():
        twins.create(table, rows, *KEYS[table])
    for name, query in queries("tpch").items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} REFRESH POLICY INCREMENTAL AS {query}")
        twins.assert_view_is(name, query)
    # RF1 inserts orders with new keys between the old ones, RF2 deletes old ones.
    for table, rows in data.orders(np.arange(CHANGED) * 40 + 2).items():
        twins.insert(table, rows)
        key, last = KEYS[table][0], 388 * CHANGED
        twins.run(f"DELETE FROM {table} WHERE {key} % 388 = 1 AND {key} < {last}")
    has_changed = 0
    for name, query in queries("tpch").items():
        (done,) = spark.sql(f"REFRESH MATERIALIZED VIEW {name}").collect()
        is_limited = " limit " in f" {query.lower()} ".replace("\n", " ")
        rules = {"none"} if name in OF_FIXED_TABLES else {"incremental"}
        assert done.rule in (rules | {"full"} if is_limited else rules), (name, done)
        twins.assert_view_is(name, query)
        has_changed += done.rows_changed > 0
    assert has_changed >= 10


def test_tpcds_queries_are_accepted(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE tpcds")
    spark.sql("USE tpcds")
    for table, columns in tpcds_tables().items():
        spark.sql(f"CREATE TABLE {table} ({columns})")
    told = {}
    for name, query in queries("tpcds").items():
        # A LIMIT at the end, which most have, is computed again; what is below it is looked at.
        unlimited = re.sub(r"\blimit\s+\d+\s*$", "", query, flags=re.IGNORECASE)
        statement = f"EXPLAIN CREATE MATERIALIZED VIEW of_{name} AS {unlimited}"
        (told[name],) = spark.sql(statement).collect()[0]
    assert len(told) == 103, "four of the 99 have two parts"
    assert [name for name, plan in told.items() if "+- Changes" not in plan] == []
    assert {name for name, plan in told.items() if "no rule" in plan} == ROUNDED
    spark.sql("USE default")
