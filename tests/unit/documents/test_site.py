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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "link"),
    [
        pytest.param(None, "", id="as it is"),
        pytest.param("README.md", "[x](docs/absent.md)", id="link"),
        pytest.param("docs/sql.md", "[x](changes.md#absent)", id="anchor"),
        pytest.param("catalog/FORMAT.md", "[x](../storage/FORMAT.md#absent)", id="format"),
    ],
)
def test_site_is_built_where_all_links_lead_somewhere(
    path: str | None, link: str, tmp_path: Path
) -> None:
    for part in PARTS:
        source, target = REPOSITORY / part, tmp_path / part
        target.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    if path is not None:
        with (tmp_path / path).open("a", encoding="utf-8") as page:
            page.write(f"\n{link}\n")
    done = subprocess.run(
        [str(Path(sys.executable).parent / "mkdocs"), "build", "--strict"],
        cwd=tmp_path,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == (path is not None), done.stderr
