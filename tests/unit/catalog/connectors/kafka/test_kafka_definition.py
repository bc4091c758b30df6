"""Goal: a definition says what is read; whatever cannot be meant so is refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_store.catalog.connectors.formats.message_formats import CsvFormat
from table_store.catalog.connectors.kafka.kafka_definition import KafkaDefinition, Startup
from table_store.catalog.connectors.kafka.record_formats import KeyedRows, ValueRows
from table_store.catalog.connectors.source import check_new
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError
from table_store.storage.kernel.secrets import holds_secret
from table_store.storage.kernel.types import LONG, STRING, TIMESTAMP, DataType

NEEDED = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1"}


def schema(options: dict[str, str], **types: DataType) -> TableSchema:
    columns = types or {"a": LONG, "at": TIMESTAMP}
    return TableSchema(
        fields=tuple(Field(id=n, name=c, type=t) for n, (c, t) in enumerate(columns.items())),
        options={**NEEDED, "format": "json", **options},
        highest_field_id=len(columns),
        time_ms=0,
    )


def test_what_is_said() -> None:
    options = {
        "format": "csv",
        "csv.field-delimiter": "\\t",
        "scan.startup.mode": "specific-offsets",
        "scan.startup.specific-offsets": "partition:1,offset:300; partition:0,offset:42",
        "metadata.at": "timestamp",
        "properties.sasl.plain.password": "secret",
        "properties.isolation.level": "read_uncommitted",
    }
    found = KafkaDefinition.of(schema(options))
    assert isinstance(found.format, ValueRows)
    assert isinstance(found.format.value, CsvFormat)
    assert found.format.value.delimiter == "\t"
    assert [column.name for column in found.format.value.columns] == ["a"]
    assert [(column.name, column.key) for column in found.metadata] == [("at", "timestamp")]
    assert found.startup is Startup.OFFSETS
    assert found.startup_offsets == ((0, 42), (1, 300))
    assert found.brokers.properties == (("sasl.plain.password", "secret"),)
    assert not found.is_committed
    assert "secret" not in repr(found)
    assert holds_secret(options)
    of_scripts = {
        "json.fail-on-missing-field": "false",
        "json.timestamp-format.standard": "ISO-8601",
        "properties.group.id": "g",
        "properties.auto.offset.reset": "earliest",
    }
    check_new(schema(of_scripts))
    plain = KafkaDefinition.of(schema({}))
    assert (plain.startup, plain.is_committed, plain.is_bounded) == (Startup.EARLIEST, True, False)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topic": ""}, "a text without control characters"),
        ({"scan.startup.mode": "timestamp"}, "'scan.startup.timestamp-millis' is not valid"),
        ({"scan.startup.timestamp-millis": "5"}, "it needs 'scan.startup.mode' = 'timestamp'"),
        ({"scan.startup.mode": "group-offset"}, "use one of 'earliest-offset'"),
        ({"scan.startup.mode": "group-offsets"}, "'properties.group.id' is not valid"),
        ({"properties.auto.offset.reset": "x"}, "use one of 'earliest', 'latest', 'none'"),
        (
            {"json.fail-on-missing-field": "true", "json.ignore-parse-errors": "true"},
            "with 'json.ignore-parse-errors' nothing fails",
        ),
        ({"sink.partitioner": "hash"}, "use one of 'default', 'fixed', 'round-robin'"),
        (
            {"value.csv.field-delimiter": ";"},
            "it is of the format 'csv', and the table's is 'json'",
        ),
        ({"key.json.ignore-parse-errors": "true"}, "and the table has none there"),
        ({"value.json.ignore-parse-errors": "x"}, "'value.json.ignore-parse-errors' = 'x' is not"),
        ({"debezium-json.schema-include": "true"}, "it is of the format 'debezium-json'"),
        ({"csv.field-delimiter": ";"}, "it is of the format 'csv', and the table's is 'json'"),
        ({"metadata.b": "offset"}, "there is no such column"),
        ({"properties.isolation.level": "x"}, "use read_committed or read_uncommitted"),
        ({"properties.no.such": "x"}, "'properties.no.such' is not valid: the Kafka client has no"),
        ({"properties.security.protocol": "SASL_SSL"}, "'properties.sasl.mechanism' is not valid"),
        (
            {"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "0:42"},
            "use a text such as 'partition:0,offset:42",
        ),
    ],
)
def test_options_that_are_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidOptionError) as error:
        check_new(schema(options))
    assert reason in str(error.value)


def test_what_must_be_given() -> None:
    for key in (*NEEDED, "format"):
        if key == "connector":
            continue
        incomplete = schema({})
        left = {k: v for k, v in incomplete.options.items() if k != key}
        with pytest.raises(InvalidOptionError, match=f"'{key}' is not valid: a table with the"):
            check_new(schema_with(left))


def schema_with(options: dict[str, str]) -> TableSchema:
    columns = (Field(id=0, name="a", type=LONG),)
    return TableSchema(fields=columns, options=options, highest_field_id=1, time_ms=0)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"metadata.at": "offset"}, "metadata 'offset' is BIGINT"),
        ({"metadata.at": "watermark"}, "has no metadata 'watermark'; it has 'topic', 'partition'"),
        ({"format": "raw"}, "the format 'raw' has exactly one column"),
    ],
)
def test_columns_that_are_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidSchemaError) as error:
        check_new(schema(options, a=STRING, at=TIMESTAMP))
    assert reason in str(error.value)


def test_options_of_a_part_come_first() -> None:
    options = {
        "connector": "upsert-kafka",
        "key.format": "csv",
        "value.format": "csv",
        "csv.field-delimiter": ";",
        "key.csv.field-delimiter": "|",
        "value.csv.ignore-parse-errors": "true",
    }
    found = KafkaDefinition.of(keyed(options))
    assert isinstance(found.format, KeyedRows)
    key, value = found.format.key, found.format.value
    assert isinstance(key, CsvFormat)
    assert isinstance(value, CsvFormat)
    assert (key.delimiter, value.delimiter) == ("|", ";")
    assert (found.skips_bad, found.skips_bad_keys) == (True, False)
    assert (found.key, found.gives_changes) == (("a",), True)


def keyed(options: dict[str, str]) -> TableSchema:
    """A table with the key `a`, which has no option `format`."""
    plain = schema(options, a=LONG, b=LONG)
    given = {key: text for key, text in plain.options.items() if key != "format"}
    fields = (replace(plain.fields[0], nullable=False), *plain.fields[1:])
    return replace(plain, fields=fields, options=given, primary_key=("a",))
