"""Names and texts that mean something to a shell, a path or SQL: kept as they are, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

TEXTS = {
    "parent": "..",
    "path": "/../../../elsewhere",
    "quote": "it's",
    "tick": "a`b",
    "newline": "a\nb",
    "sql": "x; DROP TABLE victim; --",
    "hint": "/*+ OPTIONS('k'='v') */",
    "escape": "%2E%2E%2Fa\\b",
    "equals": "p=1",
    "emoji": "🦀é\u200b",
    "dot": "a.b.c",
    "blank": " ",
    "long": "x" * 10_000,
}


@pytest.fixture(scope="module", autouse=True)
def victim(shell: StockShell) -> None:
    shell.ok("CREATE TABLE victim (id INT)")
    shell.ok("INSERT INTO victim VALUES (7)")


def name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def hexed(text: str) -> str:
    """The text as `hex` prints it: a result without line breaks."""
    return text.encode().hex().upper()


def inside(folder: Path, before: set[Path]) -> bool:
    """Whether everything that is new lies in the warehouse, or is the shell's own script."""
    new = {p.relative_to(folder) for p in folder.iterdir()} - before
    return all(p.parts[0] == "spark-warehouse" or p.suffix == ".sql" for p in new)


def refused(error: str) -> bool:
    return error.startswith("[") and "\n\tat " not in error and "Traceback" not in error


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_as_names(shell: StockShell, text: str) -> None:
    """Of a namespace, a table and its columns; all of them again in SHOW CREATE TABLE."""
    before = {p.relative_to(shell.folder) for p in shell.folder.iterdir()}
    made = shell.run(f"CREATE DATABASE {name(text)}")
    space = shell.namespace
    if made.error:
        assert refused(made.error), made.error
    else:
        space = name(text)
    table = f"{space}.{name(text)}"
    made = shell.run(f"CREATE TABLE {table} (id INT, {name(text)} STRING)")
    if made.error:
        assert refused(made.error), made.error
    else:
        shell.ok(f"INSERT INTO {table} SELECT 1, {literal(text)}")
        rows = shell.ok(f"SELECT hex({name(text)}) FROM {table} WHERE {name(text)} IS NOT NULL")
        assert rows == ((hexed(text),),)
        found = shell.ok(f"SELECT count(*) FROM {space}.{name(text + '$snapshots')}")
        assert found == (("1",),)
        shell.ok(f"ALTER TABLE {table} RENAME COLUMN {name(text)} TO {name(text + '2')}")
        shell.ok(f"ALTER TABLE {table} RENAME TO {space}.renamed")
        assert shell.ok(f"SELECT id FROM {space}.renamed") == (("1",),)
        shell.ok(f"DROP TABLE {space}.renamed")
    if space != shell.namespace:
        shell.ok(f"DROP DATABASE {space} CASCADE")
    assert inside(shell.folder, before)
    assert shell.ok("SELECT id FROM victim") == (("7",),)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_as_values(shell: StockShell, text: str) -> None:
    """Of a partition, a comment, a property, an option and a hint."""
    before = {p.relative_to(shell.folder) for p in shell.folder.iterdir()}
    shell.ok(
        f"CREATE OR REPLACE TABLE hv (id INT COMMENT {literal(text)}, p STRING) "
        f"PARTITIONED BY (p) COMMENT {literal(text)}"
    )
    for key in ("bucket", "file.format", "file.path"):
        said = shell.run(f"ALTER TABLE hv SET TBLPROPERTIES ({literal(key)} = {literal(text)})")
        assert refused(said.error), (key, said.error)
    # A property of somebody else is kept as it is.
    shell.ok(f"ALTER TABLE hv SET TBLPROPERTIES ({literal(text)} = {literal(text)})")
    shell.ok(f"ALTER TABLE hv UNSET TBLPROPERTIES ({literal(text)})")
    assert shell.ok("SHOW TBLPROPERTIES hv") == ()
    for hint in (f"{literal(text)}='1'", f"'bucket'={literal(text)}"):
        said = shell.run(f"SELECT * FROM hv /*+ OPTIONS({hint}) */")
        assert refused(said.error), (hint, said.error)
    said = shell.run(f"INSERT INTO hv SELECT 1, {literal(text)}")
    if said.error:
        assert refused(said.error), said.error
        assert shell.ok("SELECT * FROM hv") == ()
    else:
        assert shell.ok(f"SELECT hex(p) FROM hv WHERE p = {literal(text)}") == ((hexed(text),),)
        shell.ok(f"INSERT OVERWRITE hv PARTITION (p = {literal(text)}) VALUES (2)")
        assert shell.ok("SELECT id FROM hv") == (("2",),)
        shell.ok(f"ALTER TABLE hv PARTITION (p = {literal(text)}) COMPACT")
        shell.ok(f"ALTER TABLE hv DROP PARTITION (p = {literal(text)})")
        assert shell.ok("SELECT * FROM hv") == ()
    assert inside(shell.folder, before)
    assert shell.ok("SELECT id FROM victim") == (("7",),)
