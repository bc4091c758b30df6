"""What all workloads share: the session, the formats beside each other, and the comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.benchmark.measurements import Measurements, WrongResultError
from tests.benchmark.sql_engine import SqlEngine
from tests.benchmark.table_format import TableFormat
from tests.benchmark.table_layout import TableLayout
from tests.benchmark.written_files import WrittenFiles


@dataclass(frozen=True, slots=True)
class Bench:
    """One run: `rows` is the size that workloads scale with, `repeats` how often queries run.

    The first of the formats is ours. Files that are made for a while go to `folder`; those of
    tables are counted by `written`.
    """

    spark: SparkSession
    folder: Path
    formats: tuple[TableFormat, ...]
    rows: int
    repeats: int
    measured: Measurements
    written: WrittenFiles
    say: Callable[[str], None]

    def engines(self, name: str, layout: TableLayout) -> list[SqlEngine]:
        """Return a table of this name in each format, ours first; none is created."""
        return [SqlEngine(self.spark, one, name, layout) for one in self.formats]

    def measure_write(
        self, workload: str, work: str, engine: str, rows: int, run: Callable[[], Any]
    ) -> bool:
        """Measure one write and add it to what the workload's writes cost; False if it failed.

        The caller adds the bytes that came in.
        """
        self.written.new_bytes()
        taken = self.measured.measure(work, engine, run)
        if taken is None:
            return False
        cost = self.measured.cost(workload, engine)
        cost.rows += rows
        cost.seconds += taken
        cost.bytes_written += self.written.new_bytes()
        return True

    def repeat(self, work: str, runs: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
        """Engine after engine in each round, so that what disturbs the machine hits all."""
        found: dict[str, list[float]] = {engine: [] for engine in runs}
        for _ in range(self.repeats):
            for engine, run in runs.items():
                taken = self.measured.measure(work, engine, run)
                if taken is not None:
                    found[engine].append(taken)
        return found

    def check(self, tables: Iterable[str], sql: str) -> None:
        """Compare the answers of all tables to a query with `{}` for the table.

        Raises:
            WrongResultError: They are not the same.
        """
        answers = {table: sorted(map(tuple, self.collect(sql, table))) for table in tables}
        first, *others = answers
        for other in others:
            if answers[other] != answers[first]:
                raise WrongResultError(
                    f"{sql}: {first} says {answers[first][:3]}, {other} {answers[other][:3]}"
                )

    def collect(self, sql: str, table: str) -> list[Any]:
        """Return the rows of a query with `{}` for the table."""
        return self.spark.sql(sql.format(table)).collect()

    def view(self, name: str, path: Path) -> None:
        """Give files a name."""
        self.spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def location(self, table: str) -> str:
        """Return the folder of a table."""
        described = self.spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
        (path,) = (str(row[1]) for row in described if row[0] == "Location")
        return path.removeprefix("file:")
