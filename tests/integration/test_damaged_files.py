"""Damaged, cut and missing files: an error that names file and snapshot, never wrong rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from table_store.storage.file_store.data.data_file_reader import WHOLE_FILE_BYTES_MAX
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

QUERY = "SELECT count(a), sum(a), max(b) FROM"


@pytest.fixture(scope="module")
def tables(shell: StockShell) -> dict[str, Path]:
    """A table that Spark's own Parquet reader reads, and one that Python workers merge."""
    shell.ok("CREATE TABLE raw (a INT, b STRING)")
    shell.ok("INSERT INTO raw SELECT id, 'x' FROM range(1000)")
    shell.ok("CREATE TABLE merged (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED)")
    # The second run hides a part of the first: a file without live rows need not be read.
    for letter, count in (("x", 1000), ("y", 500)):
        shell.ok(f"INSERT INTO merged SELECT id, '{letter}' FROM range({count})")
    return {name: shell.tables / name for name in ("raw", "merged")}


def scrambled(content: bytes) -> bytes:
    """Every byte between the magic and the footer, with its guard, is another one."""
    footer = len(content) - int.from_bytes(content[-8:-4], "little") - 16
    return content[:4] + bytes(byte ^ 0x5A for byte in content[4:footer]) + content[footer:]


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
                assert ".. " not in said
            file.write_bytes(content)
    assert shell.ok(f"{QUERY} {name}") == whole


def test_a_file_system_that_cannot_be_asked(shell: StockShell, tables: dict[str, Path]) -> None:
    """Nothing is said against a file that nobody could look at."""
    whole = shell.ok(f"{QUERY} raw")
    shell.ok("SET fs.file.impl.disable.cache=true")
    shell.ok("SET fs.file.impl=no.such.FileSystem")
    said = shell.run(f"{QUERY} raw").error
    shell.ok("RESET fs.file.impl")
    shell.ok("RESET fs.file.impl.disable.cache")
    assert said.startswith("[TABLE_STORE_FILE_ACCESS] File '"), said
    assert "no.such.FileSystem" in said
    assert shell.ok(f"{QUERY} raw") == whole


def test_page_headers(shell: StockShell, tables: dict[str, Path]) -> None:
    """Arrow says over several lines what is wrong with one; a user reads one line, and no trace."""
    shell.ok("CREATE TABLE pages (a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED)")
    for count in (60_000, 10_000):
        shell.ok(f"INSERT INTO pages SELECT id, sha1(string(id)) FROM range({count})")
    files = (tables["raw"].parent / "pages" / "bucket-0").glob("*.parquet")
    file = max(files, key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    assert len(content) > WHOLE_FILE_BYTES_MAX, "it is not read at once and compared as a whole"
    chunk = pq.read_metadata(file).row_group(0).column(2)
    content[chunk.data_page_offset : chunk.data_page_offset + 8] = b"\xff" * 8
    file.write_bytes(content)
    said = shell.run("SELECT sum(length(b)) FROM pages").error
    assert said.startswith(f"[TABLE_STORE_CORRUPT_FILE] File '{file}' of snapshot 2 is damaged: ")
    assert said.endswith("SQLSTATE: KD001")
    assert "\n" not in said


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


@pytest.mark.parametrize(
    ("pattern", "damaged"),
    [
        ("bucket-0/data-*", b""),
        ("bucket-0/data-*", None),
        ("manifest/*", b""),
        ("manifest/*", None),
        ("snapshot/snapshot-*", b""),
    ],
)
def test_the_way_out(shell: StockShell, pattern: str, damaged: bytes | None) -> None:
    """Whatever the newest commit wrote is lost: time travel and rollback bring back the rest."""
    shell.ok("DROP TABLE IF EXISTS way_out")
    shell.ok("CREATE TABLE way_out (a INT, PRIMARY KEY (a) NOT ENFORCED)")
    shell.ok("INSERT INTO way_out VALUES (1)")
    folder = shell.location("way_out")
    before = set(folder.glob(pattern))
    shell.ok("INSERT INTO way_out VALUES (2)")
    newest = set(folder.glob(pattern)) - before
    assert newest
    for file in newest:
        file.unlink()
        if damaged is not None:
            file.write_bytes(damaged)
    assert shell.ok("SELECT * FROM way_out VERSION AS OF 1") == (("1",),)
    shell.ok("CALL sys.rollback(table => 'way_out', version => 1)")
    assert shell.ok("SELECT * FROM way_out") == (("1",),)
    shell.ok("INSERT INTO way_out VALUES (3)")
    assert shell.run("SELECT * FROM way_out").sorted() == [("1",), ("3",)]


def test_a_lost_snapshot_is_named_and_repaired(shell: StockShell) -> None:
    """LATEST points in front of the gap: the commits behind it are neither hidden nor replaced."""
    shell.ok("CREATE TABLE gap (a INT, PRIMARY KEY (a) NOT ENFORCED)")
    for i in range(1, 5):
        shell.ok(f"INSERT INTO gap VALUES ({i})")
    folder = shell.location("gap") / "snapshot"
    (folder / "snapshot-2").unlink()
    (folder / "LATEST").write_bytes(b"1")
    named = f"[TABLE_STORE_MISSING_FILE] File '{folder}/snapshot-2'"
    for statement in ("SELECT * FROM gap", "INSERT INTO gap VALUES (5)", "DELETE FROM gap"):
        said = shell.run(statement).error
        assert said.startswith(named), said
        assert "CALL sys.repair" in said
    told = shell.ok("CALL sys.repair(table => 'gap', dry_run => true)")
    assert told[0][0] == "lost snapshots: 2"
    assert shell.run("SELECT * FROM gap").error.startswith(named), "it only told"
    assert shell.ok("CALL sys.repair('gap')") == told
    assert shell.ok("CALL sys.repair('gap')") == ()
    shell.ok("INSERT INTO gap VALUES (5)")
    assert shell.run("SELECT * FROM gap").sorted() == [(str(i),) for i in range(1, 6)]
    shell.ok("DROP TABLE gap")


@pytest.mark.parametrize("damaged", [b"!", None])
def test_who_knew_a_snapshot_sees_that_it_is_gone(shell: StockShell, damaged: bytes | None) -> None:
    """The next commit is not taken for the lost one, and nothing stumbles over a damaged one."""
    shell.ok("CREATE TABLE known (a INT, PRIMARY KEY (a) NOT ENFORCED)")
    shell.ok("INSERT INTO known VALUES (1)")
    shell.ok("ALTER TABLE known ADD CONSTRAINT later CHECK (a < 100)")
    shell.ok("INSERT INTO known VALUES (2)")
    shell.ok("CREATE MATERIALIZED VIEW knows AS SELECT a FROM known")
    for i in (2, 3):
        path = shell.location("known") / "snapshot" / f"snapshot-{i}"
        path.unlink() if damaged is None else path.write_bytes(damaged)
    ((problem, _, action),) = shell.ok("CALL sys.repair('known')")
    assert problem == f"{'lost' if damaged is None else 'damaged'} snapshots: 2, 3"
    assert "snapshot 1, whose rows need not satisfy the constraint 'later', committed" in action
    shell.ok("INSERT INTO known VALUES (3)")
    shell.ok("REFRESH MATERIALIZED VIEW knows")
    for name in ("known", "knows"):
        assert shell.run(f"SELECT a FROM {name}").sorted() == [("1",), ("3",)], name
    assert len(shell.ok("SELECT * FROM known.snapshots")) == 2
    shell.ok("CALL sys.remove_orphan_files('known')")
    assert shell.ok("CALL sys.repair('known')") == ()
    shell.ok("DROP MATERIALIZED VIEW knows")
    shell.ok("DROP TABLE known")


@pytest.mark.parametrize("name", ["schema/schema-0", "snapshot/snapshot-1"])
def test_what_is_damaged_can_be_dropped(shell: StockShell, name: str) -> None:
    shell.ok("CREATE TABLE beyond_help (a INT)")
    shell.ok("INSERT INTO beyond_help VALUES (1)")
    folder = shell.location("beyond_help")
    (folder / name).write_bytes(b"")
    assert "TABLE_STORE_CORRUPT_FILE" in shell.run("SELECT * FROM beyond_help").error
    shell.ok("DROP TABLE beyond_help")
    assert not folder.exists()


@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_definition(shell: StockShell, lost: int) -> None:
    """Named, rather than a table that is not there or an older one; the table can be dropped."""
    shell.ok("CREATE TABLE no_schema (a INT)")
    shell.ok("ALTER TABLE no_schema ADD COLUMN b STRING")
    shell.ok("INSERT INTO no_schema VALUES (1, 'x')")
    (shell.location("no_schema") / "schema" / f"schema-{lost}").unlink()
    for statement in ("SELECT * FROM no_schema", "INSERT INTO no_schema VALUES (2, 'y')"):
        said = shell.run(statement).error
        assert said.startswith("[TABLE_STORE_MISSING_FILE] File '"), said
        assert f"schema-{lost}' does not exist" in said
        assert "\n" not in said
    shell.ok("DROP TABLE no_schema")
    assert shell.run("SHOW TABLES LIKE 'no_schema'").ok() == ()
