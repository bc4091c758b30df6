"""Goal: who reads a chain of streaming INSERTs never sees money appear or vanish.

The transfers, views and balances are those of the article that `bank_transfers.py` names. Its
`total` is zero whatever has been transferred, so its table has one insert and no update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from table_store import jobs, open_table
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.streaming_mode import streaming
from tests.servers.bank_transfers import ACCOUNTS, BALANCES, VIEWS, in_parts, transfers

pytestmark = pytest.mark.spark

COUNT = 60_000
FIRST = 51_000
"""So that a part is less than a quarter; by then each account has given and got, without which the
total of the balances is not zero."""


SINKS = {
    "credits": "account INT NOT NULL, credits BIGINT, PRIMARY KEY (account) NOT ENFORCED",
    "debits": "account INT NOT NULL, debits BIGINT, PRIMARY KEY (account) NOT ENFORCED",
    "balance": "account INT NOT NULL, balance BIGINT, PRIMARY KEY (account) NOT ENFORCED",
    "total": "total BIGINT",
}
NEW = ("insert", "update_postimage")

Row: TypeAlias = dict[str, Any]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("bank"), OWN_NAME) as session:
        yield session


@pytest.fixture
def transactions(spark: SparkSession, request: pytest.FixtureRequest) -> FileStoreTable:
    """The table of transfers, empty, in a namespace of the test's own, which is the current one."""
    namespace = request.function.__name__
    spark.sql(f"CREATE NAMESPACE {namespace}")
    spark.sql(f"USE {namespace}")
    spark.sql(
        "CREATE TABLE transactions "
        "(id BIGINT, from_account INT, to_account INT, amount BIGINT, ts TIMESTAMP_NTZ)"
    )
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))
    return open_table(f"{warehouse}/{namespace}.db/transactions").storage


def balances_of(rows: pa.Table) -> tuple[int, ...]:
    """What accounts 0 to 9 have got less what they have given."""
    balances = Counter[int]()
    for row in rows.select(["from_account", "to_account"]).to_pylist():
        balances[row["from_account"]] -= 1
        balances[row["to_account"]] += 1
    return tuple(balances[account] for account in range(ACCOUNTS))


def versions(path: str) -> Iterator[tuple[list[Row], dict[int, int]]]:
    """Of each snapshot of a table by account: its changes, and the rows that follow from them."""
    changes = open_table(path).storage.changes().to_arrow().to_pylist()
    state: dict[int, int] = {}
    of_version = itemgetter("_commit_version")
    for _, group in groupby(sorted(changes, key=of_version), of_version):
        rows = list(group)  # of one account a deletion comes before an insertion
        for row in rows:
            account, value, *_ = row.values()
            if row["_change_type"] in ("delete", "update_preimage"):
                assert state.pop(account) == value
            else:
                assert state.setdefault(account, value) == value
        yield rows, dict(state)


def assert_total_is_inserted_once(path: str) -> None:
    (only,) = open_table(path).storage.changes().to_arrow().to_pylist()
    assert (only["total"], only["_change_type"]) == (0, "insert")


def test_a_chain_of_views(spark: SparkSession, transactions: FileStoreTable) -> None:
    """Each REFRESH of the last view brings all of them to one barrier."""
    rows = transfers(COUNT)
    parts = in_parts(rows, FIRST, 3)
    transactions.append(next(parts))
    for name, query in VIEWS.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    sent = FIRST
    for part in parts:
        transactions.append(part)
        sent += part.num_rows
        done = spark.sql("REFRESH MATERIALIZED VIEW total").collect()
        assert [row.view.split(".")[-1] for row in done] == list(VIEWS)
        assert len({row.barrier for row in done}) == 1
        assert "none" not in [row.rule for row in done]
        found = {row.account: row.balance for row in spark.table("balance").collect()}
        assert found == dict(enumerate(balances_of(rows.slice(0, sent))))
    assert tuple(found[account] for account in range(ACCOUNTS)) == BALANCES[COUNT]
    assert_total_is_inserted_once(str(Path(transactions.path).parent / "total"))


def test_a_chain_of_streaming_inserts(spark: SparkSession, transactions: FileStoreTable) -> None:
    """Transfers come while the jobs run, then some go; each version of a table is of one moment."""
    for name, columns in SINKS.items():
        spark.sql(f"CREATE TABLE {name} ({columns})")
    rows = transfers(COUNT)
    parts = in_parts(rows, FIRST, 12)
    transactions.append(next(parts))
    inserts = "".join(f"INSERT INTO {name} {query};" for name, query in VIEWS.items())
    with streaming(spark, "50 ms"):
        started = spark.sql(f"EXECUTE STATEMENT SET BEGIN {inserts} END").collect()
    jobs.flush(spark, "total")
    sent, moments = FIRST, {balances_of(rows.slice(0, FIRST))}
    for number, part in enumerate(parts):
        transactions.append(part)
        sent += part.num_rows
        moments.add(balances_of(rows.slice(0, sent)))
        if number % 4 == 3:
            jobs.flush(spark, "total")
    jobs.flush(spark, "total")  # else an epoch of a slow machine may have the DELETE, too
    spark.sql("DELETE FROM transactions WHERE id & 7 = 3")
    kept = balances_of(rows.filter(pc.not_equal(pc.bit_wise_and(rows["id"], 7), 3)))
    moments.add(kept)
    for job in reversed(started):
        assert jobs.stop_job(spark, job.job, drain=True).state == "FINISHED"
    folder = Path(transactions.path).parent
    found = [
        tuple(state[account] for account in range(ACCOUNTS))
        for _, state in versions(str(folder / "balance"))
    ]
    assert found[-2:] == [BALANCES[COUNT], kept]
    assert set(found) <= moments
    assert len(found) > 3
    for name in ("credits", "debits"):
        for changes, state in versions(str(folder / name)):
            inserted = [row for row in changes if row["_change_type"] in NEW]
            assert len(inserted) <= len(state) == ACCOUNTS
    assert_total_is_inserted_once(str(folder / "total"))
