"""Goal: files read as they are, live rows only, give what a merge of all their rows gives.

Random runs of adds and deletes; the splits are cut in ranges of the key, or not.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.model.data_file import KIND_COLUMN, SEQUENCE_COLUMN
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.scan.live_rows import LiveRows, LiveRowsReader, live_rows_id
from table_store.storage.file_store.scan.split import Split, SplitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG, STRING
from tests.values.strategies import texts

ROWS = st.lists(
    st.tuples(st.integers(0, 200), texts(), st.booleans()),
    min_size=1,
    max_size=80,
)


def _table(folder: str, key: tuple[str, ...]) -> FileStoreTable:
    names = {"k": LONG, "p": STRING, "v": LONG}
    fields = [
        Field(id=i, name=n, type=t, nullable=n == "v") for i, (n, t) in enumerate(names.items())
    ]
    schema = new_schema(fields=fields, primary_key=key, partition_keys=(), options={}, time_ms=0)
    return FileStoreTable.create(str(Path(folder) / "t"), schema)


def _write(table: FileStoreTable, rows: list[tuple[int, str, bool]], version: int) -> None:
    with_text = "p" in table.schema.primary_key
    newest = {(k, p if with_text else ""): (k, p, gone) for k, p, gone in rows}
    batch = pa.table(
        {
            "k": pa.array([k for k, _, _ in newest.values()], pa.int64()),
            "p": pa.array([p for _, p, _ in newest.values()]),
            "v": pa.array([version] * len(newest), pa.int64()),
        }
    )
    with table.writer() as writer:
        writer.write(batch, kinds=np.array([gone for _, _, gone in newest.values()], np.int8))
        table.commit(writer.prepare_commit())


def _selected(path: str, live: LiveRows) -> pa.Table:
    """What Spark's reader has to make of a file."""
    bits = np.unpackbits(live.bits, bitorder="little").astype(np.bool_)
    stored = pq.read_table(path).drop_columns([SEQUENCE_COLUMN, KIND_COLUMN])
    mask = np.zeros(stored.num_rows, np.bool_)
    count = min(len(bits), live.group.row_count)
    assert not bits[count:].any()
    mask[live.group.first_row : live.group.first_row + count] = bits[:count]
    assert mask.sum() == live.count
    return stored.filter(pa.array(mask))


def _sorted(tables: list[pa.Table], schema: pa.Schema) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pa.concat_tables([schema.empty_table(), *tables]).to_pylist()
    return sorted(rows, key=repr)


@settings(max_examples=60)
@given(
    runs=st.lists(ROWS, min_size=1, max_size=6),
    target=st.sampled_from([1 << 30, 4000, 1500]),
    key=st.sampled_from([("k", "p"), ("k",)]),
    numbers=st.sampled_from([(-100, 1), (2**63 - 1 - 200, 1), (-(2**62), 10**16)]),
)
def test_live_rows_are_what_a_merge_leaves(
    runs: list[list[tuple[int, str, bool]]],
    target: int,
    key: tuple[str, ...],
    numbers: tuple[int, int],
) -> None:
    """Split by split, and each under a name of its own; numbers lie close together, or far."""
    first, step = numbers
    with tempfile.TemporaryDirectory() as folder:
        table = _table(folder, key)
        for version, rows in enumerate(runs):
            _write(table, [(first + k * step, p, gone) for k, p, gone in rows], version)
        scan = replace(table.scan(), target_bytes=target)
        reader = LiveRowsReader(scan.files, scan.schema)
        merges = [split for split in scan.splits() if split.kind is SplitKind.MERGE]
        for split in merges:
            found = list(reader.read(Split.from_bytes(split.to_bytes())))
            tables = [_selected(scan.files.path_of(live.file), live) for live in found]
            schema = pa.schema([(f.name, f.type) for f in scan.arrow_schema])
            merged = [
                pa.Table.from_arrays(batch.columns, schema=schema)
                for batch in scan.reader().read(split, scan.columns)
            ]
            tables = [pa.Table.from_arrays(t.columns, schema=schema) for t in tables]
            assert _sorted(tables, schema) == _sorted(merged, schema)
        assert len({live_rows_id(s, table.path) for s in merges}) == len(merges)
