"""Options of tables `WITH ('connector' = 'jdbc')` and `'spark'`, which Spark itself reads.

Names and meanings of the first one's are Flink's.
"""

from __future__ import annotations

from typing import Final

from table_store.storage.options.options import (
    FOR_TABLE,
    TEXT,
    Option,
    OptionPrefix,
    integer,
    long,
)

URL: Option[str | None] = Option(
    key="url",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `jdbc`: the database's address, `jdbc:…`.",
)
DRIVER: Option[str | None] = Option(
    key="driver",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="the driver that takes the `url`",
    doc="Of `jdbc`: the class of the driver, whose jar Spark must have (`spark.jars`).",
)
FETCH_SIZE = Option(
    key="scan.fetch-size",
    type=integer(0),
    default=0,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `jdbc`: how many rows come in one answer of the database; 0 leaves it to the driver. "
    "More: fewer answers, and more memory.",
)
PARTITION_COLUMN: Option[str | None] = Option(
    key="scan.partition.column",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="one task reads all rows",
    doc="Of `jdbc`: a column of numbers or times by whose ranges several tasks read the table. The "
    "other `scan.partition.*` go with it.",
)
PARTITION_COUNT: Option[int | None] = Option(
    key="scan.partition.num",
    type=integer(),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `jdbc`: how many tasks these are. More: more connections of the database.",
)
LOWER_BOUND: Option[int | None] = Option(
    key="scan.partition.lower-bound",
    type=long(-(2**63)),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `jdbc`: about the smallest value of the column; smaller ones are read, too.",
)
UPPER_BOUND: Option[int | None] = Option(
    key="scan.partition.upper-bound",
    type=long(-(2**63)),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `jdbc`: about the greatest value of the column; greater ones are read, too.",
)
SOURCE_OPTIONS: Final = OptionPrefix(
    prefix="source.options.",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `spark`: an option of the source, such as `source.options.header`, as "
    "`spark.read.option` takes it. In place of a secret stands `${secret:env:NAME}` or "
    "`${secret:file:/path}`.",
)

JDBC_OPTIONS: Final = (
    URL,
    DRIVER,
    FETCH_SIZE,
    PARTITION_COLUMN,
    PARTITION_COUNT,
    LOWER_BOUND,
    UPPER_BOUND,
)
