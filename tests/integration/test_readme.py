"""Goal: the README's example runs as it stands there and prints what the README says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import REPOSITORY

README = REPOSITORY / "README.md"
EXAMPLE = re.compile(r"<!-- example: .*? -->\n```sql\n(.*?)```", re.DOTALL)

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    found = EXAMPLE.search(README.read_text(encoding="utf-8"))
    assert found is not None
    (tmp_path / "example.sql").write_text(found[1], encoding="utf-8")
    programs = Path(sys.executable).parent
    done = subprocess.run(
        [str(programs / "table-store"), "sql", "-f", "example.sql"],
        cwd=tmp_path,
        env={**os.environ, "PATH": os.defpath + os.pathsep + os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert ["bolt", "north", "9"] in rows
    assert ["nut", "north", "12"] in rows
    assert rows[-1] == ["57"]
