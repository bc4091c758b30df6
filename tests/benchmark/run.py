"""`make benchmark`: managed tables beside plain Parquet and Delta, in one run on one machine.

Every timed query is first checked to give the same rows in all engines. What is printed is a
table of medians and ratios; all repetitions go to JSON, and a plot of the ratios to PNG, both in
build/benchmark.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

import pyspark  # noqa: E402 - the path must be set first
from pyspark.sql import SparkSession  # noqa: E402 - the path must be set first

from tests.benchmark.dataset import Dataset  # noqa: E402
from tests.benchmark.kafka_rates import KafkaRates  # noqa: E402 - the path must be set first
from tests.benchmark.measurements import Measurements  # noqa: E402
from tests.benchmark.plot import save_plot  # noqa: E402 - the path must be set first
from tests.benchmark.stream_workload import StreamWorkload  # noqa: E402
from tests.benchmark.workload import Workload  # noqa: E402
from tests.servers.kafka_broker import KafkaBroker  # noqa: E402

_RECORDS_MIN = 200_000
_EXTENSIONS = "org.apache.spark.sql.tablestore.TableStoreExtensions"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = _arguments()
    # What was measured is also printed when a time limit ends the run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=arguments.folder) as name:
        folder = Path(name)
        has_delta = not arguments.no_delta and _has_delta()
        if not has_delta:
            _say(started, "Delta is left out" + ("" if arguments.no_delta else ": no jars"))
        spark = _session(folder, with_delta=has_delta, memory=arguments.memory)
        measured = Measurements()
        workload = Workload(
            spark=spark,
            folder=folder,
            data=Dataset(folder, arguments.rows),
            upserts=arguments.upserts,
            repeats=arguments.repeats,
            buckets=arguments.buckets,
            with_delta=has_delta,
            measured=measured,
            say=lambda text: _say(started, text),
        )
        try:
            workload.run()
            if not arguments.no_kafka:
                _run_streams(workload, folder, arguments.commits)
        finally:
            path = REPOSITORY / "build" / "benchmark" / f"result-{arguments.rows}.json"
            measured.save(path, _about(arguments))
            title = f"{arguments.rows:,} rows, {arguments.upserts} upserts of a tenth of them"
            save_plot(measured, path.with_suffix(".png"), title)
            print("\n" + "\n".join(measured.lines()))
            print(f"\nall repetitions: {path}\nplot: {path.with_suffix('.png')}")
        spark.stop()


def _run_streams(workload: Workload, folder: Path, commits: int) -> None:
    broker = KafkaBroker(folder / "broker")
    broker.start()
    try:
        KafkaRates(
            brokers=broker.bootstrap,
            folder=folder / "rates",
            count=max(_RECORDS_MIN, workload.data.rows // 10),
            repeats=workload.repeats,
            measured=workload.measured,
            say=workload.say,
        ).run()
        StreamWorkload(
            spark=workload.spark,
            folder=folder / "streams",
            data=workload.data,
            repeats=workload.repeats,
            commits=commits,
            brokers=broker.bootstrap,
            with_delta=workload.with_delta,
            measured=workload.measured,
            say=workload.say,
        ).run()
    finally:
        broker.kill()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the base")
    parser.add_argument("--upserts", type=int, default=10, help="batches of a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each query")
    parser.add_argument("--buckets", type=int, default=2, help="buckets of the table with key")
    parser.add_argument("--memory", default="6g", help="memory of Spark's driver")
    parser.add_argument("--folder", default=None, help="where to work; some GB are needed")
    parser.add_argument("--commits", type=int, default=100, help="commits whose way is timed")
    parser.add_argument("--no-kafka", action="store_true", help="leave the log and streams out")
    parser.add_argument("--no-delta", action="store_true", help="leave Delta out")
    arguments = parser.parse_args()
    if arguments.rows < 1000 or not 1 <= arguments.upserts <= 100 or arguments.repeats < 1:
        parser.error("at least 1,000 rows, 1 to 100 upserts and 1 repetition")
    if arguments.commits < 2:
        parser.error("at least 2 commits")
    return arguments


def _has_delta() -> bool:
    return any((Path(pyspark.__file__).parent / "jars").glob("delta-spark_*.jar"))


def _session(folder: Path, *, with_delta: bool, memory: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("table-store-benchmark")
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        # For this machine, and what all engines get: 200 tasks on two cores would only punish
        # those that shuffle, and so would 50 for each look at Delta's log.
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.catalog.table_store", _EXTENSIONS.replace("Extensions", "Catalog"))
        .config("spark.sql.defaultCatalog", "table_store")
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.sql.extensions", _EXTENSIONS)
    )
    if with_delta:
        builder = builder.config("spark.sql.extensions", f"{_EXTENSIONS},{_DELTA_EXTENSION}")
        builder = builder.config("spark.sql.catalog.spark_catalog", _DELTA_CATALOG)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _about(arguments: argparse.Namespace) -> dict[str, object]:
    load = os.getloadavg()
    packages = ("spark-table-store", "pyspark", "delta-spark", "pyarrow", "numpy")
    return {
        "command": ["tests/benchmark/run.py", *sys.argv[1:]],
        "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load_average_at_end": load,
            "free_disk_bytes": shutil.disk_usage(REPOSITORY).free,
        },
        "versions": {"python": platform.python_version(), **{p: version(p) for p in packages}},
        "rows": arguments.rows,
        "upserts": arguments.upserts,
        "repeats": arguments.repeats,
        "buckets": arguments.buckets,
    }


def _say(started: float, text: str) -> None:
    print(f"[{time.monotonic() - started:6.0f} s] {text}", flush=True)


if __name__ == "__main__":
    main()
