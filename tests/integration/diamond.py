"""A diamond of jobs: two with different intervals over one table, and a third over their tables.

Whoever reads it is checked against the rows of the root that it sees, in plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from table_store import open_table
from table_store.storage.file_store.table import FileStoreTable
from table_store.topology import versions_together
from tests.integration.streaming_mode import streaming

DIAMOND: Final = {
    "fast": ("100 ms", "SELECT k, 100 DIV v AS q FROM root"),
    "slow": ("30 d", "SELECT k, v + 1 AS w FROM root"),
    "both": ("100 ms", "SELECT k, q + w AS s FROM fast JOIN slow USING (k)"),
}
TOGETHER: Final = ("RepeatableRead", "ReadCommitted")
_ROOT: Final = pa.schema({"k": pa.int32(), "v": pa.int32()})


class MixedError(AssertionError):
    """Tables were read that are not of one barrier."""


@dataclass(frozen=True)
class Diamond:
    """The tables `root`, `fast`, `slow` and `both` in a namespace, which is the current one."""

    spark: SparkSession
    namespace: str

    @property
    def _warehouse(self) -> str:
        return str(self.spark.conf.get("spark.sql.warehouse.dir"))

    def _located(self, table: str) -> FileStoreTable:
        return open_table(f"{self._warehouse}/{self.namespace}.db/{table}").storage

    def make(self) -> None:
        """Create the tables, empty."""
        for name, column in {"root": "v", "fast": "q", "slow": "w", "both": "s"}.items():
            self.spark.sql(
                f"CREATE TABLE {name} (k INT NOT NULL, {column} INT, PRIMARY KEY (k) NOT ENFORCED)"
            )

    def start(self, name: str) -> str:
        """Start the job of a table, or let it go on; its id."""
        interval, query = DIAMOND[name]
        with streaming(self.spark, interval):
            return str(self.spark.sql(f"INSERT INTO {name} {query}").collect()[0].job)

    def put(self, key: int, value: int) -> int:
        """Write a row without Spark; the snapshot that has it."""
        table = self._located("root")
        table.append(pa.table({"k": [key], "v": [value]}, _ROOT))
        latest = table.latest_snapshot()
        assert latest is not None
        return latest.id

    def seen(self, consistency: str, *names: str) -> int:
        """Read tables without Spark, and check them against the root; the root's snapshot."""
        read = ("root", *(names or DIAMOND))
        versions = versions_together(
            self._warehouse,
            [f"{self.namespace}.{name}" for name in read],
            consistency=consistency,
        )
        found = {}
        for name, version in zip(read, versions.values(), strict=True):
            rows = self._located(name).scan(version=version).to_arrow()
            found[name] = dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        roots = found.pop("root")
        fast = {k: 100 // v for k, v in roots.items() if v}
        slow = {k: v + 1 for k, v in roots.items()}
        both = {k: fast[k] + slow[k] for k in fast}
        expected = {"fast": fast, "slow": slow, "both": both}
        if found != {name: expected[name] for name in found}:
            raise MixedError(f"{consistency} {versions}: {found}")
        return versions[f"{self.namespace}.root"]

    def is_mixed(self) -> bool:
        """Whether the newest snapshots are of several moments."""
        try:
            self.seen("ReadUncommitted")
        except MixedError:
            return True
        return False
