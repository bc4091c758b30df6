"""`make benchmark-growth`: do time and memory grow faster than plain Parquet's?

The same work at several sizes, and after 10, 100, … commits; each engine and size in a process of
its own. Prints tables and what grows too fast; JSON of all repetitions and a plot go to
build/benchmark.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.benchmark.dataset import Dataset
from tests.benchmark.growth.growth_plot import save_growth_plot
from tests.benchmark.growth.growth_report import latency_table
from tests.benchmark.growth.growth_results import Growth, Results
from tests.benchmark.growth.step import RESULT, Orders, StepResult
from tests.benchmark.measurements import LIMIT, OURS, WrongResultError
from tests.checkout import REPOSITORY

_COMMITS_BASE_ROWS = 100_000


def main() -> None:
    """Run all steps as the command line says, and report."""
    arguments = _arguments()
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.0f} s] {text}", flush=True)

    # What was measured is also told when a time limit or an error ends the run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sizes: dict[int, Results] = {}
    stops = [10**n for n in range(1, 10) if 10**n < arguments.commits] + [arguments.commits]
    commits: Results = {}
    try:
        for rows in arguments.sizes:
            with _folder(arguments.folder) as folder:
                say(f"{rows:,} rows")
                sizes[rows] = _run_sizes(folder, rows, arguments, say)
        with _folder(arguments.folder) as folder:
            say(f"{arguments.commits:,} commits")
            commits = _run_commits(folder, stops, arguments, say)
    finally:
        _report(Growth(sizes, stops, commits))


def _run_sizes(
    folder: Path, rows: int, arguments: argparse.Namespace, say: Callable[[str], None]
) -> Results:
    data = Dataset(folder, rows)
    base = data.write_base()
    batches = [str(data.write_batch()) for _ in range(arguments.upserts)]
    merged = data.write_merged(folder / "merged")
    return _run_both(
        lambda engine, place: Orders(
            engine=engine,
            kind="sizes",
            folder=str(place),
            base=str(base),
            batches=batches,
            merged=str(merged),
            rows=rows,
            known=len(data.newest),
            memory=arguments.memory,
            stops=[],
        ),
        folder,
        say,
    )


def _run_commits(
    folder: Path, stops: list[int], arguments: argparse.Namespace, say: Callable[[str], None]
) -> Results:
    base = str(Dataset(folder, _COMMITS_BASE_ROWS).write_base())
    return _run_both(
        lambda engine, place: Orders(
            engine=engine,
            kind="commits",
            folder=str(place),
            base=base,
            batches=[],
            merged=base,
            rows=_COMMITS_BASE_ROWS,
            known=_COMMITS_BASE_ROWS,
            memory=arguments.memory,
            stops=stops,
        ),
        folder,
        say,
    )


def _run_both(
    orders: Callable[[str, Path], Orders], folder: Path, say: Callable[[str], None]
) -> Results:
    found = {}
    for engine in (LIMIT, OURS):
        say(engine)
        place = folder / engine.replace(" ", "-")
        place.mkdir()
        found[engine] = _run_step(orders(engine, place))
        shutil.rmtree(place)
    if found[LIMIT].checksums != found[OURS].checksums:
        raise WrongResultError(f"not the same rows: {[r.checksums for r in found.values()]}")
    return found


def _run_step(orders: Orders) -> StepResult:
    command = [sys.executable, "-m", "tests.benchmark.growth.step", json.dumps(asdict(orders))]
    ended = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith(RESULT)]
    if ended.returncode or len(lines) != 1:
        raise RuntimeError(f"a step ended with {ended.returncode}: {ended.stdout[-2000:]}")
    return StepResult(**json.loads(lines[0].removeprefix(RESULT)))


def _report(growth: Growth) -> None:
    path = REPOSITORY / "build" / "benchmark" / "growth.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    tables = growth.tables()
    texts = [*(table.text() for table, _ in tables), latency_table(growth.latencies)]
    verdicts = [sentence for table, _ in tables for sentence in table.verdicts()]
    content = {
        "command": ["tests/benchmark/growth/run.py", *sys.argv[1:]],
        "load_average_at_end": os.getloadavg(),
        "sizes": {n: {e: asdict(r) for e, r in run.items()} for n, run in growth.sizes.items()},
        "commits": {engine: asdict(result) for engine, result in growth.commits.items()},
        "grows_faster": verdicts,
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    save_growth_plot(tables, growth.latencies, path.with_suffix(".png"))
    for text in texts:
        print("\n" + "\n".join(text.lines()))
    print("\nAs Markdown:")
    for text in texts:
        print("\n" + "\n".join(text.markdown()))
    compared = sum(c.beside_limit is not None for table, _ in tables for c in table.curves)
    print("\n" + "\n".join(verdicts or ["nothing grows faster than plain Parquet's"]))
    print(f"{compared} curves compared")
    print(f"\nall repetitions: {path}\nplot: {path.with_suffix('.png')}")


@contextmanager
def _folder(parent: str | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="growth-", dir=parent) as name:
        yield Path(name)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    sizes = [1_000_000, 3_000_000, 10_000_000, 30_000_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes, help="rows of the base")
    parser.add_argument("--upserts", type=int, default=3, help="batches of a tenth of the rows")
    parser.add_argument("--commits", type=int, default=1000, help="small commits, one after one")
    parser.add_argument("--memory", default="4g", help="memory of Spark's driver")
    parser.add_argument("--folder", default=None, help="where to work; some GB are needed")
    arguments = parser.parse_args()
    if min(arguments.sizes) < 1000 or arguments.commits < 2 or arguments.upserts < 1:
        parser.error("at least 1,000 rows, 1 upsert and 2 commits")
    arguments.sizes.sort()
    return arguments


if __name__ == "__main__":
    main()
