"""Goal: a row is in the bucket that Spark computes, for every type.

The numbers are answers of Spark 4.2.0 to `SELECT hash(CAST(… AS …))`.
"""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.model.bucket import bucket_columns, bucket_ids, spark_hash
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.kernel.types import Json, parse_type, to_arrow

NAN = float("nan")
MOMENT = dt.datetime.fromisoformat("2026-11-21T05:34:50.123456")
SPARK: dict[str, list[tuple[Any, int]]] = {
    "boolean": [(True, -559580957), (False, 933211791)],
    "byte": [(1, -559580957), (-128, 1110053733), (127, 1135925485)],
    "short": [(1, -559580957), (-32768, -1871935946)],
    "integer": [(0, 933211791), (42, 29417773), (-1, -1604776387), (-(2**31), 723455942)],
    "long": [
        (0, -1670924195),
        (42, 1316951768),
        (-1, -939490007),
        (2**63 - 1, -1604625029),
        (-(2**63), -853646085),
        (1234567890123, 1304145252),
    ],
    "float": [
        (0.0, 933211791),
        (-0.0, 933211791),
        (1.5, -221251528),
        (NAN, -349261430),
        (float("-inf"), 427440766),
    ],
    "double": [
        (0.0, -1670924195),
        (-0.0, -1670924195),
        (1.5, 1290763749),
        (NAN, -1281358385),
        (float("inf"), 833680482),
        (-1e300, 1411651062),
    ],
    "decimal(12,2)": [
        (Decimal("0.00"), -1670924195),
        (Decimal("1.50"), -2056712946),
        (Decimal("-123456789.99"), -2051319975),
    ],
    "decimal(18,0)": [(Decimal(999999999999999999), -1795328666)],
    "decimal(38,10)": [
        (Decimal(0), -783713497),
        (Decimal("1.5"), -994477761),
        (Decimal("-1.5"), 1831729871),
        (Decimal(127), 514718374),
        (Decimal("12345678901234567890.0123456789"), -579698952),
        (Decimal("-12345678901234567890.0123456789"), 421345392),
        (Decimal("9999999999999999999999999999.9999999999"), -817514053),
    ],
    "string": [
        ("", 142593372),
        ("a", 1485273170),
        ("ab", -97053317),
        ("abc", 1322437556),
        ("abcd", -396302900),
        ("abcde", 814637928),
        ("häß€😀", -2064325842),
        ("the quick brown fox", -1488163727),
    ],
    "binary": [
        (b"", 142593372),
        (b"\0", -783713497),
        (b"\xff\x80", -577813652),
        (b"\1\2\3\4\5\xff\xfe", 2068189),
    ],
    "date": [
        (dt.date(1970, 1, 1), 933211791),
        (dt.date(2020, 8, 8), -578698291),
        (dt.date(1, 1, 1), -1147107224),
    ],
    "timestamp": [(MOMENT, -1818377722), (dt.datetime.fromisoformat("1900-01-01"), 785859604)],
    "timestamp_ntz": [(MOMENT, -1818377722)],
}
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])
NESTED: list[tuple[pa.DataType, Any, int]] = [
    (pa.list_(pa.int32()), [], 42),
    (pa.list_(pa.int32()), [1, 2, 3], -912918097),
    (pa.list_(pa.int32()), [1, None, 3], 1066699649),
    (pa.list_(pa.int32()), [None], 42),
    (STRUCT, {"a": 1, "b": "x"}, -1305545736),
    (STRUCT, {"a": None, "b": "x"}, -80340190),
    (STRUCT, None, 42),
    (
        pa.list_(pa.struct([("a", pa.list_(pa.string()))])),
        [{"a": ["x", "yy"]}, None, {"a": None}],
        164518825,
    ),
]


def signed(column: pa.Array) -> list[int]:
    hashes: list[int] = spark_hash([column], len(column)).view(np.int32).tolist()
    return hashes


@pytest.mark.parametrize("name", SPARK)
def test_hash_is_sparks(name: str) -> None:
    arrow = to_arrow(parse_type(name))
    values = [None, *(value for value, _ in SPARK[name]), None]
    expected = [42, *(number for _, number in SPARK[name]), 42]
    column = pa.array(values, arrow)
    assert signed(column) == expected
    assert signed(column.slice(1)) == expected[1:]
    assert signed(column.slice(0, 0)) == []


@pytest.mark.parametrize(("arrow", "value", "expected"), NESTED)
def test_hash_of_nested_values_is_sparks(arrow: pa.DataType, value: object, expected: int) -> None:
    column = pa.array([value, None, value], arrow)
    assert signed(column) == [expected, 42, expected]
    assert signed(column.slice(2)) == [expected]


# Of `hash(substring(repeat('aä€😀b', 60), 1, n))`, n from 0.
OF_LENGTH = (
    142593372, 1485273170, 1386511200, 610067940, -1950782937, -1179497256, 1764506821,
    1071827572, 510577961, -2134726451, -975867115, 2095302361, -1718699200, -66058559,
    1879988228, -1605772403, -1246475249, -658678587, -933406871, 599197002, -680589424,
    -1974434453, -863461201, -158305719, 1636643713, -850148694, -2070918891, -1687034595,
    -921506237, -1310151909, 64427928, 1142275952, -1829943971, 1307051168, 2131889076,
    -66847441, 1283277139, 550298767, -210515231, -114663484, 401093664, 1475290297,
    -618145462, 796005457, 1444018598, -2001878975, 2096402214, -659743542, -1189462951,
)  # fmt: skip


def test_texts_of_any_length_have_sparks_hash_together_and_alone() -> None:
    texts = [("aä€😀b" * 60)[:n] for n in range(len(OF_LENGTH))]
    assert signed(pa.array(texts)) == [*OF_LENGTH]
    assert [signed(pa.array([text]))[0] for text in texts] == [*OF_LENGTH]
    both = pa.array([*reversed(texts), None, *texts])
    assert signed(both) == [*reversed(OF_LENGTH), 42, *OF_LENGTH]


LONG_TEXTS = {"0123456789abcdef" * 25_000: 1775034382, "ä€😀" * 40_000 + "xyz": 1941164317}
LONG_LISTS: list[tuple[pa.DataType, list[Any], int]] = [
    (pa.int64(), list(range(1, 20_001)), -446940811),
    (
        pa.string(),
        [None if x % 7 == 0 else str(x) * (x % 5) for x in range(1, 5001)],
        -1737873709,
    ),
    (
        pa.list_(pa.float32()),
        [[x * y for y in (range(1, x % 9 + 1) if x % 9 else (1, 0))] for x in range(1, 301)],
        -674402694,
    ),
    (
        STRUCT,
        [{"a": x, "b": "z" * (x % 11)} for x in range(1, 301)],
        1222201150,
    ),
    (pa.decimal128(38, 6), [Decimal(-12345678901234567 * x) for x in range(1, 301)], -1506380242),
]


def test_long_texts_among_short_ones_have_sparks_hash() -> None:
    short, of_short = ["abc", None, "a"], [1322437556, 42, 1485273170]
    for filler in (0, 1, 50):
        column = pa.array([*short * filler, *LONG_TEXTS, *short])
        assert signed(column) == [*of_short * filler, *LONG_TEXTS.values(), *of_short]


@pytest.mark.parametrize(("element", "values", "expected"), LONG_LISTS)
def test_long_lists_among_short_ones_have_sparks_hash(
    element: pa.DataType, values: list[Any], expected: int
) -> None:
    for filler in (0, 1, 50):
        column = pa.array([*[[None]] * filler, values, None, []], pa.list_(element))
        assert signed(column) == [*[42] * filler, expected, 42, 42]


def test_nothing_is_hashed_for_one_bucket() -> None:
    unhashable = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32()))
    with pytest.raises(pa.ArrowNotImplementedError):
        bucket_ids(pa.table({"m": unhashable}), ["m"], 2)
    assert bucket_ids(pa.table({"m": unhashable}), ["m"], 1).tolist() == [0, 0]


def test_columns_are_chained_and_nulls_pass_the_hash_on() -> None:
    columns = [
        pa.chunked_array([pa.array([7], pa.int64())]),
        pa.array(["abc"]),
        pa.array([None], pa.int32()),
        pa.array([dt.date(2020, 1, 1)]),
    ]
    assert spark_hash(columns, 1).view(np.int32).tolist() == [-1531802831]


def test_buckets_are_never_negative() -> None:
    rows = pa.table({"k": pa.chunked_array([[0, 42], [-1]], pa.int64())})
    expected = [number % 3 for _, number in SPARK["long"][:3]]
    assert bucket_ids(rows, ["k"], 3).tolist() == expected
    assert bucket_ids(rows, [], 5).tolist() == [2, 2, 2]


def test_maps_and_variants_decide_no_bucket() -> None:
    in_struct: Json = {
        "type": "struct",
        "fields": [{"name": "v", "type": "variant", "nullable": True, "metadata": {}}],
    }
    mapping: Json = {
        "type": "map",
        "keyType": "long",
        "valueType": "long",
        "valueContainsNull": True,
    }
    types: dict[str, Json] = {
        "a": "long",
        "b": mapping,
        "c": "variant",
        "d": in_struct,
        "e": "string",
    }
    fields = [Field(id=0, name=name, type=parse_type(item)) for name, item in types.items()]
    schema = new_schema(fields=fields, time_ms=0)
    assert bucket_columns(schema) == ("a", "e")
    keyed = new_schema(fields=fields, primary_key=["e"], time_ms=0)
    assert bucket_columns(keyed) == ("e",)
