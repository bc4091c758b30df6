"""Conditions as the bridge sends them, and what storage makes of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import pytest

from table_store.catalog.planner.protocol.spark_values import SparkExpression
from table_store.catalog.planner.read.spark_predicate import exact, necessary
from table_store.storage.kernel.predicate import In
from table_store.storage.kernel.values import Value


def one_of(values: Sequence[str | None], data_type: str) -> SparkExpression:
    """A condition that column `c` is one of some values of a type."""
    return SparkExpression(
        {"name": "IN", "children": [{"column": ["c"]}], "values": values, "type": f'"{data_type}"'}
    )


@pytest.mark.parametrize(
    ("texts", "data_type", "values"),
    [
        (["1", "-2"], "long", (1, -2)),
        (["a", "null"], "string", ("a", "null")),
        (["0.1", "0.5"], "float", (0.10000000149011612, 0.5)),
        (["0.1", "0.5"], "double", (0.1, 0.5)),
        (["0", "-1"], "date", (datetime.date(1970, 1, 1), datetime.date(1969, 12, 31))),
    ],
)
def test_values_of_one_type(texts: list[str], data_type: str, values: tuple[Value, ...]) -> None:
    condition = one_of(texts, data_type)
    assert exact([condition]) == necessary([condition]) == In("c", values)


@pytest.mark.parametrize(("texts", "data_type"), [(["1", None], "long"), (["a"], "binary")])
def test_what_storage_cannot_compare_is_no_condition(
    texts: list[str | None], data_type: str
) -> None:
    """Of a NULL among the values it is unknown whether anything is it."""
    condition = one_of(texts, data_type)
    assert exact([condition]) is None
    assert necessary([condition]) is None
