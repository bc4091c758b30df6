"""The planner process: its life is that of the JVM that started it."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.java_gateway import java_import

from table_store.catalog.planner.endpoint import PlannerEndpoint
from table_store.catalog.planner.jvm_log import JvmLog

# The packages that pyspark.java_gateway.launch_gateway imports for PySpark's own use.
_IMPORTS = (
    "org.apache.spark.SparkConf",
    "org.apache.spark.api.java.*",
    "org.apache.spark.api.python.*",
    "org.apache.spark.ml.python.*",
    "org.apache.spark.mllib.api.python.*",
    "org.apache.spark.resource.*",
    "org.apache.spark.sql.Encoders",
    "org.apache.spark.sql.OnSuccessCall",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.*",
    "org.apache.spark.sql.api.python.*",
    "org.apache.spark.sql.hive.*",
    "scala.Tuple2",
)


def serve(endpoint: PlannerEndpoint, on_end: Callable[[], None]) -> None:
    """Answer the JVM until it closes this process's standard input, which it does by ending.

    Then, or when the JVM says so by SIGTERM, call `on_end` and exit.

    The first line of standard input is JSON with the JVM's port, the port to listen on, the
    name of the log, and the token that both directions must show; a command line or an
    environment variable would show it to every user of the machine. One line goes
    to standard output ("ready"); all else that is printed goes to standard error, the log.
    """
    hello = json.loads(sys.stdin.readline())
    # Python workers must find the packages that this process found.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    # What it says is in the errors of the statements; each failure would be here many times.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    gateway = ClientServer(
        java_parameters=JavaParameters(
            port=hello["java_port"], auth_token=hello["token"], auto_convert=True
        ),
        python_parameters=PythonParameters(
            port=hello["python_port"],
            auth_token=hello["token"],
            daemonize=True,
            daemonize_connections=True,
        ),
        python_server_entry_point=endpoint,
    )
    for name in _IMPORTS:
        java_import(gateway.jvm, name)
    # Storage warns of what a statement that succeeds leaves behind or undone.
    logging.getLogger("table_store.storage").addHandler(JvmLog(gateway.jvm))
    endpoint.bind(gateway, hello["log"])
    answer = os.dup(1)
    os.dup2(2, 1)
    os.write(answer, b"ready\n")
    os.close(answer)
    try:
        signal.signal(signal.SIGTERM, _ended)
        sys.stdin.read()
    except SystemExit:
        pass
    on_end()
    os._exit(0)


def _ended(*_: object) -> None:
    raise SystemExit(0)
