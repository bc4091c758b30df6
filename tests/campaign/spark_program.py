"""The one Spark of a campaign's process, started by the first technique that needs it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.integration.spark_session import spark_session, unlogged_errors

QUICK: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""What makes queries of few rows quick and changes no result: to compile every plan, and to plan it
twice, takes longer than to run it."""

_ending = ExitStack()


@lru_cache(maxsize=1)
def spark_program() -> SparkSession:
    """Return the session; its warehouse is a temporary folder, and ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-spark-"))
    _ending.callback(shutil.rmtree, folder, ignore_errors=True)
    _ending.enter_context(unlogged_errors())
    session = _ending.enter_context(spark_session(folder, {}))
    session.sparkContext.setLogLevel("OFF")
    atexit.register(_ending.close)  # before its JVM ends, which was told to earlier
    return session


def arrow_answer(frame: DataFrame) -> pa.Table:
    """Return the rows; `toArrow` would refuse a NULL struct that has a required field."""
    collect: Any = frame._collect_as_arrow
    return pa.Table.from_batches(collect(empty_list_if_zero_records=False))


def end_spark_program() -> None:
    """Let the process's Spark end now; the next who needs one starts another."""
    _ending.close()
    spark_program.cache_clear()


def session_with_warehouse(name: str, folder: Path) -> SparkSession:
    """Return a new session whose current catalog, of this name, has its warehouse in `folder`."""
    session = spark_program().newSession()
    catalog = "org.apache.spark.sql.tablestore.TableStoreCatalog"
    session.conf.set(f"spark.sql.catalog.{name}", catalog)
    session.conf.set(f"spark.sql.catalog.{name}.warehouse", str(folder))
    session.sql(f"USE {name}")
    return session
