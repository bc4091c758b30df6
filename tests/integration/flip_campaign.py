"""Single bits flipped in data files, and what queries say to that.

A campaign copies a table for each flip, since a file is read under its path once and remembered.
"""

from __future__ import annotations

import random
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store.catalog.names.directory_journal import change_claim
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import TableTarget, record_from_bytes
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.formats.parquet_pages import page_places

_HEADER_BYTES: Final = 40
_GUARD_AND_LENGTHS_BYTES: Final = 16
_SAID: Final = "[TABLE_STORE_CORRUPT_FILE] File '"
_BEYOND_DICTIONARY: Final = "ArrayIndexOutOfBoundsException"


@dataclass(frozen=True, slots=True)
class Flip:
    """A bit of a file."""

    file: Path
    part: str
    byte: int
    bit: int

    def happen(self) -> None:
        """Turn the bit over."""
        content = bytearray(self.file.read_bytes())
        content[self.byte] ^= 1 << self.bit
        self.file.write_bytes(content)

    def __str__(self) -> str:
        return f"bit {self.bit} of byte {self.byte} ({self.part}) of {self.file.name}"


@dataclass(slots=True)
class Outcome:
    """How many queries said what, by part of the file; `wrong` tells each that must not be."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def campaign(
    spark: SparkSession,
    warehouse: Path,
    table: str,
    queries: Sequence[str],
    *,
    count: int,
    seed: int,
    parts: frozenset[str] = frozenset(),
) -> Outcome:
    """Flip `count` bits, one at a time, and ask what `queries` ask, which name the table as `{}`.

    Every answer should be the one that the whole table gives, or an error that names the damaged
    file. `parts` of files are hit, each as often as the others; none are all.
    """
    dice = random.Random(seed)

    def choose(folder: Path) -> Flip:
        return _random_flip(dice.choice(sorted(folder.rglob("data-*"))), parts, dice)

    outcome = _asked(spark, warehouse, table, queries, [choose] * count)
    outcome.wrong = [f"seed {seed}, {wrong}" for wrong in outcome.wrong]
    return outcome


def every_bit(
    spark: SparkSession, warehouse: Path, table: str, queries: Sequence[str], *, byte: int
) -> Outcome:
    """Flip each bit of one byte of a table's only data file; see `campaign`.

    Nothing is asked behind the end of the file.
    """

    def choose(bit: int, folder: Path) -> Flip:
        (file,) = folder.rglob("data-*")
        (part,) = {name for name, place in _parts(file) if byte in place} or {"begin"}
        return Flip(file, part, byte, bit)

    (file,) = (warehouse / "default.db" / table).rglob("data-*")
    bits = range(8 if byte < file.stat().st_size else 0)
    return _asked(spark, warehouse, table, queries, [partial(choose, bit) for bit in bits])


def _asked(
    spark: SparkSession,
    warehouse: Path,
    table: str,
    queries: Sequence[str],
    flips: Sequence[Callable[[Path], Flip]],
) -> Outcome:
    """Ask about one flip after the other; each is chosen in the folder of a copy of the table."""
    truth = [spark.sql(query.format(table)).collect() for query in queries]
    outcome = Outcome()
    for number, choose in enumerate(flips):
        copy = f"{table}_{uuid.uuid4().hex}"
        flip = choose(_copied(warehouse, table, copy))
        flip.happen()
        for query, right in zip(queries, truth, strict=True):
            said = _answer(spark, query.format(copy), right, flip)
            kind = said.partition(":")[0]
            outcome.counts[flip.part, kind] += 1
            if kind in ("wrong rows", "other error"):
                outcome.wrong.append(f"flip {number}, {flip}: {query}: {said}")
        _remove(warehouse, copy)
    return outcome


def _answer(spark: SparkSession, query: str, right: object, flip: Flip) -> str:
    try:
        rows = spark.sql(query).collect()
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        line = text[max(0, text.find(_SAID)) :].partition("\n")[0]
        if line.startswith(_SAID) and flip.file.name in line and "SQLSTATE" in line:
            return "refused"
        # Spark looks up values of a dictionary where nobody knows any more which file it is of.
        is_known = _BEYOND_DICTIONARY in text and flip.part == "header"
        return "refused without name" if is_known else f"other error: {text[:2000]}"
    return "right" if rows == right else f"wrong rows: {rows} and not {right}"


def _random_flip(file: Path, wanted: frozenset[str], dice: random.Random) -> Flip:
    """Choose one bit; each kind of part is as likely as the others, however small it is."""
    places: dict[str, list[range]] = {}
    for part, place in _parts(file):
        if place and (part in wanted or not wanted):
            places.setdefault(part, []).append(place)
    part = dice.choice(sorted(places))
    return Flip(file, part, dice.choice(dice.choice(places[part])), dice.randrange(8))


def _parts(file: Path) -> Iterator[tuple[str, range]]:
    """The parts of a Parquet file whose columns have no nesting; other files are one."""
    if file.suffix != ".parquet":
        yield "file", range(file.stat().st_size)
        return
    metadata = pq.read_metadata(file)
    size = file.stat().st_size
    end_of_pages = size - metadata.serialized_size - _GUARD_AND_LENGTHS_BYTES
    yield "footer", range(end_of_pages, size)
    with pa.OSFile(str(file)) as source:
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                first = start = chunk.data_page_offset
                if chunk.dictionary_page_offset is not None:
                    start = chunk.dictionary_page_offset
                    yield "header", range(start, start + _HEADER_BYTES)
                    yield "dictionary", range(start + _HEADER_BYTES, first)
                end = start + chunk.total_compressed_size
                pages = page_places(source, str(file), first, end, group.num_rows)
                starts = [page.start for page in pages]
                for page, following in zip(starts, [*starts[1:], end], strict=True):
                    middle = min(page + _HEADER_BYTES, following)
                    yield "header", range(page, middle)
                    yield "page", range(middle, following)


def _copied(warehouse: Path, table: str, copy: str) -> Path:
    """Copy a table, with its entry in the catalog; return its folder."""
    folder = warehouse / "default.db"
    entry = folder / "_names" / f"{table}.json"
    record = record_from_bytes(entry.read_bytes(), str(entry))
    another = replace(
        record,
        identifier=Identifier(record.identifier.namespace, copy),
        id=str(uuid.uuid4()),
        target=TableTarget(location=f"default.db/{copy}"),
    )
    shutil.copytree(folder / table, folder / copy)
    change_claim(LocalFileIO(), str(folder / copy), another.id)
    (folder / "_names" / f"{copy}.json").write_bytes(another.to_bytes())
    return folder / copy


def _remove(warehouse: Path, copy: str) -> None:
    folder = warehouse / "default.db"
    (folder / "_names" / f"{copy}.json").unlink()
    shutil.rmtree(folder / copy)
