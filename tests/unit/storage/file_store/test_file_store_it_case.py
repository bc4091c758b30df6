"""Goal: the two data sets of the specification's FileStoreITCase come out exactly."""

from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import INTEGER, STRING

INPUT = [
    (0, "p1", 1),
    (0, "p1", 2),
    (5, "p1", 1),
    (6, "p2", 1),
    (3, "p2", 5),
    (5, "p2", 1),
]
PARTITIONED = {(5, "p2", 1), (3, "p2", 5), (5, "p1", 1), (0, "p1", 2)}
PLAIN = {(5, "p2", 1), (0, "p1", 2), (3, "p2", 5)}


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("is_partitioned", [False, True])
def test_file_store_it_case(tmp_path: Path, is_partitioned: bool, is_split: bool) -> None:
    schema = new_schema(
        fields=[
            Field(id=0, name="v", type=INTEGER),
            Field(id=0, name="p", type=STRING),
            Field(id=0, name="k", type=INTEGER),
        ],
        primary_key=["p", "k"] if is_partitioned else ["k"],
        partition_keys=["p"] if is_partitioned else [],
        options={"bucket": "3"},
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    columns = [pa.array(values) for values in zip(*INPUT, strict=True)]
    rows = pa.table(columns, names=["v", "p", "k"])
    for piece in [rows.slice(i, 1) for i in range(6)] if is_split else [rows]:
        table.append(piece)
    found = table.scan().to_arrow()
    assert found.num_rows == len(PARTITIONED if is_partitioned else PLAIN)
    found_rows = {tuple(row.values()) for row in found.to_pylist()}
    assert found_rows == (PARTITIONED if is_partitioned else PLAIN)
