"""Goal: the demos work, and every result that they print is right."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from demo.warehouse_truth import differences
from tests.checkout import REPOSITORY

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_demo_agrees_with_plain_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo.run", str(tmp_path / "demo")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    agreed = re.search(r"(\d+) of (\d+) results agree", done.stdout)
    assert agreed is not None
    assert agreed[1] == agreed[2] == "13"


def test_demo_of_a_topology(tmp_path: Path) -> None:
    """It checks each table itself; here that the reads mean something, and that the runner died."""
    done = subprocess.run(
        [sys.executable, "-m", "demo.stream", str(tmp_path / "demo")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    reads = re.findall(r"(\w+): (\d+) of \d+ reads are wrong", done.stdout)
    expected = ["ReadUncommitted", *["RepeatableRead"] * 2, *["ReadCommitted"] * 2]
    assert [kind for kind, _ in reads] == expected
    assert int(reads[0][1]) > 0, "else the others prove nothing"
    assert [int(wrong) for _, wrong in reads[1:]] == [0, 0, 10, 0], "of a wrong price alone"
    assert done.stdout.count("the jobs run after") == 2
    assert "each table is what its query gives" in done.stdout


class _Database:
    def run(self, *_: str) -> list[tuple[object, ...]]:
        return [("a", 1), ("a", 1), ("b", 2)]


def test_demo_of_a_warehouse_sees_each_difference() -> None:
    def found(*rows: tuple[object, ...]) -> list[str]:
        return differences(_Database(), "dws_day", rows)  # type: ignore[arg-type]

    assert found(("a", 1), ("b", 2), ("a", 1)) == []
    assert found(("a", 1), ("b", 2)) == ["missing: ('a', 1)"]
    assert found(("a", 1), ("a", 1), ("b", 3)) == [
        "missing: ('b', 2)",
        "not in the database: ('b', 3)",
    ]
