"""Goal: what a column was declared as survives Spark's notation, the storage's, and every ALTER."""

from __future__ import annotations

import json

import pytest

from table_store.catalog.definition.declared_type import CHAR_VARCHAR, declared_sql
from table_store.catalog.definition.spark_change import change_from_spark
from table_store.catalog.definition.table_change import changed_schema
from table_store.catalog.definition.table_definition import (
    columns_from_spark,
    columns_to_spark,
    definition_from_spark,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import Json


def field(name: str, kind: Json, **metadata: Json) -> dict[str, Json]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def array_of(element: Json) -> Json:
    return {"type": "array", "elementType": element, "containsNull": True}


def struct_of(*fields: Json) -> Json:
    return {"type": "struct", "fields": list(fields)}


INSIDE = struct_of(
    field("q", "varchar(3)", comment="it's"),
    field("string: x", "integer"),
    field("r", "string", __COLLATIONS={"r": "icu.UNICODE_CI"}),
)
COLUMNS = struct_of(
    field("id", "integer"),
    field("s", INSIDE),
    field("a", array_of(struct_of(field("c", "char(2)"), field("s", "string")))),
    field("m", {"type": "map", "keyType": "varchar(9)", "valueType": array_of("string"),
                "valueContainsNull": True}, __COLLATIONS={"m.value.element": "spark.UTF8_LCASE"}),
)  # fmt: skip
DECLARED = {
    "id": "INT",
    "s": "STRUCT<q: varchar(3) COMMENT 'it\\'s', `string: x`: INT, r: STRING COLLATE UNICODE_CI>",
    "a": "ARRAY<STRUCT<c: char(2), s: STRING>>",
    "m": "MAP<varchar(9), ARRAY<STRING COLLATE UTF8_LCASE>>",
}


def made(columns: Json = COLUMNS) -> TableSchema:
    definition = definition_from_spark(
        columns=json.dumps(columns), partition_columns=(), properties={}
    )
    return definition.schema(time_ms=0)


def altered(schema: TableSchema, change: str, path: str, **rest: Json) -> TableSchema:
    said = change_from_spark({"change": change, "path": path.split("."), **rest})
    assert said is not None
    return changed_schema(schema, [said], time_ms=1)


def declared(schema: TableSchema) -> dict[str, str]:
    """As SHOW CREATE TABLE says it, once what Spark is told has come back from it."""
    again = columns_from_spark(columns_to_spark(schema.fields))
    assert {f.name: declared_sql(f) for f in again} == {
        f.name: declared_sql(f) for f in schema.fields
    }
    return {f.name: declared_sql(f) for f in again}


def test_every_part_is_told_at_any_depth() -> None:
    assert declared(made()) == DECLARED


def test_spark_gets_its_own_notation() -> None:
    """Strings, and the text of a whole type at the column alone; nothing where none is needed."""
    told = json.loads(columns_to_spark(made().fields))["fields"]
    texts = {f["name"]: f["metadata"].get(CHAR_VARCHAR) for f in told}
    assert texts == {**DECLARED, "id": None}
    assert CHAR_VARCHAR not in json.dumps([f["type"] for f in told])
    assert told[1]["type"]["fields"][0]["type"] == "string"


@pytest.mark.parametrize(
    ("change", "path", "rest", "expected"),
    [
        ("rename_column", "s.q", {"name": "z"}, DECLARED["s"].replace("<q:", "<z:")),
        (
            "rename_column",
            "s.r",
            {"name": "R 2"},
            DECLARED["s"].replace("r: STRING", "`R 2`: STRING"),
        ),
        ("drop_column", "s.q", {}, "STRUCT<`string: x`: INT, r: STRING COLLATE UNICODE_CI>"),
        (
            "add_column",
            "s.w",
            {"column": json.dumps(struct_of(field("w", "char(7)")))},
            DECLARED["s"][:-1] + ", w: char(7)>",
        ),
        ("update_type", "s.q", {"type": '"varchar(5)"'}, DECLARED["s"].replace("(3)", "(5)")),
        (
            "update_type",
            "s.q",
            {"type": '"string"'},
            DECLARED["s"].replace("varchar(3)", "STRING"),
        ),
    ],
)
def test_an_alter_inside_of_a_struct(
    change: str, path: str, rest: dict[str, Json], expected: str
) -> None:
    assert declared(altered(made(), change, path, **rest)) == {**DECLARED, "s": expected}


def test_a_collation_follows_its_column() -> None:
    schema = altered(made(), "rename_column", "m", name="n")
    assert declared(schema)["n"] == DECLARED["m"]


@pytest.mark.parametrize("path", ["s.q", "a.element.c", "m.key"])
def test_lengths_are_not_cut(path: str) -> None:
    with pytest.raises(InvalidSchemaError, match=r"longer|lengths"):
        altered(made(), "update_type", path, type='"varchar(1)"')
