"""Goal: jobs follow streams that Spark reads by itself: each row once, whatever is killed.

Oracle: whole numbers, as many as a file says, of which each must be there once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import Row, SparkSession

from table_store import open_table
from tests.checkout import REPOSITORY
from tests.fakes import pyspark_numbers
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    cloudpickle.register_pickle_by_value(pyspark_numbers)  # type: ignore[no-untyped-call]
    with spark_session(tmp_path_factory.mktemp("streams"), OWN_NAME) as session:
        session.dataSource.register(pyspark_numbers.DefaultSource)
        session.dataSource.register(pyspark_numbers.SimpleSource)
        yield session


def insert(spark: SparkSession, statement: str) -> str:
    with streaming(spark):
        return str(spark.sql(statement).collect()[0].job)


def numbers(spark: SparkSession, file: Path, name: str, **options: object) -> None:
    """Create a table over the numbers of a file, which has none yet."""
    file.write_text("0")
    given = {"file": file, **options}
    listed = "".join(f", 'source.options.{key}' = '{value}'" for key, value in given.items())
    spark.sql(
        f"CREATE TABLE {name} (Note STRING, ID INT NOT NULL, twice AS ID * 2) "
        f"WITH ('connector' = 'spark', 'format' = 'numbers'{listed})"
    )


def ids(spark: SparkSession, table: str) -> list[int]:
    return [row.id for row in spark.sql(f"SELECT id FROM {table} ORDER BY id").collect()]


def lines(file: Path, suffix: str) -> list[str]:
    found = file.with_suffix(suffix)
    return found.read_text().splitlines() if found.exists() else []


def test_jobs_of_one_stream_agree_and_go_on(spark: SparkSession, tmp_path: Path) -> None:
    """Two jobs, one that is stopped and goes on, and one that begins late."""
    file = tmp_path / "shared"
    numbers(spark, file, "shared")
    for table in ("everything", "odd", "late"):
        spark.sql(f"CREATE TABLE {table} (id BIGINT, twice BIGINT, note STRING)")
    every = "INSERT INTO everything SELECT id, twice, note FROM shared"
    first = insert(spark, every)
    insert(spark, "INSERT INTO odd SELECT id, twice, note FROM shared WHERE id % 2 = 1")
    for count in (5, 5, 2000):
        file.write_text(str(count))
        flush(spark)
        assert ids(spark, "everything") == list(range(count))
        assert ids(spark, "odd") == list(range(1, count, 2))
    spark.sql(f"STOP JOB '{first}'")
    file.write_text("3000")
    flush(spark)
    assert ids(spark, "everything") == list(range(2000))
    assert ids(spark, "odd") == list(range(1, 3000, 2))
    # Rows are done when the slowest job has them; which of two jobs is slower nobody can tell.
    flush(spark)
    committed = [int(line) for line in lines(file, ".commits")]
    assert committed == sorted(set(committed))
    assert set(committed) <= {0, 5, 2000}
    insert(spark, every)
    insert(spark, "INSERT INTO late SELECT id, twice, note FROM shared")
    flush(spark)
    for table in ("everything", "late"):
        assert ids(spark, table) == list(range(3000))
    wrong = "SELECT * FROM everything WHERE twice <> 2 * id OR note <> concat('n', id)"
    assert not spark.sql(wrong).collect()
    assert lines(file, ".ranges").count("0 5") == 2, "two jobs have read it, each once"


def test_limits_and_readers_that_look_ahead(spark: SparkSession, tmp_path: Path) -> None:
    """What a stream gives at once comes at one barrier; a simple reader gives what it has."""
    file = tmp_path / "limited"
    numbers(spark, file, "limited", limit=40)
    spark.sql(
        "CREATE TABLE simple (id BIGINT) WITH ('connector' = 'spark', "
        f"'format' = 'simple_numbers', 'source.options.file' = '{file}')"
    )
    spark.sql(
        "CREATE TABLE batches (value BIGINT) WITH ('connector' = 'spark', "
        "'format' = 'rate-micro-batch', 'source.options.rowsPerBatch' = '7')"
    )
    for table in ("by_limit", "by_simple", "by_batch"):
        spark.sql(f"CREATE TABLE {table} (id BIGINT)")
    insert(spark, "INSERT INTO by_limit SELECT id FROM limited")
    insert(spark, "INSERT INTO by_simple SELECT id FROM simple")
    insert(spark, "INSERT INTO by_batch SELECT value FROM batches")
    file.write_text("100")
    for _ in range(3):
        flush(spark)
    assert ids(spark, "by_limit") == ids(spark, "by_simple") == list(range(100))
    assert lines(file, ".ranges") == ["0 40", "40 80", "80 100"]
    found = ids(spark, "by_batch")
    assert found == list(range(len(found)))
    assert len(found) >= 3 * 7
    assert len(found) % 7 == 0


def job_of(spark: SparkSession, job: str) -> Row:
    (found,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
    return found


def test_a_stream_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    """The job says why, and goes on where it was when it is begun again."""
    file = tmp_path / "failing"
    numbers(spark, file, "failing", password="swordfish")
    spark.sql("CREATE TABLE after_failure (id BIGINT)")
    statement = "INSERT INTO after_failure SELECT id FROM failing"
    job = insert(spark, statement)
    file.write_text("3")
    flush(spark)
    file.write_text("swordfish")
    spark.sql("CALL sys.await_jobs()")
    error = job_of(spark, job).error
    assert "[TABLE_STORE_STREAM_NOT_READABLE] A job cannot follow failing" in error
    assert "ValueError: invalid literal for int()" in error, error
    assert "Traceback" not in error
    assert "swordfish" not in error
    assert "by the format 'numbers'" in refused_in_streaming(spark, statement)
    file.write_text("9")
    insert(spark, statement)
    flush(spark)
    assert ids(spark, "after_failure") == list(range(9))


def refused_in_streaming(spark: SparkSession, statement: str) -> str:
    with streaming(spark):
        return refused(spark, statement)


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE refusing (value STRING)")
    (tmp_path / "a.txt").write_text("a\n")
    for form, options, reason in (
        ("text", f"'path' = '{tmp_path}'", "followed by the connector 'filesystem'"),
        ("jdbc", "'source.options.url' = 'jdbc:x'", "is none that Spark reads in micro-batches"),
        ("nothing_at_all", "'path' = '/x'", "nothing_at_all"),
        (
            "socket",
            "'source.options.host' = 'localhost', 'source.options.port' = '1'",
            "reads none again after a crash",
        ),
    ):
        spark.sql(
            f"CREATE OR REPLACE TABLE no_stream (value STRING) "
            f"WITH ('connector' = 'spark', 'format' = '{form}', {options})"
        )
        error = refused_in_streaming(spark, "INSERT INTO refusing SELECT value FROM no_stream")
        assert "[TABLE_STORE_STREAM_NOT_READABLE]" in error
        assert reason in error
    numbers(spark, tmp_path / "joined", "joined")
    error = refused_in_streaming(
        spark, "INSERT INTO refusing SELECT note FROM joined JOIN refusing ON note = value"
    )
    assert "external source" in error
    # In batch mode Spark reads what it can, as before.
    spark.sql(
        "CREATE OR REPLACE TABLE no_stream (value STRING) "
        f"WITH ('connector' = 'spark', 'format' = 'text', 'path' = '{tmp_path}/a.txt')"
    )
    spark.sql("INSERT INTO refusing SELECT value FROM no_stream")
    assert [row.value for row in spark.table("refusing").collect()] == ["a"]
    assert "reader is not implemented" in refused(spark, "SELECT * FROM joined")


SCRIPT = """
CREATE TEMPORARY TABLE source (id BIGINT) WITH (
  'connector' = 'spark', 'format' = 'numbers', 'source.options.file' = '{file}',
  'source.options.pause' = '0.5');
CREATE TABLE IF NOT EXISTS counted (id BIGINT);
SET 'execution.checkpointing.interval' = '200 ms';
INSERT INTO counted SELECT id FROM source;
"""


def test_an_epoch_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the driver, and then with the planner, which is asked again for the same epoch."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "tests" / "fakes"))
    file = tmp_path / "killed"
    file.write_text("1000")
    script = SCRIPT.format(file=file)

    def until(ranges: list[str], running: JobScript) -> None:
        end = time.monotonic() + 120
        while (found := lines(file, ".ranges")) != ranges:
            assert running.process.poll() is None, running.errors
            assert time.monotonic() < end, (found, ranges, running.errors)
            time.sleep(0.01)

    with JobScript(tmp_path, script, "first") as running:
        until(["0 1000"], running)
        running.wait_for_commit("counted")
        file.write_text("1500")
        until(["0 1000", "1000 1500"], running)
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(60)
    file.write_text("2500")
    with JobScript(tmp_path, script, "second") as running:
        until(["0 1000", "1000 1500", "1000 2500"], running)
        file.write_text("2600")
        os.kill(running.planner(), signal.SIGKILL)
        running.wait_for_commit("counted", after=2)
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(60)
    # The repeated epoch has read what it had begun to read; the rest came after it.
    again, rest = lines(file, ".ranges")[3:]
    assert (again, rest) == ("1000 2500", "2500 2600")
    table = open_table(str(tmp_path / "spark-warehouse" / "default.db" / "counted"))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(2600))
