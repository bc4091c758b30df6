"""What the definition of a table `WITH ('connector' = 'kafka')` or `'upsert-kafka'` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.formats.avro_formats import RegisteredAvroFormat
from table_store.catalog.connectors.formats.message_formats import JsonFormat
from table_store.catalog.connectors.formats.named_format import (
    check_count,
    check_formats,
    message_format,
)
from table_store.catalog.connectors.kafka.envelope_rows import EnvelopeRows
from table_store.catalog.connectors.kafka.kafka_connections import Brokers
from table_store.catalog.connectors.kafka.message_rows import METADATA_TYPES, MetadataColumn
from table_store.catalog.connectors.kafka.record_formats import KeyedRows, RecordFormat, ValueRows
from table_store.catalog.connectors.physical_columns import metadata_columns, physical_columns
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError
from table_store.storage.log_store.sinks.kafka_target import KafkaTarget, record_fields
from table_store.storage.log_store.sinks.row_encoders import (
    row_encoder,
    schema_registry,
    time_unit,
)
from table_store.storage.options.avro_format_options import (
    AVRO,
    AVRO_IGNORE_ERRORS,
    DEBEZIUM_CONFLUENT,
    REGISTRY_OPTIONS,
)
from table_store.storage.options.connector_options import CONNECTOR, missing, needed
from table_store.storage.options.kafka_sink_options import (
    FIELDS_INCLUDE,
    KEY_FIELDS,
    KEY_FORMAT,
    VALUE_FORMAT,
)
from table_store.storage.options.kafka_source_options import (
    FORMAT,
    PROPERTIES,
    STARTUP_MODE,
    STARTUP_OFFSETS,
    STARTUP_TIMESTAMP,
    TOPIC,
)
from table_store.storage.options.log_options import SCAN_BOUNDED_MODE
from table_store.storage.options.message_format_options import (
    CSV_IGNORE_ERRORS,
    DEBEZIUM,
    DEBEZIUM_IGNORE_ERRORS,
    DEBEZIUM_SCHEMA_INCLUDE,
    ENVELOPES,
    JSON_IGNORE_ERRORS,
    JSON_MISSING_FIELD,
    KEY_PART,
    VALUE_PART,
    format_value,
)
from table_store.storage.options.options import Option, OptionScope, OptionValues
from table_store.storage.options.table_options import TABLE_OPTIONS

KAFKA: Final = "kafka"
UPSERT: Final = "upsert-kafka"
_SERVERS = "bootstrap.servers"
_ISOLATION = "isolation.level"
_GROUP: Final = "group.id"
_RESET: Final = "auto.offset.reset"
_NO_RESET: Final = "none"
RESETS: Final = ("earliest", "latest")
"""Where a partition begins of which a group notes no offset."""

_IGNORE_ERRORS: Final = {
    "json": JSON_IGNORE_ERRORS,
    "csv": CSV_IGNORE_ERRORS,
    DEBEZIUM: DEBEZIUM_IGNORE_ERRORS,
    AVRO: AVRO_IGNORE_ERRORS,
    **{name: options.ignore_errors for name, options in REGISTRY_OPTIONS.items()},
}
_PARTS: Final = (KEY_PART, VALUE_PART)
_LEVELS = ("read_committed", "read_uncommitted")
_FORMATS: Final = ("json", "csv", "raw", AVRO, DEBEZIUM, *REGISTRY_OPTIONS)


class Startup(Enum):
    """The values of 'scan.startup.mode'."""

    EARLIEST = "earliest-offset"
    LATEST = "latest-offset"
    GROUP = "group-offsets"
    TIMESTAMP = "timestamp"
    OFFSETS = "specific-offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaDefinition:
    """A topic as rows.

    Attributes:
        brokers: where the topic is.
        topic: its name.
        format: how records hold the columns.
        metadata: the columns that hold something else of a record.
        startup: with which records the rows begin.
        startup_ms: for `TIMESTAMP`, ms since 1970.
        startup_offsets: for `OFFSETS`, by partition.
        group: for `GROUP`, whose offsets they are.
        reset: for `GROUP`, where partitions begin of which the group notes nothing; None: nowhere.
        is_bounded: whether they end with what the topic has when it is first read.
        is_committed: whether records of aborted transactions are left out.
        skips_bad: whether records whose values are no rows are left out.
        skips_bad_keys: the same of keys.
        gives_changes: whether records are changes of rows.
        key: the primary key.
    """

    brokers: Brokers
    topic: str
    format: RecordFormat
    metadata: tuple[MetadataColumn, ...]
    startup: Startup
    startup_ms: int | None
    startup_offsets: tuple[tuple[int, int], ...]
    group: str | None
    reset: str | None
    is_bounded: bool
    is_committed: bool
    skips_bad: bool
    skips_bad_keys: bool
    gives_changes: bool
    key: tuple[str, ...]

    @classmethod
    def of(cls, schema: TableSchema) -> KafkaDefinition:
        """Return what a table's definition says.

        Raises:
            InvalidOptionError: an option is missing, or is not valid with the others.
            InvalidSchemaError: a column cannot hold what it says, or the format has no such
                columns.
            UnsupportedTypeError: the format has no values of a column's type.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        properties = dict(options.with_prefix(PROPERTIES))
        servers = properties.pop(_SERVERS, None)
        if servers is None:
            raise missing(options, PROPERTIES.prefix + _SERVERS)
        topic = needed(options, TOPIC)
        level = properties.pop(_ISOLATION, _LEVELS[0])
        if level not in _LEVELS:
            key = PROPERTIES.prefix + _ISOLATION
            raise InvalidOptionError(key=key, value=level, reason=f"use {' or '.join(_LEVELS)}")
        metadata = _metadata(schema, options)
        startup = _startup(options)
        _check_startup(options, startup, properties)
        _check_missing_field(options)
        return cls(
            brokers=Brokers(servers, tuple(sorted(properties.items()))),
            topic=topic,
            format=_format(schema, options, {column.name for column in metadata}),
            metadata=metadata,
            startup=startup,
            startup_ms=options.get(STARTUP_TIMESTAMP),
            startup_offsets=tuple(sorted((options.get(STARTUP_OFFSETS) or {}).items())),
            group=properties.get(_GROUP),
            reset=_reset(properties),
            is_bounded=options.get(SCAN_BOUNDED_MODE) != SCAN_BOUNDED_MODE.default,
            is_committed=level == _LEVELS[0],
            skips_bad=_skips(options, options.get(FORMAT) or options.get(VALUE_FORMAT), VALUE_PART),
            skips_bad_keys=_skips(options, options.get(KEY_FORMAT), KEY_PART),
            gives_changes=gives_changes(schema),
            key=schema.primary_key,
        )


def _format(schema: TableSchema, options: OptionValues, metadata: set[str]) -> RecordFormat:
    if options.get(CONNECTOR) == UPSERT:
        target = KafkaTarget.of(schema)
        assert target.key is not None, "it was checked"
        check_formats(options, target.value.format, target.key.format)
        keys, values = (record_fields(schema, part.columns) for part in (target.key, target.value))
        return KeyedRows(
            message_format(options, target.key.format, keys, KEY_PART),
            message_format(options, target.value.format, values),
        )
    name = options.get(FORMAT) or options.get(VALUE_FORMAT)
    if name is None:
        raise missing(options, FORMAT.key)
    if name not in _FORMATS:
        reason = f"a topic has {', '.join(map(repr, _FORMATS))}"
        raise InvalidOptionError(key=FORMAT.key, value=name, reason=reason)
    check_formats(options, name, options.get(KEY_FORMAT))
    columns = tuple(
        field
        for field in physical_columns(schema)
        if field.name not in metadata and field.name not in only_in_key(options)
    )
    if name in ENVELOPES:
        check_count(columns, name, is_right=bool(columns), wanted="a column")
    if name == DEBEZIUM:
        has_schema = format_value(options, DEBEZIUM_SCHEMA_INCLUDE, VALUE_PART)
        return EnvelopeRows(columns, JsonFormat, has_schema=has_schema)
    if name == DEBEZIUM_CONFLUENT:
        row_encoder(options, name, columns)  # it names a column that there cannot be
        registry = schema_registry(options, name, VALUE_PART)
        unit = time_unit(options, name, VALUE_PART)
        return EnvelopeRows(
            columns, partial(RegisteredAvroFormat, registry=registry, time_unit=unit)
        )
    return ValueRows(message_format(options, name, columns))


def only_in_key(options: OptionValues) -> tuple[str, ...]:
    """Return the columns that the value of a record does not have."""
    keys = options.get(KEY_FIELDS) or ()
    return keys if options.get(FIELDS_INCLUDE) == "except_key" else ()


def _metadata(schema: TableSchema, options: OptionValues) -> tuple[MetadataColumn, ...]:
    columns = metadata_columns(schema, options)
    for field, key in columns:
        kinds = METADATA_TYPES.get(key)
        if kinds is None:
            raise InvalidSchemaError(
                column=field.name,
                reason=f"a record of a topic has no metadata {key!r}; it has "
                f"{', '.join(map(repr, METADATA_TYPES))}",
            )
        if field.type not in kinds:
            wanted = " or ".join(kind.sql_name() for kind in kinds)
            raise InvalidSchemaError(column=field.name, reason=f"metadata {key!r} is {wanted}")
    return tuple(MetadataColumn(field.name, key, field.type) for field, key in columns)


def _startup(options: OptionValues) -> Startup:
    name = options.get(STARTUP_MODE) or Startup.EARLIEST.value
    try:
        return Startup(name)
    except ValueError:
        reason = f"a topic has {', '.join(repr(mode.value) for mode in Startup)}"
        raise InvalidOptionError(key=STARTUP_MODE.key, value=name, reason=reason) from None


def _reset(properties: Mapping[str, str]) -> str | None:
    text = properties.get(_RESET, _NO_RESET)
    found = text.strip().lower()
    if found not in (*RESETS, _NO_RESET):
        wanted = ", ".join(map(repr, (*RESETS, _NO_RESET)))
        reason = f"use one of {wanted}"
        raise InvalidOptionError(key=PROPERTIES.prefix + _RESET, value=text, reason=reason)
    return None if found == _NO_RESET else found


def _skips(options: OptionValues, name: str | None, part: str) -> bool:
    """Return whether the key or the value of a record, in a format, may be bad."""
    option = _IGNORE_ERRORS.get(name or "")
    return option is not None and format_value(options, option, part)


def _check_missing_field(options: OptionValues) -> None:
    for part in _PARTS:
        is_lenient = format_value(options, JSON_IGNORE_ERRORS, part)
        if is_lenient and format_value(options, JSON_MISSING_FIELD, part):
            reason = f"with {JSON_IGNORE_ERRORS.key!r} nothing fails"
            raise InvalidOptionError(key=JSON_MISSING_FIELD.key, value="true", reason=reason)


def _check_startup(options: OptionValues, startup: Startup, properties: Mapping[str, str]) -> None:
    if startup is Startup.GROUP and _GROUP not in properties:
        reason = f"{STARTUP_MODE.key!r} = {startup.value!r} needs it"
        raise InvalidOptionError(key=PROPERTIES.prefix + _GROUP, value=None, reason=reason)
    needed: tuple[tuple[Option[int | None] | Option[dict[int, int] | None], Startup], ...] = (
        (STARTUP_TIMESTAMP, Startup.TIMESTAMP),
        (STARTUP_OFFSETS, Startup.OFFSETS),
    )
    for option, mode in needed:
        if options.is_given(option) != (startup is mode):
            reason = (
                f"{STARTUP_MODE.key!r} = {mode.value!r} needs it"
                if startup is mode
                else f"it needs {STARTUP_MODE.key!r} = {mode.value!r}"
            )
            raise InvalidOptionError(
                key=option.key, value=options.text.get(option.key), reason=reason
            )


def is_kafka(schema: TableSchema) -> bool:
    """Return whether the rows of a table are the records of a topic."""
    return connector_of(schema) in (KAFKA, UPSERT)


def gives_changes(schema: TableSchema) -> bool:
    """Return whether the records of a table's topic are changes of rows."""
    return tells_only_keys(schema) or (
        connector_of(schema) == KAFKA
        and any(_text(schema, option.key) in ENVELOPES for option in (FORMAT, VALUE_FORMAT))
    )


def tells_only_keys(schema: TableSchema) -> bool:
    """Return whether of a row that goes, or is replaced, no more than its key is known."""
    return connector_of(schema) == UPSERT


def _text(schema: TableSchema, key: str) -> str:
    return schema.options.get(key, "").strip().lower()
