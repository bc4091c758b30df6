"""`make benchmark`: managed tables beside plain Parquet and other formats, in one run.

Every timed query is first checked to give the same rows in all engines. What is printed is a
table of medians and ratios, and the same as Markdown; all repetitions go to JSON, and a plot of the
ratios to PNG, both in build/benchmark.
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
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from servers.kafka_broker import KafkaBroker  # noqa: E402
from tests.benchmark.bench import Bench  # noqa: E402 - the path must be set first
from tests.benchmark.dataset import Dataset  # noqa: E402
from tests.benchmark.measurements import Measurements  # noqa: E402
from tests.benchmark.plot import save_plot  # noqa: E402
from tests.benchmark.report import markdown_lines, screen_lines  # noqa: E402
from tests.benchmark.session import open_session  # noqa: E402
from tests.benchmark.table_format import FormatError, TableFormat  # noqa: E402
from tests.benchmark.workloads.contended import Contended  # noqa: E402
from tests.benchmark.workloads.epochs import Epochs  # noqa: E402
from tests.benchmark.workloads.first_statement import FirstStatement  # noqa: E402
from tests.benchmark.workloads.kafka_rates import KafkaRates  # noqa: E402
from tests.benchmark.workloads.large_merge import LargeMerge  # noqa: E402
from tests.benchmark.workloads.logged_inserts import LoggedInserts  # noqa: E402
from tests.benchmark.workloads.many_files import ManyFiles  # noqa: E402
from tests.benchmark.workloads.merge_cases import MergeCases  # noqa: E402
from tests.benchmark.workloads.micro_merge import MicroMerge  # noqa: E402
from tests.benchmark.workloads.random_upserts import RandomUpserts  # noqa: E402
from tests.benchmark.workloads.small_statements import SmallStatements  # noqa: E402
from tests.benchmark.workloads.sources import Sources  # noqa: E402
from tests.benchmark.workloads.streams import Streams  # noqa: E402
from tests.benchmark.workloads.sustained import Sustained  # noqa: E402
from tests.benchmark.workloads.table_life import TableLife  # noqa: E402
from tests.benchmark.workloads.views import Views  # noqa: E402
from tests.benchmark.workloads.warm_up import warm_up  # noqa: E402
from tests.benchmark.workloads.wide_rows import WideRows  # noqa: E402
from tests.benchmark.written_files import WrittenFiles  # noqa: E402

_FORMATS = Path(__file__).resolve().parent / "formats"
_WORKLOADS: dict[str, Callable[[Bench, argparse.Namespace], None]] = {
    "table-life": lambda bench, arguments: TableLife(
        bench,
        Dataset(bench.folder, bench.rows),
        upserts=arguments.upserts,
        buckets=arguments.buckets,
    ).run(),
    "random-upserts": lambda bench, _: RandomUpserts(bench).run(),
    "wide-rows": lambda bench, _: WideRows(bench).run(),
    "merge-cases": lambda bench, _: MergeCases(bench).run(),
    "micro-merge": lambda bench, _: MicroMerge(bench).run(),
    "large-merge": lambda bench, _: LargeMerge(bench).run(),
    "small-statements": lambda bench, _: SmallStatements(bench).run(),
    "contended": lambda bench, _: Contended(bench).run(),
    "many-files": lambda bench, _: ManyFiles(bench).run(),
    "first-statement": lambda bench, _: FirstStatement(bench).run(),
    "log": lambda bench, _: _run_log(bench),
    "views": lambda bench, _: Views(bench).run(),
    "epochs": lambda bench, arguments: Epochs(bench, arguments.epochs).run(),
    "sustained": lambda bench, arguments: Sustained(bench, arguments.minutes).run(),
    "streams": lambda bench, arguments: _run_streams(bench, arguments.commits),
    "sources": lambda bench, _: _run_sources(bench),
}


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = _arguments()
    # What was measured is also printed when a time limit ends the run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.0f} s] {text}", flush=True)

    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=arguments.folder) as name:
        folder = Path(name)
        warehouse = folder / "warehouse"
        spark = open_session(arguments.formats, warehouse, arguments.memory)
        measured = Measurements()
        bench = Bench(
            spark=spark,
            folder=folder,
            formats=tuple(arguments.formats),
            rows=arguments.rows,
            repeats=arguments.repeats,
            measured=measured,
            written=WrittenFiles(warehouse),
            say=say,
        )
        try:
            warm_up(bench)
            for workload in arguments.only:
                _WORKLOADS[workload](bench, arguments)
        finally:
            _report(measured, arguments)
        spark.stop()


def _report(measured: Measurements, arguments: argparse.Namespace) -> None:
    is_whole = len(arguments.only) == len(_WORKLOADS)
    part = [] if is_whole else arguments.only if len(arguments.only) == 1 else ["parts"]
    name = "-".join(["result", str(arguments.rows), *part])
    path = REPOSITORY / "build" / "benchmark" / f"{name}.json"
    measured.save(path, _about(arguments))
    save_plot(measured, path.with_suffix(".png"), f"{arguments.rows:,} rows")
    print("\n" + "\n".join(screen_lines(measured)))
    print("\nAs Markdown; lower ratios are better:\n\n" + "\n".join(markdown_lines(measured)))
    print(f"\nall repetitions: {path}\nplot: {path.with_suffix('.png')}")


def _run_log(bench: Bench) -> None:
    broker = _broker(bench)
    try:
        KafkaRates(bench, broker.bootstrap).run()
        LoggedInserts(bench, broker.bootstrap).run()
    finally:
        broker.kill()


def _run_streams(bench: Bench, commits: int) -> None:
    broker = _broker(bench)
    try:
        Streams(bench, commits, broker.bootstrap).run()
    finally:
        broker.kill()


def _run_sources(bench: Bench) -> None:
    broker = _broker(bench)
    try:
        Sources(bench, broker).run()
    finally:
        broker.kill()


def _broker(bench: Bench) -> KafkaBroker:
    folder = tempfile.mkdtemp(prefix="broker-", dir=bench.folder)
    broker = KafkaBroker(Path(folder) / "data")
    broker.start()
    return broker


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the largest tables")
    parser.add_argument("--upserts", type=int, default=10, help="batches of a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each query")
    parser.add_argument("--buckets", type=int, default=2, help="buckets of the table with key")
    parser.add_argument("--memory", default="6g", help="memory of Spark's driver")
    parser.add_argument("--folder", default=None, help="where to work; some GB are needed")
    parser.add_argument("--commits", type=int, default=100, help="commits whose way is timed")
    parser.add_argument("--minutes", type=float, default=2, help="of rows without a pause")
    parser.add_argument("--epochs", type=int, default=2000, help="refreshes of a chain of views")
    parser.add_argument(
        "--only", nargs="+", choices=list(_WORKLOADS), default=list(_WORKLOADS), help="workloads"
    )
    parser.add_argument(
        "--format", nargs="+", type=Path, default=[_FORMATS / "delta.toml"], metavar="FILE",
        help="descriptions of the formats beside ours, in place of Delta's alone",
    )  # fmt: skip
    parser.add_argument("--no-peers", action="store_true", help="no format beside ours")
    arguments = parser.parse_args()
    if arguments.rows < 1000 or not 1 <= arguments.upserts <= 100 or arguments.repeats < 1:
        parser.error("at least 1,000 rows, 1 to 100 upserts and 1 repetition")
    if arguments.commits < 2 or arguments.epochs < 2:
        parser.error("at least 2 commits and 2 epochs")
    if arguments.minutes < 1:
        parser.error("at least a minute")
    peers = [] if arguments.no_peers else arguments.format
    try:
        arguments.formats = [TableFormat.load(p) for p in (_FORMATS / "table_store.toml", *peers)]
    except FormatError as error:
        parser.error(str(error))
    return arguments


def _about(arguments: argparse.Namespace) -> dict[str, object]:
    packages = ("spark-table-store", "pyspark", "delta-spark", "pyarrow", "numpy")
    return {
        "command": ["tests/benchmark/run.py", *sys.argv[1:]],
        "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load_average_at_end": os.getloadavg(),
            "free_disk_bytes": shutil.disk_usage(REPOSITORY).free,
        },
        "versions": {"python": platform.python_version(), **{p: version(p) for p in packages}},
        "formats": [one.name for one in arguments.formats],
        "rows": arguments.rows,
        "upserts": arguments.upserts,
        "repeats": arguments.repeats,
        "buckets": arguments.buckets,
    }


if __name__ == "__main__":
    main()
