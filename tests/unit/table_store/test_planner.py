"""Goal: the planner starts with no more than it needs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import table_store.planner
import pyarrow as pa
pa.table({"a": [None, 1]}).to_pylist()
sys.exit("pandas" in sys.modules)
"""


def test_planner_starts_without_pandas() -> None:
    assert subprocess.run([sys.executable, "-P", "-c", PROGRAM], check=False).returncode == 0
