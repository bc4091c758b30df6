"""Spark's own Parquet files: the limit that a format is measured against."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


class PlainParquet:
    """Folders of files, each written anew; the rows of a `source` view as they are."""

    def __init__(self, spark: SparkSession, folder: Path, buckets: int, key: str = "id") -> None:
        self._spark = spark
        self._folder = folder
        self._buckets = buckets
        self._key = key

    def write_plain(self, source: str, name: str) -> Path:
        """Write the rows as they come, with Spark's defaults."""
        return self._write(self._spark.table(source), name, "snappy")

    def write_sorted(self, source: str, name: str) -> Path:
        """Write the rows as a table with key needs them: hashed, sorted by key, zstd."""
        rows = self._spark.table(source)
        sorted_rows = rows.repartition(self._buckets, self._key).sortWithinPartitions(self._key)
        return self._write(sorted_rows, name, "zstd")

    def _write(self, rows: DataFrame, name: str, compression: str) -> Path:
        path = self._folder / name
        shutil.rmtree(path, ignore_errors=True)
        rows.write.option("compression", compression).parquet(str(path))
        return path
