"""Goal: only Delta's own jars are installed, whatever a repository or a cache gives."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from table_store import delta_jars
from table_store.cli import main
from table_store.spark_home import SparkHome, find_spark_home

_GENUINE = find_spark_home({}).jars


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jars that Ivy is made to fetch: the test puts them there."""
    folder = tmp_path / "repository"
    folder.mkdir()

    def retrieve(arguments: list[str], _: Path) -> None:
        target = Path(arguments[arguments.index("-retrieve") + 1]).parent
        for jar in folder.iterdir():
            (target / jar.name).write_bytes(jar.read_bytes())

    monkeypatch.setattr(delta_jars, "_run", retrieve)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> SparkHome:
    folder = tmp_path / "spark"
    (folder / "jars").mkdir(parents=True)
    for name in ("spark-sql_2.13-4.2.0.jar", "ivy-2.5.3.jar"):
        (folder / "jars" / name).touch()
    return find_spark_home({}, folder)


@pytest.mark.skipif(bool(delta_jars.missing(_GENUINE)), reason="Delta was not fetched")
@pytest.mark.parametrize("change", ["none", "a byte", "the end"])
def test_what_is_fetched_is_looked_at(
    tmp_path: Path, repository: Path, home: SparkHome, change: str
) -> None:
    for name in delta_jars.JAR_NAMES:
        (repository / name).write_bytes((_GENUINE / name).read_bytes())
    victim = repository / delta_jars.JAR_NAMES[1]
    content = bytearray(victim.read_bytes())
    if change == "a byte":
        content[100] ^= 1
    elif change == "the end":
        content += b"\0"
    victim.write_bytes(content)
    target = tmp_path / "target"
    target.mkdir()
    if change == "none":
        delta_jars.fetch(home, target)
        assert not delta_jars.missing(target)
    else:
        found = hashlib.sha256(content).hexdigest()
        with pytest.raises(delta_jars.ForeignJarError, match=f"{victim.name} .*{found}"):
            delta_jars.fetch(home, target)


def test_setup_installs_nothing_then(
    repository: Path, home: SparkHome, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in delta_jars.JAR_NAMES:
        (repository / name).write_bytes(b"something else")
    before = sorted(path.name for path in home.jars.iterdir())
    assert main(["setup", "--yes", "--spark-home", str(home.jars.parent)]) == 1
    assert "[TABLE_STORE_DELTA_CHECKSUM]" in capsys.readouterr().err
    assert sorted(path.name for path in home.jars.iterdir()) == before


_MISSING = """:: problems summary ::
:::: WARNINGS
\t\tmodule not found: io.delta#delta-storage;4.4.0
\t==== central: tried
\t  {url}/delta-storage-4.4.0.pom
"""
_UNREACHABLE = """:::: ERRORS
\tServer access error at url {url}/delta-storage-4.4.0.pom (java.net.ConnectException: refused)
"""


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (_MISSING, r"delta-storage 4\.4\.0: there is no http://maven/delta-storage-4\.4\.0\.pom"),
        (_MISSING + _UNREACHABLE, r"http://maven/\S+ cannot be reached \(java.net.Conn.*refused\)"),
        (":: loading settings\nError: no such file x", "Error: no such file x"),
        ("", "Ivy said nothing"),
    ],
)
def test_a_failure_names_its_reason(
    tmp_path: Path,
    home: SparkHome,
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    reason: str,
) -> None:
    program = tmp_path / "java"
    (tmp_path / "output").write_text(output.format(url="http://maven"), encoding="utf-8")
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/output\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(delta_jars, "java_command", lambda: str(program))
    with pytest.raises(delta_jars.DeltaNotFetchedError, match=f"could not be fetched: {reason}"):
        delta_jars.fetch(home, tmp_path)
