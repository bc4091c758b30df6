"""`'connector' = 'jdbc'` and `'spark'`: rows that Spark itself reads.

Options and meanings of `jdbc` are those of Flink's connector of this name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from table_store.catalog.connectors.connector_name import connector_of
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.secret_reference import resolved
from table_store.storage.options.connector_options import CONNECTOR, READ_BY_SPARK, needed
from table_store.storage.options.database_options import PASSWORD, TABLE_NAME, USERNAME
from table_store.storage.options.filesystem_options import PATH
from table_store.storage.options.kafka_source_options import FORMAT
from table_store.storage.options.options import Option, OptionScope, OptionValues
from table_store.storage.options.spark_source_options import (
    DRIVER,
    FETCH_SIZE,
    LOWER_BOUND,
    PARTITION_COLUMN,
    PARTITION_COUNT,
    SOURCE_OPTIONS,
    UPPER_BOUND,
    URL,
)
from table_store.storage.options.table_options import TABLE_OPTIONS


@dataclass(frozen=True, slots=True)
class SparkSource:
    """What Spark is to read: a format, as `spark.read.format` takes it, and its options."""

    format: str
    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, schema: TableSchema) -> SparkSource:
        """Return what a table's definition says; a secret is still the text that names it.

        Raises:
            InvalidOptionError: an option is missing, or is not valid with the others.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        if options.get(CONNECTOR) == "jdbc":
            return cls("jdbc", _jdbc(options))
        given = dict(options.with_prefix(SOURCE_OPTIONS))
        path = options.get(PATH)
        if path is not None:
            given[PATH.key] = path
        return cls(needed(options, FORMAT), given)

    def with_secrets(self) -> SparkSource:
        """Return the same with the secrets that options name.

        Raises:
            InvalidOptionError: there is no such secret.
        """
        known = {key: resolved(key, value) for key, value in self.options.items()}
        return SparkSource(self.format, known)


def is_read_by_spark(schema: TableSchema) -> bool:
    """Return whether Spark itself reads the rows of a table."""
    return connector_of(schema) in READ_BY_SPARK


def _jdbc(options: OptionValues) -> dict[str, str]:
    partitioning: tuple[tuple[str, Option[Any]], ...] = (
        ("partitionColumn", PARTITION_COLUMN),
        ("numPartitions", PARTITION_COUNT),
        ("lowerBound", LOWER_BOUND),
        ("upperBound", UPPER_BOUND),
    )
    is_partitioned = any(options.is_given(option) for _, option in partitioning)
    found = {"url": needed(options, URL), "dbtable": needed(options, TABLE_NAME)}
    others: tuple[tuple[str, Option[Any]], ...] = (
        ("user", USERNAME),
        ("password", PASSWORD),
        ("driver", DRIVER),
        ("fetchsize", FETCH_SIZE),
    )
    for name, option in (*others, *partitioning):
        value = options.get(option)
        if value is not None:
            found[name] = str(value)
        elif is_partitioned and option in [one for _, one in partitioning]:
            reason = "the options 'scan.partition.*' are given all, or none"
            raise InvalidOptionError(key=option.key, value=None, reason=reason)
    return found
