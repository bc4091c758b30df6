"""Goal: the processes of Spark that run our tasks begin as they should."""

import os
import subprocess
import sys

from table_store.catalog.planner.process.worker_process import WORKER_ENVIRONMENT


def test_arrow_takes_the_memory_pool_of_its_environment() -> None:
    """Else a worker's first rows cost it more than all that follow."""
    command = [
        sys.executable,
        "-c",
        "import pyarrow as pa; print(pa.default_memory_pool().backend_name)",
    ]
    environment = {**os.environ, **WORKER_ENVIRONMENT}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (ended.stdout.strip(), ended.stderr) == ("system", "")


def test_garbage_collections_after_tasks_pass_over_loaded_modules() -> None:
    """PySpark makes one after each task."""
    program = (
        "import gc\n"
        "from table_store.catalog.planner.process.worker_process import begin_task\n"
        "begin_task(); begin_task()\n"
        "looked_at = sum(len(gc.get_objects(generation)) for generation in range(3))\n"
        "print(looked_at < gc.get_freeze_count() / 100)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (ended.stdout.strip(), ended.stderr) == ("True", "")
