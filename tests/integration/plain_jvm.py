"""A JVM with the classes of Spark and of the bridge, in which no Spark runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import py4j.java_gateway
import py4j.protocol
from py4j.java_gateway import JavaGateway
from pyspark.java_gateway import launch_gateway


@contextmanager
def plain_jvm() -> Iterator[Any]:
    """Start it and yield py4j's view of it; it ends afterwards.

    Errors of the JVM are py4j's own: a Spark that ran in this process before has PySpark turn them
    into errors of a Spark that runs.
    """
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
    turned = py4j.java_gateway.get_return_value
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
    try:
        yield gateway.jvm
    finally:
        py4j.java_gateway.get_return_value = turned
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
