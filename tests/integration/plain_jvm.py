"""This process's JVM with the classes of Spark and of the bridge, while no Spark runs in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import py4j.java_gateway
import py4j.protocol

from tests.integration.spark_session import shared_jvm


@contextmanager
def plain_jvm() -> Iterator[Any]:
    """Yield py4j's view of it.

    Errors of the JVM are py4j's own: a Spark that ran in this process before has PySpark turn them
    into errors of a Spark that runs.
    """
    jvm = shared_jvm()
    turned = py4j.java_gateway.get_return_value
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
    try:
        yield jvm
    finally:
        py4j.java_gateway.get_return_value = turned
