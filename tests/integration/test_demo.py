"""Goal: `make demo` works, and every result that it prints agrees with plain Spark's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import REPOSITORY

DEMO = REPOSITORY / "demo" / "run.py"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_demo_agrees_with_plain_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO), str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    agreed = re.search(r"(\d+) of (\d+) results agree", done.stdout)
    assert agreed is not None
    assert agreed[1] == agreed[2] == "13"
