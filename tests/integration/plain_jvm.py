"""A JVM with the classes of Spark and of the bridge, in which no Spark runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from pyspark.java_gateway import launch_gateway


@contextmanager
def plain_jvm() -> Iterator[Any]:
    """Start it and yield py4j's view of it; it ends afterwards."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
