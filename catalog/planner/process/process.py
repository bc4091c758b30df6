"""The planner process, which ends when the JVM that started it ends."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable

from py4j.java_gateway import java_import

from table_store.catalog.planner.process.endpoint import PlannerEndpoint
from table_store.catalog.planner.process.gateway import PlannerGateway
from table_store.catalog.planner.process.jvm_log import JvmLog
from table_store.catalog.planner.process.jvm_streams import print_in_jvm
from table_store.catalog.process_log import set_up_log

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
    """Answer the JVM until this process's standard input is closed, which happens as the JVM ends.

    Then, or when the JVM sends SIGTERM, call `on_end` and exit.

    The handshake runs over the standard streams, because every user of the machine can see command
    lines and environment variables:

    1. standard input: the token that both directions must send, as JSON;
    2. standard output: the port on which this process listens;
    3. standard input: the JVM's port, the name of the log file and its format, as JSON;
    4. standard output: "ready".

    Everything else that this process prints goes to standard error, which is the log.
    """
    answer = os.dup(1)
    os.dup2(2, 1)
    gateway = PlannerGateway(json.loads(sys.stdin.readline())["token"], endpoint)
    os.write(answer, b"%d\n" % gateway.listening_port)
    hello = json.loads(sys.stdin.readline())
    gateway.connect_to(hello["javaPort"])
    # Python workers must find the packages that this process found.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    set_up_log(is_json=hello["isLogJson"])
    # Errors of statements contain these messages; here each failure would be logged many times.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    for name in _IMPORTS:
        java_import(gateway.jvm, name)
    # Storage warns if a successful statement has left something behind or undone.
    for name in ("table_store.storage", "table_store.catalog.connectors"):
        logging.getLogger(name).addHandler(JvmLog(gateway.jvm))
    print_in_jvm(gateway.jvm)
    endpoint.bind(gateway, hello["log"])
    os.write(answer, b"ready\n")
    os.close(answer)
    try:
        signal.signal(signal.SIGTERM, _ended)
        # Ctrl-C reaches all processes of a terminal; what it ends is the JVM's to say.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdin.read()
    except SystemExit:
        pass
    # From now on another process may listen at the JVM's port and receive the token. Without this
    # server the token gives access to nothing.
    gateway.shutdown_callback_server()
    on_end()
    os._exit(0)


def _ended(*_: object) -> None:
    raise SystemExit(0)
