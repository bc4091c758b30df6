"""Goal: what a worker does with a bucket fits into 1 GiB, whatever the bucket's size.

The rows of the bucket take more than that in Arrow's memory; they repeat, so that the
files are small and the test is quick. The limit is the kernel's, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG, STRING

_LIMIT_BYTES: Final = 1 << 30
_TEXT_BYTES: Final = 4000
_RUN_ROWS: Final = 110_000
_RUNS: Final = 3

_PROGRAM: Final = """
import resource, sys
from table_store.storage.file_store.table import FileStoreTable

resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)
table = FileStoreTable.open(sys.argv[1])
if sys.argv[3] == "compact":
    table.compact()
print(sum(batch.num_rows for batch in table.scan(["id", "text"]).to_batches()))
"""


@pytest.fixture(scope="module")
def large_table(tmp_path_factory: pytest.TempPathFactory) -> FileStoreTable:
    """One bucket of overlapping runs, 1.3 GB of rows."""
    schema = new_schema(
        fields=[
            Field(id=0, name="id", type=LONG, nullable=False),
            Field(id=0, name="text", type=STRING),
        ],
        primary_key=["id"],
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path_factory.mktemp("large") / "t"), schema)
    text = pa.array(["x" * _TEXT_BYTES])
    for run in range(_RUNS):
        with table.writer() as writer:
            for ids in np.array_split(np.arange(_RUN_ROWS) * _RUNS + run, 20):
                texts = text.take(pa.array(np.zeros(len(ids), np.int64)))
                writer.write(pa.table({"id": ids, "text": texts}))
            table.commit(writer.prepare_commit())
    return table


@pytest.mark.skipif(sys.platform != "linux", reason="the limit counts all memory on Linux only")
@pytest.mark.parametrize("work", ["merge", "compact"])
def test_a_bucket_larger_than_memory(large_table: FileStoreTable, work: str) -> None:
    """Merging while reading, and compacting."""
    # Arrow's own allocator reserves a GiB of addresses, which counts though nothing is there.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-c", _PROGRAM, large_table.path, str(_LIMIT_BYTES), work]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout) == _RUNS * _RUN_ROWS
