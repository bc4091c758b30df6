"""Rows that other programs have written to a file, and that come into a table on three ways.

The ways are a format of Spark, the connector `filesystem`, and a library of Python whose rows are
appended. On each of them all rows come, or the statement is refused by name and none comes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store import connect
from table_store.client.warehouse import Warehouse
from table_store.storage.kernel.errors import TableStoreError
from tests.campaign.spark_program import arrow_answer
from tests.campaign.spark_two_faces import compare_rows, named, session_of
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import Row, plain_rows
from tests.values.envelope import Envelope
from tests.values.foreign_files import (
    INT96_MAKER,
    MAKERS,
    NULL_TEXT,
    READERS,
    Maker,
    spark_makers,
    write_rows,
)
from tests.values.kinds import Array, Kind, Map, Struct, quoted, sql

_NAMES: Final = (
    *("v", "Text", "a b", "größe", "x.y", "x", "q'q", 'q"q', "a,b", "a`b", "😀"),
    *("index", "element", "key_value"),
)
_PLAIN_NAMES: Final = ("v", "Text", "n", "x", "index", "_m")
_NULL_SQL: Final = NULL_TEXT.replace("\\", "\\\\")
_ROWS: Final = (0, 1, 2, 20, 20, 200)
_REASONS: Final = (
    "FAILED_READ_FILE",  # of Spark's own format, which has no Brotli
    "PARQUET_TYPE_ILLEGAL",  # of Spark's own format, for times of day of polars
    "before the year -4712",
    "InitBlock EOF",  # Arrow reads no delta-encoded page of DuckDB without values
)
"""Why a statement may be refused."""

_CELLS_MAX: Final = 1_000


@dataclass
class Arrival:
    """A file, and the rows in it."""

    session: SparkSession
    warehouse: Warehouse
    maker: Maker
    columns: dict[str, Kind]
    rows: list[Row]
    file: Path
    dice: random.Random
    said: list[str]
    refusals: int = 0

    @property
    def names(self) -> str:
        return ", ".join(map(quoted, self.columns))

    def ways(self) -> dict[str, Callable[[], None]]:
        """How the rows come into the table of this name."""
        found: dict[str, Callable[[], None]] = {}
        if self.maker.form not in ("avro", "csv"):  # Spark's NULL of CSV is another one
            found["spark"] = self.by_spark
        if self.maker.form != "orc":
            found["connector"] = self.by_connector
        if self.maker.form in READERS and self.maker.name != INT96_MAKER:
            found["python"] = self.by_python
        return found

    def run(self, statement: str) -> Any:
        """Run a statement."""
        self.said.append(statement)
        return self.session.sql(statement)

    def by_spark(self) -> None:
        """INSERT from a format of Spark."""
        source = f"{self.maker.form}.`{self.file}`"
        if self.maker.form == "json":
            self.run(
                f"CREATE TEMPORARY VIEW given ({self.declared()}) USING json OPTIONS "
                f"(path '{self.file}', mode 'FAILFAST')"
            )
            source = "given"
        self.run(f"INSERT INTO spark SELECT {self.names} FROM {source}").collect()

    def by_connector(self) -> None:
        """INSERT from a table over the folder, which a query reads, too."""
        options = f", 'csv.null-literal' = '{_NULL_SQL}'" if self.maker.form == "csv" else ""
        self.run(
            f"CREATE TABLE given_files ({self.declared()}) WITH ('connector' = 'filesystem', "
            f"'path' = '{self.file.parent}', 'format' = '{self.maker.form}'{options})"
        )
        found = arrow_answer(self.run("SELECT * FROM given_files"))
        compare_rows("the connector", plain_rows(found, self.columns), self.rows)
        self.run("INSERT INTO connector SELECT * FROM given_files").collect()

    def by_python(self) -> None:
        """Append what a library reads."""
        readers = READERS[self.maker.form]
        number = self.dice.randrange(len(readers))
        self.said.append(f"append what reader {number} reads")
        found = readers[number](self.file)
        names = list(self.columns)
        # An index of pandas is no column of the table.
        is_frame = isinstance(found, pd.DataFrame)
        found = found[names].reset_index(drop=True) if is_frame else found.select(names)
        self.warehouse.open("python").append(found)

    def declared(self) -> str:
        return ", ".join(f"{quoted(name)} {sql(kind)}" for name, kind in self.columns.items())

    def arrive(self, name: str, way: Callable[[], None]) -> None:
        """Go one way, and read the table by both sides."""
        self.run(f"CREATE TABLE {name} ({self.declared()})")
        refusal, expected = "", self.rows
        try:
            way()
        except PySparkException as error:
            refusal = str(named(error))
        except (TableStoreError, Py4JJavaError) as error:
            refusal = str(error)
        if refusal:
            self.said.append(f"refused: {refusal}"[:600])
            self.refusals += 1
            expected = []
            assert any(reason in refusal for reason in _REASONS), (
                f"{self.maker.name} by {name}: {refusal}"
            )
        found = arrow_answer(self.run(f"SELECT * FROM {name}"))
        compare_rows(f"Spark, from {name}", plain_rows(found, self.columns), expected)
        found = self.warehouse.open(name).scan().to_arrow()
        compare_rows(f"Python, from {name}", plain_rows(found, self.columns), expected)


def plain_kind(kind: Kind) -> Kind:
    """The kind without what only a table knows: required fields, and lengths of texts."""
    match kind:
        case Struct(fields):
            return Struct(tuple((name, plain_kind(inner)) for name, inner in fields))
        case Array(element):
            return Array(plain_kind(element))
        case Map(value, key):
            return Map(plain_kind(value), key)
    return "STRING" if "CHAR" in kind else kind


def draw_columns(envelope: Envelope, maker: Maker) -> dict[str, Kind]:
    """Columns whose values the file keeps."""
    # ORC reads a name up to a back quote.
    names = _PLAIN_NAMES if maker.form in ("avro", "orc") else _NAMES
    columns: dict[str, Kind] = {}
    # An empty line of CSV is no row.
    counts = [2, 3, 5] if maker.form == "csv" else [1, 2, 3, 5]
    for name in envelope.dice.sample(names, envelope.dice.choice(counts)):
        kind = plain_kind(envelope.kind(has_collations=False))
        while not maker.holds(kind):
            kind = plain_kind(envelope.kind(2, has_collations=False))
        columns[name] = kind
    return columns


def run_case(case: Case) -> Counts:
    """Let one program write a file, and take it in on each way."""
    dice = case.random()
    session = session_of(case, dice)
    envelope = Envelope(dice, longest=1 << 16)
    maker = dice.choice([*MAKERS, *spark_makers(session)])
    columns = draw_columns(envelope, maker)
    count = min(dice.choice(_ROWS), _CELLS_MAX // len(columns))
    lists = [envelope.values(kind, count) for kind in columns.values()]
    rows: list[Row] = list(zip(*lists, strict=True))
    folder = case.folder / "given files"
    folder.mkdir(parents=True)
    file = folder / f"a.{maker.form}"
    write_rows(rows, columns, maker, file, dice)
    case.said.append(f"-- {maker}")
    warehouse = connect(str(case.folder))
    arrival = Arrival(session, warehouse, maker, columns, rows, file, dice, case.said)
    for name, way in arrival.ways().items():
        arrival.arrive(name, way)
    return {"files": 1, "ways": len(arrival.ways()), "refusals": arrival.refusals}


SPARK_FOREIGN_FILES: Final = Technique(
    name="spark-foreign-files",
    goal="rows in files of other programs come into a table exactly, or are refused by name",
    suite_cases=0,
    release_cases=2_000,
    run_case=run_case,
    needs_spark=True,
)
