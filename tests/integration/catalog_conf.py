"""The two ways to configure the catalog, as arguments of Spark's programs."""

from __future__ import annotations

from typing import Final

OWN_NAME: Final[dict[str, str]] = {}
"""As `table-store setup` leaves it: a catalog of its own name, which is the default one."""

SESSION_CATALOG: Final[dict[str, str]] = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.tablestore.TableStoreCatalog",
    "spark.sql.defaultCatalog": "spark_catalog",
}
"""In place of Spark's own session catalog."""

SMALL_IN_SESSION: Final[dict[str, str]] = {
    "spark.sql.shuffle.partitions": "2",
    # Delta replays the log of a table of three rows with 50 tasks unless told otherwise.
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""What makes tests quick and changes no result, in a session that has begun."""

SMALL: Final[dict[str, str]] = {"spark.ui.enabled": "false", **SMALL_IN_SESSION}
"""The same, where Spark is started."""


def arguments(*settings: dict[str, str]) -> list[str]:
    """`--conf` arguments; later settings win."""
    merged = {key: value for each in settings for key, value in each.items()}
    return [word for key, value in merged.items() for word in ("--conf", f"{key}={value}")]
