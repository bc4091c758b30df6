"""Goal: jobs of `spark-sql` outlive their script, end in good order, and survive every death.

A stock shell changes the sources beside them and is the oracle: it runs the query itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.job_script import JobScript
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

QUERY = "SELECT a.v, b.f FROM a JOIN b ON a.v = b.v"
COUNTS = "SELECT v, count(*) AS n FROM a GROUP BY v"
SCRIPT = f"""
SET 'execution.checkpointing.interval' = '200 ms';
EXECUTE STATEMENT SET BEGIN
  INSERT INTO joined {QUERY};
  INSERT INTO counted {COUNTS};
END;
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockShell]:
    with StockShell(tmp_path_factory.mktemp("scripts"), *arguments(SMALL)) as started:
        started.ok("CREATE TABLE a (id INT, v INT)")
        started.ok("CREATE TABLE b (v INT, f INT)")
        started.ok("CREATE TABLE joined (v INT, f INT)")
        started.ok("CREATE TABLE counted (v INT NOT NULL, n BIGINT, PRIMARY KEY (v))")
        started.ok("INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)")
        started.ok("INSERT INTO b VALUES (1, 10), (2, 20), (2, 21)")
        yield started


def equal_in_time(shell: StockShell, timeout_s: float = 240) -> None:
    """Both sinks become what the queries give."""
    end = time.monotonic() + timeout_s
    while True:
        sinks = [shell.run(f"SELECT * FROM {sink}").sorted() for sink in ("joined", "counted")]
        wanted = [shell.run(query).sorted() for query in (QUERY, COUNTS)]
        if sinks == wanted:
            return
        assert time.monotonic() < end, (sinks, wanted)
        time.sleep(0.2)


def test_a_script_stays_for_its_jobs_and_ends_in_order(shell: StockShell) -> None:
    with JobScript(shell.folder, SCRIPT, "ends") as script:
        equal_in_time(shell)
        shell.ok("SET 'execution.checkpointing.interval' = '1 s'")
        second = shell.run(f"INSERT INTO joined {QUERY}").error
        assert "TABLE_STORE_STREAM_WRITER_EXISTS" in second, second
        shell.ok("RESET 'execution.checkpointing.interval'")
        shell.ok("DELETE FROM b WHERE f = 20")
        shell.ok("UPDATE a SET v = 2 WHERE id = 1")
        equal_in_time(shell)
        os.kill(script.planner(), signal.SIGKILL)
        shell.ok("INSERT INTO a VALUES (9, 2)")
        equal_in_time(shell)
        assert script.end(signal.SIGTERM) == 0, script.errors
        assert not [line for line in script.errors.splitlines() if "Exception" in line]


def test_a_script_that_fails_ends_its_jobs(shell: StockShell) -> None:
    """With a line for each epoch; the jobs do not keep a script alive that is not complete."""
    sql = f"{SCRIPT} CALL sys.flush(); SELECT nothing FROM a;"
    shell.ok("INSERT INTO a VALUES (20, 2)")
    with JobScript(shell.folder, sql, "fails", "run") as script:
        assert script.process.wait(120) == 1, script.errors
    lines = script.errors.splitlines()
    assert any("default.joined: barrier" in line for line in lines), lines
    assert any("A statement of the script has failed. Ends with" in line for line in lines), lines
    equal_in_time(shell)


def test_a_script_does_not_stay_for_temporary_tables(shell: StockShell) -> None:
    sql = f"""
    CREATE TEMPORARY TABLE mine (v INT, f INT);
    SET 'execution.checkpointing.interval' = '200 ms';
    INSERT INTO mine {QUERY};
    CALL sys.flush();
    SET 'execution.runtime-mode' = 'batch';
    SELECT 'rows', count(*) FROM mine;
    """
    ((count,),) = shell.ok(f"SELECT count(*) FROM ({QUERY})")
    with JobScript(shell.folder, sql, "temporary") as script:
        assert script.process.wait(120) == 0, script.errors
        assert f"rows\t{count}" in script.output
    assert not list((shell.folder / "spark-warehouse" / "_temporary").iterdir())


def test_a_script_ends_with_a_job_that_fails(shell: StockShell) -> None:
    """And says why, though Spark's executor keeps a task's failure to itself while a JVM ends."""
    shell.ok("CREATE TABLE divisors (id BIGINT, v INT)")
    shell.ok("CREATE TABLE quotients (id BIGINT, q DOUBLE)")
    shell.ok("INSERT INTO divisors VALUES (0, 1)")
    sql = """
    SET 'execution.runtime-mode' = 'streaming';
    SET 'execution.checkpointing.interval' = '200 ms';
    INSERT INTO quotients SELECT a.id, 1 / a.v FROM divisors a JOIN divisors b ON a.id = b.id;
    """
    with JobScript(shell.folder, sql, "divides") as script:
        script.wait_for_commit("quotients")
        # So many that Spark has tasks for them.
        shell.ok("INSERT INTO divisors SELECT id, IF(id = 1000, 0, 1) FROM range(1, 300000)")
        assert script.process.wait(120) == 0, script.errors
    (told,) = [line for line in script.errors.splitlines() if "TABLE_STORE_JOB_ENDED" in line]
    assert "quotients has ended: " in told
    assert "DIVIDE_BY_ZERO" in told
    assert shell.ok("SELECT count(*) FROM quotients") == (("1",),)


def test_a_killed_driver_resumes(shell: StockShell) -> None:
    """In the middle of epochs, twice; in the end nothing is lost and nothing doubled."""
    shell.ok("INSERT INTO b VALUES (0, 30), (2, 31)")
    for run in range(2):
        with JobScript(shell.folder, SCRIPT, f"killed{run}") as script:
            before = script.wait_for_commit("joined")
            shell.ok(f"INSERT INTO a SELECT id, id % 3 FROM range({run}, 60)")
            script.wait_for_commit("joined", after=before)
            shell.ok(f"DELETE FROM b WHERE f = {30 + run}")
            time.sleep(0.3 * run)
            os.kill(script.process.pid, signal.SIGKILL)
            script.process.wait(60)
    with JobScript(shell.folder, SCRIPT, "last") as script:
        equal_in_time(shell)
        assert script.end(signal.SIGINT) == 0, script.errors


def test_a_shell_that_is_left_says_which_jobs_end(shell: StockShell) -> None:
    """The last test: the shell is that of all."""
    shell.ok("SET 'execution.checkpointing.interval' = '200 ms'")
    shell.ok("SET 'pipeline.name' = 'counts'")
    shell.ok(f"INSERT INTO counted {COUNTS}")
    said = shell.leave()
    assert any("Ends with this program: job counts." in line for line in said), said
