"""Goal: the site builds, and a link or an anchor that leads nowhere is an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import REPOSITORY

PARTS = (
    "README.md",
    "mkdocs.yml",
    "docs",
    "page_writers",
    "storage/FORMAT.md",
    "catalog/FORMAT.md",
)

pytestmark = pytest.mark.slow


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """What the site is built from, in a folder of its own."""
    for part in PARTS:
        source, target = REPOSITORY / part, tmp_path / part
        target.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    return tmp_path


def test_site_is_built(sources: Path) -> None:
    done = built(sources)
    assert done.returncode == 0, done.stderr
    assert {"index.html", "sql", "table-format"} <= {p.name for p in sources.glob("build/docs/*")}


def test_links_that_lead_nowhere_are_errors(sources: Path) -> None:
    links = {
        "README.md": "docs/absent.md",
        "docs/sql.md": "changes.md#absent-heading",
        "catalog/FORMAT.md": "../storage/FORMAT.md#absent-section",
    }
    for path, link in links.items():
        with (sources / path).open("a", encoding="utf-8") as page:
            page.write(f"\n[x]({link})\n")
    done = built(sources)
    assert done.returncode != 0
    for name in ("'absent.md'", "'#absent-heading'", "'#absent-section'"):
        assert name in done.stderr


def built(sources: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "mkdocs"), "build", "--strict"],
        cwd=sources,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
