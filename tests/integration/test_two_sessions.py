"""Several stock shells on one warehouse.

What one commits the others see, no update is lost, and a shell that is killed leaves the table as
before or as after its statement.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.stock_shell import Answer, StockShell

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all shells are started in."""
    return tmp_path_factory.mktemp("together")


@pytest.fixture(scope="module")
def pair(folder: Path) -> Iterator[tuple[StockShell, StockShell]]:
    """Two shells at once."""
    with StockShell(folder) as first, StockShell(folder, prefix="second") as second:
        yield first, second


def test_side_by_side(folder: Path, pair: tuple[StockShell, StockShell]) -> None:
    """Two shells in one folder see each other's tables and rows, and both updates count."""
    first, second = pair
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


_SLOW = (
    "if(java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', 4000000000L) = '', 0, 7)"
)
_SLOW_ROW = f"SELECT CAST(id AS INT), {_SLOW} FROM range(0, 1, 1, 1)"
_REFUSED = "[TABLE_STORE_COMMIT_CONFLICT]"


@pytest.mark.parametrize(
    ("slow", "quick", "condition", "count_and_sum"),
    [
        (f"INSERT OVERWRITE w {_SLOW_ROW}", "INSERT INTO w VALUES (10, 1)", _REFUSED, ("11", "1")),
        (f"INSERT INTO w {_SLOW_ROW}", "INSERT OVERWRITE w VALUES (10, 1)", "", ("2", "8")),
        (f"INSERT INTO w {_SLOW_ROW}", "ALTER TABLE w COMPACT", "", ("10", "7")),
        (f"UPDATE w SET v = {_SLOW} WHERE id = 3", "ALTER TABLE w COMPACT", "", ("10", "7")),
        (f"UPDATE w SET v = {_SLOW} WHERE id = 3", "INSERT INTO w VALUES (10, 1)", "", ("11", "8")),
        (
            f"UPDATE w SET v = v + {_SLOW} WHERE id = 3",
            "UPDATE w SET v = 5 WHERE id = 3",
            "",
            ("10", "12"),
        ),
        (
            f"UPDATE w SET v = {_SLOW} WHERE id = 3",
            "ALTER TABLE w ADD COLUMN x INT",
            _REFUSED,
            ("10", "0"),
        ),
        (f"INSERT INTO w {_SLOW_ROW}", "ALTER TABLE w ADD COLUMN x INT", _REFUSED, ("10", "0")),
    ],
)
def test_one_overtakes_the_other(
    pair: tuple[StockShell, StockShell],
    slow: str,
    quick: str,
    condition: str,
    count_and_sum: tuple[str, str],
) -> None:
    """Both count, or the overtaken one fails, names what it met and leaves nothing."""
    first, second = pair
    first.ok("CREATE OR REPLACE TABLE w (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    first.ok("INSERT INTO w SELECT id, 0 FROM range(5)")
    first.ok("INSERT INTO w SELECT id, 0 FROM range(10)")
    answers: list[Answer] = []
    overtaken = threading.Thread(target=lambda: answers.append(first.run(slow)))
    overtaken.start()
    time.sleep(1)
    second.ok(quick)
    assert overtaken.is_alive(), "the slow statement was too quick to be overtaken"
    overtaken.join()
    (answer,) = answers
    assert answer.error.startswith(condition)
    assert bool(answer.error) == bool(condition)
    if condition:
        assert "it is safe to run the statement again" in answer.error
    for shell in pair:
        assert shell.ok("SELECT count(*), sum(v) FROM w") == (count_and_sum,)


@pytest.mark.crash
def test_killed_shell(folder: Path, pair: tuple[StockShell, StockShell]) -> None:
    """Killed at any moment of a statement, the table is as before it or as after it."""
    before, after = (("1000", "0"),), (("1000", "1000"),)
    maker, _ = pair
    maker.ok("CREATE TABLE k (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='2')")
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
