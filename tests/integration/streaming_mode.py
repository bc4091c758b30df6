"""A session in streaming mode, where an INSERT starts a job; and what is asked of all jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

MODE, INTERVAL = "execution.runtime-mode", "execution.checkpointing.interval"


@contextmanager
def streaming(spark: SparkSession, interval: str = "100 ms", **settings: str) -> Iterator[None]:
    """Set the mode, the interval and other settings by SQL; they are reset afterwards."""
    keys = {MODE: "streaming", INTERVAL: interval, **settings}
    for key, value in keys.items():
        spark.sql(f"SET '{key}' = '{value}'")
    try:
        yield
    finally:
        for key in keys:
            spark.sql(f"RESET '{key}'")


def flush(spark: SparkSession) -> None:
    """Return when the tables of all jobs have what their sources have now."""
    spark.sql("CALL sys.flush()").collect()


def stop_jobs(spark: SparkSession) -> None:
    """Stop what runs, or has failed too often."""
    for job in spark.sql("SHOW JOBS").collect():
        if job.state in ("RUNNING", "SUSPENDED"):
            spark.sql(f"STOP JOB '{job.job}'")
