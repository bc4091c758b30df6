"""Goal: Superset sees all tables of a Thrift server, and its charts and SQL Lab give right rows.

Each test is what a person does in the browser, through the requests that the page sends. Oracle:
the rows as Python computes them.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

ORDERS = [
    (i, f"item {i % 3}", datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=i), i / 4)
    for i in range(120)
]
FIRST, END = (datetime(2026, month, day, tzinfo=UTC) for month, day in ((1, 10), (3, 20)))
_CLIENTS = count()


def run(superset: Any, sql: str) -> list[dict[str, Any]]:
    """Run a statement as SQL Lab does."""
    done = superset.post(
        "sqllab/execute/",
        database_id=superset.database,
        schema="shop",
        sql=sql,
        runAsync=False,
        client_id=f"client{next(_CLIENTS):05}",
        queryLimit=1000,
        expand_data=True,
    )
    assert done["status"] == "success"
    rows: list[dict[str, Any]] = done["data"]
    return rows


def chart(superset: Any, dataset: int, **query: Any) -> list[dict[str, Any]]:
    answer = superset.post(
        "chart/data",
        datasource={"id": dataset, "type": "table"},
        force=True,
        queries=[{"row_limit": 1000, **query}],
        result_format="json",
        result_type="full",
    )
    (result,) = answer["result"]
    assert result["status"] == "success", result
    rows: list[dict[str, Any]] = result["data"]
    return rows


def total(label: str = "total") -> dict[str, str]:
    return {"expressionType": "SQL", "sqlExpression": "sum(amount)", "label": label}


@pytest.fixture(scope="module")
def dataset(superset: Any) -> int:
    made = superset.post("dataset/", database=superset.database, schema="shop", table_name="orders")
    return int(made["id"])


def test_the_database_is_known_by_its_name(superset: Any) -> None:
    offered = superset.get("database/available/")["databases"]
    (known,) = [one for one in offered if one["engine"] == "tablestore"]
    assert known["name"] == "Spark Table Store"
    assert superset.get(f"database/{superset.database}")["result"]["backend"] == "tablestore"


def test_schemas_tables_and_columns_are_listed(superset: Any) -> None:
    database = f"database/{superset.database}"
    assert set(superset.get(f"{database}/schemas/")["result"]) == {"default", "shop"}
    listed = superset.get(f"{database}/tables/?q=(schema_name:shop)")["result"]
    assert {one["value"]: one["type"] for one in listed} == {
        "orders": "table",
        "recent": "view",
        "totals": "materialized_view",
    }
    described = superset.get(f"{database}/table_metadata/?name=orders&schema=shop")
    assert [(c["name"], c["longType"], c["comment"]) for c in described["columns"]] == [
        ("id", "INTEGER", "of the shop"),
        ("item", "VARCHAR", None),
        ("at", "TIMESTAMP", None),
        ("amount", "DECIMAL(10, 2)", None),
    ]
    assert described["comment"] == "all orders"
    assert len(run(superset, described["selectStar"])) == len(ORDERS)
    for name in ("recent", "totals"):
        assert superset.get(f"{database}/table_metadata/?name={name}&schema=shop")["columns"]


def test_a_dataset_knows_types(superset: Any, dataset: int) -> None:
    columns = superset.get(f"dataset/{dataset}")["result"]["columns"]
    # 0: number, 1: text, 2: time.
    assert {c["column_name"]: c["type_generic"] for c in columns} == {
        "id": 0,
        "item": 1,
        "at": 2,
        "amount": 0,
    }


@pytest.mark.parametrize("grain", ["P1D", "P1W", "P1M", "P1Y"])
def test_a_chart_groups_by_time(grain: str, superset: Any, dataset: int) -> None:
    axis = {
        "timeGrain": grain,
        "columnType": "BASE_AXIS",
        "sqlExpression": "at",
        "label": "at",
        "expressionType": "SQL",
    }
    rows = chart(
        superset,
        dataset,
        columns=[axis, "item"],
        metrics=[total()],
        filters=[
            {"col": "at", "op": "TEMPORAL_RANGE", "val": "2026-01-10 : 2026-03-20"},
            {"col": "item", "op": "IN", "val": ["item 1", "item 2"]},
        ],
        extras={"time_grain_sqla": grain},
    )
    begins = {
        "P1D": lambda at: at,
        "P1W": lambda at: at - timedelta(days=at.weekday()),
        "P1M": lambda at: at.replace(day=1),
        "P1Y": lambda at: at.replace(month=1, day=1),
    }
    expected: dict[tuple[float, str], float] = defaultdict(float)
    for _, item, at, amount in ORDERS:
        if FIRST <= at < END and item != "item 0":
            begin = begins[grain](at).timestamp() * 1000
            expected[begin, item] += amount
    assert {(row["at"], row["item"]): row["total"] for row in rows} == dict(expected)


def test_a_chart_of_text_and_order(superset: Any, dataset: int) -> None:
    rows = chart(
        superset,
        dataset,
        columns=["item"],
        metrics=[total(), "count"],
        orderby=[["total", False]],
        filters=[{"col": "amount", "op": ">", "val": 10}],
    )
    found = [(item, amount) for _, item, _, amount in ORDERS if amount > 10]
    expected = [
        {
            "item": item,
            "total": sum(amount for name, amount in found if name == item),
            "count": sum(name == item for name, _ in found),
        }
        for item in ("item 0", "item 1", "item 2")
    ]
    assert rows == sorted(expected, key=lambda row: -float(row["total"]))


def test_sql_lab_runs_statements(superset: Any) -> None:
    rows = run(superset, "SELECT item, count(*) AS n FROM orders GROUP BY item ORDER BY item")
    assert rows == [{"item": f"item {i}", "n": 40} for i in range(3)]
    run(superset, "CREATE TABLE shop.few (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED)")
    run(superset, "INSERT INTO shop.few VALUES (1, 'x'), (2, 'y')")
    run(superset, "UPDATE shop.few SET b = 'z' WHERE a = 2")
    assert run(superset, "SELECT * FROM few ORDER BY a") == [{"a": 1, "b": "x"}, {"a": 2, "b": "z"}]
    assert run(superset, "SELECT b FROM few VERSION AS OF 1 WHERE a = 2") == [{"b": "y"}]
    run(superset, "REFRESH MATERIALIZED VIEW shop.totals")
    assert {row["total"] for row in run(superset, "SELECT total FROM totals")} == {
        sum(amount for _, name, _, amount in ORDERS if name == f"item {i}") for i in range(3)
    }
