"""Planning a scan of a table that has a hundredth as many data files as the run has rows.

The files exist in the table's metadata alone: planning opens none of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from table_store.storage.file_store.model.data_file import ColumnStats, DataFile
from table_store.storage.file_store.table import FileStoreTable
from tests.benchmark.bench import Bench
from tests.benchmark.measurements import OURS
from tests.fakes.metadata_only_file_io import MetadataOnlyFileIO
from tests.fakes.metadata_table import add, make_file

_TABLE: Final = "table_store.default.many_files"
_ROWS_A_FILE: Final = 100
_PARTITION_FILES: Final = 100
_COMMIT_FILES: Final = 20_000
_FILE_BYTES: Final = 32 << 20


@dataclass(slots=True)
class ManyFiles:
    """A table with key, a partition a day, and files of the last level."""

    bench: Bench

    def run(self) -> None:
        """All of it."""
        spark, count = self.bench.spark, self.bench.rows // _ROWS_A_FILE
        self.bench.say(f"planning {count:,} files")
        spark.sql(
            f"CREATE TABLE {_TABLE} (day INT, id BIGINT, v BIGINT, PRIMARY KEY (day, id) "
            "NOT ENFORCED) PARTITIONED BY (day)"
        )
        # Another process than the planner commits: what the planner knows of it, it has read.
        location = self.bench.location(_TABLE)
        table = FileStoreTable.open(location, MetadataOnlyFileIO(location))
        files = list(_files(table, count))
        for first in range(0, count, _COMMIT_FILES):
            table.commit(add(*files[first : first + _COMMIT_FILES]))
        whole = f"plan of {count:,} files"
        self.bench.measured.measure(f"{whole}, cold", OURS, lambda: self._plan(""))
        self.bench.repeat(whole, {OURS: lambda: self._plan("")})
        some = f"plan of {_PARTITION_FILES} files of {count:,}"
        self.bench.repeat(some, {OURS: lambda: self._plan("WHERE day = 1")})
        spark.sql(f"DROP TABLE {_TABLE}")

    def _plan(self, condition: str) -> None:
        rows = self.bench.spark.sql(f"SELECT v FROM {_TABLE} {condition}")
        assert rows._jdf.queryExecution().toRdd().getNumPartitions() > 0


def _files(table: FileStoreTable, count: int) -> Iterator[DataFile]:
    _, _, value = table.schema.fields
    for i in range(count):
        day, place = divmod(i, _PARTITION_FILES)
        keys = (place * _ROWS_A_FILE, (place + 1) * _ROWS_A_FILE - 1)
        stats = ColumnStats(min=i, max=i + _ROWS_A_FILE, null_count=0, exact=True)
        yield make_file(
            f"data-{uuid.uuid4()}-0.parquet",
            partition=(day,),
            keys=keys,
            level=5,
            sequence=(i, i),
            rows=_ROWS_A_FILE,
            size=_FILE_BYTES,
            stats={value.id: stats},
        )
