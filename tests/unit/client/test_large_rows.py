"""Goal: rows that are too large for one array go through in pieces and come back unchanged.

The size at which pieces end is lowered, so that small rows are cut as large ones are. The oracle is
a dict by key.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.client import arrow_rows, partial_rows
from table_store.client.table import Table
from table_store.storage.file_store.compaction import compaction_task
from table_store.storage.file_store.scan import split_reader
from table_store.storage.file_store.write import memtable, table_writer
from table_store.storage.kernel.bounded_pieces import in_pieces, take_values

BOUND = 1000
TEXTS = [f"{number} " + "z" * (number * 37 % 900) for number in range(60)]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    for module in (arrow_rows, table_writer):
        monkeypatch.setattr(module, "in_pieces", partial(in_pieces, bytes_max=BOUND))
    for reader in (partial_rows, memtable, table_writer, compaction_task, split_reader):
        monkeypatch.setattr(reader, "take_values", partial(take_values, bytes_max=BOUND))
    monkeypatch.setattr(split_reader, "PIECE_BYTES_MAX", BOUND)
    described = TableDescriptor.for_managed().column("id", "BIGINT").column("s", "STRING")
    described = described.column("d", "STRING", default=f"'{'d' * 300}'").column("n", "INT")
    warehouse = connect(str(tmp_path))
    return warehouse.create("t", described.primary_key("id").option("bucket", "2"))


Rows: TypeAlias = dict[int, tuple[str | None, str | None, int | None]]


def rows_of(table: Table) -> Rows:
    found = table.scan().to_arrow().to_pylist()
    rows = {row["id"]: (row["s"], row["d"], row["n"]) for row in found}
    assert len(rows) == len(found)
    return rows


def test_columns_of_all_layouts_are_written_in_pieces(table: Table) -> None:
    ids, default = list(range(60)), "d" * 300
    categories = pa.DictionaryArray.from_arrays([i % 3 for i in ids], ["x" * 500, "y", None])
    table.append(pl.DataFrame({"id": ids, "s": TEXTS}))
    expected: Rows = {i: (TEXTS[i], default, None) for i in ids}
    assert rows_of(table) == expected
    table.append(pa.table({"id": ids[::2], "s": categories.take(pa.array(ids[::2]))}))
    expected |= {i: (["x" * 500, "y", None][i % 3], default, None) for i in ids[::2]}
    assert rows_of(table) == expected


def test_some_columns_of_large_rows_are_replaced(table: Table) -> None:
    ids = list(range(60))
    table.append(pa.table({"id": ids, "s": TEXTS, "d": TEXTS[::-1]}))
    expected: Rows = {i: (TEXTS[i], TEXTS[59 - i], None) for i in ids}
    table.upsert(pa.table({"id": [59, 3, 100, 7], "n": [1, 2, 3, 4]}))
    for i, n in ((59, 1), (3, 2), (7, 4)):
        expected[i] = (expected[i][0], expected[i][1], n)
    expected[100] = (None, "d" * 300, 3)
    assert rows_of(table) == expected
    table.update({"s": "concat(s, s)"}, where="id < 20")
    expected |= {i: (TEXTS[i] * 2, expected[i][1], expected[i][2]) for i in ids[:20]}
    table.delete("id >= 30 AND id < 40")
    expected = {i: row for i, row in expected.items() if not 30 <= i < 40}
    assert rows_of(table) == expected
    table.compact()
    assert rows_of(table) == expected
