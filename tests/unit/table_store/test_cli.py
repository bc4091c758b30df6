"""Goal: the command says what it does, asks where it must, and its exit codes are as documented.

Method: real commands against a folder that looks like a Spark installation; nothing is replaced.
"""

import json
from pathlib import Path

import pytest

from table_store.catalog.bridge.bridge_jar import JAR_NAME
from table_store.cli import build_parser, main
from table_store.doctor import Patient, examine
from table_store.spark_home import SparkHome


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "spark-sql_2.13-4.2.0.jar").touch()
    return home


def setup(spark: Path, *arguments: str) -> int:
    return main(["setup", "--no-delta", "--spark-home", str(spark), *arguments])


@pytest.fixture(autouse=True)
def _no_configuration_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)


def test_help_names_every_command() -> None:
    text = build_parser().format_help()
    for command in ("setup", "doctor", "sql", "jar-path"):
        assert command in text


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["setup", "--what"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_setup_then_again_then_undo(spark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert setup(spark) == 0
    assert f"create {spark / 'jars' / JAR_NAME}" in capsys.readouterr().out
    assert setup(spark) == 0
    assert capsys.readouterr().out == "set up already\n"
    assert setup(spark, "--undo") == 0
    assert list((spark / "conf").iterdir()) == []
    assert setup(spark, "--undo") == 0
    assert capsys.readouterr().out.endswith("nothing to undo\n")


def test_dry_run_changes_nothing(spark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert setup(spark, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["applied"] is False
    assert len(told["changes"]) == 4
    assert not (spark / "conf").exists()


def test_an_existing_file_needs_a_yes(spark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    defaults = spark / "conf" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.write_text("spark.x 1\n")
    assert setup(spark) == 1
    assert str(defaults) in capsys.readouterr().err
    assert defaults.read_text() == "spark.x 1\n"
    assert setup(spark, "--yes") == 0
    assert defaults.read_text().startswith("spark.x 1\n")


def test_no_spark_is_refused_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setup(tmp_path / "nowhere") == 1
    assert "[TABLE_STORE_SPARK_NOT_FOUND]" in capsys.readouterr().err


def findings(
    spark: Path, folder: Path, environment: dict[str, str], version: str
) -> dict[str, bool]:
    home = SparkHome(spark, spark / "conf")
    patient = Patient(home=home, environment=environment, folder=folder, version=version)
    told = examine(patient)
    assert all(f.remedy for f in told if not f.is_ok)
    return {f.part: f.is_ok for f in told}


def test_doctor_sees_what_is_missing(spark: Path, tmp_path: Path) -> None:
    other_spark = str(tmp_path)
    state = findings(spark, tmp_path, {"PATH": "", "SPARK_HOME": other_spark}, "0.1.0")
    wrong = {part for part, is_ok in state.items() if not is_ok}
    assert wrong == {"SPARK_HOME", "bridge jar", "configuration", "Python", "Delta"}


def test_doctor_compares_versions(spark: Path, tmp_path: Path) -> None:
    assert setup(spark) == 0
    (spark / "jars" / "spark-sql_2.13-4.2.0.jar").rename(
        spark / "jars" / "spark-sql_2.13-4.3.0.jar"
    )
    state = findings(spark, tmp_path, {"PATH": ""}, "9.9.9")
    assert not state["Spark"]
    assert not state["bridge jar"]
    assert state["configuration"]


def test_doctor_answers_in_json(spark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json", "--spark-home", str(spark)])
    told = json.loads(capsys.readouterr().out)
    assert code == 1
    assert [f["part"] for f in told][:3] == ["Java", "Spark", "SPARK_HOME"]
