"""Goal: the jar is rebuilt when, and only when, what it depends on changes.

Method: a one-class bridge compiled for real, some seconds.
"""

import zipfile
from pathlib import Path

import pytest

from table_store.catalog.bridge.bridge_jar import (
    BridgeBuildError,
    build,
    fingerprint,
    is_current,
    project_version,
    read_manifest,
    source_files,
)

SOURCE = "package org.example\nclass One { def two: Int = 2 }\n"


def test_build_then_nothing_then_build(tmp_path: Path) -> None:
    source = tmp_path / "One.scala"
    source.write_text(SOURCE)
    resource = tmp_path / "resources" / "a.regex"
    resource.parent.mkdir()
    resource.write_text("x\n")
    service = tmp_path / "resources" / "services" / "org.example.Source"
    service.parent.mkdir()
    service.write_text("org.example.One\n")
    jar = tmp_path / "bridge.jar"
    assert build("1.2.3", folder=tmp_path, jar=jar)
    manifest = read_manifest(jar)
    assert manifest["Implementation-Version"] == "1.2.3"
    assert manifest["Table-Store-Spark-Version"] == "4.2.0"
    assert manifest["Table-Store-Scala-Version"].startswith("2.13.")
    with zipfile.ZipFile(jar) as archive:
        assert archive.read("org/apache/spark/sql/tablestore/a.regex") == b"x\n"
        assert archive.read("META-INF/services/org.example.Source") == b"org.example.One\n"
    assert not build("1.2.3", folder=tmp_path, jar=jar)
    assert not is_current(jar, source_files(tmp_path), "1.2.4")
    resource.write_text("y\n")
    assert not is_current(jar, source_files(tmp_path), "1.2.3")
    resource.write_text("x\n")
    service.write_text("org.example.Two\n")
    assert not is_current(jar, source_files(tmp_path), "1.2.3")
    first = jar.read_bytes()
    source.write_text(SOURCE.replace("Int = 2", "Int = two3"))
    with pytest.raises(BridgeBuildError, match="two3"):
        build("1.2.3", folder=tmp_path, jar=jar)
    assert jar.read_bytes() == first, "a failed build leaves the old jar"


def test_fingerprint_sees_names_contents_and_version(tmp_path: Path) -> None:
    one, two = tmp_path / "A.scala", tmp_path / "B.scala"
    one.write_text("x")
    two.write_text("x")
    prints = {fingerprint([one], "1"), fingerprint([two], "1"), fingerprint([one], "2")}
    prints.add(fingerprint([one, two], "1"))
    one.write_text("y")
    prints.add(fingerprint([one], "1"))
    assert len(prints) == 5


def test_no_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BridgeBuildError, match="No Scala sources"):
        build("1", folder=tmp_path)


def test_a_broken_jar_has_no_manifest(tmp_path: Path) -> None:
    jar = tmp_path / "x.jar"
    assert read_manifest(jar) == {}
    jar.write_bytes(b"PK\x03\x04 nothing")
    assert read_manifest(jar) == {}


def test_version_is_the_projects(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nversion = "1.2.3"\n')
    assert project_version(project) == "1.2.3"
    project.write_text("[project]\n")
    with pytest.raises(BridgeBuildError):
        project_version(project)
