"""Goal: `datagen` makes what its options say, and each row is the same however it is read.

Oracle: numpy and Python's own numbers, bounds of the types, and counts within what chance allows.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store.catalog.connectors.datagen.datagen import Datagen, warn_of_unused
from table_store.catalog.connectors.datagen.row_range import RowRange
from table_store.catalog.connectors.positions.position import Position, Stretch
from table_store.catalog.connectors.source import check_new
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    UnknownOptionError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
    to_arrow,
)

CREATED_MS = 1_700_000_000_000
ALL: dict[str, DataType] = {
    "flag": BOOLEAN,
    "tiny": BYTE,
    "small": SHORT,
    "whole": INTEGER,
    "large": LONG,
    "real": FLOAT,
    "twice": DOUBLE,
    "money": DecimalType(12, 2),
    "huge": DecimalType(38, 10),
    "text": STRING,
    "raw": BINARY,
    "day": DATE,
    "at": TIMESTAMP,
    "local": TIMESTAMP_NTZ,
    "clock": TimeType(6),
    "list": ArrayType(INTEGER),
    "named": MapType(key=BYTE, value=STRING),
    "pair": StructType((StructField(name="x", type=DOUBLE), StructField(name="y", type=STRING))),
}


def schema_of(columns: Mapping[str, DataType], **options: str) -> TableSchema:
    given = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    return new_schema(
        fields=[Field(id=0, name=name, type=kind) for name, kind in columns.items()],
        options={"connector": "datagen", **given},
        time_ms=CREATED_MS,
    )


def datagen(columns: Mapping[str, DataType], **options: str) -> Datagen:
    """Option names with `__` for a dot and `_` for a dash."""
    return Datagen.of(schema_of(columns, **options), created_ms=CREATED_MS)


def rows(source: Datagen, first: int = 0, last: int = 20_000) -> pa.Table:
    batches = list(source.batches(first, last, source.names, source.begin()))
    assert all(batch.num_rows for batch in batches)
    return pa.Table.from_batches(batches)


def test_all_types_in_their_own_arrow_types() -> None:
    found = rows(datagen(ALL), last=500)
    assert found.num_rows == 500
    assert [field.type for field in found.schema] == [to_arrow(kind) for kind in ALL.values()]
    found.validate(full=True)
    assert all(column.null_count == 0 for column in found.columns)


def test_a_row_does_not_depend_on_how_it_is_read() -> None:
    source = datagen({**ALL, "id": LONG}, fields__id__kind="sequence", fields__id__start="5",
                     fields__id__end="99999", fields__list__var_len="true",
                     fields__whole__null_rate="0.3", fields__named__length="6")  # fmt: skip
    whole = rows(source, 0, 3_000)
    for first, last in ((0, 1), (17, 18), (999, 2_500), (2_999, 3_000)):
        assert rows(source, first, last) == whole.slice(first, last - first)
    some = ["large", "list", "named"]
    (part,) = source.batches(100, 200, some, source.begin())
    assert pa.Table.from_batches([part]) == whole.select(some).slice(100, 100)
    split = RowRange(7, 2_400).split(3)
    assert [one.first for one in split] + [split[-1].last] == [7, 2_400]
    assert RowRange.from_bytes(split[0].to_bytes()) == split[0]


def test_ranges_are_split_without_a_gap() -> None:
    for last, parallelism in ((0, 2), (1, 2), (50_000, 4), (1_000_001, 4), (10**9, 8)):
        parts = RowRange(0, last).split(parallelism)
        assert sum(part.last - part.first for part in parts) == last
        assert all(one.last == other.first for one, other in pairwise(parts))
        assert len(parts) <= max(parallelism, 1)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        (BYTE, -(2**7), 2**7 - 1),
        (SHORT, -(2**15), 2**15 - 1),
        (INTEGER, -(2**31), 2**31 - 1),
        (LONG, -(2**63), 2**63 - 1),
        (DecimalType(12, 2), Decimal("-9999999999.99"), Decimal("9999999999.99")),
        (DecimalType(38, 0), Decimal(-(10**38) + 1), Decimal(10**38 - 1)),
    ],
)
def test_random_numbers_fill_the_range_of_their_type(
    kind: DataType, least: int | Decimal, most: int | Decimal
) -> None:
    """The mean of 20,000 even numbers is within five standard errors of the middle."""
    found = rows(datagen({"v": kind}))["v"].to_pylist()
    assert min(found) >= least
    assert max(found) <= most
    scaled = np.array([float((v - least) / (most - least)) for v in map(Decimal, found)])
    assert abs(scaled.mean() - 0.5) < 5 / np.sqrt(12 * len(scaled))
    counts, _ = np.histogram(scaled, bins=10, range=(0, 1))
    assert (abs(counts - 2_000) < 5 * np.sqrt(2_000)).all(), counts


def test_bounds_are_kept_and_reached() -> None:
    source = datagen(
        {"a": INTEGER, "b": LONG, "c": DOUBLE, "d": DecimalType(5, 2), "e": FLOAT},
        fields__a__min="-2", fields__a__max="3", fields__b__min="7", fields__b__max="7",
        fields__c__min="-1.5", fields__c__max="2.5", fields__d__min="0.015",
        fields__d__max="0.045", fields__e__min="0.1", fields__e__max="0.2",
    )  # fmt: skip
    found = rows(source)
    counts = Counter(found["a"].to_pylist())
    assert sorted(counts) == [-2, -1, 0, 1, 2, 3]
    assert max(counts.values()) - min(counts.values()) < 10 * np.sqrt(20_000 / 6)
    assert set(found["b"].to_pylist()) == {7}
    assert set(found["d"].to_pylist()) == {Decimal("0.02"), Decimal("0.03"), Decimal("0.04")}
    for name, least, most in (("c", -1.5, 2.5), ("e", 0.1, 0.2)):
        found_bounds = pc.min_max(found[name]).as_py()
        assert least - 1e-8 <= found_bounds["min"] < found_bounds["max"] <= most + 1e-8
        assert found_bounds["max"] - found_bounds["min"] > 0.99 * (most - least)


def test_sequences_and_where_they_end() -> None:
    options = {f"fields__{name}__kind": "sequence" for name in "abcde"}
    options |= {f"fields__{name}__start": "-3" for name in "abcde"}
    ends = {"a": "100", "b": "6", "c": "50", "d": "60", "e": "70"}
    options |= {f"fields__{name}__end": end for name, end in ends.items()}
    columns = {"a": LONG, "b": BYTE, "c": STRING, "d": DecimalType(9, 3), "e": DOUBLE}
    source = datagen(columns, number_of_rows="20", **options)
    assert source.rows_end == 10  # of `b`
    assert datagen(columns, number_of_rows="9", **options).rows_end == 9
    assert datagen({"a": LONG}).rows_end is None
    found = rows(source, 0, 10)
    assert found["a"].to_pylist() == found["b"].to_pylist() == list(range(-3, 7))
    assert found["c"].to_pylist() == [str(i) for i in range(-3, 7)]
    assert found["d"].to_pylist() == [Decimal(i) for i in range(-3, 7)]


def test_texts_and_bytes() -> None:
    columns = {"t": STRING, "u": STRING, "b": BINARY, "c": STRING}
    declared = (("__CHAR_VARCHAR_TYPE_STRING", '"varchar(7)"'),)
    schema = schema_of(columns, fields__u__length="30", fields__u__var_len="true",
                       fields__b__length="9")  # fmt: skip
    fields = tuple(
        Field(id=f.id, name=f.name, type=f.type, metadata=declared if f.name == "c" else ())
        for f in schema.fields
    )
    source = Datagen.of(new_schema(fields=fields, options=schema.options, time_ms=0), created_ms=0)
    found = rows(source, last=5_000)
    assert set(map(len, found["t"].to_pylist())) == {100}
    assert set(map(len, found["c"].to_pylist())) == {7}
    assert set(map(len, found["u"].to_pylist())) == set(range(1, 31))
    assert set(map(len, found["b"].to_pylist())) == {9}
    assert set("".join(found["t"].to_pylist())) == set("0123456789abcdef")
    assert len(set(found["t"].to_pylist())) == 5_000


def test_nulls_come_at_their_rate() -> None:
    source = datagen(
        {"a": LONG, "b": STRING, "c": ArrayType(LONG)},
        fields__a__null_rate="0.25", fields__b__null_rate="1", fields__c__element__null_rate="0.5",
    )  # fmt: skip
    found = rows(source)
    assert abs(found["a"].null_count - 5_000) < 5 * np.sqrt(20_000 * 0.25 * 0.75)
    assert found["b"].null_count == 20_000
    elements = found["c"].combine_chunks().flatten()
    assert len(elements) == 60_000
    assert abs(elements.null_count - 30_000) < 5 * np.sqrt(60_000 / 4)


def test_nested_fields_have_options_of_their_own() -> None:
    source = datagen(
        ALL,
        fields__list__length="5", fields__list__element__min="1", fields__list__element__max="2",
        fields__named__key__min="0", fields__named__key__max="1", fields__named__length="4",
        fields__pair__x__min="3", fields__pair__x__max="4", fields__pair__y__length="2",
    )  # fmt: skip
    found = rows(source, last=2_000)
    lists = found["list"].to_pylist()
    assert {len(one) for one in lists} == {5}
    assert {element for one in lists for element in one} == {1, 2}
    maps = [[key for key, _ in one] for one in found["named"].to_pylist()]
    assert {tuple(sorted(keys)) for keys in maps} == {(0,), (1,), (0, 1)}
    assert all(3 <= one["x"] <= 4 and len(one["y"]) == 2 for one in found["pair"].to_pylist())


def test_times_are_those_of_the_rows() -> None:
    source = datagen({"at": TIMESTAMP, "past": TIMESTAMP_NTZ, "day": DATE},
                     rows_per_second="10", fields__past__max_past="1 h")  # fmt: skip
    second = Stretch(25, CREATED_MS + 86_400_000)
    position = Position(rows=40, at_ms=0, stretches=(Stretch(0, CREATED_MS), second))
    found = pa.Table.from_batches(source.batches(0, 40, source.names, position))
    at = found["at"].cast(pa.int64()).to_pylist()
    expected = [CREATED_MS + 100 * n for n in range(25)]
    expected += [second.begin_ms + 100 * n for n in range(15)]
    assert at == [1000 * ms for ms in expected]
    past = np.array(found["past"].cast(pa.int64()).to_pylist())
    behind = np.array(at) - past
    assert 0 <= behind.min() < behind.max() <= 3_600_000_000
    assert behind.max() > 1_800_000_000
    days = [ms // 86_400_000 for ms in expected]
    assert found["day"].cast(pa.int32()).to_pylist() == days


def test_rows_follow_the_time() -> None:
    """Exactly, however often one looks; a pause brings no rows; the end is the end."""
    source = datagen({"a": LONG}, rows_per_second="7", number_of_rows="100")
    one = two = source.begin()
    for ms in range(0, 9_000, 130):
        one = source.next_position(one, CREATED_MS + ms, 10_000)
        assert one.rows == ms * 7 // 1000
    two = source.next_position(two, one.at_ms, 10_000)
    assert (two.rows, two.at_ms) == (one.rows, one.at_ms)
    assert source.next_position(one, one.at_ms - 500, 10_000) == one  # a clock that was put back
    paused = source.next_position(one, one.at_ms + 10_001, 10_000)
    assert paused.rows == one.rows
    assert paused.stretches == (Stretch(0, CREATED_MS), Stretch(one.rows, paused.at_ms))
    assert source.next_position(paused, paused.at_ms + 1_000, 10_000).rows == one.rows + 7
    at_end = source.next_position(paused, paused.at_ms + 9_999, 10_000)
    assert at_end.rows == 100
    assert source.next_position(at_end, at_end.at_ms + 1_000, 10_000) == at_end


def test_pauses_before_the_first_row_leave_one_stretch() -> None:
    source = datagen({"a": LONG})
    position = source.begin()
    for days in range(1, 4):
        position = source.next_position(position, CREATED_MS + days * 86_400_000, 10_000)
    assert position.stretches == (Stretch(0, CREATED_MS + 3 * 86_400_000),)


@pytest.mark.parametrize(
    ("column", "options", "key"),
    [
        (LONG, {"kind": "sequence"}, "kind"),
        (LONG, {"kind": "sequence", "start": "1"}, "kind"),
        (LONG, {"kind": "sequence", "start": "2", "end": "1"}, "end"),
        (BYTE, {"kind": "sequence", "start": "1", "end": "128"}, "end"),
        (DecimalType(3, 1), {"kind": "sequence", "start": "-100", "end": "5"}, "start"),
        (BOOLEAN, {"kind": "sequence", "start": "1", "end": "2"}, "kind"),
        (LONG, {"kind": "sequence", "start": "1", "end": "2", "min": "1"}, "min"),
        (LONG, {"kind": "other"}, "kind"),
        (LONG, {"start": "1"}, "start"),
        (LONG, {"min": "x"}, "min"),
        (LONG, {"min": "NaN"}, "min"),
        (LONG, {"min": "9223372036854775808"}, "min"),
        (LONG, {"min": "3", "max": "2"}, "max"),
        (LONG, {"min": "1.2", "max": "1.8"}, "max"),
        (BYTE, {"max": "128"}, "max"),
        (LONG, {"length": "3"}, "length"),
        (STRING, {"length": "0"}, "length"),
        (STRING, {"var-len": "yes"}, "var-len"),
        (STRING, {"max": "3"}, "max"),
        (TIMESTAMP, {"max-past": "soon"}, "max-past"),
        (DATE, {"max-past": "1 d"}, "max-past"),
        (BOOLEAN, {"null-rate": "1.1"}, "null-rate"),
        (ArrayType(LONG), {"element.kind": "sequence", "element.start": "1", "element.end": "2"},
         "element.kind"),
        (MapType(key=LONG, value=LONG), {"key.null-rate": "0.1"}, "key.null-rate"),
        (MapType(key=LONG, value=LONG, value_contains_null=False), {"value.null-rate": "1"},
         "value.null-rate"),
        (ArrayType(element=LONG, contains_null=False), {"element.null-rate": "1"},
         "element.null-rate"),
        (StructType((StructField(name="x", type=LONG, nullable=False),)), {"x.null-rate": "1"},
         "x.null-rate"),
    ],
)  # fmt: skip
def test_wrong_options_name_their_key(column: DataType, options: dict[str, str], key: str) -> None:
    given = {f"fields.v.{suffix}": text for suffix, text in options.items()}
    schema = new_schema(
        fields=[Field(id=0, name="v", type=column)],
        options={"connector": "datagen", **given},
        time_ms=0,
    )
    with pytest.raises(InvalidOptionError) as error:
        check_new(schema)
    assert error.value.key == f"fields.v.{key}"


def test_a_column_that_is_not_null_has_no_share_of_nulls() -> None:
    def new(rate: str) -> TableSchema:
        return new_schema(
            fields=[Field(id=0, name="a", type=INTEGER, nullable=False)],
            options={"connector": "datagen", "fields.a.null-rate": rate},
            time_ms=0,
        )

    with pytest.raises(InvalidOptionError, match=r"fields\.a\.null-rate.*it is NOT NULL"):
        check_new(new("0.5"))
    check_new(new("0"))


def test_what_is_of_no_field_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """As in the printed example of FLIP-276; names of columns are compared in any case."""
    schema = schema_of({"userId": LONG}, fields__word__length="4", fields__USERID__min="1")
    with caplog.at_level(logging.WARNING):
        check_new(schema)
        warn_of_unused(schema, "shopping_source")
    (line,) = caplog.messages
    assert "shopping_source" in line
    assert "'fields.word.length'" in line
    assert pc.min(rows(datagen({"userId": LONG}, fields__USERID__min="1"))["userId"]).as_py() >= 1
    warn_of_unused(schema_of({"a": LONG}), "t")
    assert len(caplog.messages) == 1


def test_what_is_no_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownOptionError) as error:
        datagen({"a": LONG}, fields__a__star="1")
    assert error.value.nearest == "fields.a.start"
    with pytest.raises(UnknownOptionError):
        datagen({"a": LONG}, fields__nothing="1")


def test_a_type_of_which_it_makes_no_values() -> None:
    with pytest.raises(UnsupportedTypeError, match=r"VARIANT.*'v'"):
        datagen({"v": VARIANT})
