"""What grows: a managed table, or plain Parquet files that stand for the least it could cost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from tests.benchmark.dataset import LAYOUT
from tests.benchmark.plain_parquet import PlainParquet
from tests.benchmark.sql_engine import SqlEngine


class Subject(Protocol):
    """`source` is the name of a view; `table` what a FROM takes once reads are prepared."""

    @property
    def table(self) -> str:
        """What a FROM takes."""

    def create(self) -> None:
        """Make it, empty."""

    def insert(self, source: str) -> None:
        """Write the first rows."""

    def upsert(self, source: str) -> None:
        """Write rows of which most have known keys."""

    def append(self, source: str) -> None:
        """Write a few rows with new keys."""

    def prepare_reads(self) -> None:
        """Whatever must be there before it is read; not measured."""

    def compact(self) -> None:
        """Rewrite it so that it is read best."""


class TableSubject:
    """A managed table, made by one of the statements of its format's description."""

    def __init__(self, engine: SqlEngine, create_statement: str) -> None:
        self._engine = engine
        self._create_statement = create_statement

    @property
    def table(self) -> str:
        return self._engine.table

    def create(self) -> None:
        self._engine.create(self._create_statement)

    def insert(self, source: str) -> None:
        self._engine.insert(source)

    def upsert(self, source: str) -> None:
        self._engine.upsert(source)

    def append(self, source: str) -> None:
        self._engine.insert(source)

    def prepare_reads(self) -> None:
        """Nothing: it is a table."""

    def compact(self) -> None:
        self._engine.compact()


class ParquetSubject:
    """A folder of files. An upsert is a sorted write of its rows beside; read are merged rows."""

    def __init__(self, spark: SparkSession, folder: Path, merged: str) -> None:
        self._spark = spark
        self._folder = folder
        self._merged = merged
        self._plain = PlainParquet(spark, folder, LAYOUT.buckets)
        self._rows = folder / "rows"

    @property
    def table(self) -> str:
        return f"parquet.`{self._rows}`"

    def create(self) -> None:
        shutil.rmtree(self._rows, ignore_errors=True)

    def insert(self, source: str) -> None:
        self._plain.write_sorted(source, "rows")

    def upsert(self, source: str) -> None:
        self._plain.write_sorted(source, "upsert")

    def append(self, source: str) -> None:
        self._spark.table(source).write.mode("append").parquet(str(self._rows))

    def prepare_reads(self) -> None:
        self._spark.read.parquet(self._merged).createOrReplaceTempView("growth_merged")
        self._plain.write_sorted("growth_merged", "rows")

    def compact(self) -> None:
        self._spark.read.parquet(str(self._rows)).createOrReplaceTempView("growth_rows")
        compacted = self._plain.write_sorted("growth_rows", "compacted")
        shutil.rmtree(self._rows)
        compacted.rename(self._rows)
