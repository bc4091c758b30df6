"""Goal: a filter selects the rows that it names, or is refused by a named error."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store import TableDescriptor
from table_store.client.errors import (
    ExpressionFailedError,
    InvalidExpressionError,
    UnsupportedExpressionError,
)
from table_store.client.table import Table
from table_store.client.value_literal import value_literal
from table_store.client.warehouse import Warehouse
from table_store.storage.kernel.types import INTEGER, StructField, StructType

CLOCKS = [dt.datetime.fromisoformat("2024-01-01"), dt.datetime.fromisoformat("2024-01-02")]
PAIR = StructType((StructField(name="x", type=INTEGER), StructField(name="y", type=INTEGER)))
PAIR_TYPE = pa.struct([("x", pa.int32()), ("y", pa.int32())])


@pytest.fixture
def numbers(warehouse: Warehouse) -> Table:
    columns = TableDescriptor.for_managed().column("id", "BIGINT").column("a", "BIGINT")
    table = warehouse.create("numbers", columns.column("s", PAIR).primary_key("a"))
    pairs = [{"x": 1, "y": 9}, {"x": 2, "y": 8}, {"x": 3, "y": 7}]
    table.append(pa.table({"id": [1, 2, 3], "a": [30, 20, 1], "s": pa.array(pairs, PAIR_TYPE)}))
    return table


@pytest.fixture
def clocks(warehouse: Warehouse) -> Table:
    columns = TableDescriptor.for_managed().column("id", "BIGINT").column("clock", "TIMESTAMP_NTZ")
    table = warehouse.create("clocks", columns)
    table.append(pa.table({"id": [1, 2], "clock": pa.array(CLOCKS, pa.timestamp("us"))}))
    return table


def ids(table: Table, where: Any) -> list[int]:
    return sorted(table.scan(["id"], where=where).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (pc.field(0) > 1, [2, 3]),
        (pc.field(1) > 1, [1, 2]),
        ((pc.field(1) > 1) & (pc.field("id") > 1), [2]),
        (pc.field((2, 1)) < 9, [2, 3]),
        (pc.field("s", "x") == 2, [2]),
        (pc.field(2, "x") == 2, [2]),
        (pc.field("id").cast("string") == "FieldPath(", []),
    ],
)
def test_a_position_is_one_in_the_schema(where: Any, found: list[int], numbers: Table) -> None:
    assert ids(numbers, where) == found
    assert numbers.scan(where=where).count() == len(found)
    assert sorted(numbers.scan(["s", "id"], where=where).to_arrow()["id"].to_pylist()) == found
    changes = numbers.changes(columns=["id"], where=where).to_arrow()
    assert sorted(changes["id"].to_pylist()) == found
    numbers.update({"id": 100}, where)
    assert ids(numbers, "id = 100") == [100] * len(found)
    numbers.delete(pc.field(0) == 100)
    assert numbers.scan().count() == 3 - len(found)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (pc.field("id"), "boolean.*int64"),
        (pc.field(7) == 1, "columns id, a, s"),
        (pc.field((2, 5)) == 1, "columns id, a, s"),
        (pc.field("s"), "boolean"),
    ],
)
def test_what_is_no_condition(where: Any, message: str, numbers: Table) -> None:
    for use in (partial(numbers.scan, None), numbers.delete, partial(numbers.update, {"id": 1})):
        with pytest.raises(InvalidExpressionError, match=message):
            use(where)


def test_what_arrow_cannot_compute(numbers: Table) -> None:
    with pytest.raises(ExpressionFailedError, match="divide by zero"):
        numbers.scan(where=pc.divide(pc.field("id"), pc.field("id") - 1) == 1).count()


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (pd.Timestamp("2024-01-01 00:00:00.000001"), [2]),
        (np.datetime64("2024-01-01", "ns"), [1, 2]),
        (np.datetime64("2024-01-01T00:00:00.000001", "us"), [2]),
        (pd.Series([pd.Timestamp("2024-01-02")]).to_numpy()[0], [2]),
        (pa.scalar(CLOCKS[1], pa.timestamp("ns")), [2]),
    ],
)
def test_moments_are_exact(value: object, found: list[int], clocks: Table) -> None:
    assert ids(clocks, [("clock", ">=", value)]) == found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pd.Timestamp("2024-01-01 00:00:00.000000001"), "nanoseconds"),
        (np.datetime64("2024-01-01T00:00:00.000000001", "ns"), "nanoseconds"),
        (np.datetime64("20000-01-01T00", "h"), "between 1 and 9999"),
        (pa.scalar(1, pa.timestamp("ns")), "no exact form"),
        (pa.scalar(2**62, pa.timestamp("us")), "no exact form"),
        (pd.NaT, "IS NULL"),
        (pd.NA, "IS NULL"),
        (np.datetime64("NaT"), "IS NULL"),
        (pa.scalar(None, pa.timestamp("us")), "IS NULL"),
        (np.timedelta64(1, "ns"), "timedelta64"),
        (np.timedelta64(1, "D"), "timedelta64"),
        (pd.Timedelta(1), "Timedelta"),
        (np.longdouble(1), "no value of a column"),
        (np.array([1]), "ndarray"),
        (pd.Series([1]), "Series"),
        (dt.time(1), "time"),
        (Decimal("NaN"), "Decimal"),
        (1j, "complex"),
        ("\ud800", "not UTF-8"),
        (10**50, "digits"),
        (dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), "no exact form"),
    ],
)
def test_values_without_an_exact_literal(value: object, message: str, clocks: Table) -> None:
    for column in ("clock", "id"):
        with pytest.raises((InvalidExpressionError, UnsupportedExpressionError), match=message):
            clocks.scan(where=[(column, ">", value)])
    if "IS NULL" not in message:
        with pytest.raises((InvalidExpressionError, UnsupportedExpressionError), match=message):
            clocks.update({"clock": value})


def test_missing_values_of_pandas_are_null(clocks: Table) -> None:
    for value in (pd.NaT, pd.NA, np.datetime64("NaT"), None):
        clocks.update({"clock": value}, "id = 1")
        assert ids(clocks, "clock IS NULL") == [1]


def test_long_numbers_are_exact(warehouse: Warehouse) -> None:
    columns = TableDescriptor.for_managed().column("m", "DECIMAL(38,0)")
    table = warehouse.create("long", columns)
    long = 12345678901234567890123456789012345678
    table.append(pa.table({"m": pa.array([Decimal(-long), Decimal(long)])}))
    for value in (-long, Decimal(-long)):
        assert table.scan(where=[("m", "=", value)]).count() == 1


def test_any_number_of_terms(clocks: Table) -> None:
    assert ids(clocks, [("id", "!=", number) for number in range(2, 9000)]) == [1]
    assert ids(clocks, [[("id", "=", number)] for number in range(2, 1000)]) == [2]
    assert ids(clocks, " AND ".join(f"id <> {number}" for number in range(2, 1000))) == [1]


@pytest.mark.parametrize(
    "where",
    [
        "(" * 300 + "id = 1" + ")" * 300,
        "NOT " * 3000 + "id = 1",
        "id" + " + 1" * 3000 + " > 0",
        "CASE WHEN id = 1 THEN " * 150 + "id = 1" + " END" * 150,
        "coalesce(NULL, " * 100 + "id" + ")" * 100 + " = 1",
    ],
)
def test_what_is_nested_too_deeply(where: str, clocks: Table) -> None:
    with pytest.raises(UnsupportedExpressionError, match="nested too deeply"):
        clocks.scan(where=where)


@pytest.mark.parametrize(
    "where",
    [
        "id" + " + 1" * 119 + " > 0",
        "NOT " * 100 + "id > 0",
        "coalesce(NULL, " * 20 + "id" + ")" * 20 + " > 0",
    ],
)
def test_what_is_nested_a_little(where: str, clocks: Table) -> None:
    assert ids(clocks, where) == [1, 2]


@pytest.mark.parametrize("text", ["1.000000", "100", "-3.0", "0.50", "1E+2", "9" * 30 + ".00"])
def test_a_decimal_is_a_literal_with_any_zeros_at_its_end(text: str) -> None:
    literal = value_literal(Decimal(text), shown=text)
    assert literal.value == Decimal(text)
