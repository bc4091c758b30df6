"""The task that finds live rows, so that Spark's own reader can read a split that needs a merge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.planner.process.worker_process import begin_task
from table_store.catalog.planner.read.jvm_schema import jvm_schema
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.scan.live_rows import LiveRows, LiveRowsReader
from table_store.storage.file_store.scan.split import Split
from table_store.storage.kernel.types import BINARY, LONG, STRING

_COLUMNS: Final = [
    Field(id=0, name=name, type=data_type)
    for name, data_type in {
        "path": STRING,
        "firstRow": LONG,
        "rows": LONG,
        "count": LONG,
        "bits": BINARY,
    }.items()
]
_ANSWER: Final = jvm_schema(_COLUMNS)
LIVE_ROWS: Final = columns_to_spark(_COLUMNS)
"""The columns of `_ANSWER` as JSON of Spark's StructType, the task's result type."""


@dataclass(frozen=True, slots=True)
class LiveRowsTask:
    """Merges the keys of the splits it gets; answers a row for each row group with live rows."""

    reader: LiveRowsReader

    def __call__(self, splits: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a batch for each split, with the columns that the bridge's `LiveRows` reads."""
        begin_task()
        for batch in splits:
            for payload in batch.column(0).to_pylist():
                split = Split.from_bytes(payload)
                rows = [self._row(live) for live in self.reader.read(split)]
                yield pa.RecordBatch.from_pylist(rows, schema=_ANSWER)

    def _row(self, live: LiveRows) -> dict[str, object]:
        return {
            "path": self.reader.files.path_of(live.file),
            "firstRow": live.group.first_row,
            "rows": live.group.row_count,
            "count": live.count,
            "bits": live.bits.tobytes(),
        }
