"""The request that says what Spark reads in the place of a table."""

from __future__ import annotations

from table_store.catalog.connectors.spark_source import SparkSource
from table_store.catalog.planner.names.opened_table import opened_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.tables import FindSparkRead, SparkRead
from table_store.storage.kernel.secrets import is_secret


def find_spark_read(session: PlannerSession, request: FindSparkRead) -> SparkRead:
    """A format and its options, with the secrets that they name.

    Raises:
        InvalidOptionError: there is no such secret.
    """
    opened = opened_table(request.table)
    found = SparkSource.of(opened.schema).with_secrets()
    secret = tuple(key for key, value in found.options.items() if is_secret(key, value))
    return SparkRead(format=found.format, options=found.options, secret=secret)
