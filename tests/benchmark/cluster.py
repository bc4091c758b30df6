"""How much less time two executors take than one, on a real cluster of this machine.

Each repetition starts an application with one executor and one with two, in alternating order,
and does the same work in both. An executor has a core of its own, which its Python workers share,
as on a machine with one core: otherwise a lone executor would take a second core for Python.
Driver and planner share those cores, too, so what they do counts against two executors.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from tests.integration.standalone_cluster import StandaloneCluster

_UPSERTS: Final = 3
_BUCKETS: Final = 4
_LATER_READS: Final = 3
_ROUNDS: Final = 3
_ROW: Final = "id AS id, id % 100 AS category, id * 7 % 1000 AS qty, sha1(string(id)) AS name"
_READ: Final = "SELECT category, sum(qty), max(length(name)), count(*) FROM {} GROUP BY category"
_ANSWER: Final = "times: "


def main() -> None:
    """Print the medians of one and two executors, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    parser.add_argument("--executors", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.master:
        print(_ANSWER + json.dumps(_work(asked.master, asked.executors, asked.rows)))
        return
    times: dict[str, dict[int, list[float]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        StandaloneCluster(Path(folder), own_cores=True) as cluster,
    ):
        for repeat in range(asked.repeats):
            for executors in (1, 2) if repeat % 2 == 0 else (2, 1):
                for name, seconds in _application(cluster, executors, asked.rows).items():
                    times.setdefault(name, {1: [], 2: []})[executors].append(seconds)
    print(f"{'work':<14}{'1 executor':>12}{'2 executors':>12}{'ratio':>8}")
    for name, found in times.items():
        one, two = (statistics.median(found[executors]) for executors in (1, 2))
        print(f"{name:<14}{one:>11.2f}s{two:>11.2f}s{two / one:>8.2f}")


def _application(cluster: StandaloneCluster, executors: int, rows: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmark.cluster", "--rows", str(rows)]
    command += ["--master", cluster.master, "--executors", str(executors)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    (line,) = (x for x in ended.stdout.splitlines() if x.startswith(_ANSWER))
    times: dict[str, float] = json.loads(line.removeprefix(_ANSWER))
    return times


def _work(master: str, executors: int, rows: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as warehouse:
        spark = (
            SparkSession.builder.master(master)
            .config("spark.cores.max", executors)
            .config("spark.executor.cores", 1)
            .config("spark.executor.memory", "900m")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.sql.warehouse.dir", warehouse)
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        try:
            # Each executor compiles for itself, and half as often met code is compiled later.
            for _ in range(_ROUNDS):
                times = _table_life(spark, rows) | _parquet_life(spark, rows, f"{warehouse}/plain")
            return times
        finally:
            spark.stop()


def _table_life(spark: SparkSession, rows: int) -> dict[str, float]:
    spark.sql(
        "CREATE OR REPLACE TABLE measured (id BIGINT, category BIGINT, qty BIGINT, name STRING, "
        f"PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '{_BUCKETS}', 'write-only' = 'true')"
    )

    def insert(first: int, step: int) -> None:
        spark.sql(f"INSERT INTO measured SELECT {_ROW} FROM range({first}, {rows}, {step}, 4)")

    times = {"bulk insert": _seconds(lambda: insert(0, 1))}
    for number in range(_UPSERTS):
        insert(number, 5)
    read = _READ.format("measured")
    # The first of a snapshot merges keys, the later ones know what that told.
    times["merge read"] = _seconds(lambda: spark.sql(read).collect())
    times["… later"] = statistics.median(
        _seconds(lambda: spark.sql(read).collect()) for _ in range(_LATER_READS)
    )
    times["COMPACT"] = _seconds(lambda: spark.sql("ALTER TABLE measured COMPACT").collect())
    assert spark.table("measured").count() == rows
    return times


def _parquet_life(spark: SparkSession, rows: int, path: str) -> dict[str, float]:
    """What Spark's own sorted write and read of the same rows gain: the limit of the machine."""
    written = spark.sql(f"SELECT {_ROW} FROM range(0, {rows}, 1, 4)").repartition(_BUCKETS, "id")
    writer = written.sortWithinPartitions("id").write.mode("overwrite")
    times = {"Parquet write": _seconds(lambda: writer.option("compression", "zstd").parquet(path))}
    read = _READ.format(f"parquet.`{path}`")
    times["Parquet read"] = _seconds(lambda: spark.sql(read).collect())
    return times


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
