"""Temporary tables in the stock shell: of one session, gone with it, cleared away after a kill."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.integration.catalog_conf import OWN_NAME, SESSION_CATALOG
from tests.integration.shared_shells import SharedShells
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


@pytest.mark.parametrize("conf", [OWN_NAME, SESSION_CATALOG], ids=["own-name", "session"])
def test_hides_a_permanent_table(shared_shells: SharedShells, conf: dict[str, str]) -> None:
    """A temporary table stands before a permanent one or a view, which is back after its DROP."""
    with shared_shells.lent_with(conf, "hides") as shell:
        shell.ok("CREATE TABLE x (a STRING)")
        shell.ok("INSERT INTO x VALUES ('permanent')")
        shell.ok("CREATE VIEW vw AS SELECT 'view' AS a")
        shell.ok("CREATE SCHEMA s2")
        shell.ok("CREATE TABLE s2.x AS SELECT 'of s2' AS a")
        shell.ok("CREATE TABLE s2.only AS SELECT 1 AS a")

        shell.ok("CREATE TEMPORARY TABLE x (a STRING)")
        shell.ok("INSERT INTO x VALUES ('temporary')")
        shell.ok("CREATE TEMPORARY TABLE vw AS SELECT 'hides a view' AS a")
        assert shell.ok("SELECT a FROM x") == (("temporary",),)
        assert shell.ok("SELECT a FROM vw") == (("hides a view",),)
        assert shell.ok("SELECT a FROM s2.x") == (("of s2",),)
        shell.ok("USE s2")
        assert shell.ok("SELECT a FROM x") == (("temporary",),)
        shell.ok("USE hides")
        ((catalog,),) = shell.ok("SELECT current_catalog()")
        shell.ok("SET CATALOG spark_catalog")
        assert shell.ok(f"SELECT a FROM {catalog}.s2.x") == (("of s2",),)
        shell.ok(f"USE {catalog}.hides")

        assert "ALREADY_EXISTS" in shell.run("CREATE TEMPORARY TABLE x (b INT)").error
        shell.ok("CREATE TEMPORARY TABLE IF NOT EXISTS x (b INT)")
        assert "ALREADY_EXISTS" in shell.run("CREATE TABLE vw (b INT)").error
        refused = shell.run("CREATE TEMPORARY TABLE s2.y (b INT)").error
        assert "belongs to the session" in refused

        # As with temporary views, a name means the session's own first, and only where it is alone.
        shell.ok("DROP TABLE s2.only")
        shell.ok("DROP TABLE x")
        assert shell.ok("SELECT a FROM x") == (("permanent",),)
        shell.ok("CREATE TEMPORARY TABLE x LIKE x")
        assert shell.ok("SELECT count(*) FROM x") == (("0",),)
        shell.ok("DROP TABLE s2.x")
        assert shell.ok("SELECT count(*) FROM x") == (("0",),)
        shell.ok("DROP TEMPORARY TABLE x")
        assert shell.ok("SELECT a FROM x") == (("permanent",),)
        assert "TABLE_STORE_NOT_FOUND" in shell.run("DROP TEMPORARY TABLE x").error
        shell.ok("DROP TEMPORARY TABLE vw")
        assert shell.ok("SELECT a FROM vw") == (("view",),)


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
