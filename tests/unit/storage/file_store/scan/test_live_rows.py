"""The row groups of files that hold live rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.storage.file_store.data.data_file_writer import ROW_GROUP_ROWS_MAX
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.scan.live_rows import LiveRowsReader
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import CorruptFileError
from table_store.storage.kernel.types import LONG


def test_row_groups_without_live_rows_are_left_out(tmp_path: Path) -> None:
    """Of a file of three row groups; the others are named as the file's footer has them."""
    field = Field(id=0, name="id", type=LONG, nullable=False)
    schema = new_schema(
        fields=[field], primary_key=("id",), partition_keys=(), options={}, time_ms=0
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    count = 2 * ROW_GROUP_ROWS_MAX + 1000
    table.append(pa.table({"id": np.arange(count)}))
    table.append(pa.table({"id": np.arange(ROW_GROUP_ROWS_MAX, 2 * ROW_GROUP_ROWS_MAX)}))
    scan = table.scan()
    reader = LiveRowsReader(scan.files, scan.schema)
    (split,) = scan.splits()
    found = {}
    for live in reader.read(split):
        footer = pq.read_metadata(reader.files.path_of(live.file))
        groups = [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]
        number = [0, *accumulate(groups)].index(live.group.first_row)
        assert live.group.row_count == groups[number]
        bits = np.unpackbits(live.bits, bitorder="little")
        assert live.count == bits.sum() == live.group.row_count
        found[live.file.row_count, number] = live.count
    assert found == {
        (count, 0): ROW_GROUP_ROWS_MAX,
        (count, 2): 1000,
        (ROW_GROUP_ROWS_MAX, 0): ROW_GROUP_ROWS_MAX,
    }


def test_a_key_outside_of_its_files_bounds_is_damage(tmp_path: Path) -> None:
    """A row that has no slot is never left out in silence, nor put into another's."""
    field = Field(id=0, name="id", type=LONG, nullable=False)
    schema = new_schema(
        fields=[field], primary_key=("id",), partition_keys=(), options={}, time_ms=0
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    for _ in range(2):
        table.append(pa.table({"id": np.arange(100)}))
    scan = table.scan()
    (split,) = scan.splits()
    wrong = tuple(
        tuple(replace(file, key_min=(5,), key_max=(90,)) for file in run) for run in split.runs
    )
    with pytest.raises(CorruptFileError, match="outside of the bounds"):
        list(LiveRowsReader(scan.files, scan.schema).read(replace(split, runs=wrong)))
