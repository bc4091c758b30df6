"""Goal: what a definition or a database says wrongly is refused.

Oracle: options and types of PostgreSQL, written down by hand.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_store.catalog.connectors.postgres.postgres_chunks import Chunk
from table_store.catalog.connectors.postgres.postgres_definition import (
    PostgresDefinition,
    Startup,
    tells_only_keys,
)
from table_store.catalog.connectors.postgres.postgres_log import shown
from table_store.catalog.connectors.postgres.postgres_types import DatabaseColumn, ReadColumn
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

NEEDED = {
    "connector": "postgres-cdc",
    "hostname": "h",
    "username": "u",
    "password": "hush",
    "database-name": "shop",
    "schema-name": "public",
    "table-name": "orders",
    "slot.name": "orders_1",
}


def schema(key: tuple[str, ...] = (), **options: str) -> TableSchema:
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return TableSchema(
        fields=(Field(id=1, name="id", type=LONG, nullable=not key),),
        highest_field_id=1,
        time_ms=0,
        primary_key=key,
        options={**NEEDED, **({"bucket": "1"} if key else {}), **given},
    )


def test_a_definition_has_the_connectors_defaults_and_hides_its_password() -> None:
    found = PostgresDefinition.of(schema())
    assert (found.database.server, found.table) == ("h:5432", "shop.public.orders")
    assert (found.startup, found.publication) == (Startup.INITIAL, "dbz_publication")
    assert not found.begins_with_changes
    assert not tells_only_keys(schema())
    assert "hush" not in repr(found)
    upsert = schema(("id",), changelog_mode="Upsert", port="6432")
    assert PostgresDefinition.of(upsert).is_upsert
    assert tells_only_keys(upsert)
    assert PostgresDefinition.of(upsert).database.port == 6432


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"scan__startup__mode": "earliest-offset"}, "scan.startup.mode"),
        ({"decoding__plugin__name": "decoderbufs"}, "decoding.plugin.name"),
        ({"slot__name": "Orders"}, "slot.name"),
        ({"slot__name": "x" * 64}, "slot.name"),
        ({"changelog_mode": "upsert"}, "changelog-mode"),
        ({"port": "0"}, "port"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, str], key: str) -> None:
    with pytest.raises(InvalidOptionError) as error:
        PostgresDefinition.of(schema((), **options))
    assert error.value.key == key


def test_what_must_be_given_is_named() -> None:
    whole = schema()
    for key in NEEDED.keys() - {"connector", "password"}:
        less = {name: value for name, value in NEEDED.items() if name != key}
        with pytest.raises(InvalidOptionError) as error:
            PostgresDefinition.of(
                TableSchema(fields=whole.fields, highest_field_id=1, time_ms=0, options=less)
            )
        assert error.value.key == key


def column(kind: str, modifier: int = -1, **more: bool) -> DatabaseColumn:
    return DatabaseColumn(name="c", type=kind, full_type=kind, oid=1, modifier=modifier, **more)


def numeric(precision: int, scale: int) -> DatabaseColumn:
    return column("numeric", (precision << 16 | scale & 0x7FF) + 4)


@pytest.mark.parametrize(
    ("of_database", "fitting", "others"),
    [
        (column("int2"), (SHORT, INTEGER, LONG, DecimalType(5, 0), STRING), (BOOLEAN, DOUBLE)),
        (column("int4"), (INTEGER, LONG, DecimalType(10, 0)), (SHORT, DecimalType(9, 0))),
        (column("int8"), (LONG, DecimalType(19, 0)), (INTEGER, DecimalType(20, 2))),
        (numeric(9, 2), (DecimalType(9, 2), DecimalType(12, 4), STRING), (LONG, DOUBLE)),
        (numeric(9, 2), (), (DecimalType(9, 1), DecimalType(9, 3))),
        (numeric(3, -2), (DecimalType(5, 0),), (DecimalType(4, 0), DecimalType(5, 1))),
        (numeric(2, 5), (DecimalType(5, 5),), (DecimalType(4, 4),)),
        (column("numeric"), (STRING,), (DecimalType(38, 18),)),
        (column("float4"), (FLOAT, DOUBLE), (STRING,)),
        (column("float8"), (DOUBLE,), (FLOAT,)),
        (column("bool"), (BOOLEAN,), (STRING, SHORT)),
        (column("text"), (STRING,), (BINARY, LONG)),
        (column("jsonb"), (STRING,), (BINARY,)),
        (column("mood", is_enum=True), (STRING,), (INTEGER,)),
        (column("_int4", is_array=True), (STRING,), (INTEGER,)),
        (column("bytea"), (BINARY,), (STRING,)),
        (column("date"), (DATE, STRING), (TIMESTAMP,)),
        (column("timestamp"), (TIMESTAMP_NTZ, TIMESTAMP, STRING), (DATE,)),
        (column("timestamptz"), (TIMESTAMP, TIMESTAMP_NTZ, STRING), (DATE,)),
        (column("point"), (), (STRING, BINARY)),
        (column("int4", is_generated=True), (), (INTEGER,)),
    ],
)
def test_a_type_has_a_place_for_all_values_or_is_refused(
    of_database: DatabaseColumn, fitting: tuple[DataType, ...], others: tuple[DataType, ...]
) -> None:
    assert [kind for kind in fitting if of_database.why_not(kind) is not None] == []
    assert [kind for kind in others if of_database.why_not(kind) is None] == []


@pytest.mark.parametrize(
    ("of_database", "wanted"),
    [
        (column("int2"), SHORT),
        (column("int4"), INTEGER),
        (column("int8"), LONG),
        (numeric(9, 2), DecimalType(9, 2)),
        (numeric(3, -2), DecimalType(5, 0)),
        (numeric(2, 5), DecimalType(5, 5)),
        (numeric(38, 0), DecimalType(38, 0)),
        (numeric(39, 2), STRING),
        (column("numeric"), STRING),
        (column("float4"), FLOAT),
        (column("float8"), DOUBLE),
        (column("bool"), BOOLEAN),
        (column("jsonb"), STRING),
        (column("mood", is_enum=True), STRING),
        (column("_int4", is_array=True), STRING),
        (column("bytea"), BINARY),
        (column("date"), DATE),
        (column("timestamp"), TIMESTAMP_NTZ),
        (column("timestamptz"), TIMESTAMP),
        (column("point"), None),
    ],
)
def test_a_suggested_type_has_a_place_for_all_values(
    of_database: DatabaseColumn, wanted: DataType | None
) -> None:
    assert of_database.suggested == wanted
    assert wanted is None or of_database.why_not(wanted) is None


def test_a_column_was_another_one_when_the_log_was_written() -> None:
    now = DatabaseColumn(name="c", type="int8", full_type="bigint", oid=20, modifier=-1)
    then = now.as_logged(23, -1)
    assert then is not None
    assert (then.type, then.why_not(INTEGER)) == ("int4", None)
    assert now.as_logged(99_999, -1) is None
    mood = column("mood", is_enum=True)
    assert mood.as_logged(1, -1) == mood


def test_values_without_a_place_are_errors_and_bytes_are_read_in_any_slice() -> None:
    for kind, declared, text in (
        ("date", DATE, b"infinity"),
        ("timestamp", TIMESTAMP_NTZ, b"0044-03-15 00:00:00 BC"),
        ("timestamptz", TIMESTAMP, b"infinity"),
        ("text", STRING, b"\xff"),
    ):
        with pytest.raises(pa.ArrowException):
            ReadColumn("c", declared, True, column(kind)).of_texts(pa.array([None, text]))
    values = [b"\\x", None, b"\\x00ff5c", b"", b"\\xAB".lower()]
    read = ReadColumn("c", BINARY, True, column("bytea"))
    found = pa.array(values, pa.binary())
    wanted = [b"", None, b"\x00\xff\\", b"", b"\xab"]
    assert read.of_texts(found).to_pylist() == wanted
    assert read.of_texts(found.slice(1, 3)).to_pylist() == wanted[1:4]
    assert read.of_texts(found.slice(5)).to_pylist() == []


def test_a_chunk_is_sql_that_texts_cannot_leave() -> None:
    chunk = Chunk('a"b', "it's", "\\'; DROP", 5)
    assert Chunk.from_bytes(chunk.to_bytes()) == chunk
    quoted = '"a""b" > E\'it\\\'s\' AND "a""b" <= E\'\\\\\\\'; DROP\''
    assert chunk.condition == f" WHERE {quoted} LIMIT 5"
    assert Chunk("a").condition == ""
    assert shown(0x16_B374_D848) == "16/B374D848"
