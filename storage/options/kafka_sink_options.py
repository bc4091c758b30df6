"""Options of tables whose rows go into a topic; names and meanings are Flink's."""

from __future__ import annotations

from typing import Final

from table_store.storage.options.avro_format_options import AVRO, CONFLUENT
from table_store.storage.options.options import (
    FOR_TABLE,
    TEXT,
    Option,
    OptionType,
    one_of,
)

_FORMATS: Final = ("json", "csv", "raw", AVRO, CONFLUENT)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(";"))
    if not all(names) or len(set(names)) < len(names):
        raise ValueError("names of columns, each once, such as 'id;day'")
    return names


KEY_FORMAT: Option[str | None] = Option(
    key="key.format",
    type=one_of(*_FORMATS),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka`: how the key of a written record holds its columns.",
)
KEY_FIELDS: Option[tuple[str, ...] | None] = Option(
    key="key.fields",
    type=OptionType("String", _names),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, with `key.format`: the columns in the key of a written record, with `;` "
    "between them.",
)
VALUE_FORMAT: Option[str | None] = Option(
    key="value.format",
    type=one_of(*_FORMATS, "debezium-json"),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, where it means the same as `format`, and of `upsert-kafka`.",
)
FIELDS_INCLUDE = Option(
    key="value.fields-include",
    type=one_of("all", "except_key"),
    default="all",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka`: whether the value of a written record also has the columns "
    "of its key.",
)
DELIVERY_GUARANTEE = Option(
    key="sink.delivery-guarantee",
    type=one_of("at-least-once", "exactly-once"),
    default="at-least-once",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka`: `exactly-once` writes each commit in one transaction, at "
    "the price of some requests more; else records may come twice after a death.",
)
TRANSACTIONAL_ID_PREFIX: Option[str | None] = Option(
    key="sink.transactional-id-prefix",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="`table-store`",
    doc="Of `kafka` and `upsert-kafka`: with what the transactional id begins, which is also that "
    "of the consumer group that notes what is written. The name of the table's directory follows.",
)

PARTITIONER = Option(
    key="sink.partitioner",
    type=one_of("default", "fixed", "round-robin"),
    default="default",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`: where records go: `default`: by their key, and without one as with "
    "`round-robin`, to one partition after the other; `fixed`: all to the first one.",
)

KAFKA_SINK_OPTIONS: Final = (
    KEY_FORMAT,
    KEY_FIELDS,
    VALUE_FORMAT,
    FIELDS_INCLUDE,
    DELIVERY_GUARANTEE,
    TRANSACTIONAL_ID_PREFIX,
)
