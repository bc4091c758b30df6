"""The encoder that a table's options name for rows as messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from table_store.storage.file_store.model.schema import Field
from table_store.storage.formats.avro_messages import MICROS, MILLIS
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.types import (
    STRING,
    StructField,
    StructType,
    arrow_field,
    holds_variant,
)
from table_store.storage.log_store.encoding.avro_rows import AvroEncoder, with_head
from table_store.storage.log_store.encoding.json_encoding import FLINK
from table_store.storage.log_store.encoding.row_encoding import (
    CsvEncoder,
    JsonEncoder,
    RawEncoder,
    RowEncoder,
)
from table_store.storage.log_store.schema_registry import (
    HEAD_BYTES,
    MAGIC_BYTE,
    SchemaRegistry,
    check_url,
)
from table_store.storage.log_store.tls_stores import TlsStores
from table_store.storage.options.avro_format_options import (
    AVRO,
    AVRO_LEGACY_TIMES,
    CONFLUENT,
    REGISTRY_OPTIONS,
)
from table_store.storage.options.kafka_source_options import TOPIC
from table_store.storage.options.message_format_options import (
    CSV_DELIMITER,
    DEBEZIUM,
    DEBEZIUM_TIMESTAMP_FORMAT,
    JSON_TIMESTAMP_FORMAT,
    VALUE_PART,
    csv_null,
    format_value,
)
from table_store.storage.options.options import Option, OptionValues

_IN_URL: Final = "url"
"""Where user and password may be."""


@dataclass(frozen=True, slots=True)
class RegisteredEncoder:
    """Records of Avro behind the id of their schema.

    Attributes:
        records: writes the records.
        registry: gives the id.
        subject: under which the schema is registered.
        registers: whether the schema is registered if it is not.
    """

    records: AvroEncoder
    registry: SchemaRegistry
    subject: str
    registers: bool

    def check_ready(self) -> None:
        """Ask the registry for the id; raises as `SchemaRegistry.id_of`."""
        self._head()

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """See `RowEncoder`; raises as `SchemaRegistry.id_of`."""
        return with_head(self._head(), self.records.encoded(columns))

    def _head(self) -> bytes:
        registers, schema = self.registers, self.records.schema
        number = self.registry.id_of(self.subject, schema, registers=registers)
        return bytes([MAGIC_BYTE]) + number.to_bytes(HEAD_BYTES - 1, "big")


def row_encoder(
    options: OptionValues, name: str, columns: Sequence[Field], part: str = VALUE_PART
) -> RowEncoder:
    """Return the encoder of a format for some columns.

    Args:
        options: of the table.
        name: of the format.
        columns: the columns.
        part: of a record, which may have options of its own.

    Raises:
        InvalidSchemaError: the format has no such columns.
        UnsupportedTypeError: it has no values of a column's type.
        InvalidOptionError: an option is missing, or does not go with the columns.
    """
    if name in ("json", DEBEZIUM):
        standard = JSON_TIMESTAMP_FORMAT if name == "json" else DEBEZIUM_TIMESTAMP_FORMAT
        is_iso = format_value(options, standard, part) == "iso-8601"
        style = replace(FLINK, separator="T") if is_iso else FLINK
        return JsonEncoder(tuple(column.name for column in columns), style)
    if name == "csv":
        null = csv_null(options, part) or ""
        return CsvEncoder(format_value(options, CSV_DELIMITER, part), null)
    if name == AVRO:
        return _avro_encoder(columns, time_unit(options, name, part), None, name)
    if name in REGISTRY_OPTIONS:
        own = REGISTRY_OPTIONS[name]
        schema = format_value(options, own.schema, part)
        topic = options.get(TOPIC)
        written = columns if name == CONFLUENT else envelope_columns(columns)
        return RegisteredEncoder(
            _avro_encoder(written, time_unit(options, name, part), schema, name),
            schema_registry(options, name, part),
            format_value(options, own.subject, part) or f"{topic}-{part}",
            format_value(options, own.auto_register, part),
        )
    return RawEncoder()


def envelope_columns(columns: Sequence[Field]) -> tuple[Field, ...]:
    """Return the fields of Debezium's envelope around the columns of a row."""
    fields = (StructField(name=one.name, type=one.type, nullable=one.nullable) for one in columns)
    row = StructType(tuple(fields))
    kinds = {"before": row, "after": row, "op": STRING}
    return tuple(
        Field(id=place, name=name, type=kind) for place, (name, kind) in enumerate(kinds.items())
    )


def schema_registry(options: OptionValues, name: str, part: str) -> SchemaRegistry:
    """Return the registry that the options of a format name for the key or the value of a record.

    Raises:
        InvalidOptionError: they name none, or not its address.
    """
    own = REGISTRY_OPTIONS[name]

    def given(option: Option[str | None]) -> str | None:
        return format_value(options, option, part)

    url = given(own.url)
    if url is None:
        reason = f"the format {name!r} needs it"
        raise InvalidOptionError(key=own.url.key, value=None, reason=reason)
    reason_wrong = check_url(url, own.url.key)
    if reason_wrong is not None:
        shown = None if "@" in url else url  # or a password in it would be
        raise InvalidOptionError(key=own.url.key, value=shown, reason=reason_wrong)
    stores = TlsStores(
        given(own.truststore),
        given(own.truststore_password),
        given(own.keystore),
        given(own.keystore_password),
    )
    user_info, token = given(own.user_info), given(own.bearer_token)
    _check_given(own.basic_source, given(own.basic_source), own.user_info, user_info)
    _check_given(own.bearer_source, given(own.bearer_source), own.bearer_token, token)
    if given(own.basic_source) == _IN_URL:
        user_info = None
    return SchemaRegistry(url, user_info, token, stores, name)


def _check_given(
    source: Option[str | None],
    where: str | None,
    needed: Option[str | None],
    value: str | None,
) -> None:
    if where is not None and where != _IN_URL and value is None:
        reason = f"{needed.key!r} is not given"
        raise InvalidOptionError(key=source.key, value=where, reason=reason)


def time_unit(options: OptionValues, name: str, part: str) -> str:
    """Return the unit of times that do not tell it."""
    option = AVRO_LEGACY_TIMES if name == AVRO else REGISTRY_OPTIONS[name].legacy_times
    return MILLIS if format_value(options, option, part) else MICROS


def _avro_encoder(
    columns: Sequence[Field], unit: str, schema: str | None, name: str
) -> AvroEncoder:
    for column in columns:
        if holds_variant(column.type):
            raise UnsupportedTypeError(type_name=column.type.sql_name(), column=column.name)
    fields = [arrow_field(column.name, column.type, nullable=column.nullable) for column in columns]
    try:
        return AvroEncoder.of(fields, unit, schema)
    except ValueError as error:
        if schema is None:
            raise InvalidSchemaError(reason=f"with the format {name!r}, {error}") from error
        key = f"{name}.schema"
        raise InvalidOptionError(key=key, value=schema, reason=str(error)) from error
