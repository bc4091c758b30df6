"""Goal: who reads a chain of streaming INSERTs never sees money appear or vanish.

The transfers, views and balances are those of the article that `bank_transfers.py` names. Its
`total` is zero whatever has been transferred, so its table has one insert and no update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from table_store import TableDescriptor, open_table
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.servers.bank_transfers import BALANCES, VIEWS, in_parts, transfers

pytestmark = pytest.mark.spark

COUNT = 60_000
FIRST = 51_000
"""So that a part is less than a quarter; by then each account has given and got, without which the
total of the balances is not zero."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("bank"), OWN_NAME) as session:
        yield session


def test_a_chain_of_views(spark: SparkSession) -> None:
    """Each REFRESH of the last view brings all of them to one barrier."""
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT")
    for name in ("from_account", "to_account"):
        descriptor = descriptor.column(name, "INT")
    descriptor = descriptor.column("amount", "BIGINT").column("ts", "TIMESTAMP_NTZ")
    stored = descriptor.create_in(warehouse, "transactions")
    rows = transfers(COUNT)
    parts = in_parts(rows, FIRST, 3)
    stored.append(next(parts))
    for name, query in VIEWS.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    sent = FIRST
    for part in parts:
        stored.append(part)
        sent += part.num_rows
        done = spark.sql("REFRESH MATERIALIZED VIEW total").collect()
        assert [row.view.split(".")[-1] for row in done] == list(VIEWS)
        assert len({row.barrier for row in done}) == 1
        assert "none" not in [row.rule for row in done]
        so_far = Counter[int]()
        for row in rows.slice(0, sent).select(["from_account", "to_account"]).to_pylist():
            so_far[row["from_account"]] -= 1
            so_far[row["to_account"]] += 1
        balances = {row.account: row.balance for row in spark.table("balance").collect()}
        assert balances == {account: so_far[account] for account in range(10)}
    assert tuple(balances[account] for account in range(10)) == BALANCES[COUNT]
    total = open_table(f"{warehouse}/default.db/total")
    (only,) = total.changes().to_arrow().to_pylist()
    assert (only["total"], only["_change_type"]) == (0, "insert")
