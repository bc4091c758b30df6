"""Goal: the wheel has every module, the compiled bridge and the configuration.

Method: it is built from a copy of the sources, so that what earlier builds left cannot hide a gap.
"""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from table_store.catalog.bridge.bridge_jar import JAR_NAME
from tests.checkout import REPOSITORY

SETUPTOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
NOT_PACKED = ("docs", "page_writers")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = tmp_path_factory.mktemp("sources")
    for name in (*SETUPTOOLS["package-dir"].values(), "build_backend", *NOT_PACKED):
        shutil.copytree(
            REPOSITORY / name, sources / name, ignore=shutil.ignore_patterns("__pycache__", "*.jar")
        )
    for name in ("pyproject.toml", "MANIFEST.in", "README.md"):
        shutil.copy(REPOSITORY / name, sources / name)
    folder = tmp_path_factory.mktemp("wheel")
    # No isolation: the environment has what the build needs, Spark's compiler included.
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("spark_table_store-*.whl"))


def test_wheel_has_every_module(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    for name, folder in SETUPTOOLS["package-dir"].items():
        for module in (REPOSITORY / folder).rglob("*.py"):
            inner = module.relative_to(REPOSITORY / folder).as_posix()
            assert f"{name.replace('.', '/')}/{inner}" in packed


def test_wheel_has_no_documents(wheel: Path) -> None:
    packed = zipfile.ZipFile(wheel).namelist()
    known = ("table_store/", "spark_table_store-")
    assert [name for name in packed if not name.startswith(known)] == []
    assert not any(part in name.split("/") for name in packed for part in NOT_PACKED)


def test_wheel_has_jar_and_configuration(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert f"table_store/catalog/bridge/{JAR_NAME}" in packed
    for name in ("spark-defaults.conf", "spark-delta.conf", "log4j2.properties"):
        assert f"table_store/conf/{name}" in packed
    assert "table_store/conf/grafana-dashboard.json" in packed
    for file in (REPOSITORY / "catalog" / "service" / "static").iterdir():
        assert f"table_store/catalog/service/static/{file.name}" in packed
    assert "table_store/py.typed" in packed


def test_wheel_works_installed_elsewhere(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from table_store.catalog.bridge import bridge_jar as b\n"
        f"assert b.__file__.startswith({str(tmp_path)!r}), b.__file__\n"
        "v = b.read_manifest(b.JAR_PATH)['Implementation-Version']\n"
        "assert not b.build(v), 'the jar is current'\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
