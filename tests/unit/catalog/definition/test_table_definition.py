"""Goal: Spark's columns become storage columns and come back as they were."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.definition.table_definition import (
    columns_from_spark,
    columns_to_spark,
    definition_from_spark,
    with_initial_default,
)
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.types import INTEGER, STRING, ArrayType


def column(
    name: str, data_type: object = "integer", *, nullable: object = True, **metadata: object
) -> dict[str, object]:
    return {"name": name, "type": data_type, "nullable": nullable, "metadata": metadata}


def struct(*columns: dict[str, object]) -> str:
    return json.dumps({"type": "struct", "fields": list(columns)})


def round_trip(text: str) -> object:
    return json.loads(columns_to_spark(columns_from_spark(text)))


NESTED = {
    "type": "struct",
    "fields": [column("x", "long", comment="inner"), column("y", "string", nullable=False)],
}
PRIMITIVES = [
    "boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary",
    "date", "timestamp", "timestamp_ntz", "variant", "decimal(12,2)", "time(6)",
]  # fmt: skip
types = st.recursive(
    st.sampled_from(PRIMITIVES),
    lambda inner: st.one_of(
        st.builds(lambda t, n: {"type": "array", "elementType": t, "containsNull": n}, inner, st.booleans()),  # noqa: E501
        st.builds(
            lambda k, v, n: {"type": "map", "keyType": k, "valueType": v, "valueContainsNull": n},
            st.sampled_from(["string", "long"]), inner, st.booleans(),
        ),
        st.builds(
            lambda ts: {"type": "struct", "fields": [column(f"f{i}", t) for i, t in enumerate(ts)]},
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=5,
)  # fmt: skip


@given(st.lists(types, min_size=1, max_size=4), st.booleans())
def test_any_columns_come_back(kinds: list[object], nullable: bool) -> None:
    text = struct(*(column(f"c{i}", kind, nullable=nullable) for i, kind in enumerate(kinds)))
    assert round_trip(text) == json.loads(text)


@pytest.mark.parametrize(
    "metadata",
    [
        {"comment": 'a "quoted" comment'},
        {"CURRENT_DEFAULT": "1 + 1", "EXISTS_DEFAULT": "2"},
        {"GENERATION_EXPRESSION": "a * 2"},
        {"__CHAR_VARCHAR_TYPE_STRING": "varchar(10)"},
        {"other": {"nested": [1, "x", None]}},
    ],
)
def test_metadata_comes_back(metadata: dict[str, object]) -> None:
    text = struct(column("c", "string", **metadata))
    assert round_trip(text) == json.loads(text)


def test_a_default_without_its_literal_gets_one() -> None:
    """Spark takes a column for one with a default only where both texts are there."""
    (item,) = json.loads(
        columns_to_spark(columns_from_spark(struct(column("c", CURRENT_DEFAULT="7"))))
    )["fields"]
    assert item["metadata"] == {"CURRENT_DEFAULT": "7", "EXISTS_DEFAULT": "NULL"}


@pytest.mark.parametrize(
    ("declared", "stored", "text"),
    [
        ("varchar(10)", "string", "varchar(10)"),
        ("char(3)", "string", "char(3)"),
        (
            {"type": "array", "elementType": "varchar(5)", "containsNull": True},
            {"type": "array", "elementType": "string", "containsNull": True},
            "ARRAY<varchar(5)>",
        ),
        (
            {"type": "struct", "fields": [column("a b", "char(2)")]},
            {"type": "struct", "fields": [column("a b", "string")]},
            "STRUCT<`a b`: char(2)>",
        ),
    ],
)
def test_char_and_varchar_are_kept_as_strings(declared: object, stored: object, text: str) -> None:
    fields = round_trip(struct(column("c", declared)))["fields"]  # type: ignore[index]
    assert fields == [column("c", stored, __CHAR_VARCHAR_TYPE_STRING=text)]


def test_ids_of_nested_fields_stay_inside() -> None:
    definition = definition_from_spark(
        columns=struct(column("s", NESTED)), partition_columns=(), properties={}
    )
    schema = definition.schema(time_ms=0)
    assert schema.highest_field_id == 3
    assert json.loads(columns_to_spark(schema.fields)) == json.loads(struct(column("s", NESTED)))


@pytest.mark.parametrize("name", ["void", "interval year to month", "interval", "object", "geo"])
def test_types_that_cannot_be_stored_are_named(name: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=f"{name}.*'c'"):
        columns_from_spark(struct(column("c", name)))
    inner = {"type": "array", "elementType": name, "containsNull": True}
    with pytest.raises(UnsupportedTypeError, match=f"{name}.*'c'"):
        columns_from_spark(struct(column("c", inner)))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"fields": [{}]}', '"x"'])
def test_what_is_no_struct_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        columns_from_spark(text)


def test_properties_are_taken_apart() -> None:
    definition = definition_from_spark(
        columns=struct(column("a", nullable=False), column("ts", "timestamp")),
        partition_columns=["a"],
        properties={
            "comment": "c",
            "owner": "me",
            "bucket": "2",
            "option.bucket": "2",
            "watermark.column": "ts",
            "watermark.expression": "ts - INTERVAL 5 SECONDS",
        },
        primary_key=["a"],
        constraint_name="pk",
    )
    assert definition.options == {"bucket": "2", "owner": "me"}
    assert definition.comment == "c"
    assert definition.watermark == ("ts", StoredExpression("ts - INTERVAL 5 SECONDS"))
    schema = definition.schema(time_ms=5)
    assert (schema.primary_key, schema.partition_keys) == (("a",), ("a",))
    assert schema.constraint_name == "pk"


@pytest.mark.parametrize("key", ["external", "provider"])
def test_properties_that_a_managed_table_cannot_have(key: str) -> None:
    with pytest.raises(InvalidOptionError, match=key):
        definition_from_spark(
            columns=struct(column("a")), partition_columns=(), properties={key: "x"}
        )


def test_keys_have_no_collation() -> None:
    collated = column("a", "string", __COLLATIONS={"a": "spark.UTF8_LCASE"})
    definition = definition_from_spark(
        columns=struct(collated), partition_columns=(), properties={}, primary_key=["a"]
    )
    with pytest.raises(InvalidSchemaError, match="collation"):
        definition.schema(time_ms=0)


def test_the_initial_default_is_what_older_rows_read_as() -> None:
    (added,) = columns_from_spark(struct(column("a", CURRENT_DEFAULT="2+3", EXISTS_DEFAULT="5")))
    assert with_initial_default(added).initial_default == "5"
    (plain,) = columns_from_spark(struct(column("a")))
    assert with_initial_default(plain).initial_default is None
    (strict,) = columns_from_spark(struct(column("a", nullable=False)))
    with pytest.raises(InvalidSchemaError, match="NOT NULL"):
        with_initial_default(strict)
    assert plain.type == INTEGER
    assert ArrayType(STRING).contains_null


@pytest.mark.parametrize(
    ("expression", "unknown"),
    [
        ("at - INTERVAL '5' SECOND", None),
        ("`AT` - INTERVAL 5 MINUTES 3 SECONDS", None),
        ("e.ts - INTERVAL 1 DAY", None),
        ("later", None),
        ("SOURCE_WATERMARK()", None),
        ("what ever )", None),
        ("at - nope", "nope"),
        ("none.at", "none"),
    ],
)
def test_a_watermark_names_columns_that_there_are(expression: str, unknown: str | None) -> None:
    ts = {"type": "struct", "fields": [column("ts", "timestamp")]}
    definition = definition_from_spark(
        columns=struct(column("at", "timestamp"), column("e", ts), column("later", "timestamp")),
        partition_columns=(),
        properties={"watermark.column": "at", "watermark.expression": expression},
    )
    if unknown is None:
        assert definition.schema(time_ms=0).watermark == ("at", StoredExpression(expression))
        return
    with pytest.raises(InvalidSchemaError, match=f"there is no column '{unknown}'") as error:
        definition.schema(time_ms=0)
    assert error.value.column == "at"
