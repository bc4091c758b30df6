"""Options of tables `WITH ('connector' = 'kafka')`; names, defaults and meanings are Flink's."""

from __future__ import annotations

import re
from typing import Any, Final

from table_store.storage.options.message_format_options import FORMAT_OPTIONS, PART_OPTIONS
from table_store.storage.options.options import (
    FOR_TABLE,
    TEXT,
    Option,
    OptionPrefix,
    OptionType,
    long,
    one_of,
)

_OFFSET: Final = re.compile(r"partition:\s*(\d{1,9})\s*,\s*offset:\s*(\d{1,18})")


def _offsets(text: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in text.strip().rstrip(";").split(";"):
        match = _OFFSET.fullmatch(part.strip())
        if match is None or int(match[1]) in found:
            raise ValueError("a text such as 'partition:0,offset:42;partition:1,offset:300'")
        found[int(match[1])] = int(match[2])
    return found


def _format(text: str) -> str:
    word = TEXT.parse(text.strip())
    return word if "." in word else word.lower()  # the name of a class is one as it stands


TOPIC: Option[str | None] = Option(
    key="topic",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka`: the topic that is read or written.",
)
FORMAT: Option[str | None] = Option(
    key="format",
    type=OptionType("String", _format),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`: how the value of a record holds a row, `json`, `csv`, `raw`, "
    "`avro`, `avro-confluent`, `debezium-json` or `debezium-avro-confluent`: see "
    "[the page on it](kafka-source.md). Of "
    "`filesystem`: how files hold rows, `parquet`, `avro`, `json` or `csv`: see "
    "[files](filesystem.md). Of `spark`: the name of the source, as `spark.read.format` takes it.",
)
STARTUP_MODE: Option[str | None] = Option(
    key="scan.startup.mode",
    type=one_of(
        "earliest-offset",
        "latest-offset",
        "group-offsets",
        "timestamp",
        "specific-offsets",
        "initial",
        "specific-offset",
    ),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="`earliest-offset` of `kafka`, `initial` of `mysql-cdc` and `postgres-cdc`",
    doc="Of `kafka`, `mysql-cdc` and `postgres-cdc`: with what the rows begin. `group-offsets`, "
    "`timestamp` and `specific-offsets` are of `kafka`, `specific-offset` of `mysql-cdc`; "
    "`postgres-cdc` has `initial` and `latest-offset`.",
)
STARTUP_TIMESTAMP: Option[int | None] = Option(
    key="scan.startup.timestamp-millis",
    type=long(),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `mysql-cdc`, for `timestamp`: records, or changes, from this time on "
    "(milliseconds since 1970).",
)
STARTUP_OFFSETS: Option[dict[int, int] | None] = Option(
    key="scan.startup.specific-offsets",
    type=OptionType("String", _offsets),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, for `specific-offsets`: `partition:0,offset:42;partition:1,offset:300`; other "
    "partitions are read from their first record on.",
)
PROPERTIES: Final = OptionPrefix(
    prefix="properties.",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka`: `properties.bootstrap.servers`, the brokers, must be "
    "given; others are properties of the Kafka client, where a secret may stand as for "
    "`log.kafka.*`.",
)
METADATA: Final = OptionPrefix(
    prefix="metadata.",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`: what a column of this name holds of the record besides its value. `METADATA "
    "FROM` behind the column writes it.",
)

KAFKA_SOURCE_OPTIONS: Final[tuple[Option[Any], ...]] = (
    TOPIC,
    FORMAT,
    STARTUP_MODE,
    STARTUP_TIMESTAMP,
    STARTUP_OFFSETS,
    *FORMAT_OPTIONS,
    *PART_OPTIONS,
)
