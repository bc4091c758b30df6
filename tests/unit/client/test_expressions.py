"""Goal: an expression has Spark's result, or is refused by name.

The results stand here; tests/integration/test_python_rules.py asks Spark for them.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from math import nan
from typing import Final

import pyarrow as pa
import pytest

from table_store.client.errors import (
    ExpressionFailedError,
    InvalidExpressionError,
    UnsupportedExpressionError,
)
from table_store.client.expressions.evaluation import evaluated
from table_store.client.expressions.expression import Column
from table_store.client.expressions.pushdown import divided
from table_store.client.expressions.sql_reader import Names, as_condition
from table_store.client.expressions.sql_text import read_expression
from table_store.storage.kernel.types import STRING, parse_type, to_arrow
from tests.fixtures.python_expressions import COLUMNS, RESULTS

_TYPES: Final = {name: parse_type(kind) for name, kind, _ in COLUMNS}
NAMES: Final = Names(
    {name.lower(): Column(name, kind) for name, kind in _TYPES.items()}
    | {"c": Column("c", STRING, 4)},
    {"collated": "column 'collated' has a collation"},
)
ROWS: Final = pa.RecordBatch.from_arrays(
    [pa.array(values, to_arrow(_TYPES[name])) for name, _, values in COLUMNS],
    names=[name for name, _, _ in COLUMNS],
)


def values_of(sql: str) -> list[object]:
    read = read_expression(sql, NAMES)
    found: list[object] = evaluated(read, ROWS, sql=sql).to_pylist()
    return found


@pytest.mark.parametrize(("sql", "results"), RESULTS.items())
def test_results(sql: str, results: list[object]) -> None:
    assert repr(values_of(sql)) == repr(results)


@pytest.mark.parametrize(
    "sql",
    [
        "rand()",
        "f(i)",
        "i & 1",
        "s RLIKE 'x'",
        "s LIKE 'a#%' ESCAPE '#'",
        "s LIKE 'a\\_'",
        "try_cast(s AS INT)",
        "CAST(s AS INT)",
        "i = '5'",
        "s = 5",
        "d > t",
        "t > '2020-01-01'",
        "year(t)",
        "dec / 2",
        "x + dec",
        "collated = 'a'",
        "i IN (SELECT 1)",
        "s.x = 1",
        "'it''s'",
        "sum(i)",
        "d + INTERVAL 1 DAY",
        "i BETWEEN SYMMETRIC 1 AND 2",
        "substring(s, i, 1)",
        "substring(s, 1.5, 1)",
        "substring(s, TRUE, 1)",
        "left(s, 5L)",
        "c = trim('ab ')",
        "c IN ('a', concat('a', 'b'))",
        "c IN ('a', s)",
        "c IN ('a', NULL)",
        "s IN ('a', c)",
        "'ab' IN (c)",
        "nullif(c, 'a')",
        "nullif('a', c)",
        "c BETWEEN 'a' AND 'b'",
        "b = i IS NULL",
        "b = i < l",
        "1e400 > x",
        "b <=> i IN (1, 5)",
        "b <=> TRUE >= b",
        "-CAST(dec AS DECIMAL(38,10))",
        "abs(CAST(dec AS DECIMAL(35,2)))",
        "f4 + 1",
    ],
)
def test_what_is_refused(sql: str) -> None:
    with pytest.raises(UnsupportedExpressionError, match="without Spark"):
        read_expression(sql, NAMES)


@pytest.mark.parametrize("sql", ["i >", "i = 1; DROP TABLE t", "nothing = 1", "", "SELECT 1"])
def test_what_is_no_expression(sql: str) -> None:
    with pytest.raises((InvalidExpressionError, UnsupportedExpressionError)):
        read_expression(sql, NAMES)


def test_a_condition_is_boolean() -> None:
    with pytest.raises(InvalidExpressionError, match="BOOLEAN"):
        as_condition("i + 1", read_expression("i + 1", NAMES))


@pytest.mark.parametrize(
    "sql",
    ["i + 2147483647", "1 / (i - 1)", "i % (i - 1)", "upper('ß')", "CAST(l + 300 AS TINYINT)"],
)
def test_what_has_no_result(sql: str) -> None:
    with pytest.raises(ExpressionFailedError):
        values_of(sql)


def test_a_zone_makes_timestamps_known() -> None:
    berlin = Names(NAMES.columns, {}, "Europe/Berlin")
    late = "TIMESTAMP '2020-06-30 23:30:00'"
    rows = pa.RecordBatch.from_pydict({"": [None]})

    def value(sql: str) -> object:
        return evaluated(read_expression(sql, berlin), rows, sql=sql)[0].as_py()

    assert value(late) == dt.datetime(2020, 6, 30, 21, 30, tzinfo=dt.UTC)
    assert value(f"month({late})") == 6
    assert value("CAST(TIMESTAMP '1969-12-31 23:30:00Z' AS DATE)") == dt.date(1970, 1, 1)


def test_many_terms_make_no_deep_tree() -> None:
    sql = " OR ".join(f"i = {number}" for number in range(400))
    assert values_of(sql)[:2] == [True, True]


@pytest.mark.parametrize(
    ("sql", "pushed", "rest"),
    [
        ("i = 1 AND i + 1 = 2", True, True),
        ("i = 1 OR s < 'b'", True, False),
        ("NOT (i IN (1, 2)) AND s LIKE 'a%'", True, True),
        ("dec > 1", True, False),  # the literal is a value of the column's type
        ("i > 1.5", False, True),
        ("f4 > 1", False, True),
        ("x >= 1 AND b", True, False),
        ("1 < i AND s IS NOT NULL AND startswith(s, 'a')", True, False),
    ],
)
def test_what_storage_evaluates(sql: str, pushed: bool, rest: bool) -> None:
    parts = divided(as_condition(sql, read_expression(sql, NAMES)))
    assert (parts.pushed is not None, parts.rest is not None) == (pushed, rest)


def test_no_result_depends_on_what_python_prints() -> None:
    """The results above are compared as texts, so that NaN equals itself."""
    assert repr([nan, Decimal("1.0")]) == "[nan, Decimal('1.0')]"


@pytest.mark.parametrize(
    ("moment", "date"),
    [
        ("2040-07-01 03:59:59Z", dt.date(2040, 6, 30)),
        ("2040-07-01 04:00:00Z", dt.date(2040, 7, 1)),
        ("9000-07-01 04:00:00Z", dt.date(9000, 7, 1)),
    ],
)
def test_dates_in_a_zone_in_every_year(moment: str, date: dt.date) -> None:
    new_york = Names(NAMES.columns, {}, "America/New_York")
    rows = pa.RecordBatch.from_pydict({"t": pa.array([dt.datetime.fromisoformat(moment)] * 2)})
    for sql in (f"CAST(TIMESTAMP '{moment}' AS DATE)", "CAST(t AS DATE)"):
        found = evaluated(read_expression(sql, new_york), rows, sql=sql)
        assert found.to_pylist() == [date] * 2
    for part in ("year", "month", "day"):
        sql = f"{part}(t)"
        found = evaluated(read_expression(sql, new_york), rows, sql=sql)
        assert found[0].as_py() == getattr(date, part)


def test_the_ends_of_time_are_refused() -> None:
    berlin = Names({}, {}, "Europe/Berlin")
    with pytest.raises(UnsupportedExpressionError, match="no date or time"):
        read_expression("TIMESTAMP '0001-01-01 00:00:00'", berlin)


def test_a_cast_is_no_char() -> None:
    """Source of the results: Spark, which pads a CHAR column in comparisons and no cast of it."""
    rows = pa.RecordBatch.from_pydict({"c": ["ab  ", "abcd"]})
    for sql, results in (
        ("c = 'ab'", [True, False]),
        ("CAST(c AS STRING) = 'ab'", [False, False]),
        ("CAST(c AS STRING) IN ('ab')", [False, False]),
        ("CAST(c AS STRING) = 'ab  '", [True, False]),
    ):
        assert evaluated(read_expression(sql, NAMES), rows, sql=sql).to_pylist() == results
