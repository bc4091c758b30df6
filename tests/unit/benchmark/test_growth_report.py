"""Goal: growth is that of ours beside plain Parquet's, and what grows too fast is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.benchmark.growth.growth_report import GrowthTable, curves_of, latency_table
from tests.benchmark.growth.process_memory import ALL, JVM, PLANNER, WORKER, resident_bytes
from tests.benchmark.measurements import LIMIT, OURS

_MIB = 1 << 20


def _table(*, is_bytes: bool = False) -> GrowthTable:
    scale = _MIB if is_bytes else 1
    small = {LIMIT: {"write": 2.0 * scale}, OURS: {"write": 1.0 * scale, "read": 5.0 * scale}}
    large = {LIMIT: {"write": 6.0 * scale}, OURS: {"write": 6.0 * scale, "read": 5.0 * scale}}
    return GrowthTable("seconds", ["1 row", "3 rows"], curves_of([small, large]), is_bytes)


def test_growth_beside_plain_parquet() -> None:
    assert _table().text().rows == [
        ["write", LIMIT, "2.000", "6.000", "3.00", "–"],
        ["write", OURS, "1.000", "6.000", "6.00", "2.00"],
        ["read", OURS, "5.000", "5.000", "1.00", "–"],
    ]
    assert _table(is_bytes=True).text().rows[1] == ["write", OURS, "1", "6", "6.00", "2.00"]
    assert _table().verdicts() == ["seconds: write grows 2.00 times as fast as parquet's"]


def test_first_and_last_commits_are_told_apart() -> None:
    times = [0.1] * 100 + [1.0] * 50 + [0.2] * 99 + [0.4]
    (row,) = latency_table({OURS: times}).rows
    assert row == [OURS, "100", "200", "100", "202", "200", "1,000", "1,000"]
    assert latency_table({OURS: [0.1, 0.2]}).rows[0][1:3] == ["100", "200"]


def test_memory_is_that_of_descendants_by_kind(tmp_path: Path) -> None:
    """A planner that has forked itself just now, and a worker with a forked one below it."""
    program = (
        "import os, subprocess, sys, time\n"
        "kept = bytearray(int(sys.argv[1]) << 20)\n"
        "if sys.argv[2:] == ['table_store.planner']:\n"
        "    subprocess.Popen([sys.executable, sys.argv[0], '64', 'pyspark.daemon'])\n"
        "if os.fork() and 'pyspark.daemon' in sys.argv:\n"
        "    print('up', flush=True)\n"
        "time.sleep(30)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    # Below a process of its own: others that tests have started are no descendants of that.
    above = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    planner = [sys.executable, str(path), "16", "table_store.planner"]
    command = [sys.executable, "-c", above, *planner]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            found = resident_bytes(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert 16 * _MIB <= found[PLANNER] < 64 * _MIB <= found[WORKER] < 100 * _MIB
    # The forked planner is left out, both workers are in.
    assert found[PLANNER] + found[WORKER] < found[ALL] <= found[PLANNER] + 2 * found[WORKER]
    assert found[JVM] == 0
    assert resident_bytes(process.pid)[ALL] == 0
