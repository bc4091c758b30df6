"""Goal: set-up makes exactly what it says, does nothing twice, and undo leaves no trace.

Method: a folder that looks like a Spark installation; states of it are compared as a whole.
"""

import json
from pathlib import Path

import pytest

from table_store.setup_plan import Change, plan_setup, plan_undo
from table_store.spark_home import SparkHome, SparkNotFoundError, find_spark_home

DEFAULTS = "spark.sql.defaultCatalog table_store\n"


@pytest.fixture
def home(tmp_path: Path) -> SparkHome:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-sql_2.13-4.2.0.jar").touch()
    return SparkHome(tmp_path / "spark", tmp_path / "spark" / "conf")


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "bridge.jar"
    path.write_bytes(b"one")
    return path


def state(home: SparkHome) -> dict[str, bytes]:
    files = (p for p in home.path.rglob("*") if p.is_file())
    return {str(p.relative_to(home.path)): p.read_bytes() for p in files}


def plan(home: SparkHome, jar: Path) -> tuple[Change, ...]:
    return plan_setup(home, jars=[jar], defaults=DEFAULTS, log4j="quiet\n")


def set_up(home: SparkHome, jar: Path) -> None:
    for change in plan(home, jar):
        change.apply()


def undo(home: SparkHome) -> None:
    for change in plan_undo(home):
        change.apply()


def test_planning_changes_nothing(home: SparkHome, jar: Path) -> None:
    before = state(home)
    assert [c.summary.split()[0] for c in plan(home, jar)] == ["create"] * 4
    assert state(home) == before


def test_set_up_twice_is_set_up_once(home: SparkHome, jar: Path) -> None:
    set_up(home, jar)
    assert (home.jars / "bridge.jar").read_bytes() == b"one"
    assert DEFAULTS in (home.conf / "spark-defaults.conf").read_text()
    assert plan(home, jar) == ()


def test_undo_leaves_no_trace(home: SparkHome, jar: Path) -> None:
    before = state(home)
    set_up(home, jar)
    undo(home)
    assert state(home) == before
    assert plan_undo(home) == ()


def test_a_new_jar_replaces_ours_without_a_question(home: SparkHome, jar: Path) -> None:
    set_up(home, jar)
    jar.write_bytes(b"two")
    changes = plan(home, jar)
    assert [(c.path.name, c.is_others) for c in changes] == [("bridge.jar", False)]
    set_up(home, jar)
    assert (home.jars / "bridge.jar").read_bytes() == b"two"
    undo(home)
    assert not (home.jars / "bridge.jar").exists()


def test_files_of_others_are_marked_kept_and_given_back(home: SparkHome, jar: Path) -> None:
    home.conf.mkdir()
    (home.conf / "spark-defaults.conf").write_text("spark.x 1\n")
    (home.conf / "log4j2.properties").write_text("loud\n")
    before = state(home)
    assert {c.path.name for c in plan(home, jar) if c.is_others} == {"spark-defaults.conf"}
    set_up(home, jar)
    assert (home.conf / "log4j2.properties").read_text() == "loud\n"
    assert "spark.x 1\n" in (home.conf / "spark-defaults.conf").read_text()
    undo(home)
    assert {k: v.rstrip() for k, v in state(home).items()} == {
        k: v.rstrip() for k, v in before.items()
    }


def test_a_jar_of_others_is_not_undone(home: SparkHome, jar: Path) -> None:
    (home.jars / "bridge.jar").write_bytes(b"theirs")
    assert [c.path.name for c in plan(home, jar) if c.is_others] == ["bridge.jar"]
    set_up(home, jar)
    undo(home)
    assert (home.jars / "bridge.jar").exists()


def test_a_forged_receipt_removes_nothing_outside(home: SparkHome, jar: Path) -> None:
    set_up(home, jar)
    receipt = home.conf / "table-store-setup.json"
    for files in ([str(jar)], [str(home.jars / ".." / ".." / "bridge.jar")], {"a": 1}, None):
        receipt.write_text(json.dumps({"version": 1, "files": files}))
        for change in plan_undo(home):
            assert change.path.parent in (home.jars, home.conf)


def test_spark_is_found_where_it_is_said_to_be(home: SparkHome, tmp_path: Path) -> None:
    found = find_spark_home({"SPARK_CONF_DIR": str(tmp_path)}, home.path)
    assert (found.path, found.conf, found.version) == (home.path, tmp_path, "4.2.0")
    assert find_spark_home({}, home.path).conf == home.path / "conf"
    with pytest.raises(SparkNotFoundError, match=r"pip install pyspark==4\.2\.0"):
        find_spark_home({}, tmp_path / "nowhere")
