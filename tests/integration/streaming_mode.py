"""A session in streaming mode, where an INSERT starts a job."""

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
