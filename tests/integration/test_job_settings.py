"""Goal: a program's settings bound how many epochs run at once, and name the pool they run in.

Spark's own record of its jobs is the oracle: when each ran, for which job of ours, in which pool.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from table_store import jobs
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.streaming_mode import streaming

pytestmark = pytest.mark.spark

POOL, EPOCHS_MAX, JOBS = "of_jobs", 2, 5


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.scheduler.mode": "FAIR",
        "spark.tablestore.jobs.pool": POOL,
        "spark.tablestore.jobs.epochs.max": str(EPOCHS_MAX),
    }
    with spark_session(tmp_path_factory.mktemp("settings"), {**OWN_NAME, **settings}) as session:
        yield session


def epochs(spark: SparkSession, ids: list[str]) -> list[tuple[int, int]]:
    """When the Spark jobs of each of our jobs began and ended, in milliseconds."""
    found = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    spans: dict[str, list[int]] = {}
    for at in range(found.size()):
        job = found.apply(at)
        if job.jobGroup().isDefined() and job.jobGroup().get() in ids:
            times = spans.setdefault(job.jobGroup().get(), [])
            times += [job.submissionTime().get().getTime(), job.completionTime().get().getTime()]
    return [(min(times), max(times)) for times in spans.values()]


def most_at_once(spans: list[tuple[int, int]]) -> int:
    return max(sum(begin <= at < end for begin, end in spans) for at, _ in spans)


def pools(spark: SparkSession) -> dict[str, set[str]]:
    """The pools of the stages that have run, by the job group."""
    store = spark.sparkContext._jsc.sc().statusStore()
    found: dict[str, set[str]] = {}
    listed = store.jobsList(None)
    for at in range(listed.size()):
        job = listed.apply(at)
        group = job.jobGroup().get() if job.jobGroup().isDefined() else ""
        for place in range(job.stageIds().size()):
            stage = store.lastStageAttempt(job.stageIds().apply(place))
            if stage.submissionTime().isDefined():
                found.setdefault(group, set()).add(stage.schedulingPool())
    return found


def test_epochs_at_once_and_their_pool(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE numbers (v BIGINT)")
    spark.sql("INSERT INTO numbers SELECT id FROM range(600)")
    inserts = ""
    for at in range(JOBS):
        spark.sql(f"CREATE TABLE sink{at} (n BIGINT)")
        inserts += f"INSERT INTO sink{at} SELECT count(*) FROM numbers AS a JOIN numbers AS b "
        inserts += f"ON a.v * {at + 1} % 7 < b.v % 1000;"
    with streaming(spark):
        started = spark.sql(f"EXECUTE STATEMENT SET BEGIN {inserts} END").collect()
    ids = [row.job for row in started]
    jobs.flush(spark)
    assert {jobs.stop_job(spark, job).rule for job in ids} == {"full"}
    spans = epochs(spark, ids)
    assert len(spans) == JOBS
    assert most_at_once(spans) == EPOCHS_MAX, spans
    used = pools(spark)
    assert [used[job] for job in ids] == [{POOL}] * JOBS
    assert used[""] == {"default"}
