"""Goal: the queries of Nexmark are materialized views that follow all three tables.

The benchmark itself only inserts. Here auctions and bids are corrected and withdrawn too, which
takes back maxima, averages of maxima and the first rows of orders. DuckDB runs the same queries
over copies of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.twin_tables import TwinTables
from tests.servers.nexmark_data import KEYS, NexmarkData
from tests.servers.nexmark_queries import NEXMARK

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FIRST, MORE = 2_000, 150
"""Events before the views, and in each round; the bids of a bidder meet all his auctions."""

ROUNDS = (
    (
        "UPDATE bid SET price = price * 3 WHERE mod(auction, 20) = 0 AND mod(bidder, 7) = 0",
        "DELETE FROM bid WHERE price > 70000000",
        "DELETE FROM auction WHERE mod(id, 31) = 0",
    ),
    (
        "UPDATE auction SET category = 10, expires = dateTime WHERE mod(id, 20) = 0",
        "UPDATE bid SET auction = auction + 1, bidder = bidder - 1 WHERE mod(bidder, 11) = 3",
        "DELETE FROM bid WHERE mod(auction, 17) = 5",
        "UPDATE person SET state = 'OR' WHERE mod(id, 9) = 2",
    ),
)
DATE_FORMAT = """CREATE MACRO date_format(value, format) AS CASE format
    WHEN 'HH:mm' THEN strftime(value, '%H:%M') ELSE strftime(value, '%Y-%m-%d') END"""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("nexmark"), OWN_NAME) as session:
        yield session


def test_nexmark_views_follow_their_tables(spark: SparkSession) -> None:
    twins, data = TwinTables(spark), NexmarkData()
    twins.duck.execute(DATE_FORMAT)
    for table, rows in data.events(0, FIRST).items():
        twins.create(table, rows, *KEYS[table])
    for name, query in NEXMARK.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} REFRESH POLICY INCREMENTAL AS {query}")
        twins.assert_view_is(name, query)
    for number, statements in enumerate(ROUNDS):
        for table, rows in data.events(FIRST + number * MORE, MORE).items():
            twins.insert(table, rows)
        for statement in statements:
            twins.run(statement)
        for name, query in NEXMARK.items():
            (done,) = spark.sql(f"REFRESH MATERIALIZED VIEW {name}").collect()
            assert done.rule == "incremental", (name, done)
            assert done.rows_changed > 0, (name, done)
            twins.assert_view_is(name, query)
