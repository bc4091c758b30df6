"""Goal: submitted jobs and scheduled views go on in a job runner, whatever becomes of one.

A stock shell submits, changes the sources and is the oracle: it runs the queries itself.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from table_store.catalog.meta_service.job_orders import JobOrder, give_order
from table_store.catalog.meta_service.observed_job import observed_jobs
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.job_runner import JobRunner
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

COUNTS = "SELECT v, count(*) AS n FROM a GROUP BY v"
INVERSE = "SELECT id, 60 / v AS share FROM a"
SINKS = {
    "counted": COUNTS,
    "doubled": "SELECT v, n * 2 AS n FROM counted",
    "most": "SELECT max(n) AS m FROM counted",
    "every": "SELECT count(*) AS n FROM a",
    "newest": "SELECT max(id) AS id FROM a",
}
HOSTS = "Hosts the jobs of catalog"
STANDS_BY = "Stands by: another program hosts the jobs"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockShell]:
    with StockShell(tmp_path_factory.mktemp("runner"), *arguments(SMALL)) as started:
        started.ok("CREATE TABLE a (id INT, v INT)")
        started.ok("INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)")
        started.ok("CREATE TABLE counted (v INT NOT NULL, n BIGINT, PRIMARY KEY (v))")
        started.ok("CREATE TABLE shares (id INT NOT NULL, share DOUBLE, PRIMARY KEY (id))")
        for name, clause in (
            ("doubled", "TRIGGER ON UPDATE"),
            ("most", "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 1 SECOND"),
            ("every", "SCHEDULE EVERY 1 SECOND"),
            ("newest", "TRIGGER ON UPDATE"),
        ):
            started.ok(f"CREATE MATERIALIZED VIEW {name} {clause} AS {SINKS[name]}")
        started.ok("SET 'table-store.jobs' = 'runner'")
        yield started


def submitted(shell: StockShell, sink: str, query: str) -> str:
    shell.ok("SET 'execution.checkpointing.interval' = '200 ms'")
    ((job,),) = shell.ok(f"INSERT INTO {sink} {query}")
    shell.ok("RESET 'execution.checkpointing.interval'")
    return job


def state_of(shell: StockShell, job: str) -> str:
    return next(row[3] for row in shell.ok("SHOW JOBS") if row[0] == job)


def wait_for_state(shell: StockShell, job: str, state: str, timeout_s: float = 240) -> None:
    end = time.monotonic() + timeout_s
    while (now := state_of(shell, job)) != state:
        assert time.monotonic() < end, now
        time.sleep(0.2)


def equal_in_time(shell: StockShell, sinks: dict[str, str] = SINKS, timeout_s: float = 240) -> None:
    """Sinks and views become what their queries give."""
    end = time.monotonic() + timeout_s
    while True:
        found = [shell.run(f"SELECT * FROM {sink}").sorted() for sink in sinks]
        wanted = [shell.run(query).sorted() for query in sinks.values()]
        if found == wanted:
            return
        assert time.monotonic() < end, (found, wanted)
        time.sleep(0.2)


def give(shell: StockShell, job: str, order: JobOrder) -> None:
    """Give an order to a job, as the MetaService does."""
    root = str(shell.folder / "spark-warehouse")
    warehouse = Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds())
    (one,) = (one for one in observed_jobs(JobRegistry.of(warehouse)) if one.job.id == job)
    assert give_order(warehouse, one, order).has_runner


def test_jobs_go_on_whatever_becomes_of_a_runner(shell: StockShell) -> None:
    """It comes, is killed beside one that stands by, stands still, wakes up, and is told to end."""
    job = submitted(shell, "counted", COUNTS)
    assert state_of(shell, job) == "SUBMITTED"
    refused = shell.run("CALL sys.flush('counted')").error
    assert "TABLE_STORE_NO_JOB_RUNNER" in refused, refused
    with JobRunner(shell.folder, "first") as first:
        first.wait_until_it_says(HOSTS)
        equal_in_time(shell)
        assert submitted(shell, "counted", COUNTS) == job, "the same statement is the same job"
        assert state_of(shell, job) == "RUNNING"
        shell.ok("INSERT INTO a VALUES (4, 2)")
        shell.ok("CALL sys.flush('counted')")
        assert shell.run("SELECT * FROM counted").sorted() == shell.run(COUNTS).sorted()
        with JobRunner(shell.folder, "second") as second:
            second.wait_until_it_says(STANDS_BY)
            shell.ok("UPDATE a SET v = v + 1 WHERE id < 3")
            first.end(signal.SIGKILL)
            assert second.wait_until_it_says(HOSTS) < 10
            equal_in_time(shell)
            with JobRunner(shell.folder, "third") as third:
                third.wait_until_it_says(STANDS_BY)
                second.tell(signal.SIGSTOP)
                assert third.wait_until_it_says(HOSTS) < 10
                shell.ok("DELETE FROM a WHERE id = 1")
                equal_in_time(shell)
                second.tell(signal.SIGCONT)
                second.wait_until_it_says(STANDS_BY)
                shell.ok("INSERT INTO a VALUES (5, 7), (6, 7), (7, 7)")
                equal_in_time(shell)
                shell.ok("CREATE OR REPLACE TABLE a AS SELECT 9 AS id, 9 AS v")
                equal_in_time(shell)
                second.end()
                assert state_of(shell, job) == "RUNNING", "who stands by leaves nothing behind"
                assert third.end() == 143
        assert "Exception" not in third.said, third.said
    assert state_of(shell, job) == "SUBMITTED"
    with JobRunner(shell.folder, "last") as last:
        last.wait_until_it_says(HOSTS)
        wait_for_state(shell, job, "RUNNING")
        ((*_, state),) = (row[:4] for row in shell.ok(f"STOP JOB '{job}'"))
        assert state == "STOPPED"
        shell.ok("INSERT INTO a VALUES (8, 8)")
        equal_in_time(shell, {"every": SINKS["every"]})
        assert shell.run("SELECT * FROM counted").sorted() != shell.run(COUNTS).sorted()
        assert "counted" not in {row[3] for row in shell.ok("SELECT * FROM sys.jobs")}


def test_a_job_that_fails_comes_again(shell: StockShell) -> None:
    """It says why, and goes on by itself when the data are mended."""
    shell.ok("INSERT INTO a VALUES (100, 0)")
    with JobRunner(shell.folder, "failing"):
        job = submitted(shell, "shares", INVERSE)
        wait_for_state(shell, job, "SUSPENDED")
        (error,) = (row[-1] for row in shell.ok("SHOW JOBS") if row[0] == job)
        assert "DIVIDE_BY_ZERO" in error
        shell.ok("UPDATE a SET v = 6 WHERE id = 100")
        equal_in_time(shell, {"shares": INVERSE})
        give(shell, job, JobOrder.PAUSE)
        wait_for_state(shell, job, "SUSPENDED")
        shell.ok("INSERT INTO a VALUES (101, 5)")
        shell.ok("CREATE TABLE passes (id INT)")  # a time in which the job would have had epochs
        assert shell.run("SELECT * FROM shares WHERE id = 101").rows == ()
        assert ("SUSPENDED",) in shell.ok("SELECT state FROM sys.jobs")
        give(shell, job, JobOrder.RESUME)
        equal_in_time(shell, {"shares": INVERSE})
        assert ("SUSPENDED",) not in shell.ok("SELECT state FROM sys.jobs")
        shell.ok(f"STOP JOB '{job}' WITH DRAIN")
        assert state_of(shell, job) == "FINISHED"
    shell.ok("SET 'table-store.jobs' = 'auto'")
    here = submitted(shell, "shares", INVERSE)
    equal_in_time(shell, {"shares": INVERSE})
    assert state_of(shell, here) == "RUNNING", "without a runner it runs in the shell"
    shell.ok(f"STOP JOB '{here}'")
