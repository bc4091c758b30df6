"""Goal: the package is light to import, and opens tables."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import table_store
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import NotFoundError, PathNotAllowedError
from table_store.storage.kernel.types import LONG
from tests.checkout import REPOSITORY


def test_opens_a_table(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    FileStoreTable.create(path, new_schema(fields=[Field(id=0, name="a", type=LONG)], time_ms=0))
    table_store.open_table(path).append(pa.table({"a": [1]}))
    assert table_store.open_table(f"file:{path}").scan().to_arrow().to_pydict() == {"a": [1]}


def test_a_uri_names_the_same_files(tmp_path: Path) -> None:
    """Also those whose names have what is escaped in a URI."""
    path = str(tmp_path / "a b%20")
    FileStoreTable.create(path, new_schema(fields=[Field(id=0, name="a", type=LONG)], time_ms=0))
    by_path, by_uri = (
        table_store.open_table(path).storage,
        table_store.open_table(Path(path).as_uri()).storage,
    )
    assert by_uri.path == by_path.path
    by_uri.consumers.note("a:b%20c", 1)
    assert [one.id for one in by_path.consumers.all()] == ["a:b%20c"]
    by_path.consumers.note("d:e", 1)
    assert len(by_uri.consumers.all()) == 2


def test_refuses_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        table_store.open_table(str(tmp_path))
    with pytest.raises(PathNotAllowedError):
        table_store.open_table("relative/path")


def test_importing_it_loads_no_arrow() -> None:
    program = "import sys, table_store; print('pyarrow' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"


def test_the_version_is_the_distributions() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    assert table_store.__version__ == project["project"]["version"]
