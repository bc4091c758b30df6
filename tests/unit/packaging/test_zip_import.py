"""Goal: the package works from a zip, as `--py-files` puts it on executors.

Without a real root package this fails on every Python, so it is tried in a process of its own.
"""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from tests.checkout import REPOSITORY

MAPPING = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"][
    "package-dir"
]


def test_import_from_zip(tmp_path: Path) -> None:
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name, folder in MAPPING.items():
            for module in (REPOSITORY / folder).rglob("*.py"):
                inner = module.relative_to(REPOSITORY / folder).as_posix()
                packed.write(module, f"{name.replace('.', '/')}/{inner}")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import table_store.storage.options.table_option_rules as m\n"
        "assert 'package.zip' in m.__file__, m.__file__\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
