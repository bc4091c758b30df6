"""What the definition of a table `WITH ('connector' = 'kafka')` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from table_store.catalog.connectors.kafka_connections import Brokers
from table_store.catalog.connectors.message_formats import (
    CsvFormat,
    JsonFormat,
    MessageFormat,
    RawFormat,
)
from table_store.catalog.connectors.message_rows import METADATA_TYPES, MetadataColumn
from table_store.catalog.connectors.physical_columns import physical_columns
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError
from table_store.storage.options.connector_options import CONNECTOR
from table_store.storage.options.kafka_sink_options import (
    FIELDS_INCLUDE,
    KEY_FIELDS,
    KEY_FORMAT,
    VALUE_FORMAT,
)
from table_store.storage.options.kafka_source_options import (
    CSV_DELIMITER,
    CSV_IGNORE_ERRORS,
    CSV_NULL,
    FORMAT,
    JSON_IGNORE_ERRORS,
    METADATA,
    PROPERTIES,
    STARTUP_MODE,
    STARTUP_OFFSETS,
    STARTUP_TIMESTAMP,
    TOPIC,
)
from table_store.storage.options.log_options import SCAN_BOUNDED_MODE
from table_store.storage.options.options import Option, OptionScope, OptionValues
from table_store.storage.options.table_options import TABLE_OPTIONS

_SERVERS = "bootstrap.servers"
_ISOLATION = "isolation.level"
_LEVELS = ("read_committed", "read_uncommitted")
_FORMATS = ("json", "csv", "raw")


class Startup(Enum):
    """The values of 'scan.startup.mode'."""

    EARLIEST = "earliest-offset"
    LATEST = "latest-offset"
    TIMESTAMP = "timestamp"
    OFFSETS = "specific-offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaDefinition:
    """A topic as rows.

    Attributes:
        brokers: where the topic is.
        topic: its name.
        format: how values hold the columns.
        metadata: the columns that hold something else of a record.
        startup: with which records the rows begin.
        startup_ms: for `TIMESTAMP`, ms since 1970.
        startup_offsets: for `OFFSETS`, by partition.
        is_bounded: whether they end with what the topic has when it is first read.
        is_committed: whether records of aborted transactions are left out.
        skips_bad: whether values that are no rows are left out.
    """

    brokers: Brokers
    topic: str
    format: MessageFormat
    metadata: tuple[MetadataColumn, ...]
    startup: Startup
    startup_ms: int | None
    startup_offsets: tuple[tuple[int, int], ...]
    is_bounded: bool
    is_committed: bool
    skips_bad: bool

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
        servers, topic = properties.pop(_SERVERS, None), options.get(TOPIC)
        if servers is None:
            raise _missing(PROPERTIES.prefix + _SERVERS)
        if topic is None:
            raise _missing(TOPIC.key)
        level = properties.pop(_ISOLATION, _LEVELS[0])
        if level not in _LEVELS:
            key = PROPERTIES.prefix + _ISOLATION
            raise InvalidOptionError(key=key, value=level, reason=f"use {' or '.join(_LEVELS)}")
        metadata = _metadata(schema, options)
        named = {column.name for column in metadata}
        columns = tuple(
            field
            for field in physical_columns(schema)
            if field.name not in named and field.name not in only_in_key(options)
        )
        startup = _startup(options)
        _check_startup(options, startup)
        return cls(
            brokers=Brokers(servers, tuple(sorted(properties.items()))),
            topic=topic,
            format=_format(options, columns),
            metadata=metadata,
            startup=startup,
            startup_ms=options.get(STARTUP_TIMESTAMP),
            startup_offsets=tuple(sorted((options.get(STARTUP_OFFSETS) or {}).items())),
            is_bounded=options.get(SCAN_BOUNDED_MODE) != SCAN_BOUNDED_MODE.default,
            is_committed=level == _LEVELS[0],
            skips_bad=options.get(JSON_IGNORE_ERRORS) or options.get(CSV_IGNORE_ERRORS),
        )


def _missing(key: str) -> InvalidOptionError:
    reason = "a table with the connector 'kafka' needs it"
    return InvalidOptionError(key=key, value=None, reason=reason)


def _format(options: OptionValues, columns: tuple[Field, ...]) -> MessageFormat:
    name = options.get(FORMAT) or options.get(VALUE_FORMAT)
    if name is None:
        raise _missing(FORMAT.key)
    if name not in _FORMATS:
        reason = f"a topic has {', '.join(map(repr, _FORMATS))}"
        raise InvalidOptionError(key=FORMAT.key, value=name, reason=reason)
    check_formats(options, name, options.get(KEY_FORMAT))
    return message_format(options, name, columns)


def check_formats(options: OptionValues, *names: str | None) -> None:
    """Check that the options of formats are those of the table's.

    Raises:
        InvalidOptionError: one is of another format.
    """
    for key in options.text:
        other = key.partition(".")[0]
        if other in ("json", "csv") and other not in names:
            reason = f"it is of the format {other!r}, and the table's is {names[0]!r}"
            raise InvalidOptionError(key=key, value=options.text[key], reason=reason)


def message_format(options: OptionValues, name: str, columns: tuple[Field, ...]) -> MessageFormat:
    """Return the format of a name for columns.

    Raises:
        InvalidSchemaError: the format has no such columns.
        UnsupportedTypeError: it has no values of a column's type.
    """
    if name == "json":
        return JsonFormat(columns)
    if name == "csv":
        _check_count(columns, name, is_right=bool(columns), wanted="a column")
        return CsvFormat(columns, options.get(CSV_DELIMITER), options.get(CSV_NULL))
    _check_count(columns, name, is_right=len(columns) == 1, wanted="exactly one column")
    return RawFormat(columns)


def only_in_key(options: OptionValues) -> tuple[str, ...]:
    """Return the columns that the value of a record does not have."""
    keys = options.get(KEY_FIELDS) or ()
    return keys if options.get(FIELDS_INCLUDE) == "except_key" else ()


def _check_count(columns: tuple[Field, ...], name: str, *, is_right: bool, wanted: str) -> None:
    if not is_right:
        raise InvalidSchemaError(
            reason=f"the format {name!r} has {wanted} for the value of a record, not "
            f"{len(columns)}; others are METADATA or computed"
        )


def _metadata(schema: TableSchema, options: OptionValues) -> tuple[MetadataColumn, ...]:
    keys: Mapping[str, str] = options.with_prefix(METADATA)
    columns = {field.name: field for field in physical_columns(schema)}
    for name, key in keys.items():
        if name not in columns:
            option = METADATA.prefix + name
            raise InvalidOptionError(key=option, value=key, reason="there is no such column")
        kinds = METADATA_TYPES.get(key)
        if kinds is None:
            raise InvalidSchemaError(
                column=name,
                reason=f"a record of a topic has no metadata {key!r}; it has "
                f"{', '.join(map(repr, METADATA_TYPES))}",
            )
        if columns[name].type not in kinds:
            wanted = " or ".join(kind.sql_name() for kind in kinds)
            raise InvalidSchemaError(column=name, reason=f"metadata {key!r} is {wanted}")
    return tuple(
        MetadataColumn(name, keys[name], field.type)
        for name, field in columns.items()
        if name in keys
    )


def _startup(options: OptionValues) -> Startup:
    name = options.get(STARTUP_MODE) or Startup.EARLIEST.value
    try:
        return Startup(name)
    except ValueError:
        reason = f"a topic has {', '.join(repr(mode.value) for mode in Startup)}"
        raise InvalidOptionError(key=STARTUP_MODE.key, value=name, reason=reason) from None


def _check_startup(options: OptionValues, startup: Startup) -> None:
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
    return schema.options.get(CONNECTOR.key, "").strip().lower() == "kafka"
