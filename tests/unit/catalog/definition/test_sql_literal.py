"""Goal: the literals that Spark writes become exact values, and nothing else passes for one.

Strings mean what they mean to Spark 4.2's parser, from which their values were taken.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.definition.sql_literal import parse_literal, string_literal, string_value
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    TimeType,
)
from table_store.storage.kernel.values import Value


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        ("5", INTEGER, 5),
        ("-5L", LONG, -5),
        ("5Y", BYTE, 5),
        ("CAST(5 AS TINYINT)", BYTE, 5),
        ("5", LONG, 5),
        ("1.5D", DOUBLE, 1.5),
        ("1.0E10D", DOUBLE, 1e10),
        ("CAST(1.5 AS FLOAT)", FLOAT, 1.5),
        ("CAST(0.1 AS FLOAT)", FLOAT, 0.10000000149011612),
        ("CAST('-Infinity' AS DOUBLE)", DOUBLE, -math.inf),
        ("1.5BD", DecimalType(10, 2), Decimal("1.50")),
        ("7", DecimalType(10, 2), Decimal("7.00")),
        (f"-{'9' * 38}BD", DecimalType(38, 0), Decimal(f"-{'9' * 38}")),
        ("TRUE", BOOLEAN, True),
        ("'it\\'s'", STRING, "it's"),
        ("'it''s'", STRING, "it's"),
        ("'a\\\\b'", STRING, "a\\b"),
        ("'a\\nb'", STRING, "a\nb"),
        ("'\\u00e9'", STRING, "é"),
        ("CAST('x' AS STRING)", STRING, "x"),
        ("X'00FF'", BINARY, b"\x00\xff"),
        ("DATE '2020-02-29'", DATE, dt.date(2020, 2, 29)),
        (
            "TIMESTAMP_NTZ '2020-01-01 01:02:03.5'",
            TIMESTAMP_NTZ,
            dt.datetime.fromisoformat("2020-01-01 01:02:03.500"),
        ),
        ("DATE '+10000-01-01'", DATE, 2_932_897),
        ("DATE '-0001-12-31'", DATE, -719_529),
        ("TIMESTAMP '9999-12-31 23:59:59-05:00'", TIMESTAMP, 253_402_318_799_000_000),
        ("TIMESTAMP_NTZ '+294247-01-10 04:00:54.775807'", TIMESTAMP_NTZ, (1 << 63) - 1),
        ("TIME '12:30:00'", TimeType(6), dt.time(12, 30)),
        ("NULL", INTEGER, None),
        ("CAST(NULL AS DECIMAL(10,2))", DecimalType(10, 2), None),
    ],
)
def test_literals(text: str, data_type: DataType, value: Value) -> None:
    assert parse_literal(text, data_type, column="c") == value


def test_not_a_number() -> None:
    value = parse_literal("CAST('NaN' AS DOUBLE)", DOUBLE, column="c")
    assert isinstance(value, float)
    assert math.isnan(value)


def test_timestamps_are_of_the_session_unless_they_say() -> None:
    berlin = parse_literal(
        "TIMESTAMP '2020-07-01 12:00:00'", TIMESTAMP, column="c", time_zone="Europe/Berlin"
    )
    assert berlin == dt.datetime(2020, 7, 1, 10, tzinfo=dt.UTC)
    zoned = parse_literal("TIMESTAMP '2020-07-01 12:00:00+00:00'", TIMESTAMP, column="c")
    assert zoned == dt.datetime(2020, 7, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("current_date()", DATE),
        ("1 + 1", INTEGER),
        ("'x", STRING),
        ("'x' || 'y'", STRING),
        ("5", STRING),
        ("'x'", INTEGER),
        ("1.5", INTEGER),
        ("DATE 'yesterday'", DATE),
        ("X'0'", BINARY),
        ("ARRAY(1, 2)", ArrayType(INTEGER)),
        ("", INTEGER),
        ("5", BOOLEAN),
    ],
)
def test_what_is_no_literal_of_the_type_is_refused(text: str, data_type: DataType) -> None:
    with pytest.raises(InvalidSchemaError, match="'c'"):
        parse_literal(text, data_type, column="c")


@given(st.text())
def test_any_string_survives_spark_s_quoting(text: str) -> None:
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    assert parse_literal(quoted, STRING, column="c") == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_number_survives(number: int) -> None:
    assert parse_literal(f"{number}L", LONG, column="c") == number


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'a\'b\\c\nd\te\Zg'", "a'b\\c\nd\te\x1ag"),
        (r"'\%h\_i'", r"\%h\_i"),
        (r"'\u0041\U0001F600\101j\xk\"'", 'A😀Ajxk"'),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\400\377\12\u00'", "40037712u00"),
        (r"'a\0f'", "a\0f"),
        ("'a''b\"\"'", 'a\'b""'),
        ('"a""b\'\'"', "a\"b''"),
        (r"r'a\n'", r"a\n"),
        (r'R"a\n"', r"a\n"),
        ("$$a'b$$", "a'b"),
        ("$x$a$y$b$x$", "a$y$b"),
        ("'\\\n'", "\n"),
    ],
)
def test_string_literals_have_sparks_value(literal: str, value: str) -> None:
    assert string_value(literal) == value


def test_written_literals_hold_no_variable_reference() -> None:
    """Spark's parser would put the variable's text into the statement, quotes and all."""
    assert "${" not in string_literal("${x} $${y}")


@pytest.mark.parametrize(
    "text", ["'", "\\", "\\'", "\n\r\t\0" + "12", "😀", "${x}", "\\%", "--", "/*"]
)
def test_written_literals_are_read_back(text: str) -> None:
    assert string_value(string_literal(text)) == text
