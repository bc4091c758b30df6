"""The Spark session in which formats are measured side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests.benchmark.table_format import TableFormat, joined_conf

_CORES = 2


def open_session(formats: Sequence[TableFormat], warehouse: Path, memory: str) -> SparkSession:
    """Start Spark with what all formats need; Maven brings the jars that are not there.

    Raises:
        FormatError: Two formats want another configuration each.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(f"local[{_CORES}]")
        .appName("table-store-benchmark")
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        # For this machine, and what all engines get: 200 tasks on two cores would only punish
        # those that shuffle.
        .config("spark.sql.shuffle.partitions", str(2 * _CORES))
        .config("spark.sql.codegen.cache.maxEntries", "2000")  # as in conf/spark-defaults.conf
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.catalogImplementation", "in-memory")
        # Only what the formats say, whatever this Spark has in its own configuration.
        .config("spark.sql.extensions", "")
        .config("spark.sql.defaultCatalog", "spark_catalog")
    )
    jars = Path(pyspark.__file__).parent / "jars"
    for key, value in joined_conf(list(formats), jars, warehouse).items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
