"""A PySpark session as a program has it, classic or of Spark Connect, one for a test module.

Sessions of one process follow one another in one JVM.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.spark_server import ConnectServer, free_port

_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"


def shared_jvm() -> Any:
    """The JVM of this process's PySpark, as py4j shows it; started where there is none.

    Modules share it, one after the other: to start one and to load its classes takes several times
    as long as to start Spark in it. No setting is given to it, for it would be one of all modules.
    """
    if SparkContext._gateway is None:
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        SparkContext._ensure_initialized()
        atexit.register(end_shared_jvm)
    return SparkContext._jvm


def end_shared_jvm() -> None:
    """End it, if there is one; nothing of it is left afterwards."""
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        process = gateway.proc  # pyspark's own, of launch_gateway
        process.stdin.close()
        process.wait(60)
        SparkContext._gateway = SparkContext._jvm = None


def started_session(folder: Path, settings: dict[str, str]) -> SparkSession:
    """Start Spark in the shared JVM, its warehouse in `folder`."""
    shared_jvm()
    builder = SparkSession.builder.master("local[2]")
    warehouse = {"spark.sql.warehouse.dir": str(folder / "spark-warehouse")}
    for key, value in {**SMALL, **warehouse, **settings}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def spark_session(folder: Path, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Start Spark as `started_session` does; it is stopped afterwards, and logs as before."""
    log4j = shared_jvm().org.apache.logging.log4j
    level = log4j.LogManager.getRootLogger().getLevel()
    session = started_session(folder, settings)
    try:
        yield session
    finally:
        session.stop()
        log4j.core.config.Configurator.setRootLevel(level)


@contextmanager
def unlogged_errors() -> Iterator[None]:
    """Keep PySpark from printing the JVM's trace of each statement that fails.

    A logger of this name that Python's own `logging` made would break every later error.
    """
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def refused(spark: SparkSession, statement: str) -> str:
    """Return the error of a statement, which has to fail."""
    with unlogged_errors(), pytest.raises(PySparkException) as error:
        spark.sql(statement).collect()
    return str(error.value)


@contextmanager
def connect_session(folder: Path, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Start a Connect server in a process of its own; yield the session of a client in this one."""
    port = free_port()
    conf = arguments(SMALL, settings, {"spark.connect.grpc.binding.port": str(port)})
    with ConnectServer(folder, port, conf):
        # Sets _CONNECT_MODE, which makes pyspark.sql.functions build Connect's columns.
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
        try:
            yield session
        finally:
            session.stop()
            os.environ.pop(_CONNECT_MODE, None)


def location_of(spark: SparkSession, table: str) -> str:
    """The folder of a table, which has a suffix if the name is not the first table's."""
    described = spark.sql(f"DESCRIBE EXTENDED {table}").collect()
    (place,) = (row[1] for row in described if row[0] == "Location")
    return str(place)
