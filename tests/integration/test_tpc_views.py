"""Goal: the queries of TPC-H and TPC-DS are materialized views.

Those of TPC-H follow the refresh functions RF1 and RF2, orders inserted and deleted with their
lines; DuckDB runs the same queries over copies of its own. Those of TPC-DS are accepted, and it is
told how each follows its tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from table_store import TableDescriptor, open_table
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
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


class Tpch:
    """The tables, which plain Python writes, and their copies in DuckDB."""

    def __init__(self, warehouse: str) -> None:
        self._data = TpchData(SCALE)
        self.duck = duckdb.connect()
        self._rows = self._data.tables()
        self._tables = {name: self._stored(warehouse, name) for name in self._rows}
        for name, rows in self._rows.items():
            self._tables[name].upsert(rows)
            self.duck.register(name, rows)

    def refresh(self) -> None:
        """RF1 inserts orders with new keys between the old ones, RF2 deletes old ones."""
        new = np.arange(CHANGED) * 40 + 2
        gone = pa.array(np.arange(CHANGED) * 388 + 1, pa.int64())
        for name, more in self._data.orders(new).items():
            table, rows, key = self._tables[name], self._rows[name], KEYS[name]
            deleted = pc.is_in(rows[key[0]], gone)
            table.upsert(more)
            table.delete(rows.filter(deleted).select(key))
            self._rows[name] = pa.concat_tables([rows.filter(pc.invert(deleted)), more])
            self.duck.register(name, self._rows[name])

    def _stored(self, warehouse: str, name: str) -> FileStoreTable:
        descriptor = TableDescriptor.for_managed()
        for field in self._rows[name].schema:
            kind = {"int64": "BIGINT", "int32": "INT", "date32[day]": "DATE"}
            spelled = "DECIMAL(15, 2)" if pa.types.is_decimal(field.type) else "STRING"
            descriptor = descriptor.column(field.name, kind.get(str(field.type), spelled))
        return descriptor.primary_key(*KEYS[name]).create_in(warehouse, name)


def rounded(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """In an order in which rows of both engines can be compared; they divide differently."""
    numbers = [
        tuple(float(v) if isinstance(v, (Decimal, float)) else v for v in row) for row in rows
    ]
    return sorted(numbers, key=lambda row: tuple(_place(value) for value in row))


def _place(value: object) -> str:
    return f"{value:.6e}" if isinstance(value, float) else str(value)


def is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return one == other


def assert_view_is(path: str, expected: list[tuple[object, ...]], name: str) -> None:
    found = [tuple(row.values()) for row in open_table(path).scan().to_arrow().to_pylist()]
    ours, theirs = rounded(found), rounded(expected)
    assert len(ours) == len(theirs), name
    for our_row, their_row in zip(ours, theirs, strict=True):
        assert all(map(is_same, our_row, their_row)), (name, our_row, their_row)


def test_tpch_views_follow_the_refresh_functions(spark: SparkSession) -> None:
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))
    tpch = Tpch(warehouse)
    paths = {}
    for name, query in queries("tpch").items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} REFRESH POLICY INCREMENTAL AS {query}")
        paths[name] = f"{warehouse}/default.db/{name}"
        assert_view_is(paths[name], tpch.duck.execute(query).fetchall(), name)
    tpch.refresh()
    has_changed = 0
    for name, query in queries("tpch").items():
        (done,) = spark.sql(f"REFRESH MATERIALIZED VIEW {name}").collect()
        is_limited = " limit " in f" {query.lower()} ".replace("\n", " ")
        rules = {"none"} if name in OF_FIXED_TABLES else {"incremental"}
        assert done.rule in (rules | {"full"} if is_limited else rules), (name, done)
        assert_view_is(paths[name], tpch.duck.execute(query).fetchall(), name)
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
