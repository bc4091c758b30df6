"""Damaged, cut and missing files: an error that names file and snapshot, never wrong rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

QUERY = "SELECT count(a), sum(a), max(b) FROM"


@pytest.fixture(scope="module")
def tables(shell: StockShell, shell_folder: Path) -> dict[str, Path]:
    """A table that Spark's own Parquet reader reads, and one that Python workers merge."""
    shell.ok("CREATE TABLE raw (a INT, b STRING)")
    shell.ok("INSERT INTO raw SELECT id, 'x' FROM range(1000)")
    shell.ok("CREATE TABLE merged (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED)")
    for letter in "xy":
        shell.ok(f"INSERT INTO merged SELECT id, '{letter}' FROM range(1000)")
    warehouse = shell_folder / "spark-warehouse" / "default.db"
    return {name: warehouse / name for name in ("raw", "merged")}


def scrambled(content: bytes) -> bytes:
    """Every byte between the magic and the second half is another one."""
    middle = len(content) // 2
    return content[:4] + bytes(byte ^ 0x5A for byte in content[4:middle]) + content[middle:]


@pytest.mark.parametrize("name", ["raw", "merged"])
def test_data_files(shell: StockShell, tables: dict[str, Path], name: str) -> None:
    """Reads and writes that need the file fail in one line; what is whole is read again."""
    whole = shell.ok(f"{QUERY} {name}")
    for file in (tables[name] / "bucket-0").glob("*.parquet"):
        content = file.read_bytes()
        for damaged in (scrambled(content), content[: len(content) // 2], b"", None):
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            for statement in (f"{QUERY} {name}", f"UPDATE {name} SET b = 'z' WHERE a >= 0"):
                said = shell.run(statement).error
                kind = "MISSING" if damaged is None else "CORRUPT"
                assert said.startswith(f"[TABLE_STORE_{kind}_FILE] File '"), (statement, said)
                assert file.name in said
                assert "of snapshot" in said
                assert "\n" not in said
            file.write_bytes(content)
    assert shell.ok(f"{QUERY} {name}") == whole


@pytest.mark.parametrize(
    "pattern", ["manifest/manifest-list-*", "manifest/manifest-*", "snapshot/*"]
)
def test_metadata_files(shell: StockShell, tables: dict[str, Path], pattern: str) -> None:
    """A new session cannot trust what an old one has read."""
    shell.ok("CREATE TABLE IF NOT EXISTS meta (a INT)")
    shell.ok("INSERT INTO meta VALUES (1)")
    folder = tables["raw"].parent / "meta"
    snapshots = max(int(p.name[9:]) for p in (folder / "snapshot").glob("snapshot-*"))
    name = f"snapshot-{snapshots}" if pattern == "snapshot/*" else None
    files = [p for p in folder.glob(pattern) if name is None or p.name == name]
    newest = max(files, key=lambda path: path.stat().st_mtime_ns)
    content = newest.read_bytes()
    newest.write_bytes(content[: len(content) // 2])
    said = shell.run("INSERT INTO meta SELECT a + 1 FROM meta").error
    newest.write_bytes(content)
    # Immutable manifests that this session has read already are still right.
    assert not said or said.startswith("[TABLE_STORE_CORRUPT_FILE] File '"), said
    assert "\n" not in said
    shell.ok("SELECT * FROM meta")


@pytest.mark.parametrize("damaged", [b"", None])
@pytest.mark.parametrize("pattern", ["bucket-0/data-*", "manifest/*"])
def test_the_way_out(
    shell: StockShell, tables: dict[str, Path], pattern: str, damaged: bytes | None
) -> None:
    """Whatever the newest commit wrote is lost: time travel and rollback bring back the rest."""
    shell.ok("DROP TABLE IF EXISTS way_out")
    shell.ok("CREATE TABLE way_out (a INT, PRIMARY KEY (a) NOT ENFORCED)")
    shell.ok("INSERT INTO way_out VALUES (1)")
    folder = tables["raw"].parent / "way_out"
    before = set(folder.glob(pattern))
    shell.ok("INSERT INTO way_out VALUES (2)")
    for file in set(folder.glob(pattern)) - before:
        file.unlink()
        if damaged is not None:
            file.write_bytes(damaged)
    assert shell.ok("SELECT * FROM way_out VERSION AS OF 1") == (("1",),)
    shell.ok("CALL sys.rollback(table => 'way_out', version => 1)")
    assert shell.ok("SELECT * FROM way_out") == (("1",),)
    shell.ok("INSERT INTO way_out VALUES (3)")
    assert shell.run("SELECT * FROM way_out").sorted() == [("1",), ("3",)]
