"""Options of tables `WITH ('connector' = 'kafka')`; names, defaults and meanings are Flink's."""

from __future__ import annotations

import re
from typing import Final

from table_store.storage.options.options import (
    BOOLEAN,
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


def _delimiter(text: str) -> str:
    found = {"\\t": "\t"}.get(text, text)
    if len(found) != 1 or ord(found) > 127 or found in '"\r\n':
        raise ValueError("one character of ASCII, such as ';' or '\\t'")
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
    doc="Of `kafka`: how the value of a record holds a row, `json`, `csv` or `raw`: see "
    "[connectors](connectors.md#kafka). Of `filesystem`: how files hold rows, `parquet`, `json` or "
    "`csv`: see [files](filesystem.md). Of `spark`: the name of the source, as `spark.read.format` "
    "takes it.",
)
STARTUP_MODE: Option[str | None] = Option(
    key="scan.startup.mode",
    type=one_of(
        "earliest-offset",
        "latest-offset",
        "timestamp",
        "specific-offsets",
        "initial",
        "specific-offset",
    ),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="`earliest-offset` of `kafka`, `initial` of `mysql-cdc`",
    doc="Of `kafka` and `mysql-cdc`: with what the rows begin. `timestamp` and `specific-offsets` "
    "are of `kafka`, `initial` and `specific-offset` of `mysql-cdc`.",
)
STARTUP_TIMESTAMP: Option[int | None] = Option(
    key="scan.startup.timestamp-millis",
    type=long(),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, for `timestamp`: records from this time on (milliseconds since 1970).",
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
JSON_IGNORE_ERRORS = Option(
    key="json.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `filesystem` with `json`: records that are no rows are left out and "
    "counted in the log, instead of failing what reads them.",
)
JSON_MISSING_FIELD = Option(
    key="json.fail-on-missing-field",
    type=one_of("false"),
    default="false",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `filesystem` with `json`: a field that is missing is NULL; where that is "
    "not allowed, declare the column NOT NULL.",
)
JSON_TIMESTAMP_FORMAT = Option(
    key="json.timestamp-format.standard",
    type=one_of("sql", "iso-8601"),
    default="sql",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `filesystem` with `json`: both forms of a time are read, whichever is "
    "named.",
)
CSV_IGNORE_ERRORS = Option(
    key="csv.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same with `csv`.",
)
CSV_DELIMITER = Option(
    key="csv.field-delimiter",
    type=OptionType("String", _delimiter),
    default=",",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `filesystem` with `csv`: what stands between two fields.",
)
CSV_NULL: Option[str | None] = Option(
    key="csv.null-literal",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="no text; an empty field that is no STRING is NULL",
    doc="Of `kafka` and `filesystem` with `csv`: the text that stands for NULL.",
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

KAFKA_SOURCE_OPTIONS: Final = (
    TOPIC,
    FORMAT,
    STARTUP_MODE,
    STARTUP_TIMESTAMP,
    STARTUP_OFFSETS,
    JSON_IGNORE_ERRORS,
    JSON_MISSING_FIELD,
    JSON_TIMESTAMP_FORMAT,
    CSV_IGNORE_ERRORS,
    CSV_DELIMITER,
    CSV_NULL,
)
