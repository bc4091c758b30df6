"""The engines that are measured side by side: the same work in each one's own words."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from tests.benchmark.dataset import COLUMNS


class Engine(Protocol):
    """A format that holds the benchmark's table and changes it by SQL.

    `source` and `rows` are names of views. `table` is what a FROM takes.
    """

    name: str
    table: str

    def create(self) -> None:
        """Make the empty table, or empty what is there."""

    def insert(self, source: str) -> None:
        """Write all rows of the source."""

    def upsert(self, source: str) -> None:
        """Write the rows of the source in the place of those with their keys."""

    def compact(self) -> None:
        """Rewrite the table as one run."""

    def update_one(self, key: int) -> None:
        """Change one row."""

    def delete_some(self, remainder: int) -> None:
        """Delete one row in a hundred, by a predicate that no statistics answer."""


class TableStore:
    """Managed tables of this project."""

    name = "table store"

    def __init__(self, spark: SparkSession, table: str, options: str, *, with_key: bool) -> None:
        self._spark = spark
        self.table = table
        key = ", PRIMARY KEY (id) NOT ENFORCED" if with_key else ""
        self._definition = f"({COLUMNS}{key}) TBLPROPERTIES ({options})"

    def create(self) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {self.table}")
        self._spark.sql(f"CREATE TABLE {self.table} {self._definition}")

    def insert(self, source: str) -> None:
        self._spark.sql(f"INSERT INTO {self.table} SELECT * FROM {source}")

    def upsert(self, source: str) -> None:
        self.insert(source)

    def compact(self) -> None:
        self._spark.sql(f"ALTER TABLE {self.table} COMPACT").collect()

    def update_one(self, key: int) -> None:
        self._spark.sql(f"UPDATE {self.table} SET qty = qty + 1 WHERE id = {key}")

    def delete_some(self, remainder: int) -> None:
        self._spark.sql(f"DELETE FROM {self.table} WHERE pmod(qty * 31, 100) = {remainder}")


class Delta:
    """Delta with deletion vectors, through its own SQL."""

    name = "delta"

    def __init__(self, spark: SparkSession, table: str) -> None:
        self._spark = spark
        self.table = f"spark_catalog.default.{table}"

    def create(self) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {self.table}")
        self._spark.sql(
            f"CREATE TABLE {self.table} ({COLUMNS}) USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )

    def insert(self, source: str) -> None:
        self._spark.sql(f"INSERT INTO {self.table} SELECT * FROM {source}")

    def upsert(self, source: str) -> None:
        self._spark.sql(
            f"MERGE INTO {self.table} t USING {source} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def compact(self) -> None:
        self._spark.sql(f"OPTIMIZE {self.table}").collect()
        self._spark.sql(f"REORG TABLE {self.table} APPLY (PURGE)").collect()

    def update_one(self, key: int) -> None:
        self._spark.sql(f"UPDATE {self.table} SET qty = qty + 1 WHERE id = {key}")

    def delete_some(self, remainder: int) -> None:
        self._spark.sql(f"DELETE FROM {self.table} WHERE pmod(qty * 31, 100) = {remainder}")


class PlainParquet:
    """Spark's own Parquet files: the limit that a format is measured against."""

    name = "parquet"

    def __init__(self, spark: SparkSession, folder: Path, buckets: int) -> None:
        self._spark = spark
        self._folder = folder
        self._buckets = buckets

    def write_plain(self, source: str, name: str) -> Path:
        """Write the rows as they come, with Spark's defaults."""
        return self._write(self._spark.table(source), name, "snappy")

    def write_sorted(self, source: str, name: str) -> Path:
        """Write the rows as a table with key needs them: hashed, sorted by key, zstd."""
        rows = self._spark.table(source)
        sorted_rows = rows.repartition(self._buckets, "id").sortWithinPartitions("id")
        return self._write(sorted_rows, name, "zstd")

    def _write(self, rows: DataFrame, name: str, compression: str) -> Path:
        path = self._folder / name
        shutil.rmtree(path, ignore_errors=True)
        rows.write.option("compression", compression).parquet(str(path))
        return path
