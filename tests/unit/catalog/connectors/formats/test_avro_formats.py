"""Goal: values in Avro become rows, whatever their schemas, and those that are none are named.

Oracle: `fastavro`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_writer

from servers.schema_registry import running_registry
from table_store.catalog.connectors.formats.message_formats import (
    BadValue,
    MessageFormat,
    ParsedRows,
)
from table_store.catalog.connectors.formats.named_format import check_formats, message_format
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.types import (
    LONG,
    STRING,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

URL = "avro-confluent.url"


def fields(**types: DataType) -> tuple[Field, ...]:
    return tuple(
        Field(id=number, name=name, type=kind) for number, (name, kind) in enumerate(types.items())
    )


def formed(options: Mapping[str, str], name: str, columns: tuple[Field, ...]) -> MessageFormat:
    return message_format(TABLE_OPTIONS.parse(options, OptionScope.TABLE), name, columns)


def encoded(schema: Any, row: object, head: bytes = b"") -> bytes:
    out = io.BytesIO(head)
    out.seek(len(head))
    schemaless_writer(out, parse_schema(schema), row)
    return out.getvalue()


def record(*names: str) -> dict[str, Any]:
    parts = [{"name": name, "type": ["null", "long"]} for name in names]
    return {"type": "record", "name": "r", "fields": parts}


def found(form: MessageFormat, values: list[bytes]) -> tuple[list[Any], dict[int, str]]:
    """The rows, each behind the place of its value, and why others are none, by place."""
    names = [field.name for field in form.columns]
    rows: list[Any] = []
    bad = {}
    for part in form.parsed(pa.array(values, pa.large_binary()), names):
        if isinstance(part, BadValue):
            bad[part.place] = part.reason
        else:
            assert isinstance(part, ParsedRows)
            columns = [column.to_pylist() for column in part.columns]
            rows += list(zip(range(part.first, part.first + part.count), *columns, strict=True))
    return rows, bad


def test_values_of_several_schemas_keep_their_order() -> None:
    with running_registry() as server:
        schemas = [record("a"), record("b", "a"), record("b")]
        heads = [b"\0" + server.add("s", schema).to_bytes(4, "big") for schema in schemas]
        rows: list[dict[str, int | None]] = [{"a": 1}, {"b": 2, "a": 3}, {"b": 4}]
        values = [encoded(schemas[n % 3], rows[n % 3], heads[n % 3]) for n in range(12)]
        values[4] = values[4][:-1]
        values[5] = heads[0][:4] + b"\x63" + values[5][5:]
        values[6] = b"\1" + values[6][1:]
        values[7] = heads[0][:3]
        form = formed({URL: server.url}, "avro-confluent", fields(a=LONG, b=LONG))
        expected = [(n, rows[n % 3].get("a"), rows[n % 3].get("b")) for n in range(12)]
        assert found(form, values) == (
            [row for row in expected if row[0] not in (4, 5, 6, 7)],
            {
                4: "a record ends within a value",
                5: "the schema registry has no schema with id 99",
                6: "it does not begin with the byte 0 and the id of a schema",
                7: "it is shorter than the id of a schema",
            },
        )
        # What is asked for is what is not known, and each only once.
        assert len(server.requests) == len(set(server.requests))


def test_without_a_registry_the_columns_are_the_schema() -> None:
    columns = fields(a=LONG, b=LONG)
    values = [encoded(record("a", "b"), {"a": n, "b": None}) for n in range(3)]
    rows, bad = found(formed({}, "avro", columns), [*values, values[0] + b"\0", b""])
    assert rows == [(n, n, None) for n in range(3)]
    assert sorted(bad) == [3, 4]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (fields(**{"a b": LONG}), "'a b' is no name of a field"),
        (fields(m=MapType(key=LONG, value=LONG)), "keys of a map are STRING"),
        (fields(s=StructType((StructField(name="ä", type=LONG),))), "'ä' is no name"),
    ],
)
@pytest.mark.parametrize("name", ["avro", "avro-confluent"])
def test_columns_that_avro_does_not_have(
    columns: tuple[Field, ...], reason: str, name: str
) -> None:
    with pytest.raises(InvalidSchemaError, match=reason):
        formed({URL: "http://host"} if "-" in name else {}, name, columns)


@pytest.mark.parametrize("kind", [VARIANT, ArrayType(VARIANT)])
def test_there_is_no_variant(kind: DataType) -> None:
    with pytest.raises(UnsupportedTypeError, match="VARIANT"):
        formed({}, "avro", fields(v=kind))


@pytest.mark.parametrize(
    ("options", "key", "reason"),
    [
        ({}, URL, "needs it"),
        ({URL: "host:1"}, URL, "http://host:8081"),
        ({URL: "http://host", "avro-confluent.schema": "{"}, "avro-confluent.schema", "no JSON"),
        (
            {URL: "http://host", "avro-confluent.schema": json.dumps(record("b"))},
            "avro-confluent.schema",
            "it has no field a",
        ),
    ],
)
def test_options_that_do_not_fit(options: dict[str, str], key: str, reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=reason) as error:
        formed(options, "avro-confluent", fields(a=LONG))
    assert error.value.key == key


def test_options_of_the_other_format() -> None:
    options = TABLE_OPTIONS.parse({"avro.ignore-parse-errors": "true"}, OptionScope.TABLE)
    check_formats(options, "avro")
    with pytest.raises(InvalidOptionError, match="of the format 'avro'"):
        check_formats(options, "avro-confluent")


def test_a_part_has_options_of_its_own() -> None:
    form = formed({"value.avro-confluent.url": "http://a"}, "avro-confluent", fields(s=STRING))
    assert "http://a" in repr(form)
