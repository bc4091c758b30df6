"""Options of tables whose rows come from elsewhere or go there; names and meanings are Flink's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.avro_format_options import AVRO_CODEC, AVRO_LEGACY_TIMES
from table_store.storage.options.database_options import (
    DATABASE_OPTIONS,
    PASSWORD,
    TABLE_NAME,
    USERNAME,
)
from table_store.storage.options.dead_letter_options import DEAD_LETTER_TABLE
from table_store.storage.options.filesystem_options import FILESYSTEM_OPTIONS, PATH
from table_store.storage.options.kafka_sink_options import KAFKA_SINK_OPTIONS, PARTITIONER
from table_store.storage.options.kafka_source_options import (
    FORMAT,
    KAFKA_SOURCE_OPTIONS,
    METADATA,
    PROPERTIES,
    STARTUP_MODE,
    STARTUP_TIMESTAMP,
    TOPIC,
)
from table_store.storage.options.log_options import SCAN_BOUNDED_MODE
from table_store.storage.options.message_format_options import (
    CSV_DELIMITER,
    CSV_IGNORE_ERRORS,
    CSV_NULL,
    FORMAT_OPTIONS,
    JSON_IGNORE_ERRORS,
    JSON_MISSING_FIELD,
    JSON_TIMESTAMP_FORMAT,
    PART_OPTIONS,
)
from table_store.storage.options.mysql_source_options import MYSQL_SOURCE_OPTIONS
from table_store.storage.options.options import (
    FOR_TABLE,
    LONG_MAX,
    Option,
    OptionPrefix,
    OptionValues,
    one_of,
    whole_number,
)
from table_store.storage.options.postgres_source_options import POSTGRES_SOURCE_OPTIONS
from table_store.storage.options.print_options import PRINT_OPTIONS
from table_store.storage.options.spark_source_options import JDBC_OPTIONS, SOURCE_OPTIONS

CONNECTOR: Option[str | None] = Option(
    key="connector",
    type=one_of(
        "datagen",
        "kafka",
        "upsert-kafka",
        "mysql-cdc",
        "postgres-cdc",
        "filesystem",
        "jdbc",
        "spark",
        "print",
        "blackhole",
    ),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="What makes the rows of a table, or takes those that are inserted: see "
    "[connectors](connectors.md).",
)
ROWS_PER_SECOND = Option(
    key="rows-per-second",
    type=whole_number("Long", 1, 1_000_000_000),
    default=10_000,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `datagen`: how many rows come each second that a job reads it. More: more to write.",
)
NUMBER_OF_ROWS: Option[int | None] = Option(
    key="number-of-rows",
    type=whole_number("Long", 1, LONG_MAX),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="no end",
    doc="Of `datagen`: after so many rows it ends.",
)
FIELDS: Final = OptionPrefix(
    prefix="fields.",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `datagen`: how the values of a column are made, such as `fields.id.kind`: see "
    "[connectors](connectors.md#datagen).",
)

CONNECTOR_OPTIONS: Final[tuple[Option[Any], ...]] = (
    CONNECTOR,
    ROWS_PER_SECOND,
    NUMBER_OF_ROWS,
    *KAFKA_SOURCE_OPTIONS,
    *KAFKA_SINK_OPTIONS,
    PARTITIONER,
    AVRO_CODEC,
    DEAD_LETTER_TABLE,
    *PRINT_OPTIONS,
    *DATABASE_OPTIONS,
    *MYSQL_SOURCE_OPTIONS,
    *POSTGRES_SOURCE_OPTIONS,
    *FILESYSTEM_OPTIONS,
    *JDBC_OPTIONS,
)
CONNECTOR_PREFIXES: Final = (FIELDS, PROPERTIES, METADATA, SOURCE_OPTIONS)

_KAFKA: Final[tuple[Option[Any] | OptionPrefix, ...]] = (
    CONNECTOR,
    *KAFKA_SOURCE_OPTIONS,
    *KAFKA_SINK_OPTIONS,
    PARTITIONER,
    DEAD_LETTER_TABLE,
    SCAN_BOUNDED_MODE,
    PROPERTIES,
    METADATA,
)
_UPSERT_KAFKA: Final[tuple[Option[Any] | OptionPrefix, ...]] = (
    CONNECTOR,
    TOPIC,
    *FORMAT_OPTIONS,
    *PART_OPTIONS,
    *KAFKA_SINK_OPTIONS,
    DEAD_LETTER_TABLE,
    SCAN_BOUNDED_MODE,
    PROPERTIES,
    METADATA,
)

TAKEN: Final[Mapping[str, tuple[Option[Any] | OptionPrefix, ...]]] = FrozenMap(
    {
        "datagen": (CONNECTOR, ROWS_PER_SECOND, NUMBER_OF_ROWS, FIELDS),
        "kafka": _KAFKA,
        "upsert-kafka": _UPSERT_KAFKA,
        "print": (CONNECTOR, *PRINT_OPTIONS),
        "blackhole": (CONNECTOR,),
        "mysql-cdc": (
            CONNECTOR,
            STARTUP_MODE,
            STARTUP_TIMESTAMP,
            METADATA,
            *DATABASE_OPTIONS,
            *MYSQL_SOURCE_OPTIONS,
        ),
        "postgres-cdc": (CONNECTOR, STARTUP_MODE, *DATABASE_OPTIONS, *POSTGRES_SOURCE_OPTIONS),
        "filesystem": (
            CONNECTOR,
            FORMAT,
            JSON_IGNORE_ERRORS,
            JSON_MISSING_FIELD,
            JSON_TIMESTAMP_FORMAT,
            CSV_IGNORE_ERRORS,
            CSV_DELIMITER,
            CSV_NULL,
            AVRO_LEGACY_TIMES,
            AVRO_CODEC,
            DEAD_LETTER_TABLE,
            *FILESYSTEM_OPTIONS,
        ),
        "jdbc": (CONNECTOR, TABLE_NAME, USERNAME, PASSWORD, *JDBC_OPTIONS),
        "spark": (CONNECTOR, FORMAT, PATH, SOURCE_OPTIONS),
    }
)
"""What the tables of each connector take; no other table takes any of it."""

SINKS: Final = frozenset(("kafka", "upsert-kafka", "filesystem", "print", "blackhole"))
"""Connectors that take rows."""

SOURCES: Final = frozenset(
    ("datagen", "kafka", "upsert-kafka", "mysql-cdc", "postgres-cdc", "filesystem", "spark")
)
"""Connectors that make rows."""

READ_BY_SPARK: Final = frozenset(("jdbc", "spark"))
"""Connectors whose rows Spark reads by itself."""


def needed(options: OptionValues, option: Option[str | None]) -> str:
    """Return the value of an option of a table with a connector.

    Raises:
        InvalidOptionError: it is not given.
    """
    found = options.get(option)
    if found is None:
        raise missing(options, option.key)
    return found


def missing(options: OptionValues, key: str) -> InvalidOptionError:
    """Return what to raise where a table's connector cannot do without an option."""
    reason = f"a table with the connector {options.get(CONNECTOR)!r} needs it"
    return InvalidOptionError(key=key, value=None, reason=reason)
