"""The parts of files that hold live rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from table_store.storage.file_store.data_file_writer import ROW_GROUP_ROWS_MAX
from table_store.storage.file_store.live_rows import LiveRowsReader
from table_store.storage.file_store.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG


def test_a_part_has_the_row_groups_of_its_rows_and_no_others(tmp_path: Path) -> None:
    """Of a file of three row groups; Spark takes the groups whose middle is in the part."""
    field = Field(id=0, name="id", type=LONG, nullable=False)
    schema = new_schema(
        fields=[field], primary_key=("id",), partition_keys=(), options={}, time_ms=0
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    count = 2 * ROW_GROUP_ROWS_MAX + 1000
    table.append(pa.table({"id": np.arange(count)}))
    table.append(pa.table({"id": np.arange(0, count, 1000)}))
    scan = table.scan()
    scan = replace(scan, target_bytes=scan.live.size_bytes // 4)
    reader = LiveRowsReader(scan.files, scan.schema)
    lengths = []
    for split in scan.splits():
        for live in reader.read(split):
            footer = pq.read_metadata(reader.files.path_of(live.file))
            if footer.num_row_groups == 1:
                continue
            lengths.append(live.group.length)
            first_row = 0
            for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
                columns = [group.column(i) for i in range(group.num_columns)]
                offsets = [(c.dictionary_page_offset, c.data_page_offset) for c in columns]
                begin = min(offset for pair in offsets for offset in pair if offset is not None)
                middle = begin + sum(c.total_compressed_size for c in columns) // 2
                is_read = live.group.start <= middle < live.group.start + live.group.length
                bits = np.unpackbits(live.bits, bitorder="little")
                rows = np.flatnonzero(bits) + live.group.first_row
                holds = ((rows >= first_row) & (rows < first_row + group.num_rows)).any()
                assert is_read == holds
                first_row += group.num_rows
    assert min(lengths) < max(file.size_bytes for file in scan.live.files()) // 2
