"""The requests that say what Spark reads in the place of a table."""

from __future__ import annotations

from table_store.catalog.connectors.positions.position import PositionStore
from table_store.catalog.connectors.positions.source_read import AskedRows
from table_store.catalog.connectors.positions.stream_range import StreamRange
from table_store.catalog.connectors.spark_source import SparkSource
from table_store.catalog.connectors.spark_stream import SparkStreamSource
from table_store.catalog.planner.names.opened_table import opened_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.tables import FindSparkRead, FindSparkStream, SparkRead
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


def find_spark_stream(session: PlannerSession, request: FindSparkStream) -> StreamRange:
    """The range of a stream that a job reads: the rows that are out by the version of a table.

    Its handle says which of them are left out.

    Raises:
        SourcePositionLostError: nobody knows its offsets any more.
        InvalidOptionError: there is no such secret.
    """
    opened = opened_table(request.table)
    asked = AskedRows(
        table=opened.name,
        first=request.table.table_handle.first_row,
        last=opened.snapshot_id or 0,
        limit=None,
        is_bounded=False,
        parallelism=1,
    )
    source = SparkStreamSource.of(opened.table, opened.schema)
    return source.between(asked, PositionStore(opened.table.file_io, opened.table.path))
