"""Goal: rows of `datagen` come into tables exactly once, and at a barrier everywhere the same ones.

Oracle: a sequence, of which every number must be there once; and what one table has at a barrier
for what another one must have.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameReader, Row, SparkSession

from table_store import jobs, open_table
from table_store.catalog.connectors.connector_errors import ExternalTableError
from table_store.catalog.connectors.positions.position import PositionStore
from table_store.catalog.jobs.ledger import Ledger
from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.fakes.counting_ids import CountingIds
from tests.integration.catalog_conf import OWN_NAME, SMALL, arguments
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session, unlogged_errors
from tests.integration.stock_shell import StockShell
from tests.integration.streaming_mode import streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

SEQUENCE = (
    "'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', "
    "'fields.id.end' = '{end}', 'rows-per-second' = '{rate}'"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("connectors"), OWN_NAME) as session:
        yield session


def insert(spark: SparkSession, statement: str, interval: str = "200 ms") -> str:
    with streaming(spark, interval):
        return str(spark.sql(statement).collect()[0].job)


def job_of(spark: SparkSession, job: str) -> Row:
    (found,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
    return found


def finished(spark: SparkSession, job: str, timeout_s: float = 90) -> Row:
    """The job once it has ended."""
    end = time.monotonic() + timeout_s
    while (row := job_of(spark, job)).state == "RUNNING":
        assert time.monotonic() < end, row
        time.sleep(0.2)
    return row


def warehouse(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")


def ids(spark: SparkSession, query: str) -> list[int]:
    """The only column of a query."""
    return [row[0] for row in spark.sql(query).collect()]


def count(spark: SparkSession, relation: str) -> int:
    return int(spark.sql(f"SELECT count(*) FROM {relation}").collect()[0][0])


def test_batch_queries_read_what_has_an_end(spark: SparkSession) -> None:
    spark.sql(
        "CREATE TABLE bounded (id BIGINT, item INT, name VARCHAR(4), at TIMESTAMP, "
        "shown AS concat(item, '-', upper(name)), WATERMARK FOR at AS at - INTERVAL '1' MINUTE, "
        "PRIMARY KEY (id) NOT ENFORCED) WITH ('fields.item.min' = '1', 'fields.item.max' = '3', "
        f"{SEQUENCE.format(end=10**9, rate=50)}, 'number-of-rows' = '120000')"
    )
    row = spark.sql(
        "SELECT count(*) AS n, count(DISTINCT id) AS d, max(id) AS m, count(DISTINCT item) AS i, "
        "count_if(shown = concat(item, '-', upper(name)) AND length(name) = 4) AS s FROM bounded"
    ).collect()[0]
    assert row == Row(n=120_000, d=120_000, m=119_999, i=3, s=120_000)
    some = spark.sql("SELECT id, shown FROM bounded WHERE id % 50000 = 7").collect()
    assert [one.id for one in sorted(some)] == [7, 50_007, 100_007]
    part = spark.sql("SELECT id, shown FROM bounded VERSION AS OF 8 WHERE id % 50000 = 7").collect()
    assert part == [one for one in some if one.id == 7]
    assert count(spark, "bounded") == count(spark, "(SELECT id FROM bounded)") == 120_000
    assert ids(spark, "SELECT max(id) FROM bounded") == [119_999]
    assert ids(spark, "SELECT id FROM bounded LIMIT 3") == [0, 1, 2]
    spark.sql("CREATE TABLE copied (id BIGINT, shown STRING)")
    spark.sql("INSERT INTO copied SELECT id, shown FROM bounded")
    both = "(SELECT id, shown FROM bounded EXCEPT ALL SELECT id, shown FROM copied)"
    assert (count(spark, "copied"), count(spark, both)) == (120_000, 0)
    shown = spark.sql("SHOW CREATE TABLE bounded").collect()[0][0]
    spark.sql("DROP TABLE bounded")
    spark.sql(shown)
    assert spark.sql("SELECT id, shown FROM bounded WHERE id = 7").collect() == part


def test_what_is_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE endless (id BIGINT, x DOUBLE) WITH ('connector' = 'datagen')")
    spark.sql("CREATE TABLE target (id BIGINT)")
    unbounded = "[TABLE_STORE_UNBOUNDED_SOURCE]"
    for statement in (
        "SELECT * FROM endless",
        "SELECT count(*) FROM endless LIMIT 1",
        "SELECT * FROM endless ORDER BY id LIMIT 1",
        "INSERT INTO target SELECT id FROM endless",
    ):
        error = refused(spark, statement)
        assert unbounded in error
        assert "'execution.runtime-mode' = 'streaming'" in error
    assert len(spark.sql("SELECT * FROM (SELECT * FROM endless LIMIT 9) ORDER BY x").collect()) == 9
    spark.sql("INSERT INTO target SELECT id FROM endless LIMIT 5")
    assert count(spark, "target") == 5
    for statement, operation in (
        ("INSERT INTO endless VALUES (1, 2)", "INSERT"),
        ("DELETE FROM endless", "DELETE"),
        ("TRUNCATE TABLE endless", "TRUNCATE"),
        ("UPDATE endless SET x = 1", "UPDATE"),
        ("ALTER TABLE endless ADD COLUMN y INT", "ALTER of columns"),
        ("SELECT * FROM endless CHANGES FROM VERSION 1", "CHANGES"),
    ):
        error = refused(spark, statement)
        assert f"[TABLE_STORE_EXTERNAL_TABLE] {operation} does not work on" in error
    with streaming(spark):
        for query in (
            "SELECT count(*) FROM endless",
            "SELECT DISTINCT id FROM endless",
            "SELECT e.id FROM endless e JOIN target t ON e.id = t.id",
        ):
            error = refused(spark, f"INSERT INTO target {query}")
            assert "external source" in error
            assert "Load it into a table first with INSERT INTO t SELECT * FROM" in error
    with pytest.raises(ExternalTableError):
        open_table(f"{warehouse(spark)}/default.db/endless")
    fixed = refused(spark, "ALTER TABLE endless SET TBLPROPERTIES ('rows-per-second' = '7')")
    assert "fixed when the table is created" in fixed
    bounded = (
        "CREATE TABLE ended (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '9')"
    )
    spark.sql(bounded)
    view = refused(spark, "CREATE MATERIALIZED VIEW mv AS SELECT id FROM ended")
    assert "external source" in view


def test_a_connector_is_a_format(spark: SparkSession) -> None:
    """What it reads is what a table with the same options has."""
    columns, rate = "id BIGINT, item INT, name STRING", {"number-of-rows": "1000"}
    options = {**rate, "fields.item.min": "1", "fields.item.max": "3"}
    clause = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    spark.sql(f"CREATE TABLE same_rows ({columns}) WITH ('connector' = 'datagen', {clause})")
    before = spark.sql("SHOW TABLES").collect()
    made = spark.read.format("datagen").schema(columns).options(**options).load()
    assert sorted(made.collect()) == sorted(spark.table("same_rows").collect())
    assert made.filter("item = 2").count() == count(spark, "same_rows WHERE item = 2") > 0
    quoted = ", ".join(f"'{key}' '{value}'" for key, value in options.items())
    spark.sql(f"CREATE TEMPORARY VIEW seen ({columns}) USING datagen OPTIONS ({quoted})")
    assert count(spark, "seen JOIN same_rows USING (id, item, name)") == 1000
    spark.catalog.dropTempView("seen")
    assert spark.sql("SHOW TABLES").collect() == before


def test_what_a_format_cannot_do_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    def error(reader: DataFrameReader) -> str:
        with unlogged_errors(), pytest.raises(PySparkException) as raised:
            reader.load().collect()
        return str(raised.value)

    datagen = spark.read.format("datagen")
    assert ".schema('name TYPE, …')" in error(datagen.options(**{"number-of-rows": "5"}))
    endless = error(spark.read.format("datagen").schema("id INT"))
    assert "TABLE_STORE_UNBOUNDED_SOURCE" in endless, endless
    unknown = error(datagen.schema("id INT").options(**{"number-of-row": "5"}))
    assert "Did you mean 'number-of-rows'" in unknown, unknown
    using = refused(spark, "CREATE TABLE no_format (id INT) USING datagen")
    assert "WITH ('connector' = 'datagen'" in using, using
    assert not spark.catalog.tableExists("no_format")
    writer = spark.range(3).write.format("filesystem").option("format", "csv")
    for mode in ("append", "overwrite", "error"):
        with unlogged_errors(), pytest.raises(PySparkException, match="is only read"):
            writer.mode(mode).save(str(tmp_path / "no"))
    assert not (tmp_path / "no").exists()
    with unlogged_errors(), pytest.raises(PySparkException, match="streamed reading"):
        spark.readStream.format("datagen").schema("id INT").load()


def test_a_job_ends_with_the_last_row(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE short (id BIGINT) WITH ({SEQUENCE.format(end=2999, rate=2000)})")
    spark.sql("CREATE TABLE kept (id BIGINT NOT NULL, PRIMARY KEY (id))")
    statement = "INSERT INTO kept SELECT id FROM short WHERE id % 2 = 0"
    assert finished(spark, insert(spark, statement)).state == "FINISHED"
    assert ids(spark, "SELECT id FROM kept ORDER BY id") == list(range(0, 3000, 2))
    again = finished(spark, insert(spark, statement))
    assert (again.state, again.rows_changed) == ("FINISHED", 0)
    # A job that waits for its statement does so until then.
    with streaming(spark, **{"table.dml-sync": "true"}):
        spark.sql("CREATE TABLE whole (id BIGINT)")
        spark.sql("INSERT INTO whole SELECT id FROM short UNION ALL SELECT -1 - id FROM short")
    assert count(spark, "whole") == count(spark, "(SELECT DISTINCT id FROM whole)") == 6000


def test_rows_follow_the_time_and_pauses_bring_none(spark: SparkSession) -> None:
    """However far apart the barriers are."""
    spark.sql(f"CREATE TABLE timed (id BIGINT) WITH ({SEQUENCE.format(end=10**9, rate=1000)})")
    path = warehouse(spark)
    positions = PositionStore(LocalFileIO(path), f"{path}/default.db/timed")
    spark.sql("CREATE TABLE timed_sink (id BIGINT)")
    rows = []
    for interval in ("100 ms", "2 s"):
        job = insert(spark, "INSERT INTO timed_sink SELECT id FROM timed", interval)
        time.sleep(3)
        first = positions.last()
        time.sleep(4)
        last = positions.last()
        assert first is not None
        assert last is not None
        assert abs((last.rows - first.rows) - (last.at_ms - first.at_ms)) <= 1
        assert last.at_ms - first.at_ms >= 1900
        spark.sql(f"STOP JOB '{job}' WITH DRAIN")
        rows.append(count(spark, "timed_sink"))
        assert ids(spark, "SELECT max(id) FROM timed_sink") == [rows[-1] - 1]
    resumed = positions.last()
    assert resumed is not None
    assert resumed.rows == rows[-1]
    # Where the position is lost, the table becomes what the rows are by the new one.
    shutil.rmtree(f"{positions.path}/position")
    job = insert(spark, "INSERT INTO timed_sink SELECT id FROM timed")
    time.sleep(2)
    spark.sql(f"STOP JOB '{job}' WITH DRAIN")
    left = ids(spark, "SELECT id FROM timed_sink ORDER BY id")
    assert left == list(range(len(left)))
    assert len(left) < rows[-1]


def test_jobs_agree_at_every_barrier(spark: SparkSession) -> None:
    """Two jobs read one source at different speeds, a third one reads both of their tables."""
    spark.sql(f"CREATE TABLE shared (id BIGINT) WITH ({SEQUENCE.format(end=10**9, rate=3000)})")
    spark.sql("CREATE TABLE fast (id BIGINT)")
    spark.sql("CREATE TABLE slow (id BIGINT)")
    spark.sql("CREATE TABLE sums (side STRING, n BIGINT)")
    insert(spark, "INSERT INTO fast SELECT id FROM shared WHERE id % 3 = 0")
    insert(spark, "INSERT INTO slow SELECT id FROM shared WHERE id % 3 = 1", "700 ms")
    insert(
        spark,
        "INSERT INTO sums SELECT 'fast', count(*) FROM fast UNION ALL "
        "SELECT 'slow', count(*) FROM slow",
    )
    together = (
        "SELECT (SELECT count(*) FROM fast) AS fast, (SELECT max(id) FROM fast) AS last, "
        "(SELECT count(*) FROM slow) AS slow, (SELECT sum(n) FROM sums) AS n"
    )
    jobs.flush(spark)
    spark.sql("SET 'table-store.consistency' = 'RepeatableRead'")
    seen = set()
    for _ in range(10):
        row = spark.sql(together).collect()[0]
        assert row.last == 3 * (row.fast - 1)
        assert 0 <= row.fast - row.slow <= 1
        assert row.n == row.fast + row.slow
        seen.add(row.fast)
        time.sleep(0.3)
    spark.sql("RESET 'table-store.consistency'")
    assert len(seen) > 1
    path = warehouse(spark)
    barriers = list(Ledger(LocalFileIO(path), path, CountingIds()).newest_first())
    shared = f"{path}/default.db/shared"
    out = [one.snapshots[shared] for one in barriers if shared in one.snapshots]
    assert out == sorted(out, reverse=True)
    assert len(set(out)) > 5


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockShell]:
    with StockShell(tmp_path_factory.mktemp("scripts"), *arguments(SMALL)) as started:
        yield started


ROWS = 30_000
SCRIPT = f"""
CREATE TEMPORARY TABLE numbers (id BIGINT, half AS id div 2) WITH (
  {SEQUENCE.format(end=ROWS - 1, rate=1000)}, 'fields.word.length' = '4');
SET 'execution.checkpointing.interval' = '200 ms';
EXECUTE STATEMENT SET BEGIN
  INSERT INTO everything SELECT id FROM numbers;
  INSERT INTO halves SELECT half FROM numbers WHERE id % 2 = 0;
END;
"""


def test_each_row_comes_in_once_whatever_is_killed(shell: StockShell) -> None:
    """Driver and planner, again and again in the middle of epochs."""
    shell.ok("CREATE TABLE everything (id BIGINT)")
    shell.ok("CREATE TABLE halves (half BIGINT)")
    chance = random.Random(1)
    for run in range(2):
        with JobScript(shell.folder, SCRIPT, f"killed{run}") as script:
            path = shell.folder / "spark-warehouse" / "default.db" / "everything"
            latest = open_table(str(path)).latest_snapshot() if run else None
            script.wait_for_commit("everything", after=0 if latest is None else latest.id)
            time.sleep(chance.random())
            os.kill(script.planner(), signal.SIGKILL)
            time.sleep(2 * chance.random())
            os.kill(script.process.pid, signal.SIGKILL)
            script.process.wait(60)
    sums = "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM everything"
    with JobScript(shell.folder, SCRIPT, "last") as script:
        assert script.process.wait(180) == 0, script.errors
        assert "no field for the option 'fields.word.length'" in script.errors
    assert shell.ok(sums) == ((str(ROWS), str(ROWS), "0", str(ROWS - 1)),)
    halves = "SELECT count(*), count(DISTINCT half), min(half), max(half) FROM halves"
    count = str(ROWS // 2)
    assert shell.ok(halves) == ((count, count, "0", str(ROWS // 2 - 1)),)


PRINTED = """
CREATE TABLE shopping (
 userId BIGINT,
 itemId BIGINT,
 amount BIGINT,
 price DOUBLE );
CREATE TABLE user_item_amount (
 userId BIGINT,
 itemId BIGINT,
 totalAmount BIGINT );
CREATE TEMPORARY TABLE shopping_source (
 userId BIGINT,
 itemId BIGINT,
 amount BIGINT,
 price DOUBLE ) WITH (
 'connector' = 'datagen',
 'fields.word.length' = '4');
SET 'execution.checkpointing.interval' = '1 s';
INSERT INTO shopping SELECT userId, itemId, amount, price FROM shopping_source;
INSERT INTO user_item_amount SELECT userId, itemId, sum(amount) FROM shopping
 GROUP BY userId, itemId;
CALL sys.flush();
RESET 'execution.checkpointing.interval';
SET 'execution.runtime-mode' = 'batch';
SET 'table-store.consistency' = 'RepeatableRead';
SELECT 'compared', count(*) > 1000, count(*) = count(T2.userId) FROM user_item_amount T1
 LEFT JOIN shopping T2 ON T1.userId = T2.userId AND T1.itemId = T2.itemId;
"""


def test_the_printed_example_runs(tmp_path: Path) -> None:
    """Of FLIP-276, with the columns' names as they are declared."""
    with JobScript(tmp_path, PRINTED, "printed") as script:
        end = time.monotonic() + 150
        while "compared" not in script.output:
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, script.errors
            time.sleep(0.5)
        assert "compared\ttrue\ttrue" in script.output
        assert script.end(signal.SIGTERM) == 0, script.errors
