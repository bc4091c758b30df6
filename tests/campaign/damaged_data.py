"""Every single bit of a data file of each format, turned over and read by the plain reader."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Final
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.data import data_file_reader
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import INTEGER, LONG, STRING, DecimalType
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.bit_flips import DamagedFile, flipped_bits, survey

_FORMATS: Final = ("parquet", "orc", "avro")
_BYTES: Final = 100
_PIECES: Final = 80
"""The files have fewer pieces of so many bytes."""


def run_case(case: Case) -> Counts:
    """Turn over the bits of a piece of one of two files that are merged."""
    form, piece = _FORMATS[case.number % len(_FORMATS)], case.number // len(_FORMATS) % _PIECES
    folder = case.folder / "table"
    file = _made(folder, form)
    content = file.read_bytes()
    bits = islice(flipped_bits(content), 8 * piece * _BYTES, 8 * (piece + 1) * _BYTES)
    aliases = iter(range(8 * _BYTES + 1))

    def read(damaged: bytes) -> pa.Table:
        # Under another name nothing of the table is in a cache.
        alias = folder.with_name(f"alias-{next(aliases)}")
        alias.symlink_to(folder, target_is_directory=True)
        path = str(alias / file.relative_to(folder))
        io = DamagedFile(path=path, content=damaged)
        return FileStoreTable.open(str(alias), io).scan().to_arrow().sort_by("k")

    # As for large files: without the checksum of the whole file, where the format has its own.
    with patch.object(data_file_reader, "WHOLE_FILE_BYTES_MAX", 0):
        outcome = survey(content, bits, read, name=file.name)
    if outcome.silent or outcome.unnamed:
        raise AssertionError(f"{form}: {[*outcome.silent, *outcome.unnamed][:20]}")
    return Counter({"bits refused": outcome.refused, "bits without effect": outcome.harmless})


def _made(folder: Path, form: str) -> Path:
    """Make a table of two runs; return the file of the first."""
    types = {"k": LONG, "v": INTEGER, "s": STRING, "d": DecimalType(precision=12, scale=2)}
    schema = new_schema(
        fields=[Field(id=i, name=name, type=kind) for i, (name, kind) in enumerate(types.items())],
        primary_key=["k"],
        partition_keys=[],
        options={"bucket": "1", "file.format": form},
        time_ms=0,
    )
    table = FileStoreTable.create(str(folder), schema)
    table.upsert(_rows(0))
    (file,) = folder.rglob("data-*")
    table.upsert(_rows(30))
    return file


def _rows(first: int) -> pa.Table:
    numbers = np.arange(first, first + 40)
    columns = {
        "k": numbers,
        "v": pa.array(numbers % 7, pa.int32(), mask=numbers % 5 == 0),
        "s": [f"x{n % 5}" for n in numbers],
        "d": pa.array(numbers % 11, pa.int64())
        .cast(pa.decimal128(21, 2))
        .cast(pa.decimal128(12, 2)),
    }
    return pa.table(columns)


DAMAGED_DATA: Final = Technique(
    name="damaged-data",
    goal="each bit of a small data file: the rows are right, or an error names the file",
    suite_cases=len(_FORMATS),
    release_cases=len(_FORMATS) * _PIECES,
    run_case=run_case,
)
