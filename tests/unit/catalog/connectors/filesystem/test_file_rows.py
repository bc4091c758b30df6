"""Goal: each row of a file is read once, and what is no row harms no other one.

Oracle: the whole Parquet file.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from datetime import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store import open_table
from table_store.catalog.connectors.connector_errors import (
    SourceFileChangedError,
    UnreadableSourceFileError,
)
from table_store.catalog.connectors.dead_letters import OF_FILES, DeadLetters
from table_store.catalog.connectors.filesystem.file_rows import (
    FileReader,
    there_unchanged,
)
from table_store.catalog.connectors.filesystem.filesystem_definition import FilesystemDefinition
from table_store.catalog.connectors.filesystem.folder_listing import files_below
from table_store.catalog.connectors.filesystem.taken_file import (
    FilePart,
    TakenFile,
    parts_of,
)
from table_store.catalog.connectors.formats.message_formats import (
    CsvFormat,
    JsonFormat,
    MessageFormat,
)
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import LONG, STRING, DataType, TimeType, to_arrow
from table_store.storage.log_store.encoding.row_encoding import CsvEncoder


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


@pytest.mark.parametrize("has_letters", [False, True])
def test_a_line_that_is_no_text(tmp_path: Path, has_letters: bool) -> None:
    """It is a bad one among good ones, as a record of a topic is."""
    data = b'{"a":1,"s":"x"}\n{"a":2,"s":"\xff"}\r\n{"a":3,"s":"z"}'
    (tmp_path / "a.json").write_bytes(data)
    (file,) = files_below(LocalFileIO(str(tmp_path)), str(tmp_path))
    columns = (Field(id=0, name="a", type=LONG), Field(id=1, name="s", type=STRING))
    definition = text_definition(tmp_path, JsonFormat(columns), skips_bad=not has_letters)
    letters = None
    if has_letters:
        fields = TableDefinition(columns=OF_FILES.fields(), primary_key=tuple(OF_FILES.key))
        store = FileStoreTable.create(str(tmp_path / "letters"), fields.schema(time_ms=0))
        letters = DeadLetters(store.path, OF_FILES)
    batches = FileReader(definition, letters).read(FilePart((file,)).to_bytes(), ["a", "s"])
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"a": 1, "s": "x"},
        {"a": 3, "s": "z"},
    ]
    if letters is not None:
        (letter,) = open_table(letters.path).scan().to_arrow().to_pylist()
        assert (letter["line"], letter["value"]) == (2, b'{"a":2,"s":"\xff"}')
        assert "UTF-8" in letter["reason"]


def test_a_line_is_bad_for_all_who_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a":1,"s":"x"}\n{"a":"two","s":"y"}\n')
    (file,) = files_below(LocalFileIO(str(tmp_path)), str(tmp_path))
    columns = (Field(id=0, name="a", type=LONG), Field(id=1, name="s", type=STRING))
    reader = FileReader(text_definition(tmp_path, JsonFormat(columns), skips_bad=True))
    for names in ([], ["s"], ["a"], ["s", "a"]):
        batches = list(reader.read(FilePart((file,)).to_bytes(), names))
        assert [batch.num_rows for batch in batches] == [1]
        assert batches[0].schema.names == names


def test_a_quote_that_is_not_closed_makes_its_line_a_bad_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,x\n2,5" pipe\n3,"a\n4,w\n')
    (file,) = files_below(LocalFileIO(str(tmp_path)), str(tmp_path))
    columns = (Field(id=0, name="a", type=LONG), Field(id=1, name="s", type=STRING))
    text = CsvFormat(columns, ",", None)
    reader = FileReader(text_definition(tmp_path, text, skips_bad=True))
    batches = list(reader.read(FilePart((file,)).to_bytes(), ["a", "s"]))
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == [
        (1, "x"),
        (2, '5" pipe'),
        (4, "w"),
    ]


@pytest.mark.parametrize("null", [None, "-"])
@pytest.mark.parametrize(
    ("kind", "values"), [(STRING, ["x", "", "y", "-", None]), (LONG, [1, None, 2])]
)
def test_one_column_of_csv_keeps_its_empty_rows(
    tmp_path: Path, kind: DataType, values: list[object], null: str | None
) -> None:
    """Without a text for NULL it is read as an empty STRING, as where there are more columns."""
    lines = CsvEncoder(",", null or "").encoded([pa.array(values, to_arrow(kind))]).to_pylist()
    (tmp_path / "a.csv").write_bytes(b"".join(line + b"\n" for line in lines))
    (file,) = files_below(LocalFileIO(str(tmp_path)), str(tmp_path))
    text = CsvFormat((Field(id=0, name="a", type=kind),), ",", null)
    reader = FileReader(text_definition(tmp_path, text))
    batches = list(reader.read(FilePart((file,)).to_bytes(), ["a"]))
    expected = ["" if (kind, value, null) == (STRING, None, None) else value for value in values]
    assert [row["a"] for batch in batches for row in batch.to_pylist()] == expected


def test_a_text_for_null_is_not_taken_for_more() -> None:
    def define(**options: str) -> None:
        given = {f"csv.{name.replace('_', '-')}": text for name, text in options.items()}
        schema = new_schema(
            fields=[Field(id=0, name="a", type=STRING)],
            options={"connector": "filesystem", "path": "/x", "format": "csv", **given},
            time_ms=0,
        )
        FilesystemDefinition.of(schema)

    define(null_literal="n;a")
    for wrong in ("n;a", 'n"a'):
        with pytest.raises(InvalidOptionError, match=r"csv\.null-literal.*field delimiter"):
            define(field_delimiter=";", null_literal=wrong)


def test_values_in_paths(tmp_path: Path) -> None:
    """Times are read as they are written; a NOT NULL column has a value; names are anything."""
    for folder in ("p=01%3A02%3A03.000004", "p=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a\\b\nc.json").write_text('{"a": 1}')
    os.mkfifo(tmp_path / "pipe.json")
    files = files_below(LocalFileIO(str(tmp_path)), str(tmp_path))
    assert len(files) == 2
    columns = (Field(id=0, name="a", type=LONG),)
    for nullable in (True, False):
        partition = Field(id=1, name="p", type=TimeType(6), nullable=nullable)
        definition = replace(
            text_definition(tmp_path, JsonFormat(columns)), partitions=(partition,)
        )
        reader = FileReader(definition)

        def read(file: TakenFile, reader: FileReader = reader) -> list[dict[str, object]]:
            part = FilePart((file,)).to_bytes()
            return [row for batch in reader.read(part, ["a", "p"]) for row in batch.to_pylist()]

        named, null = sorted(files, key=lambda file: "HIVE" in file.path)
        assert read(named) == [{"a": 1, "p": time(1, 2, 3, 4)}]
        if nullable:
            assert read(null) == [{"a": 1, "p": None}]
        else:
            with pytest.raises(UnreadableSourceFileError, match="p is NOT NULL"):
                read(null)


def text_definition(
    root: Path, text: MessageFormat, *, skips_bad: bool = False
) -> FilesystemDefinition:
    return FilesystemDefinition(
        root=str(root),
        columns=text.columns,
        partitions=(),
        format="json",
        text=text,
        time_unit="millis",
        skips_bad=skips_bad,
        interval_ms=None,
    )
