"""What the definition of a table says of the topic into which its rows go."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError
from table_store.storage.log_store.encoding.row_encoding import RowEncoder
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.sinks.row_encoders import row_encoder
from table_store.storage.options.connector_options import CONNECTOR, missing, needed
from table_store.storage.options.kafka_sink_options import (
    DELIVERY_GUARANTEE,
    FIELDS_INCLUDE,
    KEY_FIELDS,
    KEY_FORMAT,
    PARTITIONER,
    TRANSACTIONAL_ID_PREFIX,
    VALUE_FORMAT,
)
from table_store.storage.options.kafka_source_options import (
    FORMAT,
    METADATA,
    PROPERTIES,
    TOPIC,
)
from table_store.storage.options.message_format_options import ENVELOPES, KEY_PART, VALUE_PART
from table_store.storage.options.options import Option, OptionScope, OptionValues
from table_store.storage.options.table_options import TABLE_OPTIONS

_SERVERS: Final = "bootstrap.servers"
_ISOLATION: Final = "isolation.level"
_PREFIX: Final = "table-store"
TIMEOUT_MS: Final = 10_000
"""For each call of the brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The key or the value of a record: a format, and the columns in it."""

    format: str
    columns: tuple[str, ...]
    encoder: RowEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTarget:
    """The topic of a sink.

    Attributes:
        brokers: `host:port`, with commas between them.
        properties: further ones of the client; passwords among them.
        topic: its name.
        key: of its records; None: they have none.
        value: of its records.
        is_upsert: whether a record replaces those with the same key, and one without a value is a
            delete.
        is_exactly_once: whether each commit is one transaction.
        is_fixed: whether all records go to the first partition.
        id_prefix: of the transactional id.
    """

    brokers: str
    properties: Mapping[str, str] = field(repr=False)
    topic: str
    key: Part | None
    value: Part
    is_upsert: bool
    is_exactly_once: bool
    is_fixed: bool
    id_prefix: str

    @classmethod
    def of(cls, schema: TableSchema) -> KafkaTarget:
        """Return what a table's definition says.

        Raises:
            InvalidOptionError: an option is missing, or is not valid with the others.
            InvalidSchemaError: a format has no such columns.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        properties = dict(options.with_prefix(PROPERTIES))
        properties.pop(_ISOLATION, None)
        servers = properties.pop(_SERVERS, None)
        if servers is None:
            raise missing(options, PROPERTIES.prefix + _SERVERS)
        is_upsert = options.get(CONNECTOR) == "upsert-kafka"
        keys = _keys(schema, options)
        _check_partitioner(options, keys)
        taken = keys if options.get(FIELDS_INCLUDE) == "except_key" else ()
        physical = [f.name for f in schema.fields if f.generated is None]
        metadata = options.with_prefix(METADATA)
        values = tuple(n for n in physical if n not in metadata and n not in taken)
        key = _part(schema, options, needed(options, KEY_FORMAT), keys, KEY_PART) if keys else None
        return cls(
            brokers=servers,
            properties=properties,
            topic=needed(options, TOPIC),
            key=key,
            value=_part(
                schema, options, _value_format(options, is_upsert=is_upsert), values, VALUE_PART
            ),
            is_upsert=is_upsert,
            is_exactly_once=options.get(DELIVERY_GUARANTEE) == "exactly-once",
            is_fixed=options.get(PARTITIONER) == "fixed",
            id_prefix=options.get(TRANSACTIONAL_ID_PREFIX) or _PREFIX,
        )

    @property
    def takes_changes(self) -> bool:
        """Whether rows may also go."""
        return self.is_upsert or self.value.format in ENVELOPES

    def cluster(self) -> KafkaCluster:
        """Return a connection to the brokers; the caller closes it.

        Raises:
            InvalidOptionError: the client has no such property, or not such a value.
        """
        return KafkaCluster(self.brokers, self.properties, TIMEOUT_MS, PROPERTIES.prefix)

    def transactional_id(self, path: str, created_ms: int) -> str:
        """Return the id of a table by its directory, and by when it was created in it."""
        digest = hashlib.sha256(f"{path} {created_ms}".encode()).hexdigest()[:16]
        return f"{self.id_prefix}-{digest}"


def _keys(schema: TableSchema, options: OptionValues) -> tuple[str, ...]:
    """Return the columns of a record's key."""
    given = options.get(KEY_FIELDS)
    if options.get(CONNECTOR) == "upsert-kafka":
        if not schema.primary_key:
            reason = "a table with the connector 'upsert-kafka' needs a PRIMARY KEY … NOT ENFORCED"
            raise InvalidSchemaError(reason=reason)
        if given is not None:
            raise _refused(options, KEY_FIELDS, "the primary key says which columns they are")
        return schema.primary_key
    if (given is None) != (options.get(KEY_FORMAT) is None):
        option, other = (KEY_FIELDS, KEY_FORMAT) if given else (KEY_FORMAT, KEY_FIELDS)
        raise _refused(options, option, f"it goes with {other.key!r}")
    physical = [f.name for f in schema.fields if f.generated is None]
    unknown = [name for name in given or () if name not in physical]
    if unknown:
        raise _refused(options, KEY_FIELDS, f"there is no column {unknown[0]!r} to be written")
    if given is None and options.get(FIELDS_INCLUDE) == "except_key":
        raise _refused(options, FIELDS_INCLUDE, f"it needs {KEY_FIELDS.key!r}")
    return given or ()


def _check_partitioner(options: OptionValues, keys: Sequence[str]) -> None:
    if options.get(PARTITIONER) != "round-robin":
        return
    if keys:
        raise _refused(options, PARTITIONER, f"it does not go with {KEY_FIELDS.key!r}")
    name = options.get(FORMAT) or options.get(VALUE_FORMAT)
    if name in ENVELOPES:
        reason = f"changes in the format {name!r} would lose their order"
        raise _refused(options, PARTITIONER, reason)


def _value_format(options: OptionValues, *, is_upsert: bool) -> str:
    name, other = options.get(FORMAT), options.get(VALUE_FORMAT)
    if is_upsert:
        if name is not None:
            raise _refused(options, FORMAT, f"use {KEY_FORMAT.key!r} and {VALUE_FORMAT.key!r}")
        if other in ENVELOPES:
            reason = "it says itself what a change is; use it with the connector 'kafka'"
            raise _refused(options, VALUE_FORMAT, reason)
        return needed(options, VALUE_FORMAT)
    if name is not None and other is not None:
        raise _refused(options, VALUE_FORMAT, f"it says the same as {FORMAT.key!r}; leave one out")
    return other or needed(options, FORMAT)


def _part(
    schema: TableSchema, options: OptionValues, name: str, columns: Sequence[str], part: str
) -> Part:
    if (name == "csv" and not columns) or (name == "raw" and len(columns) != 1):
        wanted = "exactly one column" if name == "raw" else "a column"
        raise InvalidSchemaError(
            reason=f"the format {name!r} has {wanted} for a part of a record, not {len(columns)}"
        )
    encoder = row_encoder(options, name, record_fields(schema, columns), part)
    return Part(format=name, columns=tuple(columns), encoder=encoder)


def record_fields(schema: TableSchema, names: Sequence[str]) -> tuple[Field, ...]:
    """Return columns as a record has them: those of the primary key are never NULL."""
    return tuple(
        replace(field, nullable=field.nullable and field.name not in schema.primary_key)
        for field in map(schema.field_named, names)
    )


def _refused(
    options: OptionValues,
    option: Option[str | None] | Option[str] | Option[tuple[str, ...] | None],
    reason: str,
) -> InvalidOptionError:
    return InvalidOptionError(key=option.key, value=options.text.get(option.key), reason=reason)
