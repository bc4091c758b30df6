"""Goal: every value that Spark's internal rows hold names the partition it was stored in."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from table_store.catalog.planner.read.internal_values import internal_value
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    STRING,
    DataType,
    DecimalType,
    PrimitiveType,
    TimeType,
)
from table_store.storage.kernel.values import Value

EPOCH_NTZ = dt.datetime.fromisoformat("1970-01-01")
NINES = "9" * 36 + ".99"


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        (None, STRING, None),
        ("", STRING, ""),
        ("-7", PrimitiveType("byte"), -7),
        ("true", BOOLEAN, True),
        ("false", BOOLEAN, False),
        ("1.50", DecimalType(9, 2), Decimal("1.50")),
        (NINES, DecimalType(38, 2), Decimal(NINES)),
        ("ff00", BINARY, b"\xff\x00"),
        ("1000", TimeType(6), dt.time(microsecond=1)),
        ("18262", PrimitiveType("date"), dt.date(2020, 1, 1)),
        ("2932897", PrimitiveType("date"), 2932897),
        ("-2147483648", PrimitiveType("date"), -2147483648),
        ("-1", PrimitiveType("timestamp_ntz"), EPOCH_NTZ - dt.timedelta(microseconds=1)),
        (
            "1577836800000000",
            PrimitiveType("timestamp"),
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        ),
        ("9223372036854775807", PrimitiveType("timestamp"), 9223372036854775807),
    ],
)
def test_internal_values(text: str | None, data_type: DataType, value: Value) -> None:
    assert internal_value(text, data_type) == value


def test_an_internal_nan() -> None:
    found = internal_value("nan", PrimitiveType("double"))
    assert isinstance(found, float)
    assert found != found
