"""Describes a task for Spark's Python workers: the process, the pickled function, its result."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StructType

from table_store.catalog.planner.process.worker_process import WORKER_ENVIRONMENT
from table_store.catalog.planner.protocol.python_tasks import PythonTask

Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function from batches to batches: an object of one of our classes, pickled by reference."""


def python_task(task: Task, struct_json: str) -> PythonTask:
    """The description that the bridge needs: process, and function with its result type."""
    return PythonTask(
        python=sys.executable,
        python_version=f"{sys.version_info.major}.{sys.version_info.minor}",
        environment=WORKER_ENVIRONMENT,
        function=_command(task, struct_json),
    )


def _command(task: Task, struct_json: str) -> str:
    """The task as Spark's Python worker reads it: pickled together with its result type."""
    result = StructType.fromJson(json.loads(struct_json))
    pickled = CloudPickleSerializer().dumps((task, result))  # type: ignore[no-untyped-call]
    return base64.b64encode(pickled).decode()
