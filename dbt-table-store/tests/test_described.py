"""Goal: what DESCRIBE tells is read rightly, and only real differences become statements."""

from __future__ import annotations

import pytest
from dbt.adapters.tablestore.described_view import DescribedView
from table_store_sqlalchemy.described_table import DescribedTable, sql_type

_ROWS = [
    ("id", "bigint", "the key"),
    ("day", "date", None),
    ("# Partition Information", "", ""),
    ("# col_name", "data_type", "comment"),
    ("day", "date", None),
    ("", "", ""),
    ("# Metadata Columns", "", ""),
    ("_change_type", "string", ""),
    ("", "", ""),
    ("# Detailed Table Information", "", ""),
    ("Comment", "it's", ""),
    ("", "", ""),
    ("# Constraints", "", ""),
    ("pk", "PRIMARY KEY (`id`, day) NOT ENFORCED NORELY", ""),
    ("query", "select 1\n", "query whose result the rows are"),
    ("refresh policy", "INCREMENTAL", ""),
    ("schedule", "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 5 MINUTES", ""),
    ("bucket", "2", "buckets of a partition"),
]
_VIEW = DescribedView.of(_ROWS)
_TRIGGER = "trigger on update at most every interval '5' minute"


def test_view() -> None:
    assert _VIEW.columns == (("id", "bigint"), ("day", "date"))
    assert (_VIEW.primary_key, _VIEW.partition_by) == (("id", "day"), ("day",))


@pytest.mark.parametrize(
    ("query", "policy", "schedule", "options", "clauses"),
    [
        (" select 1 ", "incremental", _TRIGGER, {}, []),
        ("select 2", "incremental", _TRIGGER, {}, ["as select 2"]),
        ("select 1", "auto", _TRIGGER, {}, ["set refresh policy auto"]),
        ("select 1", "incremental", "", {}, ["drop schedule"]),
        (
            "select 1",
            "incremental",
            "schedule every 1 hour",
            {},
            ["alter schedule every 1 hour"],
        ),
        ("select 1", "incremental", _TRIGGER, {"k": "v"}, ["set tblproperties ('k' = 'v')"]),
    ],
)
def test_alterations(
    query: str, policy: str, schedule: str, options: dict[str, str], clauses: list[str]
) -> None:
    assert _VIEW.alterations(query, policy, schedule, options) == clauses


def test_what_no_alter_can_change() -> None:
    key, days = ("ID", "day"), ("day",)
    assert not _VIEW.must_be_replaced(None, key, days)
    assert not _VIEW.must_be_replaced([("ID", "BIGINT"), ("day", "date")], key, days)
    assert _VIEW.must_be_replaced([("id", "int"), ("day", "date")], key, days)
    assert _VIEW.must_be_replaced(None, ("id",), days)
    assert _VIEW.must_be_replaced(None, key, ())


def test_table() -> None:
    created = (
        "CREATE TABLE t (\n  id BIGINT NOT NULL,\n  `a``b` INT NOT NULL,\n  day DATE)\nCOMMENT"
    )
    table = DescribedTable.of(_ROWS, created)
    assert table.not_null == {"id", "a`b"}
    assert (table.primary_key, table.key_name) == (("id", "day"), "pk")
    assert (table.partition_by, table.comment, table.query) == (("day",), "it's", "select 1")
    assert [column["comment"] for column in table.reflected_columns()] == ["the key", None]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("decimal(12,2)", "DECIMAL(12, 2)"),
        ("varchar(7)", "VARCHAR(7)"),
        ("string collate UTF8_LCASE", "VARCHAR"),
        ("array<struct<a: int>>", "VARCHAR"),
        ("bigint", "BIGINT"),
    ],
)
def test_types(kind: str, shown: str) -> None:
    assert str(sql_type(kind)) == shown
