"""Goal: the size of a table is that of its last snapshot, with the runs that a read merges."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from table_store import TableDescriptor, connect
from table_store.catalog.service.table_sizes import TableSizes


def test_of_a_table_with_key(tmp_path: Path) -> None:
    opened = connect(str(tmp_path / "warehouse"))
    definition = TableDescriptor.for_managed().column("p", "INT").column("k", "INT")
    definition = definition.primary_key("p", "k").partitioned_by("p").option("write-only", "true")
    table = opened.create("t", definition)
    path, sizes = table.storage.path, TableSizes()
    assert sizes.of(path) is None
    assert sizes.of(str(tmp_path / "absent")) is None
    for p in (1, 1, 1, 2):
        table.upsert(pa.table({"p": pa.array([p], pa.int32()), "k": pa.array([0], pa.int32())}))
    size = sizes.of(path)
    assert size is not None
    assert (size.files, size.rows, size.sorted_runs, size.log_lag) == (4, 4, 3, None)
    assert size.size_bytes == sum(f.stat().st_size for f in Path(path).rglob("*.parquet"))
    assert sizes.of(path) is size, "nothing is read again"
    table.compact()
    after = sizes.of(path)
    assert after is not None
    assert (after.files, after.rows, after.sorted_runs) == (2, 2, 1)
