"""Goal: types survive Spark's JSON and Arrow, and what cannot be stored is refused by name."""

import json

import pyarrow as pa
import pytest

from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.errors import UnsupportedTypeError
from table_store.storage.kernel.types import (
    ARROW_FIELD_ID,
    FIELD_ID_METADATA,
    VARIANT,
    ArrayType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
    arrow_field,
    is_orderable,
    parse_type,
    to_arrow,
)

ATOMIC = {
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal(12,2)": "DECIMAL(12,2)",
    "string": "STRING",
    "binary": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
    "time(6)": "TIME(6)",
    "variant": "VARIANT",
}
NESTED = {
    "type": "struct",
    "fields": [
        {
            "name": "a b",
            "type": {"type": "array", "elementType": "long", "containsNull": False},
            "nullable": False,
            "metadata": {"comment": "hm", "other": [1], FIELD_ID_METADATA: 7},
        },
        {
            "name": "m",
            "type": {
                "type": "map",
                "keyType": "string",
                "valueType": "decimal(38,18)",
                "valueContainsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}


@pytest.mark.parametrize(("text", "sql"), ATOMIC.items())
def test_atomic_types_round_trip(text: str, sql: str) -> None:
    data_type = parse_type(text)
    assert data_type.to_json() == text
    assert data_type.sql_name() == sql
    assert from_arrow(to_arrow(data_type)) == data_type
    assert is_orderable(data_type) == (text != "variant")


def test_nested_types_round_trip() -> None:
    data_type = parse_type(json.loads(json.dumps(NESTED)))
    assert data_type.to_json() == NESTED
    assert data_type.sql_name() == (
        "STRUCT<`a b`: ARRAY<BIGINT> NOT NULL, m: MAP<STRING, DECIMAL(38,18)>>"
    )
    assert not is_orderable(data_type)
    assert to_arrow(data_type).field("a b").metadata == {ARROW_FIELD_ID: b"7"}
    without_notes = StructType(
        (
            StructField(
                name="a b", type=ArrayType(parse_type("long"), False), nullable=False, id=7
            ),
            StructField(
                name="m", type=MapType(key=parse_type("string"), value=DecimalType(38, 18))
            ),
        )
    )
    assert from_arrow(to_arrow(data_type)) == without_notes


def test_columns_carry_their_field_id() -> None:
    assert arrow_field("c", TimeType(3), field_id=4).metadata == {ARROW_FIELD_ID: b"4"}
    assert arrow_field("c", VARIANT, nullable=False).nullable is False


@pytest.mark.parametrize(
    "item",
    [
        "void",
        "interval",
        "interval year to month",
        "interval day to second",
        "char(3)",
        "varchar(3)",
        "decimal(39,0)",
        "decimal(3,5)",
        "time(9)",
        "geometry(4326)",
        "string collate UTF8_LCASE",
        {"type": "udt"},
        {"type": "array", "elementType": "interval day", "containsNull": True},
        7,
    ],
)
def test_refuses_what_cannot_be_stored(item: str) -> None:
    with pytest.raises(UnsupportedTypeError, match="cannot be stored"):
        parse_type(item)


@pytest.mark.parametrize("arrow", [pa.null(), pa.duration("us"), pa.month_day_nano_interval()])
def test_refuses_arrow_types_without_logical_type(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedTypeError):
        from_arrow(arrow)


@pytest.mark.parametrize(
    ("arrow", "text"),
    [
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.timestamp("ns", "Europe/Berlin"), "timestamp"),
        (pa.timestamp("s"), "timestamp_ntz"),
        (pa.binary(4), "binary"),
        (pa.time64("ns"), "time(6)"),
    ],
)
def test_arrow_types_of_others_find_their_logical_type(arrow: pa.DataType, text: str) -> None:
    assert from_arrow(arrow).to_json() == text
