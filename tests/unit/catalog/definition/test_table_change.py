"""Goal: every change that the bridge sends becomes the right schema, or a clear refusal."""

from __future__ import annotations

import json

import pytest

from table_store.catalog.definition.spark_change import change_from_spark
from table_store.catalog.definition.table_change import (
    AddColumn,
    RenameColumn,
    SetComment,
    SetOption,
    TableChange,
    UnsetOption,
    changed_schema,
)
from table_store.catalog.definition.table_definition import (
    columns_from_spark,
    definition_from_spark,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    TableStoreError,
)
from table_store.storage.kernel.types import INTEGER, LONG, STRING, StructType


def column(name: str, data_type: object = "integer", **metadata: object) -> dict[str, object]:
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def struct(*columns: dict[str, object]) -> str:
    return json.dumps({"type": "struct", "fields": list(columns)})


@pytest.fixture
def schema() -> TableSchema:
    return definition_from_spark(
        columns=struct(
            column("k", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)"),
            column("p"),
            column("a"),
            column("s", {"type": "struct", "fields": [column("x"), column("y")]}),
            column("twice", GENERATION_EXPRESSION="`a` * 2"),
            column("ts", "timestamp"),
        ),
        partition_columns=["p"],
        properties={"watermark.column": "ts", "watermark.expression": "ts"},
        primary_key=["k", "p"],
    ).schema(time_ms=0)


def altered(schema: TableSchema, *changes: dict[str, object]) -> TableSchema:
    values: list[TableChange] = []
    for change in changes:
        value = change_from_spark(change)
        if value is not None:
            values.append(value)
    return changed_schema(schema, values, time_ms=9)


def test_add_columns_at_their_places(schema: TableSchema) -> None:
    changed = altered(
        schema,
        {"change": "add_column", "path": ["first"], "column": struct(column("first")), "position": "first"},  # noqa: E501
        {"change": "add_column", "path": ["b"], "column": struct(column("b")), "position": {"after": "A"}},  # noqa: E501
        {"change": "add_column", "path": ["last"], "column": struct(column("last")), "position": None},  # noqa: E501
        {"change": "add_column", "path": ["s", "z"], "column": struct(column("z")), "position": {"after": "x"}},  # noqa: E501
    )  # fmt: skip
    assert changed.column_names == ("first", "k", "p", "a", "b", "s", "twice", "ts", "last")
    inner = changed.field_named("s").type
    assert isinstance(inner, StructType)
    assert [f.name for f in inner.fields] == ["x", "z", "y"]
    ids = [f.id for f in changed.fields] + [f.id for f in inner.fields]
    assert len(set(ids)) == len(ids)
    assert (changed.id, changed.time_ms) == (1, 9)


def replaced(schema: TableSchema, *columns: dict[str, object]) -> TableSchema:
    """What REPLACE COLUMNS sends."""
    drops: list[dict[str, object]] = [
        {"change": "drop_column", "path": [name]} for name in schema.column_names
    ]
    adds: list[dict[str, object]] = [
        {"change": "add_column", "path": [c["name"]], "column": struct(c), "position": None}
        for c in columns
    ]
    return altered(schema, *drops, *adds)


def test_replaced_columns_keep_what_they_can(schema: TableSchema) -> None:
    """Columns of old names keep their values and get types that hold them; others come and go."""
    schema = altered(schema, {"change": "update_default", "path": ["p"], "default": "7"})
    before = {field.name: field.id for field in schema.fields}
    key = column("k", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(9)")
    inner = column("S", {"type": "struct", "fields": [column("x", "long"), column("y")]})
    changed = replaced(
        schema, inner, column("new"), key, column("p", comment="c"), column("ts", "timestamp")
    )
    assert changed.column_names == ("s", "new", "k", "p", "ts")
    assert {f.name: f.id for f in changed.fields if f.name != "new"} == {
        name: before[name] for name in ("s", "k", "p", "ts")
    }
    struct_type = changed.field_named("s").type
    assert isinstance(struct_type, StructType)
    assert [f.type for f in struct_type.fields] == [LONG, INTEGER]
    assert (changed.field_named("p").comment, changed.field_named("p").default) == (
        "c",
        StoredExpression("7"),
    )
    assert not changed.field_named("k").nullable
    for columns, reason in (
        ([column("a")], "'k': a key or partition column cannot be dropped"),
        ([key, column("p", "long")], "'p': key and partition columns keep their type"),
        ([key, column("p"), column("ts", "date")], "'ts': TIMESTAMP cannot become DATE"),
    ):
        with pytest.raises(InvalidSchemaError, match=reason):
            replaced(schema, *columns)
    no_key = definition_from_spark(
        columns=struct(column("a")), partition_columns=[], properties={}
    ).schema(time_ms=0)
    assert replaced(no_key, column("b")).column_names == ("b",)


def test_a_default_reaches_the_rows_that_exist(schema: TableSchema) -> None:
    added = column(
        "d", "date", CURRENT_DEFAULT="current_date()", EXISTS_DEFAULT="DATE '2020-01-01'"
    )
    changed = altered(schema, {"change": "add_column", "path": ["d"], "column": struct(added)})
    assert changed.field_named("d").initial_default == '{"date": "2020-01-01"}'
    assert changed.field_named("d").default == StoredExpression("current_date()")


def test_change_columns(schema: TableSchema) -> None:
    changed = altered(
        schema,
        {"change": "update_type", "path": ["a"], "type": '"long"'},
        {"change": "update_comment", "path": ["s", "x"], "comment": "inner"},
        {"change": "update_default", "path": ["a"], "default": "7"},
        {"change": "update_position", "path": ["a"], "position": "first"},
        {"change": "rename_column", "path": ["k"], "name": "key"},
    )
    assert changed.column_names == ("a", "key", "p", "s", "twice", "ts")
    field = changed.field_named("a")
    assert (field.type, field.default, field.id) == (LONG, StoredExpression("7"), 3)
    assert changed.primary_key == ("key", "p")
    assert (
        altered(changed, {"change": "update_default", "path": ["a"], "default": ""})
        .field_named("a")
        .default
        is None
    )


@pytest.mark.parametrize("nothing", ["", None])
def test_a_comment_goes(schema: TableSchema, nothing: str | None) -> None:
    """COMMENT ON TABLE … IS NULL comes as an empty comment."""
    said = altered(schema, {"change": "set_property", "key": "comment", "value": "c"})
    kind = "set_property" if nothing is not None else "remove_property"
    gone = altered(said, {"change": kind, "key": "comment", "value": nothing})
    assert (said.comment, gone.comment) == ("c", None)


def test_drop_columns(schema: TableSchema) -> None:
    changed = altered(
        schema,
        {"change": "drop_column", "path": ["twice"], "ifExists": False},
        {"change": "drop_column", "path": ["s", "y"], "ifExists": False},
        {"change": "drop_column", "path": ["absent"], "ifExists": True},
        {"change": "drop_column", "path": ["s", "absent"], "ifExists": True},
        {"change": "drop_column", "path": ["a"], "ifExists": False},
    )
    assert changed.column_names == ("k", "p", "s", "ts")


def test_a_varchar_may_grow_also_in_a_key(schema: TableSchema) -> None:
    changed = altered(schema, {"change": "update_type", "path": ["k"], "type": '"varchar(9)"'})
    metadata = dict(changed.field_named("k").metadata)
    assert metadata == {"__CHAR_VARCHAR_TYPE_STRING": '"varchar(9)"'}
    plain = altered(changed, {"change": "update_type", "path": ["k"], "type": '"string"'})
    assert (plain.field_named("k").type, plain.field_named("k").metadata) == (STRING, ())
    with pytest.raises(InvalidSchemaError, match="longer"):
        altered(plain, {"change": "update_type", "path": ["k"], "type": '"varchar(99)"'})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"change": "drop_column", "path": ["k"]}, "key"),
        ({"change": "drop_column", "path": ["p"], "ifExists": True}, "partition"),
        ({"change": "drop_column", "path": ["absent"]}, "no such column"),
        ({"change": "drop_column", "path": ["a"]}, "'twice' uses it"),
        ({"change": "rename_column", "path": ["A"], "name": "b"}, "'twice' uses it"),
        ({"change": "rename_column", "path": ["ts"], "name": "b"}, "watermark"),
        ({"change": "rename_column", "path": ["p"], "name": "b"}, "partition"),
        ({"change": "rename_column", "path": ["k"], "name": "A"}, "more than once"),
        ({"change": "update_type", "path": ["a"], "type": '"string"'}, "STRING"),
        ({"change": "update_type", "path": ["p"], "type": '"long"'}, "keep their type"),
        ({"change": "update_type", "path": ["k"], "type": '"varchar(4)"'}, "longer"),
        ({"change": "update_nullability", "path": ["k"], "nullable": True}, "key"),
        ({"change": "update_nullability", "path": ["s", "x"], "nullable": False}, "NOT NULL"),
        ({"change": "update_default", "path": ["s", "x"], "default": "1"}, "default"),
        ({"change": "add_column", "path": ["A"], "column": struct(column("A"))}, "more than once"),
        ({"change": "add_column", "path": ["_VALUE_KIND"], "column": struct(column("_VALUE_KIND"))}, "reserved"),  # noqa: E501
        ({"change": "drop_constraint", "name": "absent"}, "constraint 'absent' does not exist"),
        ({"change": "drop_constraint", "name": "PK"}, "an ALTER TABLE of its own"),
        ({"change": "ClusterBy[…]"}, "ClusterBy"),
    ],
)  # fmt: skip
def test_refusals(schema: TableSchema, change: dict[str, object], reason: str) -> None:
    with pytest.raises(TableStoreError, match=reason):
        altered(schema, change)


def test_properties() -> None:
    assert change_from_spark(
        {"change": "set_property", "key": "comment", "value": "c"}
    ) == SetComment("c")
    assert change_from_spark({"change": "remove_property", "key": "comment"}) == SetComment(None)
    assert change_from_spark(
        {"change": "set_property", "key": "write-only", "value": "true"}
    ) == SetOption("write-only", "true")
    assert change_from_spark({"change": "remove_property", "key": "x"}) == UnsetOption("x")
    ignored = {"change": "set_property", "key": "table_type", "value": "MANAGED"}
    assert change_from_spark(ignored) is None
    with pytest.raises(InvalidOptionError, match="location"):
        change_from_spark({"change": "set_property", "key": "location", "value": "/x"})


def test_no_change_is_the_same_schema(schema: TableSchema) -> None:
    assert changed_schema(schema, [], time_ms=9) is schema
    added = columns_from_spark(struct(column("b")))[0]
    there_and_back: list[TableChange] = [AddColumn(column=added), RenameColumn(("b",), "c")]
    assert changed_schema(schema, there_and_back, time_ms=9).id == 1
