"""Goal: nobody but the user reads a planner's log, or decides where it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.integration.plain_jvm import plain_jvm

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    with plain_jvm() as started:
        yield started


@pytest.fixture
def log(jvm: Any) -> Any:
    """The JVM's `PlannerLog`."""
    return jvm.org.apache.spark.sql.tablestore.PlannerLog


def folder(log: Any, temporary: Path) -> Path:
    return Path(log.folder(str(temporary), "me").toString())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_usual_folder_is_the_users_alone(log: Any, tmp_path: Path) -> None:
    made = folder(log, tmp_path)
    assert made == tmp_path / "table-store-me"
    assert mode(made) == 0o700
    assert folder(log, tmp_path) == made


def test_one_that_others_could_read_is_closed(log: Any, tmp_path: Path) -> None:
    (tmp_path / "table-store-me").mkdir()
    (tmp_path / "table-store-me").chmod(0o777)
    assert mode(folder(log, tmp_path)) == 0o700


def test_a_link_is_not_followed(log: Any, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "table-store-me").symlink_to(tmp_path / "target")
    other_folder(log, tmp_path)
    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_folder_of_somebody_elses_is_not_used(log: Any, tmp_path: Path) -> None:
    (tmp_path / "table-store-me").mkdir()
    (tmp_path / "table-store-me").chmod(0o777)
    os.chown(tmp_path / "table-store-me", 54321, 54321)
    other_folder(log, tmp_path)
    assert mode(tmp_path / "table-store-me") == 0o777, "it is left as it is"


def other_folder(log: Any, temporary: Path) -> None:
    """The log is in a new folder, of an unknown name and the user's alone."""
    made = folder(log, temporary)
    assert made.parent == temporary
    assert made.name.startswith("table-store-me-")
    assert mode(made) == 0o700
    assert made.stat().st_uid == os.geteuid()
    assert folder(log, temporary) == made
    made.rmdir()


def test_the_file_is_read_by_its_owner_and_is_no_link(log: Any, tmp_path: Path) -> None:
    made = folder(log, tmp_path)
    file = Path(log.file(log.folder(str(tmp_path), "me")).getPath())
    assert file.parent == made
    assert mode(file) == 0o600
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Py4JJavaError, match=r"symbolic link|loop"):
        log.file(log.folder(str(tmp_path), "me"))
    assert not (tmp_path / "elsewhere").exists()


def test_the_format_of_its_lines(jvm: Any, log: Any) -> None:
    def is_json(**settings: str) -> bool:
        conf = jvm.org.apache.spark.SparkConf(False)
        for key, value in settings.items():
            conf.set(f"spark.tablestore.planner.log.{key}", value)
        return bool(log.isJson(conf))

    assert not is_json()
    assert is_json(format="json")
    with pytest.raises(Py4JJavaError, match="TABLE_STORE_INVALID_OPTION"):
        is_json(format="xml")
