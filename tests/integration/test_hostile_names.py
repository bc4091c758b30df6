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


BYTES = "CAST(X'61FF62' AS STRING)"


def test_a_text_that_is_not_utf8_is_refused_by_name(shell: StockShell) -> None:
    """Of every kind of column and statement; a computed one, too."""
    shell.ok("CREATE TABLE hk (k STRING, v STRING, PRIMARY KEY (k) NOT ENFORCED)")
    shell.ok("INSERT INTO hk VALUES ('a', 'x'), ('b', 'x')")
    shell.ok(
        "CREATE TABLE hb (id INT, a ARRAY<STRING>, m MAP<STRING, STRING>, s STRUCT<x: STRING>, "
        "c VARCHAR(5), b BINARY, g STRING GENERATED ALWAYS AS (CAST(b AS STRING)), p STRING) "
        "PARTITIONED BY (p)"
    )
    merge = (
        f"MERGE INTO hk USING (SELECT {BYTES} AS k) q ON hk.k = q.k "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (q.k)"
    )
    statements = [
        f"INSERT INTO hb (id, a, p) SELECT 1, array({BYTES}), 'p'",
        f"INSERT INTO hb (id, m, p) SELECT 1, map({BYTES}, 'x'), 'p'",
        f"INSERT INTO hb (id, s, p) SELECT 1, struct({BYTES}), 'p'",
        f"INSERT INTO hb (id, c, p) SELECT 1, {BYTES}, 'p'",
        "INSERT INTO hb (id, b, p) SELECT 1, X'61FF62', 'p'",
        f"INSERT INTO hb (id, p) SELECT 1, {BYTES}",
        f"INSERT OVERWRITE hk SELECT {BYTES}, 'x'",
        f"UPDATE hk SET v = {BYTES} WHERE k = 'a'",
        merge,
        f"CREATE MATERIALIZED VIEW hv AS SELECT concat(k, {BYTES}) AS s FROM hk",
        f"ALTER TABLE hk ADD COLUMN d STRING DEFAULT {BYTES}",
        f"CREATE TABLE hd (id INT, d ARRAY<STRING> DEFAULT array({BYTES}))",
    ]
    for statement in statements:
        error = shell.run(statement).error
        assert "TABLE_STORE_INVALID_TEXT" in error, (statement, error)
        assert refused(error), (statement, error)
    assert shell.ok("SELECT count(*) FROM hb") == (("0",),)


def test_a_condition_on_a_text_that_is_not_utf8_means_its_bytes(shell: StockShell) -> None:
    """Both texts are less than its bytes; the second is greater than it with U+FFFD."""
    shell.ok("CREATE OR REPLACE TABLE hk (k STRING, v STRING, PRIMARY KEY (k) NOT ENFORCED)")
    shell.ok("INSERT INTO hk VALUES ('a\\ufffdb', 'x'), ('a\\U0001F980', 'y')")
    conditions: dict[str, tuple[tuple[str, ...], ...]] = {
        f"k = {BYTES}": (),
        f"k < {BYTES}": (("x",), ("y",)),
        f"k > {BYTES}": (),
        f"k IN ({BYTES}, 'c')": (),
        f"k IN ({BYTES}, 'a\\ufffdb')": (("x",),),
    }
    for condition, expected in conditions.items():
        assert shell.ok(f"SELECT v FROM hk WHERE {condition} ORDER BY v") == expected, condition
    shell.ok(f"DELETE FROM hk WHERE k = {BYTES}")
    assert shell.ok("SELECT v FROM hk ORDER BY v") == (("x",), ("y",))


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
