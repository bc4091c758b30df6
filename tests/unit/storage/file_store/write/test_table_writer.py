"""What a writer holds on disk before it commits."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.data.data_file_writer import ROW_GROUP_ROWS_MAX
from table_store.storage.file_store.model.errors import DuplicateKeyError
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.key_check import KeyCheck
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.types import LONG


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the files that are open")
def test_spilled_rows_are_in_files_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An executor that is killed cannot delete what its writers spilled."""
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spills))
    fields = [Field(id=0, name="id", type=LONG, nullable=False)]
    schema = new_schema(fields=fields, primary_key=["id"], time_ms=0)
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    context = replace(table.writer_context(schema), write_buffer_bytes=4000)
    with TableWriter(context) as writer:
        for part in np.array_split(np.random.default_rng(1).permutation(3000), 6):
            writer.write(pa.table({"id": part}))
        assert _open_files_in(spills) > 0
        assert list(spills.iterdir()) == []
        table.commit(writer.prepare_commit())
        # Of each row at least its key, order and kind; the last rows stay in memory.
        assert writer.cost.spilled_bytes > 1000 * 17
        assert min(writer.cost.sort_ns, writer.cost.encode_ns) > 0
        assert _open_files_in(spills) == 0
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(3000))


def test_rows_without_key_are_written_as_they_come(tmp_path: Path) -> None:
    """A worker need not hold them all before it begins to encode."""
    schema = new_schema(fields=[Field(id=0, name="k", type=LONG)], time_ms=0)
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    rows = pa.table({"k": pa.array(range(ROW_GROUP_ROWS_MAX))})
    with table.writer() as writer:
        writer.write(rows.slice(1))
        assert not list(Path(table.path).rglob("data-*"))
        writer.write(rows.slice(0, 2))
        assert len(list(Path(table.path).rglob("data-*"))) == 1
        messages = writer.prepare_commit()
    (file,) = messages[0].added
    assert (file.min_sequence, file.max_sequence) == (0, ROW_GROUP_ROWS_MAX)
    table.commit(messages)
    assert table.scan().to_arrow()["k"].to_pylist() == [*range(1, ROW_GROUP_ROWS_MAX), 0, 1]


@pytest.mark.parametrize("buffer_bytes", [256 << 20, 4000], ids=["held", "spilled"])
def test_distinct_keys_are_checked(tmp_path: Path, buffer_bytes: int) -> None:
    """Also where the two rows of a key are far apart; nothing is left behind then."""
    fields = [Field(id=0, name="id", type=LONG, nullable=False)]
    schema = new_schema(fields=fields, primary_key=["id"], time_ms=0)
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    check = KeyCheck(table="t")
    context = replace(
        table.writer_context(schema), write_buffer_bytes=buffer_bytes, key_check=check
    )
    parts = np.array_split(np.random.default_rng(2).permutation(3000), 6)
    with TableWriter(context) as writer:
        for part in parts:
            writer.write(pa.table({"id": part}))
        table.commit(writer.prepare_commit())
        before = set(Path(table.path).rglob("data-*"))
        for part in [*parts, parts[0][:1]]:
            writer.write(pa.table({"id": part}))
        with pytest.raises(DuplicateKeyError, match="TABLE_STORE_DUPLICATE_KEY") as error:
            writer.prepare_commit()
        assert error.value.key == {"id": parts[0][0]}
    assert set(Path(table.path).rglob("data-*")) == before
    assert len(table.scan().to_arrow()) == 3000


def _open_files_in(folder: Path) -> int:
    opened = (link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return sum(str(path).startswith(str(folder)) for path in opened)
