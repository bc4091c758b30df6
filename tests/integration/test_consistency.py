"""Goal: a statement reads tables that hang together at one barrier, if it asks for that.

The bank's chain is read while money moves: `transactions`, `credits`, `debits` and `balance` tell
the same number of transfers at each barrier, and at no other moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from table_store import jobs, open_table
from table_store.storage.file_store.table import FileStoreTable
from table_store.topology import versions_together
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.diamond import DIAMOND, TOGETHER, Diamond
from tests.integration.spark_session import spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming
from tests.servers.bank_transfers import VIEWS, random_transfers

pytestmark = pytest.mark.spark

READS = 8
READS_OF_PYTHON = 30
SEEN = """
    SELECT (SELECT sum(amount) FROM transactions) AS moved,
        (SELECT sum(credits) FROM credits) AS credited,
        (SELECT sum(debits) FROM debits) AS debited,
        (SELECT count(*) FROM balance b JOIN credits c USING (account) JOIN debits d USING (account)
            WHERE b.balance <> c.credits - d.debits) AS wrong,
        (SELECT sum(total) FROM total) AS total
"""
SINKS = {
    "credits": "account INT NOT NULL, credits BIGINT, PRIMARY KEY (account) NOT ENFORCED",
    "debits": "account INT NOT NULL, debits BIGINT, PRIMARY KEY (account) NOT ENFORCED",
    "balance": "account INT NOT NULL, balance BIGINT, PRIMARY KEY (account) NOT ENFORCED",
    "total": "total BIGINT",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("consistency"), OWN_NAME) as session:
        yield session


@pytest.fixture
def namespace(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, which is the current one."""
    name: str = request.function.__name__
    spark.sql(f"CREATE NAMESPACE {name}")
    spark.sql(f"USE {name}")
    yield name
    for key in ("table-store.consistency", "table-store.barrier"):
        spark.sql(f"RESET '{key}'")


def located(spark: SparkSession, namespace: str, table: str) -> FileStoreTable:
    return open_table(f"{spark.conf.get('spark.sql.warehouse.dir')}/{namespace}.db/{table}").storage


@contextmanager
def reading(spark: SparkSession, consistency: str) -> Iterator[None]:
    spark.sql(f"SET 'table-store.consistency' = '{consistency}'")
    yield
    spark.sql("RESET 'table-store.consistency'")


@contextmanager
def moving(transactions: FileStoreTable) -> Iterator[None]:
    """Append transfers again and again; more of them would only be more files to read."""
    has_ended = threading.Event()
    randomly = np.random.default_rng(1)

    def move() -> None:
        while not has_ended.wait(0.5):
            transactions.append(timed(random_transfers(randomly, 100)))

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def timed(rows: pa.Table) -> pa.Table:
    return rows.append_column("ts", pa.nulls(rows.num_rows, pa.timestamp("us")))


def read_by_python(spark: SparkSession, namespace: str) -> int:
    """How much was moved, with which two tables of the chain must agree, read without Spark."""
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))
    names = {"transactions": "amount", "credits": "credits", "debits": "debits"}
    versions = versions_together(warehouse, [f"{namespace}.{name}" for name in names])
    moved, credited, debited = (
        pc.sum(
            located(spark, namespace, name)
            .scan([column], version=versions[f"{namespace}.{name}"])
            .to_arrow()[column]
        ).as_py()
        for name, column in names.items()
    )
    assert moved == credited == debited
    return int(moved)


def is_mixed(row: Row) -> bool:
    return row.wrong != 0 or row.total != 0 or len({row.moved, row.credited, row.debited}) > 1


def until(holds: Callable[[], bool]) -> None:
    """Return when something holds; it must within two minutes."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end


def read_by_sql(spark: SparkSession) -> int:
    """How much was moved, with which all tables of the chain must agree."""
    row = spark.sql(SEEN).collect()[0]
    assert not is_mixed(row)
    return int(row.moved)


def goes_on(read: Callable[[], int], reads: int) -> None:
    """Read so often, and until a later barrier is seen; none is older than one before."""
    seen: list[int] = []

    def is_seen() -> bool:
        seen.append(read())
        return len(seen) >= reads and seen[0] < seen[-1]

    until(is_seen)
    assert seen == sorted(seen)


def test_readers_of_a_running_chain_see_one_barrier(spark: SparkSession, namespace: str) -> None:
    spark.sql(
        "CREATE TABLE transactions "
        "(id BIGINT, from_account INT, to_account INT, amount BIGINT, ts TIMESTAMP_NTZ)"
    )
    for name, columns in SINKS.items():
        spark.sql(f"CREATE TABLE {name} ({columns})")
    transactions = located(spark, namespace, "transactions")
    first = timed(random_transfers(np.random.default_rng(0), 3_000))
    transactions.append(first)
    inserts = "".join(f"INSERT INTO {name} {query};" for name, query in VIEWS.items())
    with streaming(spark, "50 ms"):
        started = spark.sql(f"EXECUTE STATEMENT SET BEGIN {inserts} END").collect()
    jobs.flush(spark, "total")
    with moving(transactions):
        until(lambda: is_mixed(spark.sql(SEEN).collect()[0]))  # else nothing is proved
        for consistency in ("RepeatableRead", "read-committed"):
            with reading(spark, consistency):
                goes_on(lambda: read_by_sql(spark), READS)
        goes_on(lambda: read_by_python(spark, namespace), READS_OF_PYTHON)
    for job in reversed(started):
        assert jobs.stop_job(spark, job.job).state == "STOPPED"
    transactions.append(first)
    with reading(spark, "RepeatableRead"):
        now = spark.sql(SEEN).first()
    assert now is not None
    assert [Row(now.moved)] == spark.sql("SELECT sum(amount) FROM transactions").collect()


def test_a_diamond_of_two_speeds_and_a_branch_that_fails(
    spark: SparkSession, namespace: str
) -> None:
    """Each read is checked against the rows of the root that it sees, in plain Python."""
    diamond = Diamond(spark, namespace)
    diamond.make()
    diamond.put(1, 1)
    started = {name: diamond.start(name) for name in DIAMOND}
    jobs.flush(spark, "both")
    first = diamond.seen("RepeatableRead")
    new = diamond.put(2, 5)
    assert diamond.is_mixed(), "else nothing is proved"
    until(lambda: diamond.seen("ReadCommitted", "fast") >= new)
    assert diamond.seen("RepeatableRead", "fast") == diamond.seen("ReadCommitted") == first
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(jobs.flush, spark, "both")
        until(lambda: {diamond.seen(one) for one in TOGETHER} == {new})
        assert flushed.result().keys() == {f"table_store.{namespace}.both"}
    wrong = diamond.put(3, 0)
    with unlogged_errors(), pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        jobs.flush(spark, "fast")
    later = diamond.put(4, 2)
    jobs.flush(spark, "slow")
    assert diamond.seen("ReadCommitted", "slow") == later
    assert {diamond.seen("RepeatableRead", name) for name in DIAMOND} == {new}
    assert diamond.seen("ReadCommitted", "fast") < wrong
    mended = diamond.put(3, 4)
    jobs.stop_job(spark, started["fast"])
    started["fast"] = diamond.start("fast")
    jobs.flush(spark, "both")
    assert {diamond.seen(one) for one in TOGETHER} == {mended}
    for name in reversed(DIAMOND):
        jobs.stop_job(spark, started[name])


def test_a_barrier_that_is_set_answers_the_same_again(spark: SparkSession, namespace: str) -> None:
    spark.sql("CREATE TABLE sales (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO sales VALUES (1, 10), (2, 20)")
    spark.sql("CREATE MATERIALIZED VIEW summed AS SELECT sum(n) AS n FROM sales")
    spark.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS c FROM sales")
    query = "SELECT s.n, c.c, (SELECT count(*) FROM sales) AS rows FROM summed s, counted c"
    spark.sql("INSERT INTO sales VALUES (3, 30)")
    first = spark.sql("REFRESH MATERIALIZED VIEW summed").first()
    assert spark.sql(query).collect() == [Row(n=60, c=2, rows=3)]
    with reading(spark, "RepeatableRead"):
        assert spark.sql(query).collect() == [Row(n=30, c=2, rows=2)]
        assert spark.table("summed").collect() == [Row(n=30)]
        spark.sql("CREATE TABLE copied AS SELECT * FROM summed")
        spark.sql("SELECT n FROM summed").createOrReplaceTempView("seen")
        assert spark.sql("SELECT * FROM seen").collect() == [Row(n=30)]
        assert spark.sql("SELECT * FROM copied").collect() == [Row(n=30)]
        version = open_table(located(spark, namespace, "summed").path).storage.latest_snapshot()
        assert version is not None
        newest = f"SELECT * FROM summed VERSION AS OF {version.id}"
        assert spark.sql(newest).collect() == [Row(n=60)]
    with reading(spark, "ReadCommitted"):
        assert spark.sql("SELECT n FROM summed, (SELECT 1 FROM sales LIMIT 1)").first() == Row(n=60)
        assert spark.sql(query).collect() == [Row(n=30, c=2, rows=2)]
    second = spark.sql("REFRESH MATERIALIZED VIEW counted").first()
    assert first is not None
    assert second is not None
    with reading(spark, "RepeatableRead"):
        assert spark.sql(query).collect() == [Row(n=60, c=3, rows=3)]
    spark.sql(f"SET 'table-store.barrier' = '{second.barrier}'")
    for number in (4, 5):
        spark.sql(f"INSERT INTO sales VALUES ({number}, 0)")
        spark.sql("REFRESH MATERIALIZED VIEW counted")
        assert spark.sql(query).collect() == [Row(n=60, c=3, rows=3)]
    spark.sql(f"SET 'table-store.barrier' = '{first.barrier}'")
    with pytest.raises(PySparkException, match=r"TABLE_STORE_NO_COMMON_BARRIER.*counted"):
        spark.sql(query).collect()


def test_a_table_that_was_empty_has_been_read(spark: SparkSession, namespace: str) -> None:
    spark.sql("CREATE TABLE a (id INT)")
    spark.sql("CREATE TABLE b (id INT)")
    spark.sql("INSERT INTO a VALUES (1)")
    both = "SELECT count(*) AS n FROM (SELECT * FROM a UNION ALL SELECT * FROM b)"
    spark.sql(f"CREATE MATERIALIZED VIEW of_both AS {both}")
    spark.sql("CREATE MATERIALIZED VIEW of_b AS SELECT count(*) AS m FROM b")
    spark.sql("INSERT INTO b VALUES (2)")
    spark.sql("REFRESH MATERIALIZED VIEW of_b")
    query = "SELECT n, m FROM of_both, of_b"
    assert spark.sql(query).collect() == [Row(n=1, m=1)]
    with reading(spark, "RepeatableRead"):
        assert spark.sql(query).collect() == [Row(n=1, m=0)]
        spark.sql("REFRESH MATERIALIZED VIEW of_both")
        assert spark.sql(query).collect() == [Row(n=2, m=1)]


def test_what_a_statement_changes_is_never_an_old_snapshot(
    spark: SparkSession, namespace: str
) -> None:
    spark.sql("CREATE TABLE t (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO t VALUES (1, 10)")
    spark.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS c FROM t")
    spark.sql("INSERT INTO t VALUES (2, 20)")
    with reading(spark, "RepeatableRead"):
        assert spark.sql("SELECT * FROM t").count() == 1
        spark.sql("UPDATE t SET n = n + 1 WHERE id = 2")
        spark.sql("MERGE INTO t USING counted ON id = c + 1 WHEN MATCHED THEN UPDATE SET n = -c")
        spark.sql(
            "MERGE INTO t USING (SELECT 2 AS id, 5 AS n) s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        spark.sql("DELETE FROM t WHERE id IN (SELECT c FROM counted)")
        assert spark.sql("SELECT * FROM t").count() == 1
    assert spark.sql("SELECT * FROM t").collect() == [Row(id=2, n=-1)]
    with reading(spark, "RepeatableRead"):
        spark.sql("DELETE FROM t")
    assert spark.sql("SELECT * FROM t").count() == 0


def by_name(spark: SparkSession, table: str) -> dict[str, Row]:
    """The rows of a table about the topology that are of the current namespace."""
    rows = spark.table(table).collect()
    return {row.table_name: row for row in rows if "." not in row.table_name}


def test_tables_tell_what_hangs_together(spark: SparkSession, namespace: str) -> None:
    """With the example of FLIP-276, as it is printed."""
    spark.sql("CREATE TABLE Table1 (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO Table1 VALUES (1, 10)")
    for view, source in (("summed", "Table1"), ("counted", "Table1"), ("doubled", "summed")):
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS SELECT sum(id) AS id FROM {source}")
    example = """
        SELECT T.table_name
         FROM __META_JOB_SOURCE S
         JOIN __META_JOB_Sink T ON S.job_id=T.job_id
         WHERE S.table_name='Table1'
    """
    assert {row.table_name for row in spark.sql(example).collect()} == {"counted", "summed"}
    versions = by_name(spark, "__META_TABLE_VERSION")
    assert versions.keys() == {"Table1", "counted", "doubled", "summed"}
    assert versions["Table1"] == Row(table_name="Table1", version=1, table_type="Root")
    assert versions["doubled"].table_type == "Intermediate"
    spark.sql("INSERT INTO Table1 VALUES (2, 20)")
    spark.sql("REFRESH MATERIALIZED VIEW counted")
    delays = by_name(spark, "sys.table_delay")
    late = {name: row for name, row in delays.items() if row.delay_ms > 0}
    assert late.keys() == {"doubled", "summed"}
    assert late["doubled"].delay_ms == late["summed"].delay_ms
    jobs_of = by_name(spark, "sys.jobs")
    assert late["doubled"].bottlenecks == [jobs_of["summed"].job_name]
    assert {row.kind for row in jobs_of.values()} == {"materialized view"}
    lineage = spark.sql(
        "SELECT s.snapshot FROM sys.source_snapshot_lineage s JOIN sys.jobs j USING (job_id) "
        "WHERE j.table_name = 'counted' ORDER BY s.barrier"
    )
    assert [row.snapshot for row in lineage.collect()] == [1, 2]
    spark.sql("ALTER MATERIALIZED VIEW summed SUSPEND")
    now = by_name(spark, "sys.jobs")
    assert {name for name, row in now.items() if row.state == "SUSPENDED"} == {"summed"}
    spark.sql("DROP TABLE doubled")
    assert by_name(spark, "__META_ETL_SINK").keys() == {"counted", "summed"}
    spark.sql("USE default")
    assert {row.table_name for row in spark.table("sys.jobs").collect()} >= {
        f"{namespace}.counted",
        f"{namespace}.summed",
    }


def test_columns_tell_where_they_come_from(spark: SparkSession, namespace: str) -> None:
    spark.sql("CREATE TABLE sales (id INT, item STRUCT<name: STRING>, n INT)")
    spark.sql("CREATE VIEW large AS SELECT cast(id AS BIGINT), item.name, n FROM sales WHERE n > 9")
    spark.sql(
        "CREATE MATERIALIZED VIEW summed AS "
        "SELECT name, sum(n), count(*) AS c FROM large JOIN sales USING (id, n) GROUP BY ALL"
    )
    spark.sql("CREATE TABLE copied (name STRING, n BIGINT, twice AS n * 2, source STRING)")
    with streaming(spark, "50 ms"):
        statement = "INSERT INTO copied (n, name) SELECT `sum(n)` + c AS z, upper(name) FROM summed"
        started = spark.sql(statement).first()
    query = (
        "SELECT table_name, column_name, source_table, source_column, kind FROM sys.column_lineage "
        "WHERE table_name IN ('copied', 'summed')"
    )
    of_summed = [
        ("summed", "name", "sales", "item", "value"),
        ("summed", "sum(n)", "sales", "n", "value"),
        ("summed", "c", None, None, "value"),
        ("summed", None, "sales", "id", "indirect"),
        ("summed", None, "sales", "item", "indirect"),
        ("summed", None, "sales", "n", "indirect"),
    ]
    assert [tuple(row) for row in spark.sql(query).collect()] == [
        ("copied", "name", "summed", "name", "value"),
        ("copied", "n", "summed", "c", "value"),
        ("copied", "n", "summed", "sum(n)", "value"),
        ("copied", "twice", "summed", "c", "value"),
        ("copied", "twice", "summed", "sum(n)", "value"),
        ("copied", "source", None, None, "value"),
        *of_summed,
    ]
    assert started is not None
    jobs.stop_job(spark, started.job)
    assert [tuple(row) for row in spark.sql(query).collect()] == of_summed


def test_a_session_is_pinned(spark: SparkSession, namespace: str) -> None:
    spark.sql("CREATE TABLE t (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    with pytest.raises(PySparkException, match="TABLE_STORE_NO_COMMON_BARRIER"):
        spark.sql("CALL sys.pin('t')")
    spark.sql("INSERT INTO t VALUES (1, 10)")
    spark.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS c FROM t")
    spark.sql("INSERT INTO t VALUES (2, 20)")
    pinned = spark.sql("CALL sys.pin('t')").first()
    assert pinned is not None
    assert spark.sql("SELECT * FROM t").count() == 1
    query = "SELECT n FROM t WHERE id < (SELECT c FROM counted)"
    plan = spark.sql(f"EXPLAIN {query}").first()
    assert plan is not None
    for table in ("t", "counted"):
        assert f"{namespace}.{table} at barrier {pinned.barrier}" in plan[0]
    described = [row.col_name for row in spark.sql(f"DESCRIBE QUERY {query}").collect()]
    assert described == ["n", "# Barrier", str(pinned.barrier)]
    spark.sql("REFRESH MATERIALIZED VIEW counted")
    assert spark.sql("SELECT c FROM counted").collect() == [Row(c=1)]
    barriers = spark.sql("SELECT barrier FROM sys.barriers WHERE table_name = 't'").collect()
    assert pinned.barrier == min(row.barrier for row in barriers)
    spark.sql("RESET 'table-store.barrier'")
    assert spark.sql("SELECT c FROM counted").collect() == [Row(c=2)]
    assert [row.col_name for row in spark.sql(f"DESCRIBE QUERY {query}").collect()] == ["n"]


def test_tables_as_of_one_time(spark: SparkSession, namespace: str) -> None:
    """They are those of one barrier; a table alone, and one that no job reads, as they were."""
    for table in ("t", "alone"):
        spark.sql(f"CREATE TABLE {table} (id INT)")
        spark.sql(f"INSERT INTO {table} VALUES (1)")
    before = spark.sql("SELECT current_timestamp()").collect()[0][0]
    spark.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS c FROM t")
    for table in ("t", "alone"):
        spark.sql(f"INSERT INTO {table} VALUES (2)")
    then = spark.sql("SELECT current_timestamp()").collect()[0][0]
    spark.sql("REFRESH MATERIALIZED VIEW counted")

    def seen(time: object) -> Row | None:
        as_of = f"TIMESTAMP AS OF '{time}'"
        return spark.sql(
            f"SELECT (SELECT count(*) FROM t {as_of}) AS t, (SELECT c FROM counted {as_of}) AS c, "
            f"(SELECT count(*) FROM alone {as_of}) AS alone"
        ).first()

    assert seen(then) == Row(t=1, c=1, alone=2)
    assert spark.sql(f"SELECT count(*) AS n FROM t TIMESTAMP AS OF '{then}'").first() == Row(n=2)
    now = spark.sql("SELECT current_timestamp()").collect()[0][0]
    assert seen(now) == Row(t=2, c=2, alone=2)
    with reading(spark, "RepeatableRead"):
        assert seen(then) == Row(t=1, c=1, alone=2)
        query = f"SELECT * FROM t TIMESTAMP AS OF '{before}' JOIN alone TIMESTAMP AS OF '{before}'"
        with pytest.raises(PySparkException, match=r"NO_COMMON_BARRIER.*until"):
            spark.sql(query).collect()


def test_settings_that_mean_nothing_are_refused(spark: SparkSession, namespace: str) -> None:
    with pytest.raises(PySparkException, match=r"INVALID_OPTION.*'RepeatableRead'"):
        spark.sql("SET 'table-store.consistency' = 'Serializable'")
    with pytest.raises(PySparkException, match=r"INVALID_OPTION.*number of a barrier"):
        spark.sql("SET 'table-store.barrier' = 'yesterday'")
    spark.sql("CREATE TABLE t (id INT)")
    with reading(spark, "RepeatableRead"):
        assert spark.sql("SELECT * FROM t").count() == 0
