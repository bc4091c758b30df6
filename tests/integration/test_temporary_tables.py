"""Temporary tables in the stock shell: of one session, gone with it, cleared away after a kill."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark


def test_of_one_session_and_gone_with_it(tmp_path: Path) -> None:
    """A killed session's tables go when the next one starts, its own when it ends."""
    folders = tmp_path / "spark-warehouse" / "_temporary"
    with StockShell(tmp_path) as killed:
        killed.ok("CREATE TEMPORARY TABLE mine (a INT)")
        killed.ok("INSERT INTO mine VALUES (1)")
        killed.ok("CREATE TABLE ours (a INT)")
        killed.process.send_signal(signal.SIGSTOP)
        for child in _planners_of(killed.process.pid):
            os.kill(child, signal.SIGKILL)
        killed.process.kill()
        killed.process.wait(60)
    (left,) = folders.iterdir()
    with StockShell(tmp_path) as shell:
        assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM mine").error
        assert not left.exists()
        shell.ok("CREATE TEMPORARY TABLE mine (b STRING, PRIMARY KEY (b) NOT ENFORCED)")
        shell.ok("INSERT INTO mine VALUES ('x'), ('x')")
        shell.ok("UPDATE mine SET b = 'y'")
        assert shell.ok("SELECT * FROM mine") == (("y",),)
        shell.ok("DROP TEMPORARY TABLE mine")
        shell.ok("CREATE TEMPORARY TABLE other AS SELECT 7 AS c")
        assert shell.ok("SELECT c FROM other") == (("7",),)
        assert shell.ok("SELECT count(a) FROM ours") == (("0",),)
        assert "TABLE_STORE_NOT_FOUND" in shell.run("DROP TEMPORARY TABLE ours").error
        shell.ok("DROP TEMPORARY TABLE IF EXISTS ours")
        assert len(list(folders.iterdir())) == 1
    deadline = time.monotonic() + 30
    while list(folders.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not list(folders.iterdir())


def _planners_of(jvm: int) -> list[int]:
    """The processes that a JVM has started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == jvm:
                found.append(int(folder.name))
    return found
