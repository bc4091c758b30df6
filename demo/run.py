"""The demo: SQL files run by the stock `spark-sql -f`, each result checked against plain Spark.

Started by `make demo`; works in the folder `.demo`, or the one given, which it empties first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow.parquet

from demo.flights import read_flights

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv[1]).resolve() if sys.argv[1:] else HERE.parent / ".demo"
_MARK = "-- "
# What the stock shell prints above the nothing that a DDL statement returns.
_NO_RESULT = "Response code"
_ROWS_SHOWN_MAX = 20
# A result of the managed tables whose check in plain.sql has another title.
_SAME_AS = {
    "The same report from the compacted table": "Delays of each carrier, corrected",
    "Time travel: the report as it was before the correction": "Delays of each carrier",
}
# Results that plain Spark has nothing to say about.
_ONLY_OURS = {"Compact", "What has happened to the table"}


@dataclass(slots=True)
class Result:
    """What the statements under one title printed: a header and rows, tab separated."""

    title: str
    lines: list[str]
    seconds: float = 0.0


def prepare() -> int:
    """Lay out the folder; return the number of flights."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(HERE / "data", FOLDER / "data")
    flights = read_flights()
    pyarrow.parquet.write_table(flights, FOLDER / "data" / "flights.parquet")
    return int(flights.num_rows)


def spark_sql(file: Path, *settings: str) -> subprocess.Popen[str]:
    """Start the unmodified spark-sql of this environment on a file."""
    programs = Path(sys.executable).parent
    return subprocess.Popen(
        [str(programs / "spark-sql"), "--hiveconf", "hive.cli.print.header=true", *settings,
         "-f", str(file)],
        cwd=FOLDER,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def results(file: Path, *settings: str) -> Iterator[Result]:
    """Run a file and yield what each of its titled parts printed, as soon as it is complete.

    Raises:
        SystemExit: The shell failed; shows what it said.
    """
    process = spark_sql(file, *settings)
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True)
    reader.start()
    current: Result | None = None
    started = time.monotonic()
    for line in map(str.rstrip, process.stdout):
        if line.startswith(_MARK):
            if current is not None:
                yield _closed(current, started)
            current, started = Result(line.removeprefix(_MARK), []), time.monotonic()
        elif current is not None and line not in (_NO_RESULT, "demo"):
            current.lines.append(line)
    code = process.wait()
    reader.join()
    if code != 0:
        said = [x for x in errors if not x.startswith(("Time taken", "\tat "))]
        raise SystemExit(f"{file.name} failed:\n" + "\n".join(said[-25:]))
    if current is not None:
        yield _closed(current, started)


def _collect(stream: IO[str], into: list[str]) -> None:
    into.extend(line.rstrip() for line in stream)


def _closed(result: Result, started: float) -> Result:
    result.seconds = time.monotonic() - started
    return result


def show(result: Result) -> None:
    """Print a result as a table."""
    print(f"\n{result.title}  ({result.seconds:.1f} s)")
    rows = [line.split("\t") for line in result.lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=False)]
    for number, row in enumerate(rows[: _ROWS_SHOWN_MAX + 1]):
        print("   " + "  ".join(f"{v:<{w}}" for v, w in zip(row, widths, strict=False)).rstrip())
        if number == 0:
            print("   " + "  ".join("-" * w for w in widths))
    if len(rows) > _ROWS_SHOWN_MAX + 1:
        print(f"   … {len(rows) - 1} rows")


def differences(ours: Mapping[str, Result], plain: Mapping[str, Result]) -> list[str]:
    """Return what does not agree, row by row; rows count, not the header's words."""
    wrong = []
    for title, result in ours.items():
        if title in _ONLY_OURS:
            continue
        expected = plain[_SAME_AS.get(title, title)]
        if result.lines[1:] != expected.lines[1:] or len(result.lines) < 2:
            wrong.append(f"{title}\n  managed: {result.lines[1:]}\n  plain:   {expected.lines[1:]}")
    return wrong


def main() -> int:
    """Run the demo; exit code 1 when a result is wrong."""
    started = time.monotonic()
    flights = prepare()
    print(f"Demo in {FOLDER}: a retail warehouse, then {flights:,} real flights.")
    ours: dict[str, Result] = {}
    for name in ("retail.sql", "flights.sql"):
        print(f"\n=== spark-sql -f demo/{name}")
        for result in results(HERE / name):
            ours[result.title] = result
            show(result)
    print("\n=== checking: the same by plain Spark over the same rows")
    plain_settings = (
        "--conf", "spark.sql.extensions=",
        "--conf", "spark.sql.defaultCatalog=spark_catalog",
    )  # fmt: skip
    plain = {r.title: r for r in results(HERE / "plain.sql", *plain_settings)}
    wrong = differences(ours, plain)
    for text in wrong:
        print(f"   DIFFERENT: {text}")
    checked = len(ours.keys() - _ONLY_OURS)
    print(f"   {checked - len(wrong)} of {checked} results agree")
    print(f"\nDone in {time.monotonic() - started:.0f} s.")
    if not wrong:
        print(_NEXT.format(folder=FOLDER, programs=Path(sys.executable).parent))
    return 1 if wrong else 0


_NEXT = """
The tables are still there. Try next:
   cd {folder}
   {programs}/table-store sql
   spark-sql> SHOW TABLES;
   spark-sql> UPDATE flights SET arr_delay = 0 WHERE arr_delay < 0;
   spark-sql> SELECT count(*) FROM flights VERSION AS OF 1;
   spark-sql> DESCRIBE TABLE EXTENDED dwd_orders_cate PARTITION (dt = '2021-12-08');
   spark-sql> SELECT * FROM `flights$files`;"""

if __name__ == "__main__":
    sys.exit(main())
