"""Goal: conditions filter as Spark SQL does, where Arrow alone would not: NaN, NULL, types."""

import datetime as dt
import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    predicate_from_json,
)

NAN = float("nan")
ROWS = pa.table(
    {
        "i": pa.array([1, 2, None, 4, 5], pa.int32()),
        "tiny": pa.array([1, 2, None, 4, 5], pa.int8()),
        "f": pa.array([1.0, -0.0, None, NAN, 5.0]),
        "s": pa.array(["ab", "a", None, "b", ""]),
        "d": pa.array([dt.date(2020, 1, 1), None, dt.date(1999, 1, 1), None, None]),
        "n": pa.array([Decimal("1.50"), Decimal("2.00"), None, None, None], pa.decimal128(12, 2)),
        "t": pa.array([0, 1, 2, None, 2**62], pa.timestamp("us", "UTC")),
    }
)
POSITIONED = ROWS.append_column("position", pa.array(range(5)))
TYPES = {field.name: field.type for field in ROWS.schema}


def kept(predicate: Predicate) -> list[int]:
    found: list[int] = POSITIONED.filter(predicate.to_expression(TYPES))["position"].to_pylist()
    return found


@pytest.mark.parametrize(
    ("predicate", "positions"),
    [
        (Comparison("i", "=", 2), [1]),
        (Comparison("i", "!=", 2), [0, 3, 4]),
        (Comparison("i", "<=>", 2), [1]),
        (Not(Comparison("i", "<=>", 2)), [0, 2, 3, 4]),
        (Comparison("tiny", "<", 1000), [0, 1, 3, 4]),
        (Comparison("f", ">", 1.0), [3, 4]),
        (Comparison("f", ">", 1), [3, 4]),
        (Comparison("f", "<", 2.0), [0, 1]),
        (Not(Comparison("f", "<", 2.0)), [3, 4]),
        (Comparison("f", "=", 0.0), [1]),
        (Comparison("f", "=", NAN), [3]),
        (Comparison("f", "<=>", NAN), [3]),
        (Comparison("f", "!=", NAN), [0, 1, 4]),
        (Comparison("f", "<", NAN), [0, 1, 4]),
        (Comparison("f", "<=", NAN), [0, 1, 3, 4]),
        (Comparison("f", ">", NAN), []),
        (Not(Comparison("f", ">", NAN)), [0, 1, 3, 4]),
        (Comparison("f", ">=", NAN), [3]),
        (In("i", (1, 5, 77)), [0, 4]),
        (Not(In("i", (1, 5))), [1, 3]),
        (In("i", ()), []),
        (Not(In("i", ())), [0, 1, 2, 3, 4]),
        (In("f", (NAN, 1.0)), [0, 3]),
        (In("s", ("a", "b")), [1, 3]),
        (In("d", (dt.date(2020, 1, 1),)), [0]),
        (In("n", (Decimal("1.50"), Decimal("12.00"), Decimal("2.0"))), [0, 1]),
        (In("n", (Decimal("1.505"), 2)), [1]),
        (StartsWith("s", "a"), [0, 1]),
        (Not(StartsWith("s", "a")), [3, 4]),
        (IsNull("s"), [2]),
        (IsNotNull("n"), [0, 1]),
        (Comparison("d", ">=", dt.date(2000, 1, 1)), [0]),
        (Comparison("d", "<", 3_000_000), [0, 2]),
        (Comparison("n", "<", Decimal("1.555")), [0]),
        (Comparison("t", ">", dt.datetime(1970, 1, 1, tzinfo=dt.UTC)), [1, 2, 4]),
        (Comparison("t", "=", 2**62), [4]),
        (In("t", (1, 2**62)), [1, 4]),
        (And(Comparison("i", ">", 1), IsNull("n")), [3, 4]),
        (Or(Comparison("i", "=", 1), IsNull("i")), [0, 2]),
        (Not(Or(Comparison("i", "=", 1), Comparison("f", "=", 5.0))), [1, 3]),
    ],
)
def test_keeps_the_rows_spark_keeps(predicate: Predicate, positions: list[int]) -> None:
    assert kept(predicate) == positions
    assert repr(predicate_from_json(json.loads(json.dumps(predicate.to_json())))) == repr(predicate)
    assert repr(pickle.loads(pickle.dumps(predicate))) == repr(predicate)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zero_is_one_value(kind: pa.DataType, zero: float) -> None:
    rows = pa.table({"z": pa.array([-0.0, 1.0, 0.0, 7.0], kind)})
    for predicate in (In("z", (zero, 7.0)), Or(Comparison("z", "=", zero), In("z", (7.0,)))):
        assert rows.filter(predicate.to_expression())["z"].to_pylist() == [0.0, 0.0, 7.0]


def test_names_its_columns() -> None:
    predicate = Not(Or(And(IsNull("a"), In("b", (1,))), StartsWith("c", "x")))
    assert predicate.columns() == {"a", "b", "c"}


@pytest.mark.parametrize("item", [None, {}, {"op": "xor"}, {"op": "~", "column": "a", "value": 1}])
def test_refuses_what_is_no_condition(item: object) -> None:
    with pytest.raises(TableStoreError):
        predicate_from_json(item)


def test_refuses_null_literals() -> None:
    with pytest.raises(TableStoreError):
        Comparison("a", "=", None)
    with pytest.raises(TableStoreError):
        In("a", (1, None))
