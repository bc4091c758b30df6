"""Goal: another format is measured by its description alone, and a wrong one is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.benchmark.table_format import STATEMENTS, FormatError, TableFormat, joined_conf
from tests.checkout import REPOSITORY

_SHIPPED = sorted((REPOSITORY / "tests" / "benchmark" / "formats").glob("*.toml"))


def _format(**content: Any) -> TableFormat:
    statements = {"create": "CREATE TABLE {table} ({columns})"}
    return TableFormat.of({"name": "one", "statements": statements, **content})


@pytest.mark.parametrize("path", _SHIPPED, ids=lambda path: path.stem)
def test_what_ships_is_understood(path: Path) -> None:
    found = TableFormat.load(path)
    assert found.statements.keys() == set(STATEMENTS)


def test_what_is_not_given_is_said_as_the_standard_has_it() -> None:
    found = _format()
    assert found.statements["insert"] == ("INSERT INTO {table} SELECT * FROM {source}",)
    assert found.statements["create_write_only"] == found.statements["create"]
    assert "compact" not in found.statements
    assert found.table == "{name}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"jar": "x.jar"}, "no such key: jar"),
        ({"name": ""}, "`name` is missing"),
        ({"statements": {}}, "the statement `create` is missing"),
        ({"statements": {"create": "x", "vacuum": "y"}}, "no such statement: vacuum"),
        ({"statements": {"create": "CREATE TABLE {tabel}"}}, "`statements.create` uses {tabel}"),
        ({"statements": {"create": "x", "drop": "{source}"}}, "`statements.drop` uses {source}"),
        ({"statements": {"create": "x", "compact": "a {"}}, "`statements.compact`: "),
        ({"statements": {"create": ["x", 1]}}, "`statements.create` must be text or a list"),
        ({"table": "cat.{db}.{name}"}, "`table` uses {db}"),
    ],
)
def test_a_mistake_is_named(content: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        _format(**content)
    assert str(caught.value).startswith(reason)


def test_formats_share_a_session(tmp_path: Path) -> None:
    one = _format(extensions=["A"], packages=["g:one:1"], conf={"k": "{warehouse}/one"})
    other = _format(extensions=["B", "A"], packages=["g:two:1"], provided_by="two-*.jar")
    (tmp_path / "two-1.jar").touch()
    assert joined_conf([one, other], tmp_path, Path("/w")) == {
        "k": "/w/one",
        "spark.sql.extensions": "A,B",
        "spark.jars.packages": "g:one:1",
    }
    with pytest.raises(FormatError, match="k is '/w/one' for another format"):
        joined_conf([one, _format(conf={"k": "v"})], tmp_path, Path("/w"))
