"""Goal: lines end where those of CSV do, wherever a block ends; each row group is read once.

Oracle: Python's own reader of CSV; the whole Parquet file.
"""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.catalog.connectors.connector_errors import SourceFileChangedError
from table_store.catalog.connectors.filesystem import file_rows
from table_store.catalog.connectors.filesystem.file_rows import (
    FileReader,
    text_lines,
    there_unchanged,
)
from table_store.catalog.connectors.filesystem.filesystem_definition import FilesystemDefinition
from table_store.catalog.connectors.filesystem.folder_listing import files_below
from table_store.catalog.connectors.filesystem.taken_file import (
    FilePart,
    TakenFile,
    parts_of,
)
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import LONG


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 64, 1 << 20])
def test_lines(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rows, "_BLOCK_BYTES", block_bytes)
    chance = random.Random(block_bytes)
    rows = [
        ["".join(chance.choices('ab"\n,é', k=chance.randint(0, 6))) for _ in range(2)]
        for _ in range(200)
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = ("\n\n" + text.getvalue()).encode().removesuffix(b"\n")
    lines = [
        line.decode()
        for found in text_lines(io.BytesIO(data), has_quotes=True)
        for line in found.to_pylist()
    ]
    assert [next(csv.reader(io.StringIO(line, newline=""))) for line in lines] == rows
    plain = data.replace(b"\n", b"\r\n")
    found = [
        line
        for found in text_lines(io.BytesIO(plain), has_quotes=False)
        for line in found.to_pylist()
    ]
    assert found == [line.rstrip(b"\r") for line in plain.split(b"\n") if line.strip(b"\r")]


def test_shares_of_a_file_are_the_file(tmp_path: Path) -> None:
    rows = pa.table({"ID": pa.array(range(1000), pa.int64())})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=90)
    (file,) = files_below(LocalFileIO(str(tmp_path)), str(tmp_path))
    reader = FileReader(
        FilesystemDefinition(
            root=str(tmp_path),
            columns=(Field(id=0, name="id", type=LONG), Field(id=1, name="new", type=LONG)),
            partitions=(),
            format="parquet",
            text=None,
            time_unit="millis",
            skips_bad=False,
            interval_ms=None,
        )
    )
    for share_bytes in (file.size_bytes, file.size_bytes // 3, file.size_bytes // 40):
        parts = list(parts_of([file], 2, share_bytes))
        batches = [b for part in parts for b in reader.read(part.to_bytes(), ("new", "id"))]
        found = pa.Table.from_batches(batches)
        assert sorted(found["id"].to_pylist()) == list(range(1000))
        assert found["new"].null_count == 1000
    assert len(parts) > 30


def test_parts_have_each_file_once() -> None:
    chance = random.Random(3)
    files = [TakenFile(str(n), chance.randint(0, 5000), n) for n in range(100)]
    for parallelism in (1, 4, 1000):
        parts = list(parts_of(files, parallelism, None))
        assert [file for part in parts for file in part.files] == files
        assert len(parts) <= 2 * parallelism
        assert [FilePart.from_bytes(part.to_bytes()) for part in parts] == parts


def test_changes_of_files_show(tmp_path: Path) -> None:
    file_io, root = LocalFileIO(str(tmp_path)), str(tmp_path)
    (tmp_path / "day=1").mkdir()
    for name in ("a", "day=1/b", ".c", "_d"):
        (tmp_path / name).write_text("1")
    files = tuple(files_below(file_io, root))
    assert [file.path for file in files] == ["a", "day=1/b"]
    assert there_unchanged(file_io, root, files) == files
    (tmp_path / "a").write_text("12")
    with pytest.raises(SourceFileChangedError, match="was written or replaced"):
        there_unchanged(file_io, root, files)
    (tmp_path / "a").rename(tmp_path / "_a")
    assert there_unchanged(file_io, root, files) == files[1:]
    (tmp_path / "day=1" / "b").unlink()
    with pytest.raises(SourceFileChangedError, match="was deleted"):
        there_unchanged(file_io, root, files[1:])
