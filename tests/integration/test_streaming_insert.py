"""Goal: a streaming INSERT keeps its table equal to its query, whatever happens in between.

Oracle: Spark's own run of the same query, after STOP JOB … WITH DRAIN. Statements change the
sources while the jobs run; sinks have a key or none, and rows of others.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from table_store import jobs, open_table
from table_store.catalog.jobs.ledger import Ledger
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from tests.fakes.counting_ids import CountingIds
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import (
    location_of,
    refused,
    spark_session,
    unlogged_errors,
)
from tests.integration.streaming_mode import INTERVAL, MODE, streaming

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("jobs"), OWN_NAME) as session:
        yield session


@pytest.fixture(autouse=True)
def no_jobs(spark: SparkSession) -> Iterator[None]:
    yield
    for job in spark.sql("SHOW JOBS").collect():
        if job.state == "RUNNING":
            spark.sql(f"STOP JOB '{job.job}'")


def insert(spark: SparkSession, statement: str, name: str = "") -> str:
    """The id of the job that an INSERT starts."""
    with streaming(spark, **({"pipeline.name": name} if name else {})):
        return str(spark.sql(statement).collect()[0].job)


def drained(spark: SparkSession, job: str) -> Row:
    found: Row = spark.sql(f"STOP JOB '{job}' WITH DRAIN").collect()[0]
    return found


def bag(frame: DataFrame) -> Counter[str]:
    return Counter(map(str, frame.collect()))


KEYED = "SELECT v, count(*) AS n, sum(id) AS s FROM {0}_a GROUP BY v"
BAG = "SELECT a.id, b.f FROM {0}_a AS a JOIN {0}_b AS b ON a.v = b.v"


def make_sources(spark: SparkSession, name: str) -> None:
    spark.sql(f"CREATE TABLE {name}_a (id INT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql(f"CREATE TABLE {name}_b (v INT, f INT)")
    spark.sql(f"INSERT INTO {name}_a SELECT id, id % 3 FROM range(6)")
    spark.sql(f"INSERT INTO {name}_b VALUES (0, 10), (0, 11), (1, 12)")


def change(spark: SparkSession, name: str, randomly: random.Random) -> None:
    value, key = randomly.randrange(4), randomly.randrange(10)
    match randomly.randrange(5):
        case 0 | 1:
            spark.sql(f"INSERT INTO {name}_a VALUES ({key}, {value})")
        case 2:
            spark.sql(f"DELETE FROM {name}_a WHERE id = {key}")
        case 3:
            spark.sql(f"INSERT INTO {name}_b VALUES ({value}, {key}), ({value}, {key})")
        case _:
            spark.sql(f"DELETE FROM {name}_b WHERE v = {value}")


def test_jobs_follow_their_sources(spark: SparkSession) -> None:
    make_sources(spark, "f")
    spark.sql("CREATE TABLE f_keyed (v INT NOT NULL, n BIGINT, s BIGINT, PRIMARY KEY (v))")
    spark.sql("CREATE TABLE f_bag (id INT, f INT, p STRING) PARTITIONED BY (p)")
    keyed = insert(spark, f"INSERT INTO f_keyed {KEYED.format('f')}")
    both = insert(
        spark,
        f"INSERT INTO f_bag PARTITION (p = 'x') (f, id) SELECT f, id FROM ({BAG.format('f')})",
    )
    randomly = random.Random(1)
    for _ in range(8):
        change(spark, "f", randomly)
    listed = {row.job: row for row in spark.sql("SHOW JOBS").collect()}
    assert {listed[job].state for job in (keyed, both)} == {"RUNNING"}
    assert listed[keyed].name == listed[keyed].sink == "table_store.default.f_keyed"
    for job in (keyed, both):
        assert drained(spark, job).state == "FINISHED"
    assert bag(spark.table("f_keyed")) == bag(spark.sql(KEYED.format("f")))
    assert bag(spark.table("f_bag")) == bag(
        spark.sql(f"SELECT *, 'x' AS p FROM ({BAG.format('f')})")
    )


def test_who_asks_while_an_epoch_fails_is_told(spark: SparkSession) -> None:
    """None of them waits for the job's interval."""
    spark.sql("CREATE TABLE asked (v INT)")
    spark.sql("CREATE TABLE answered (v DOUBLE)")
    with streaming(spark, "1 h"):
        spark.sql("INSERT INTO answered SELECT 1 / v FROM asked")
    spark.sql("CALL sys.flush()")
    spark.sql("INSERT INTO asked VALUES (0)")

    def ask(number: int) -> str:
        time.sleep(0.1 * number)  # in some of these moments the epoch is under way
        return str(refused(spark, "CALL sys.flush(table => 'answered')"))

    with unlogged_errors(), ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ask, number) for number in range(4)]
        assert all("DIVIDE_BY_ZERO" in each.result(timeout=300) for each in asked)


def test_a_job_resumes_where_it_was(spark: SparkSession) -> None:
    """By its name: nothing is doubled, and a rollback of the sink is made good."""
    make_sources(spark, "r")
    spark.sql("CREATE TABLE r_bag (id INT, f INT)")
    statement = f"INSERT INTO r_bag {BAG.format('r')}"
    assert drained(spark, insert(spark, statement, "one")).rule == "full"
    spark.sql("INSERT INTO r_b VALUES (2, 1), (1, 5)")
    again = drained(spark, insert(spark, statement, "one"))
    assert (again.rule, again.rows_changed) == ("incremental", 4)
    assert bag(spark.table("r_bag")) == bag(spark.sql(BAG.format("r")))
    assert drained(spark, insert(spark, statement, "one")).rule == "none"
    spark.sql("CALL sys.rollback(table => 'r_bag', snapshot => 1)")
    spark.sql("DELETE FROM r_b WHERE f = 10")
    assert drained(spark, insert(spark, statement, "one")).rule == "incremental"
    assert bag(spark.table("r_bag")) == bag(spark.sql(BAG.format("r")))


def test_what_others_wrote_stays(spark: SparkSession) -> None:
    make_sources(spark, "o")
    spark.sql("CREATE TABLE o_keyed (v INT NOT NULL, n BIGINT, s BIGINT, PRIMARY KEY (v))")
    spark.sql("INSERT INTO o_keyed VALUES (77, 0, 0)")
    job = insert(spark, f"INSERT INTO o_keyed {KEYED.format('o')}")
    spark.sql("INSERT INTO o_keyed VALUES (78, 0, 0)")
    spark.sql("DELETE FROM o_a WHERE v = 1")
    drained(spark, job)
    others = spark.sql("SELECT v, 0 AS n, 0 AS s FROM VALUES (77), (78) AS t (v)")
    assert bag(spark.table("o_keyed")) == bag(others.union(spark.sql(KEYED.format("o"))))


def test_what_streaming_mode_refuses(spark: SparkSession) -> None:
    make_sources(spark, "x")
    spark.sql("CREATE TABLE x_sink (id INT, v INT)")
    spark.sql("CREATE VIEW x_view AS SELECT id, v FROM x_sink")
    spark.sql("CREATE TABLE x_csv (id INT, v INT) USING csv")
    spark.sql("CREATE TEMPORARY VIEW x_mine AS SELECT id, v FROM x_a")
    with streaming(spark):
        spark.sql(f"RESET '{INTERVAL}'")
        assert "requires a checkpoint interval" in refused(spark, "INSERT INTO x_sink TABLE x_a")
        spark.sql(f"SET '{INTERVAL}' = '100 ms'")
        assert "INSERT OVERWRITE" in refused(spark, "INSERT OVERWRITE x_sink TABLE x_a")
        assert "not managed" in refused(spark, "INSERT INTO x_csv TABLE x_a")
        several = "FROM x_a INSERT INTO x_sink SELECT id, v INSERT INTO x_csv SELECT v, id"
        assert "several tables" in refused(spark, several)
        assert "x_sink <- default.x_sink" in refused(spark, "INSERT INTO x_sink TABLE x_view")
        assert "x_csv" in refused(spark, "INSERT INTO x_sink TABLE x_csv")
        assert "x_mine" in refused(spark, "INSERT INTO x_sink TABLE x_mine")
        assert "not deterministic" in refused(
            spark, "INSERT INTO x_sink SELECT id, rand() FROM x_a"
        )
        assert "x_a have no end" in refused(spark, "SELECT * FROM x_a")
        assert spark.sql("SELECT * FROM x_a LIMIT 1").count() == 1
        assert spark.sql("SELECT 1").count() == 1
        spark.sql("INSERT INTO x_sink VALUES (1, 1)")
        spark.sql("CREATE TABLE x_copy AS SELECT * FROM x_a")
        spark.sql("CREATE MATERIALIZED VIEW x_stored AS SELECT v, id + 1 AS n FROM x_a")
        spark.sql("REFRESH MATERIALIZED VIEW x_stored")
        spark.sql("UPDATE x_copy SET v = 1")
        assert spark.sql("SELECT * FROM x_a VERSION AS OF 1").count() == 6
        job = spark.sql("INSERT INTO x_sink TABLE x_a").collect()[0].job
        assert job in refused(spark, "INSERT INTO x_sink SELECT 1, v FROM x_b")
    assert "no job" in refused(spark, "STOP JOB 'nobody'")
    assert "INVALID_OPTION" in refused(spark, f"SET '{INTERVAL}' = 'often'")
    assert drained(spark, job).rows_changed == 6


def test_a_failing_job_is_suspended(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE d_a (id INT, v INT)")
    spark.sql("CREATE TABLE d_sink (v INT NOT NULL, id INT, PRIMARY KEY (v))")
    spark.sql("INSERT INTO d_a VALUES (1, 1), (2, 1)")
    with unlogged_errors():
        job = insert(spark, "INSERT INTO d_sink SELECT v, id FROM d_a")
        assert spark.sql("CALL sys.await_jobs()").collect()[0].jobs == 1
    rows = spark.sql(f"DESCRIBE JOB '{job}'").collect()
    details = {row.info_name: row.info_value for row in rows}
    assert (details["state"], details["failures"]) == ("SUSPENDED", "5")
    assert 'two rows with the key {"v":1}' in details["error"]
    spark.sql("DELETE FROM d_a WHERE id = 2")
    drained(spark, insert(spark, "INSERT INTO d_sink SELECT v, id FROM d_a"))
    assert spark.table("d_sink").collect() == [Row(v=1, id=1)]


def test_statement_sets_start_several_jobs(spark: SparkSession) -> None:
    make_sources(spark, "s")
    for sink in ("s_one", "s_two"):
        spark.sql(f"CREATE TABLE {sink} (id INT, v INT)")
    inserts = "INSERT INTO s_one TABLE s_a; INSERT INTO s_two SELECT v, f FROM s_b;"
    with streaming(spark):
        jobs = spark.sql(f"EXECUTE STATEMENT SET BEGIN {inserts} END").collect()
    for row in jobs:
        drained(spark, row.job)
    assert bag(spark.table("s_one")) == bag(spark.table("s_a"))
    assert bag(spark.table("s_two")) == bag(spark.sql("SELECT v AS id, f AS v FROM s_b"))


def test_sources_keep_what_a_resting_job_needs(spark: SparkSession) -> None:
    """Also where they have other options and another column by then."""
    make_sources(spark, "k")
    spark.sql("CREATE TABLE k_bag (id INT, f INT)")
    statement = f"INSERT INTO k_bag {BAG.format('k')}"
    drained(spark, insert(spark, statement))
    for source in ("k_a", "k_b"):
        spark.sql(f"ALTER TABLE {source} SET TBLPROPERTIES ('snapshot.num-retained.min' = '1')")
    spark.sql("ALTER TABLE k_b ADD COLUMN extra STRING")
    for at in range(3):
        spark.sql(f"INSERT INTO k_a VALUES ({at}, 1)")
        spark.sql(f"INSERT INTO k_b VALUES (2, {at}, 'x')")
    for source in ("k_a", "k_b"):
        spark.sql(f"CALL sys.expire_snapshots(table => '{source}', retain_max => 1)")
    assert drained(spark, insert(spark, statement)).state == "FINISHED"
    assert bag(spark.table("k_bag")) == bag(spark.sql(BAG.format("k")))


def test_a_statement_that_waits_for_its_job(spark: SparkSession) -> None:
    make_sources(spark, "w")
    spark.sql("CREATE TABLE w_sink (id INT, v INT)")
    user = spark.newSession()
    settings = {MODE: "streaming", INTERVAL: "100 ms", "table.dml-sync": "true"}
    for key, value in settings.items():
        user.sql(f"SET '{key}' = '{value}'")
    plan = user.sql("EXPLAIN INSERT INTO w_sink TABLE w_a").collect()[0].plan
    assert plan.rstrip().endswith("default.w_a [its changes]")
    assert "TableStoreJob" in plan
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: user.sql("INSERT INTO w_sink TABLE w_a").collect())
        while not (jobs := [j.job for j in spark.sql("SHOW JOBS").collect() if "w_" in j.sink]):
            assert not answer.done()
        assert drained(spark, jobs[0]).state == "FINISHED"
        assert [row.job for row in answer.result(60)] == jobs
    assert bag(spark.table("w_sink")) == bag(spark.table("w_a"))


def requests(spark: SparkSession, name: str) -> int:
    """How many requests of this name the planner has had."""
    bridge = spark.sparkContext._jvm.org.apache.spark.sql.tablestore  # type: ignore[union-attr]
    return bridge.PlannerProcess.requests().get(name) or 0


def files_of(spark: SparkSession) -> set[Path]:
    warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    return {path for path in warehouse.rglob("*") if path.is_file()}


CHAIN = """EXECUTE STATEMENT SET BEGIN
  INSERT INTO {0}_high SELECT 1 AS k, l.v - r.v, r.n
    FROM {0}_low l, (SELECT sum(v) AS v, count(*) AS n FROM {0}_root) r;
  INSERT INTO {0}_low SELECT 1 AS k, sum(v) FROM {0}_root;
END"""


def make_chain(spark: SparkSession, name: str, interval: str) -> dict[str, str]:
    """A table, the job of its sum, and one that compares this sum with the table; ids by sink."""
    spark.sql(f"CREATE TABLE {name}_root (v BIGINT)")
    spark.sql(f"CREATE TABLE {name}_low (k INT NOT NULL, v BIGINT, PRIMARY KEY (k))")
    columns = "k INT NOT NULL, off BIGINT, n BIGINT, PRIMARY KEY (k)"
    spark.sql(f"CREATE TABLE {name}_high ({columns})")
    spark.sql(f"INSERT INTO {name}_root VALUES (1)")
    with streaming(spark, interval):
        high, low = spark.sql(CHAIN.format(name)).collect()
    return {"high": high.job, "low": low.job}


def table_at(spark: SparkSession, name: str) -> FileStoreTable:
    return open_table(location_of(spark, name)).storage


def test_jobs_that_read_one_another_are_at_one_barrier(spark: SparkSession) -> None:
    """While the root changes: each version of the upper sink is of one moment."""
    jobs = make_chain(spark, "c", "50 ms")
    root = table_at(spark, "c_root")
    rows = pa.table({"v": [3]}, schema=root.scan().arrow_schema)
    stop = Event()

    def append() -> None:
        while not stop.wait(0.03):
            root.append(rows)

    writer = Thread(target=append)
    writer.start()
    try:
        for _ in range(3):
            spark.sql("CALL sys.flush('c_high')")
    finally:
        stop.set()
        writer.join()
    drained(spark, jobs["high"])
    assert bag(spark.table("c_high")) == bag(
        spark.sql("SELECT 1 AS k, CAST(0 AS BIGINT) AS off, count(*) AS n FROM c_root")
    )
    drained(spark, jobs["low"])
    high, low = table_at(spark, "c_high"), table_at(spark, "c_low")
    changes = spark.sql("SELECT off, _commit_version FROM c_high CHANGES FROM VERSION 1").collect()
    assert {row.off for row in changes} == {0}
    assert len({row[1] for row in changes}) > 2
    barriers = {
        name: {
            snapshot.properties["job.barrier"]
            for snapshot in table.snapshot_store.between(1, table.snapshot_store.latest_id() or 0)
            if snapshot.commit_kind is not CommitKind.COMPACT
        }
        for name, table in (("high", high), ("low", low))
    }
    assert barriers["high"] & barriers["low"]
    warehouse = str(Path(high.path).parents[1])
    cut = Ledger(LocalFileIO(warehouse), warehouse, CountingIds())
    assert all(cut.get(int(number)) is not None for number in barriers["low"] | barriers["high"])


def test_flush_returns_when_the_table_is_up_to_date(spark: SparkSession) -> None:
    """However long the interval; materialized views above are refreshed."""
    make_chain(spark, "u", "1 h")
    spark.sql("CREATE MATERIALIZED VIEW u_view AS SELECT v, v + 1 AS w FROM u_low")
    for count in range(2, 5):
        spark.sql("INSERT INTO u_root VALUES (5)")
        (done,) = spark.sql("CALL sys.flush('u_high')").collect()
        assert done.table.endswith("default.u_high")
        assert [tuple(row) for row in spark.table("u_high").collect()] == [(1, 0, count)]
    spark.sql("DELETE FROM u_root WHERE v = 5")
    (view,) = spark.sql("CALL sys.flush('u_view')").collect()
    assert (view.table, view.job) == ("table_store.default.u_view", None)
    assert [tuple(row) for row in spark.table("u_view").collect()] == [(1, 2)]
    spark.sql("INSERT INTO u_root VALUES (6)")
    assert jobs.flush(spark).keys() >= {"table_store.default.u_low", "table_store.default.u_high"}
    assert [row.v for row in spark.table("u_low").collect()] == [7]
    assert "TABLE_STORE_NO_JOB" in refused(spark, "CALL sys.flush('u_root')")


def test_nothing_changed_costs_almost_nothing(spark: SparkSession) -> None:
    make_chain(spark, "i", "50 ms")
    spark.sql("CALL sys.flush()")
    files, epochs, looks = files_of(spark), requests(spark, "advance_job"), 0
    begin = requests(spark, "plan_barrier")
    end = time.monotonic() + 30
    while looks < 5:
        looks = requests(spark, "plan_barrier") - begin
        assert time.monotonic() < end
        time.sleep(0.05)
    assert files_of(spark) == files
    assert requests(spark, "advance_job") == epochs


def test_what_stands_on_a_halted_job_waits(spark: SparkSession) -> None:
    """The error is told by whoever is asked; a job that is stopped leaves its table as it is."""
    spark.sql("CREATE TABLE h_root (k INT, v BIGINT)")
    spark.sql("CREATE TABLE h_low (k INT NOT NULL, v BIGINT, PRIMARY KEY (k))")
    spark.sql("CREATE TABLE h_high (n BIGINT)")
    spark.sql("INSERT INTO h_root VALUES (1, 1)")
    with unlogged_errors():
        low = insert(spark, "INSERT INTO h_low SELECT k, v FROM h_root")
        high = insert(spark, "INSERT INTO h_high SELECT count(*) FROM h_low")
        spark.sql("CALL sys.flush('h_high')")
        spark.sql("INSERT INTO h_root VALUES (2, 1), (2, 2)")
        assert "TABLE_STORE_JOB_BEHIND" in refused(spark, "CALL sys.flush('h_high')")
        (ended,) = jobs.await_jobs(spark, low, timeout_s=60)
    assert (ended.state, ended.failures, ended.lag_ms) == ("SUSPENDED", 5, None)
    said = refused(spark, "CALL sys.flush('h_high')")
    assert "TABLE_STORE_JOB_BEHIND" in said
    assert "two rows with the key" in said
    assert "SUSPENDED" in refused(spark, "CALL sys.flush('h_low')")
    assert jobs.stop_job(spark, low).state == "STOPPED"
    assert [row.table for row in spark.sql("CALL sys.flush('h_high')").collect()]
    assert jobs.stop_job(spark, high, drain=True).state == "FINISHED"
    history = spark.sql("CALL sys.refresh_history('h_low')").collect()
    assert [(row.rule is None, row.error is None) for row in history] == [
        (False, True),
        *[(True, False)] * 5,
    ]
    assert all("two rows with the key" in row.error for row in history[1:])
    details = {row[0]: row[1] for row in spark.sql(f"DESCRIBE JOB '{low}'").collect()}
    assert details["rules"] == "full 1"
    assert "two rows with the key" in details["last_error"]


def test_jobs_in_python_and_in_sparks_pages(spark: SparkSession) -> None:
    make_sources(spark, "p")
    spark.sql("CREATE TABLE p_bag (id INT, f INT)")
    name = "it's \\ p"
    job = insert(spark, f"INSERT INTO p_bag {BAG.format('p')}", name.replace("'", "''"))
    (listed,) = [one for one in jobs.list_jobs(spark) if one.job == job]
    assert listed.is_running
    assert [one.is_running for one in jobs.await_jobs(spark, job, timeout_s=0)] == [True]
    barrier = jobs.flush(spark, "p_bag")["table_store.default.p_bag"]
    (view,) = [one for one in jobs.list_jobs(spark) if one.job == job]
    assert (view.barrier, view.rows_changed, view.rows_per_second is not None) == (barrier, 6, True)
    assert jobs.stop_job(spark, listed.name).state == "STOPPED"
    shown = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    described = {shown.apply(at).description() for at in range(shown.size())}
    wanted = f"table_store.default.p_bag at barrier {barrier}"
    assert any(wanted in str(description) for description in described), described
    assert jobs.await_jobs(spark, job)[0].state == "STOPPED"


def test_a_temporary_table_is_a_sink_of_its_session(spark: SparkSession) -> None:
    """The table that it hides stays as it is; a job ends when its table goes."""
    make_sources(spark, "t")
    session = spark.newSession()
    session.sql("CREATE TABLE t_hidden AS SELECT 7 AS v, 7 AS n, 7 AS s")
    columns = "v INT NOT NULL, n BIGINT, s BIGINT, PRIMARY KEY (v)"
    session.sql(f"CREATE TEMPORARY TABLE t_hidden ({columns})")
    session.sql("CREATE TEMPORARY TABLE t_bag (id INT, f INT)")
    started = [
        insert(session, f"INSERT INTO t_hidden {KEYED.format('t')}"),
        insert(session, f"INSERT INTO t_bag {BAG.format('t')}"),
    ]
    spark.sql("DELETE FROM t_a WHERE id = 2")
    spark.sql("INSERT INTO t_b VALUES (0, 10)")
    spark.sql("CALL sys.flush()")
    session.sql("INSERT INTO t_bag VALUES (100, 100)")
    spark.sql("UPDATE t_a SET v = 1 WHERE id = 0")
    for job in started:
        assert drained(spark, job).state == "FINISHED"
    assert bag(session.table("t_hidden")) == bag(spark.sql(KEYED.format("t")))
    others = session.sql(f"{BAG.format('t')} UNION ALL SELECT 100, 100")
    assert bag(session.table("t_bag")) == bag(others)
    assert bag(spark.table("t_hidden")) == bag(spark.sql("SELECT 7 AS v, 7 AS n, 7 AS s"))
    again = insert(session, f"INSERT INTO t_bag {BAG.format('t')}")
    session.sql("DROP TEMPORARY TABLE t_bag")
    spark.sql("INSERT INTO t_b VALUES (1, 13)")
    with unlogged_errors():
        spark.sql("CALL sys.await_jobs()")
    (gone,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == again]
    assert (gone.state, "t_bag" in gone.error) == ("FAILED", True)


def test_a_query_that_names_a_temporary_table(spark: SparkSession) -> None:
    """Its job would read the permanent table that is hidden."""
    session = spark.newSession()
    session.sql("CREATE TABLE h_hidden AS SELECT 1 AS v")
    session.sql("CREATE TABLE h_sink (v INT)")
    session.sql("CREATE MATERIALIZED VIEW h_view AS SELECT v FROM h_hidden")
    session.sql("CREATE TEMPORARY TABLE h_hidden AS SELECT 2 AS v")
    query = "SELECT v FROM h_hidden"
    with streaming(session):
        assert "h_hidden, a temporary table" in refused(session, f"INSERT INTO h_sink {query}")
    for statement in ("CREATE MATERIALIZED VIEW h_other", "ALTER MATERIALIZED VIEW h_view"):
        assert "h_hidden, a temporary table" in refused(session, f"{statement} AS {query}")
    assert bag(session.table("h_view")) == bag(session.sql("SELECT 1 AS v"))
