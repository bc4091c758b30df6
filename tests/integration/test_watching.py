"""Goal: Spark's own UI and metrics say of a statement what the table's manifest and folder say.

The oracle of rows, files and bytes is the table's newest snapshot, and the files in its folder.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {"spark.ui.enabled": "true", "spark.ui.port": "0", "spark.driver.host": "127.0.0.1"}
    with spark_session(tmp_path_factory.mktemp("watched"), settings) as session:
        yield session


class Watched:
    """What Spark's REST interface adds while a statement runs."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before = [self._ids("sql", "id"), self._ids("stages", "stageId")]

    @property
    def executions(self) -> list[Any]:
        """The new executions of the SQL tab, the oldest first."""
        found = self._get("sql?details=true&length=10000")
        return [one for one in found if one["id"] not in self._before[0]]

    @property
    def stages(self) -> list[Any]:
        """The new stages that ran."""
        found = self._get("stages?status=complete")
        return [one for one in found if one["stageId"] not in self._before[1]]

    def writes(self) -> list[dict[str, str]]:
        """The metrics of each new write that has some, by their names."""
        nodes = [node for one in self.executions for node in one["nodes"]]
        writes = [node for node in nodes if node["nodeName"].endswith("Write") and node["metrics"]]
        return [{metric["name"]: metric["value"] for metric in one["metrics"]} for one in writes]

    def _ids(self, listed: str, key: str) -> set[int]:
        return {one[key] for one in self._get(f"{listed}?length=10000")}

    def _get(self, what: str) -> list[Any]:
        context = self._spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty()
        root = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        with urllib.request.urlopen(f"{root}/{what}", timeout=60) as answer:
            found: list[Any] = json.load(answer)
        return found


def folder(spark: SparkSession, table: str) -> Path:
    warehouse = spark.conf.get("spark.sql.warehouse.dir")
    return Path(str(warehouse).removeprefix("file:")) / "default.db" / table


def live(spark: SparkSession, table: str) -> dict[str, DataFile]:
    opened = FileStoreTable.open(str(folder(spark, table)))
    buckets = opened.live_files(opened.latest_snapshot(), opened.schema).by_bucket()
    return {file.name: file for bucket in buckets for file in bucket.files}


def on_disk(spark: SparkSession, table: str) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder(spark, table).rglob("*.parquet")}


def shown_size(size_bytes: int) -> str:
    """As Spark shows a number of bytes."""
    kib = size_bytes / 1024
    return f"{size_bytes:.1f} B" if size_bytes < 2048 else f"{kib:.1f} KiB"


@pytest.mark.parametrize(
    ("name", "statement", "verb", "jobs"),
    [
        ("values", "INSERT INTO {t} VALUES (7, 'x'), (8, 'y')", "", 0),
        ("query", "INSERT INTO {t} SELECT id % 5000, id FROM range(200000)", "INSERT INTO", 1),
        ("update", "UPDATE {t} SET v = 'z' WHERE id >= 2", "UPDATE", 1),
        ("merge", "MERGE INTO {t} USING m ON {t}.id = m.id WHEN MATCHED THEN DELETE", "MERGE", 1),
    ],
)
def test_a_write_tells_what_is_in_the_manifest(
    spark: SparkSession, name: str, statement: str, verb: str, jobs: int
) -> None:
    table = f"w_{name}"
    spark.sql(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY NOT ENFORCED, v STRING)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.range(3).createOrReplaceTempView("m")
    before, watched = live(spark, table), Watched(spark)

    spark.sql(statement.format(t=table))

    new = {key: file for key, file in live(spark, table).items() if key not in before}
    sizes = [size for key, size in on_disk(spark, table).items() if key not in before]
    (metrics,) = watched.writes()
    assert metrics["rows written"] == f"{sum(file.row_count for file in new.values()):,}"
    deletes = sum(file.delete_count for file in new.values())
    assert metrics["of these, rows that delete another"] == str(deletes)
    assert (deletes > 0) == (name == "merge"), "the case shows what it is there for"
    assert metrics["files written"] == str(len(sizes)) == str(len(new))
    assert metrics["size of the files"] == shown_size(sum(sizes))
    assert metrics["time of the commit"] != "0 ms", "a commit makes files durable"

    stages = watched.stages
    assert bool(stages) == bool(jobs), "known rows need no job"
    assert all(stage["name"].startswith(f"{verb} ") for stage in stages), stages
    assert all(stage["name"].endswith(f"default.{table}") for stage in stages), stages
    if jobs:
        assert sum(stage["outputBytes"] for stage in stages) == sum(sizes)
        assert sum(stage["outputRecords"] for stage in stages) == sum(
            file.row_count for file in new.values()
        )


def test_a_description_of_the_users_stays(spark: SparkSession) -> None:
    """The shell puts a statement's text there; the stage still says what it does."""
    spark.sql("CREATE TABLE described (id BIGINT)")
    watched = Watched(spark)
    spark.sparkContext.setJobDescription("mine")
    try:
        spark.sql("INSERT INTO described SELECT id FROM range(150000)")
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
        assert spark.sparkContext.getLocalProperty("callSite.short") is None
    finally:
        spark.sparkContext._jsc.setLocalProperty("spark.job.description", None)
    assert {(stage["description"], stage["name"]) for stage in watched.stages} == {
        ("mine", "INSERT INTO default.described")
    }


def test_tasks_count_the_bytes_that_python_reads(spark: SparkSession) -> None:
    """Two runs with the same keys are merged by a Python worker, which reads both files."""
    spark.sql("CREATE TABLE merged (id BIGINT PRIMARY KEY NOT ENFORCED, v STRING)")
    for value in ("a", "b"):
        spark.sql(f"INSERT INTO merged SELECT id, '{value}' FROM range(3000)")
    watched = Watched(spark)
    rows = spark.sql("SELECT * FROM merged").collect()
    sizes = on_disk(spark, "merged")
    assert (len(rows), len(sizes)) == (3000, 2)
    assert sum(stage["inputRecords"] for stage in watched.stages) == 3000
    assert sum(stage["inputBytes"] for stage in watched.stages) >= sum(sizes.values())


def test_a_refresh_names_its_jobs_by_the_barrier(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE counted (id BIGINT)")
    spark.sql("INSERT INTO counted SELECT id FROM range(150000)")
    watched = Watched(spark)
    spark.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT id % 10 AS g, count(*) AS c FROM counted GROUP BY 1"
    )
    (job,) = spark.sql("SELECT barrier FROM sys.jobs").collect()
    names = {stage["name"] for stage in watched.stages}
    assert names == {f"REFRESH table_store.default.v at barrier {job.barrier}"}


def test_a_micro_batch_tells_the_same(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE streamed (id BIGINT)")
    spark.sql("CREATE TABLE target (id BIGINT)")
    spark.sql("INSERT INTO streamed SELECT id FROM range(1234)")
    watched = Watched(spark)
    rows = spark.readStream.table("streamed").writeStream
    query = rows.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query.toTable("target").awaitTermination()
    told = [int(one["rows written"].replace(",", "")) for one in watched.writes()]
    assert sum(told) == sum(file.row_count for file in live(spark, "target").values()) == 1234


def counted(spark: SparkSession) -> dict[str, float]:
    """Our metrics in the text that Prometheus would get from the driver."""
    with urllib.request.urlopen(f"{spark.sparkContext.uiWebUrl}/metrics/prometheus/") as answer:
        lines = answer.read().decode().splitlines()
    found = [re.match(r"metrics_.*_driver_TableStore_(\w+)_Number\{.*\} (\S+)", x) for x in lines]
    return {one[1]: float(one[2]) for one in found if one is not None}


def test_prometheus_reads_what_the_planner_counts(spark: SparkSession) -> None:
    spark.sql(
        "CREATE TABLE metered (id BIGINT PRIMARY KEY NOT ENFORCED) "
        "TBLPROPERTIES ('write-only' = 'true')"
    )
    before = counted(spark)
    for start in (0, 5, 9):
        spark.sql(f"INSERT INTO metered VALUES ({start}), ({start + 1})")
    files = live(spark, "metered").values()
    wanted = {
        "commits": 3,
        "committed_files": len(files),
        "committed_rows": sum(file.row_count for file in files),
        "committed_bytes": sum(file.size_bytes for file in files),
    }
    shown = counted(spark)
    assert {name: shown[name] - before[name] for name in wanted} == wanted
    assert shown["planner_requests"] >= before["planner_requests"] + 3
    assert shown["metadata_cache_hits"] > 0

    spark.sql("ALTER TABLE metered COMPACT")
    after = counted(spark)
    assert after["compactions"] - shown["compactions"] == 1
    assert after["compacted_files"] - shown["compacted_files"] == len(files) == 3


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("spark-internal", True),
        ("spark-internal -i init.sql --database d", True),
        ("spark-internal -f job.sql", False),
        ("spark-internal -S -e SELECT 1", False),
        ("--conf x=-e spark-internal", True),
    ],
)
def test_who_types_statements_sees_progress(spark: SparkSession, words: str, wanted: bool) -> None:
    jvm: Any = spark._jvm
    bar = jvm.org.apache.spark.sql.tablestore.ProgressBar
    shell = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"
    command = f"org.apache.spark.deploy.SparkSubmit --class {shell} {words}"
    assert bar.isInteractive(command) is wanted
    assert not bar.isInteractive(command.replace(shell, "HiveThriftServer2"))


def test_the_shell_shows_progress_at_a_terminal(tmp_path: Path) -> None:
    """A pseudo-terminal is one; the query has no end of its own, so the bar is sure to come."""
    program = str(Path(sys.executable).parent / "spark-sql")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    child, terminal = pty.fork()
    if not child:
        os.chdir(tmp_path)
        settings = ["--master", "local[2]", "--conf", "spark.ui.enabled=false"]
        os.execve(program, [program, *settings], {**os.environ, "PATH": path})
    os.write(
        terminal,
        b"SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.id * b.id < 0;\n",
    )
    seen = b""
    try:
        while not re.search(rb"\[Stage \d+:", seen):
            assert select.select([terminal], [], [], 180)[0], seen
            seen += os.read(terminal, 4096)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
