"""Goal: after a revision every table is what its query gives over the corrected tables.

The oracle is the batch query. Who reads barriers while revisions run, fail or die sees one moment
only, and never the middle.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from table_store import jobs
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.snapshot import CommitKind
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.streaming_mode import streaming
from tests.integration.test_consistency import SEEN, SINKS, located, timed
from tests.integration.test_planner_process import descendants
from tests.servers.bank_transfers import VIEWS, random_transfers

pytestmark = pytest.mark.spark

TRANSACTIONS = (
    "CREATE TABLE transactions "
    "(id BIGINT, from_account INT, to_account INT, amount BIGINT, ts TIMESTAMP_NTZ)"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("revision"), OWN_NAME) as session:
        yield session


@pytest.fixture
def namespace(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, which is the current one."""
    name = re.sub(r"\W+", "_", request.node.name)[:60]
    spark.sql(f"CREATE NAMESPACE {name}")
    spark.sql(f"USE {name}")
    yield name
    for job in spark.sql("SHOW JOBS").collect():
        if job.state in ("RUNNING", "SUSPENDED"):
            jobs.stop_job(spark, job.job)
    for key in ("table-store.consistency", "table-store.barrier"):
        spark.sql(f"RESET '{key}'")


def revise(spark: SparkSession, **arguments: Any) -> dict[str, Row]:
    """The rows of a call, by the last part of the table's name."""
    texts = []
    for name, value in arguments.items():
        literal = "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else str(value)
        texts.append(f"{name} => {literal}")
    rows = spark.sql(f"CALL sys.revise({', '.join(texts)})").collect()
    return {row.table.split(".")[-1]: row for row in rows}


def assert_right(spark: SparkSession, queries: dict[str, str]) -> None:
    """Each table is what its query gives."""
    for table, query in queries.items():
        found = sorted(map(tuple, spark.table(table).collect()))
        assert found == sorted(map(tuple, spark.sql(query).collect())), table


@contextmanager
def watching(spark: SparkSession, query: str) -> Iterator[list[Row]]:
    """Read again and again at one barrier, in a session of its own."""
    other = spark.newSession()
    other.sql(f"USE {spark.catalog.currentCatalog()}.{spark.catalog.currentDatabase()}")
    other.sql("SET 'table-store.consistency' = 'RepeatableRead'")
    seen: list[Row] = []
    has_ended = threading.Event()

    def watch() -> None:
        while not has_ended.is_set():
            with suppress(PySparkException):  # the planner was killed
                row = other.sql(query).first()
                assert row is not None
                seen.append(row)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        has_ended.set()
        thread.join()


def moments(rows: list[Row]) -> list[tuple[Any, ...]]:
    """The different rows, in their order."""
    found: list[tuple[Any, ...]] = []
    for row in map(tuple, rows):
        if not found or found[-1] != row:
            found.append(row)
    return found


def test_a_statement_corrects_a_table_under_running_jobs(
    spark: SparkSession, namespace: str
) -> None:
    spark.sql(TRANSACTIONS)
    for name, columns in SINKS.items():
        spark.sql(f"CREATE TABLE {name} ({columns})")
    located(spark, namespace, "transactions").append(
        timed(random_transfers(np.random.default_rng(0), 3_000))
    )
    inserts = "".join(f"INSERT INTO {name} {query};" for name, query in VIEWS.items())
    with streaming(spark, "50 ms"):
        spark.sql(f"EXECUTE STATEMENT SET BEGIN {inserts} END").collect()
    jobs.flush(spark, "total")
    spark.sql("CREATE MATERIALIZED VIEW richest AS SELECT max(balance) AS most FROM balance")
    with watching(spark, SEEN) as seen:
        time.sleep(0.5)
        correction = "UPDATE transactions SET amount = 3 WHERE to_account = 1"
        planned = revise(spark, table="transactions", statement=correction, dry_run=True)
        assert spark.sql("SELECT max(amount) AS m FROM transactions").first() == Row(m=1)
        assert list(planned) == ["transactions", "credits", "debits", "balance", "richest", "total"]
        assert {row.barrier for row in planned.values()} == {None}
        for number in (3, 5, 7):
            done = revise(
                spark,
                table="transactions",
                statement=f"UPDATE transactions SET amount = {number} WHERE to_account = 1",
            )
            assert {row.treatment for row in done.values()} == {"follow"}
            assert len({row.barrier for row in done.values()}) == 1
            assert_right(spark, VIEWS)
        assert_right(spark, {"richest": "SELECT max(balance) FROM balance"})
        time.sleep(0.5)
    assert len(moments(seen)) >= 3
    wrong = [row for row in seen if row.wrong or row.total or row.moved != row.credited]
    assert wrong == []
    located(spark, namespace, "transactions").append(
        timed(random_transfers(np.random.default_rng(1), 300))
    )
    jobs.flush(spark, "total")
    assert_right(spark, VIEWS)
    assert {row.failures for row in spark.sql("SHOW JOBS").collect()} == {0}


def test_a_table_goes_back_to_a_barrier(spark: SparkSession, namespace: str) -> None:
    """Views with states, and a job whose table others write, which keeps their rows."""
    queries = {
        "by_item": "SELECT item, count(*) AS c, sum(n) AS n FROM sales GROUP BY item",
        "priced": "SELECT item, n * price AS worth FROM by_item JOIN prices USING (item)",
        "worth": "SELECT sum(worth) AS worth FROM priced",
    }
    spark.sql("CREATE TABLE sales (id INT, item STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE TABLE prices (item STRING, price INT, PRIMARY KEY (item) NOT ENFORCED)")
    spark.sql("INSERT INTO prices VALUES ('a', 2), ('b', 3)")
    spark.sql("INSERT INTO sales VALUES (1, 'a', 10), (2, 'b', 20)")
    for name, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    spark.sql("CREATE TABLE noted (item STRING, n BIGINT, PRIMARY KEY (item) NOT ENFORCED)")
    with streaming(spark, "50 ms"):
        spark.sql("INSERT INTO noted SELECT item, n FROM by_item")
    first = spark.sql("REFRESH MATERIALIZED VIEW worth").collect()[-1].barrier
    spark.sql("INSERT INTO sales VALUES (3, 'a', 5)")
    good = spark.sql("REFRESH MATERIALIZED VIEW worth").collect()[-1].barrier
    assert good > first
    jobs.flush(spark, "noted")
    spark.sql("INSERT INTO sales VALUES (4, 'b', 1000), (5, 'c', 1)")
    spark.sql("INSERT INTO prices VALUES ('c', 7)")
    spark.sql("REFRESH MATERIALIZED VIEW worth")
    jobs.flush(spark, "noted")
    spark.sql("INSERT INTO noted VALUES ('mine', 1)")
    both = "SELECT (SELECT sum(n) FROM sales) AS sold, (SELECT sum(n) FROM by_item) AS counted"
    with watching(spark, both) as seen:
        planned = revise(spark, table="sales", to_barrier=good, dry_run=True)
        done = revise(spark, table="sales", to_barrier=good)
    assert {name: row.treatment for name, row in planned.items()} == {
        "sales": "correct",
        "by_item": "set back",
        "noted": "follow",
        "priced": "set back",
        "worth": "set back",
    }
    assert {name: row.treatment for name, row in done.items()} == {
        name: row.treatment for name, row in planned.items() if name != "sales"
    }
    assert len({row.barrier for row in done.values()}) == 1
    assert_right(spark, queries)
    assert spark.sql("SELECT sum(n) AS n FROM sales").first() == Row(n=35)
    assert sorted(map(tuple, spark.table("noted").collect())) == [("a", 15), ("b", 20), ("mine", 1)]
    assert {row.sold == row.counted for row in seen} == {True}
    barrier = done["worth"].barrier
    rows = {r.rule for r in spark.sql("CALL sys.refresh_history('by_item')").collect()[-1:]}
    assert rows <= {"incremental", "none", "full"}
    spark.sql(f"SET 'table-store.barrier' = '{good}'")
    assert spark.table("worth").first() == Row(worth=2 * 15 + 3 * 20)
    spark.sql(f"SET 'table-store.barrier' = '{barrier}'")
    assert spark.table("worth").first() == Row(worth=2 * 15 + 3 * 20)
    spark.sql("RESET 'table-store.barrier'")
    spark.sql("INSERT INTO sales VALUES (6, 'c', 2)")
    spark.sql("REFRESH MATERIALIZED VIEW worth")
    jobs.flush(spark, "noted")
    assert_right(spark, queries)
    # The table of a job goes back with the job, which then has what its sources give.
    spark.sql("DELETE FROM noted WHERE item = 'a'")
    spark.sql("CREATE MATERIALIZED VIEW of_noted AS SELECT sum(n) AS n FROM noted")
    revise(spark, table="noted", to_barrier=barrier)
    assert_right(spark, {"of_noted": "SELECT sum(n) AS n FROM noted"})


def test_what_was_changed_without_tracking_is_computed_anew(
    spark: SparkSession, namespace: str
) -> None:
    spark.sql("CREATE TABLE sales (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE TABLE summed (n BIGINT)")
    spark.sql("INSERT INTO sales VALUES (1, 10), (2, 20)")
    query = "SELECT sum(n) AS n FROM sales"
    with streaming(spark, "50 ms"):
        spark.sql(f"INSERT INTO summed {query}")
    jobs.flush(spark, "summed")
    spark.sql("INSERT INTO sales WITH ('change-tracking' = 'false') VALUES (2, 500)")
    spark.sql("INSERT INTO sales VALUES (3, 1)")
    jobs.flush(spark, "summed")
    assert spark.table("summed").collect() == [Row(n=31)]
    (told,) = spark.sql("SHOW JOBS").where(f"sink LIKE '%{namespace}.summed'").collect()
    assert "without change tracking" in told.diverged
    divergences = "SELECT diverged FROM sys.jobs WHERE table_name = 'summed'"
    assert spark.sql(divergences).first() == Row(diverged=told.diverged)
    done = revise(spark, table="sales", mode="full")
    assert spark.sql(divergences).first() == Row(diverged=None)
    assert done["summed"].treatment == "compute"
    assert spark.table("summed").collect() == [Row(n=511)]
    untracked = "INSERT INTO sales WITH ('change-tracking' = 'false') VALUES (1, 0)"
    revise(spark, table="sales", statement=untracked)
    assert spark.table("summed").collect() == [Row(n=501)]
    assert spark.sql(divergences).first() == Row(diverged=None)


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_closed_windows_are_final(spark: SparkSession, namespace: str, mode: str) -> None:
    """A revision changes nothing that is out, brings nothing twice, and windows go on to close."""
    spark.sql(
        "CREATE TABLE e (ts TIMESTAMP, v INT, note STRING, "
        "WATERMARK FOR ts AS ts - INTERVAL '0' SECOND)"
    )
    spark.sql("CREATE TABLE totals (start BIGINT, total BIGINT)")
    with streaming(spark, "1 h"):
        spark.sql(
            "INSERT INTO totals WITH ('sink.emit' = 'on-watermark') "
            "SELECT unix_seconds(window_start), sum(v) FROM "
            "TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MINUTE) "
            "GROUP BY window_start, window_end"
        )

    def put(*rows: tuple[int, int]) -> None:
        values = ", ".join(f"(timestamp_seconds({ts}), {v}, 'x')" for ts, v in rows)
        spark.sql(f"INSERT INTO e VALUES {values}")

    def totals() -> list[tuple[int, int]]:
        return sorted(map(tuple, spark.table("totals").collect()))

    put((0, 1), (70, 2))
    jobs.flush(spark, "totals")
    first = spark.sql("SELECT max(barrier) AS b FROM sys.barriers").first()
    assert totals() == [(0, 1)]
    put((100, 4), (130, 8))
    corrections = (
        "UPDATE e SET note = 'y'",  # in no column that the query reads
        "UPDATE e SET v = 10 WHERE v = 1",  # late
        "UPDATE e SET v = 20 WHERE v = 8",  # in a window that is open
    )
    for statement in corrections:
        done = revise(spark, table="e", statement=statement, mode=mode)
        assert done["totals"].treatment == "follow"
        assert totals() == [(0, 1), (60, 6)]
    put((190, 16))
    jobs.flush(spark, "totals")
    assert totals() == [(0, 1), (60, 6), (120, 20)]
    assert first is not None
    done = revise(spark, table="e", to_barrier=first.b, mode=mode)
    assert done["totals"].treatment == "follow"
    put((250, 32))
    jobs.flush(spark, "totals")
    assert totals() == [(0, 1), (60, 6), (120, 20)]
    put((310, 64))
    jobs.flush(spark, "totals")
    assert totals() == [(0, 1), (60, 6), (120, 20), (240, 32)]
    spark.sql("CREATE MATERIALIZED VIEW of_totals AS SELECT sum(total) AS t FROM totals")
    with pytest.raises(PySparkException, match=r"TABLE_STORE_REVISION.*is final.*sys\.rollback"):
        revise(spark, table="totals", to_barrier=first.b)


def test_what_cannot_be_revised(spark: SparkSession, namespace: str) -> None:
    spark.sql("CREATE TABLE t (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE TABLE other (id INT)")
    spark.sql("INSERT INTO t VALUES (1, 10)")

    def fails(text: str, **arguments: Any) -> None:
        with pytest.raises(PySparkException, match=text):
            revise(spark, **arguments)

    fails("TABLE_STORE_REVISION.*no job", table="t", statement="DELETE FROM t")
    spark.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS n FROM t")
    fails("TABLE_STORE_INVALID_OPTION.*to_barrier or statement", table="t")
    fails("TABLE_STORE_INVALID_OPTION.*mode", table="t", mode="some")
    both = {"to_barrier": 1, "statement": "DELETE FROM t"}
    fails("TABLE_STORE_INVALID_OPTION.*either", table="t", **both)
    fails("TABLE_STORE_REVISION.*no barrier 17", table="t", to_barrier=17)
    for statement in ("SELECT 1", "DELETE FROM other", "DROP TABLE t", "no sql", "DELETE FROM v"):
        fails("TABLE_STORE_REVISION.*statement", table="t", statement=statement)
    fails("TABLE_STORE_REVISION.*no job", table="v", to_barrier=17)
    with streaming(spark, "50 ms"):
        fails(
            "TABLE_STORE_REVISION.*streaming mode",
            table="t",
            statement="INSERT INTO t SELECT 2, 2",
        )
    first = spark.sql("REFRESH MATERIALIZED VIEW v").collect()[-1].barrier
    spark.sql("INSERT INTO t VALUES (2, 20)")
    spark.sql("REFRESH MATERIALIZED VIEW v")
    spark.sql("CALL sys.reset_consumer(table => 'v', consumer_id => 'barrier:all')")
    spark.sql("CALL sys.expire_snapshots(table => 'v', retain_max => 1)")
    fails("TABLE_STORE_REVISION.*expired.*full", table="t", to_barrier=first)
    spark.sql("CACHE TABLE t")
    revise(spark, table="t", to_barrier=first, mode="full")
    assert spark.sql("SELECT sum(n) AS n FROM t").collect() == [Row(n=10)]
    spark.sql("UNCACHE TABLE t")
    assert spark.table("v").collect() == [Row(n=10)]
    with pytest.raises(PySparkException, match=r"CAST_OVERFLOW"):
        revise(spark, table="t", statement="UPDATE t SET n = 1 / 0")
    revise(spark, table="t", statement="UPDATE t SET n = 11")
    assert spark.table("v").collect() == [Row(n=11)]
    spark.sql(
        "CREATE MATERIALIZED VIEW w AS SELECT "
        "IF(n = 0, CAST(raise_error('it is zero') AS DOUBLE), 1 / n) AS q FROM v"
    )
    spark.sql("CREATE MATERIALIZED VIEW x AS SELECT n + 1 AS m FROM v")
    with pytest.raises(PySparkException, match=r"TABLE_STORE_REVISION_INCOMPLETE.*w.*it is zero"):
        revise(spark, table="t", statement="UPDATE t SET n = 0")
    assert spark.table("x").collect() == [Row(m=1)]
    revise(spark, table="t", statement="UPDATE t SET n = 1")
    assert spark.table("w").collect() == [Row(q=1.0)]
    # What a replaced view was is no job any more, and neither follows nor holds back readers.
    spark.sql("CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT n AS q FROM v")
    assert spark.sql("SELECT * FROM sys.jobs WHERE table_name LIKE '%/w%'").count() == 0
    assert set(revise(spark, table="t", statement="UPDATE t SET n = 2")) == {"v", "w", "x"}


def test_a_revision_that_is_killed_is_run_again(spark: SparkSession, namespace: str) -> None:
    """The planner is killed at many moments; the statement counts once each time."""
    queries = {
        "doubled": "SELECT n, 2 * n AS m FROM paid",
        "summed": "SELECT count(*) AS c, sum(m) AS m FROM doubled",
    }
    spark.sql("CREATE TABLE paid (n INT)")
    spark.sql("CREATE TABLE doubled (n INT, m INT)")
    spark.sql("INSERT INTO paid VALUES (1), (2)")
    with streaming(spark, "50 ms"):
        spark.sql(f"INSERT INTO doubled {queries['doubled']}")
    jobs.flush(spark, "doubled")
    spark.sql(f"CREATE MATERIALIZED VIEW summed AS {queries['summed']}")
    both = "SELECT (SELECT count(*) FROM paid) AS c, (SELECT c FROM summed) AS d"
    killed = 0
    with watching(spark, both) as seen:
        for number, delay_s in enumerate((0.1, 0.5, 0.9, 1.4)):
            killer = threading.Timer(delay_s, kill_planner)
            killer.start()
            call = {"table": "paid", "statement": f"INSERT INTO paid VALUES ({100 + number})"}
            while True:
                try:
                    revise(spark, **call)
                    break
                except PySparkException:
                    killed += 1
                    assert killed < 40
            killer.join()
            barrier = spark.sql("SELECT max(barrier) AS b FROM sys.barriers").first()
            assert barrier is not None
            if number == 2:
                spark.sql("INSERT INTO paid VALUES (7)")
                while killed:
                    with suppress(PySparkException):
                        revise(spark, table="paid", to_barrier=barrier.b, mode="incremental")
                        break
            assert spark.table("paid").where(f"n = {100 + number}").count() == 1
            assert_right(spark, queries)
    assert killed
    assert {row.c == row.d for row in seen} == {True}
    assert spark.table("paid").count() == 2 + 3 + 1


def test_a_statement_whose_planner_dies_does_not_go_on(spark: SparkSession, namespace: str) -> None:
    """Another planner would commit it as one that nobody has asked for."""
    spark.sql("CREATE TABLE paid (n INT)")
    spark.sql("CREATE MATERIALIZED VIEW summed AS SELECT sum(n) AS n FROM paid")
    assert spark._jvm is not None
    requests = spark._jvm.org.apache.spark.sql.tablestore.PlannerProcess.requests()

    def asked(*names: str) -> int:
        return sum(requests.getOrDefault(name, 0) for name in names)

    def kill_when_asked() -> None:
        """While the statement is analysed, which asks again if it may."""
        calls = asked("call_procedure")
        ready.set()
        while asked("call_procedure") == calls:
            pass
        loaded = asked("load_table", "load_relation")
        while asked("load_table", "load_relation") == loaded:
            pass
        kill_planner()

    ready = threading.Event()
    killer = threading.Thread(target=kill_when_asked)
    killer.start()
    ready.wait()
    call = {"table": "paid", "statement": "INSERT INTO paid VALUES (1)"}
    with pytest.raises(PySparkException, match="PLANNER_LOST"):
        revise(spark, **call)
    killer.join()
    revise(spark, **call)
    assert spark.table("paid").count() == 1


def test_an_epoch_under_way_does_not_come_behind_a_revision(
    spark: SparkSession, namespace: str
) -> None:
    """Also where the revision leaves the rows of its table as they are."""
    spark.sql("CREATE TABLE paid (n INT)")
    spark.sql("INSERT INTO paid VALUES (1), (2)")
    spark.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS c FROM paid")
    before = located(spark, namespace, "counted").latest_snapshot()
    assert before is not None
    barrier = before.commit_identifiers[JOB_OF_VIEW]
    answer = revise(spark, table="paid", statement="UPDATE paid SET n = n + 1")["counted"]
    assert answer.rows_changed == 0
    latest = located(spark, namespace, "counted").latest_snapshot()
    assert latest is not None
    assert (latest.id, latest.commit_identifiers[JOB_OF_VIEW]) == (answer.snapshot, answer.barrier)
    with pytest.raises(CommitConflictError):
        located(spark, namespace, "counted").committer().commit(
            (),
            kind=CommitKind.APPEND,
            commit_user=JOB_OF_VIEW,
            commit_identifier=answer.barrier + 1,
            previous_identifier=barrier,
            allow_empty=True,
        )
    assert (
        located(spark, namespace, "counted")
        .committer()
        .has_committed(JOB_OF_VIEW, answer.barrier - 1)
    )
    (refreshed,) = spark.sql("REFRESH MATERIALIZED VIEW counted").collect()
    assert refreshed.rule == "none"
    assert spark.table("counted").collect() == [Row(c=2)]


def kill_planner() -> None:
    """Kill the planner of this process's JVM; the next request starts another one."""
    for pid, line in descendants(os.getpid()).items():
        if "table_store.planner" in line:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
