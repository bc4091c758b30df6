"""Several stock shells on one warehouse.

What one commits the others see, no update is lost, and a shell that is killed leaves the table as
before or as after its statement.
"""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from tests.integration.stock_shell import Answer, StockShell

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all shells are started in."""
    return tmp_path_factory.mktemp("together")


def test_side_by_side(folder: Path) -> None:
    """Two shells in one folder see each other's tables and rows, and both updates count."""
    with StockShell(folder) as first, StockShell(folder, prefix="second") as second:
        first.ok("CREATE TABLE n (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
        second.ok("INSERT INTO n VALUES (1, 0), (2, 0)")
        assert first.run("SELECT * FROM n").sorted() == [("1", "0"), ("2", "0")]
        done = {name: _count_up(shell) for name, shell in (("a", first), ("b", second))}
        for thread, _ in done.values():
            thread.join()
        succeeded = sum(answer.error == "" for _, answers in done.values() for answer in answers)
        refused = [a.error for _, answers in done.values() for a in answers if a.error]
        assert all(e.startswith("[TABLE_STORE_COMMIT_CONFLICT]") for e in refused), refused
        assert first.ok("SELECT v FROM n WHERE id = 1") == ((str(succeeded),),)
        assert succeeded >= 4
        second.ok("ALTER TABLE n ADD COLUMN w STRING")
        assert first.run("SELECT id, w FROM n").sorted() == [("1", "NULL"), ("2", "NULL")]
        second.ok("DROP TABLE n")
        assert "TABLE_OR_VIEW_NOT_FOUND" in first.run("SELECT * FROM n").error
    left = {path.name for path in folder.iterdir()}
    assert not left & {"metastore_db", "derby.log"}


def _count_up(shell: StockShell) -> tuple[threading.Thread, list[Answer]]:
    answers: list[Answer] = []

    def run() -> None:
        for _ in range(4):
            answers.append(shell.run("UPDATE n SET v = v + 1 WHERE id = 1"))

    thread = threading.Thread(target=run)
    thread.start()
    return thread, answers


@pytest.mark.crash
def test_killed_shell(folder: Path) -> None:
    """Killed at any moment of a statement, the table is as before it or as after it."""
    before, after = (("1000", "0"),), (("1000", "1000"),)
    with StockShell(folder, prefix="maker") as maker:
        maker.ok(
            "CREATE TABLE k (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='2')"
        )
        maker.ok("INSERT INTO k SELECT id, 0 FROM range(1000)")
        for moment_s in (0.3, 0.9, 1.5):
            victim = StockShell(folder, prefix=f"victim{moment_s}")
            victim.ok("SELECT count(*) FROM k")
            victim.start("UPDATE k SET v = 1")
            time.sleep(moment_s)
            victim.process.send_signal(signal.SIGKILL)
            victim.close()
            seen = maker.ok("SELECT count(*), sum(v) FROM k")
            assert seen in (before, after), f"killed after {moment_s} s"
        maker.ok("UPDATE k SET v = 2")
        assert maker.ok("SELECT count(*), sum(v) FROM k") == (("1000", "2000"),)
        maker.ok("CALL sys.remove_orphan_files('k')")
        assert maker.ok("SELECT count(*), sum(v) FROM k") == (("1000", "2000"),)
