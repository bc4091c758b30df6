"""Goal: texts and binary values of any length come back, by every statement that reads or writes.

The lengths are those of headers, bounds, names and offsets: whatever is taken as the greatest
length of something that a user decides would show. Plain Spark over the same rows is the oracle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from table_store import open_table
from table_store.storage.formats.parquet_format import ParquetFormatWriter
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import location_of, spark_session
from tests.unit.storage.formats.page_header import BOUND_LENGTHS

pytestmark = pytest.mark.spark

_PIECES: Final = (
    *(("a", length - 1, end) for length in BOUND_LENGTHS if length for end in "ay"),
    *(("\U0010ffff", count, end) for count in (1, 15, 16, 17, 127, 1024) for end in ("", "a")),
    ("", 0, ""),
    ("a" * 63 + "é", 1, "a" * 500),
)
"""Texts: how often something is repeated, and what follows. Many begin alike."""

_ASKED: Final = (
    *(("a", 474, "y"), ("a", 4095, "a"), ("a", (1 << 20) - 1, "y"), ("", 0, "")),
    *(("\U0010ffff", 16, ""), ("\U0010ffff", 1024, "a")),
)
"""Texts that conditions compare with."""


def _sql(piece: tuple[str, int, str]) -> str:
    text, count, end = piece
    return f"concat(repeat('{text}', {count}), '{end}')"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("long values"), OWN_NAME) as session:
        ids = [text * count + end for text, count, end in _PIECES]
        rows = [(n, text, b"\xff" * len(text[:70_000])) for n, text in enumerate(ids)]
        frame = session.createDataFrame(rows, "n INT, id STRING, bin BINARY")
        frame.selectExpr(
            *(
                "id",
                "n",
                "id AS note",
                "bin",
                "named_struct('s', id, 'l', array(id, NULL)) AS parts",
            ),
        ).createOrReplaceTempView("given")
        yield session


def _same(spark: SparkSession, table: str, source: str) -> None:
    """The tables hold the same rows; they are compared by their digests and lengths."""
    columns = (
        *("n", "sha1(id)", "length(id)", "sha1(note)", "length(note)", "sha1(bin)", "length(bin)"),
        *("sha1(parts.s)", "sha1(parts.l[0])", "size(parts.l)"),
    )
    found, expected = (
        Counter(map(tuple, spark.sql(f"SELECT {', '.join(columns)} FROM {name}").collect()))
        for name in (table, source)
    )
    assert found == expected


def _counts(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    """How many rows the table has for conditions with texts of any length."""
    conditions = [
        f"{column} {sign} {_sql(piece)}"
        for piece in _ASKED
        for column, sign in (("id", "="), ("note", ">"))
    ]
    conditions.append("bin > unhex(repeat('FF', 64))")
    conditions.append(f"parts.s = {_sql(_ASKED[0])}")
    parts = [f"SELECT {i} AS i, n FROM {table} WHERE {c}" for i, c in enumerate(conditions)]
    query = f"SELECT i, count(*), sum(n) FROM ({' UNION ALL '.join(parts)}) GROUP BY i"
    return sorted(map(tuple, spark.sql(query).collect()))


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_statements(spark: SparkSession, form: str) -> None:
    """Of a table with a text as its key; all of them for Parquet, whose pages have bounds."""
    table = f"t_{form}"
    spark.sql(
        f"CREATE TABLE {table} (id STRING, n INT, note STRING, bin BINARY, "
        "parts STRUCT<s: STRING, l: ARRAY<STRING>>, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ('file.format' = '{form}')"
    )
    for part in ("n % 2 = 0", "n % 3 < 2", "n % 2 = 1"):
        spark.sql(f"INSERT INTO {table} SELECT * FROM given WHERE {part}")
    _same(spark, table, "given")
    if form != "parquet":
        return
    assert _counts(spark, table) == _counts(spark, "given")
    ends = "SELECT sha1(min(id)), sha1(max(id)), sha1(min(note)), length(max(bin)), count(bin) FROM"
    assert spark.sql(f"{ends} {table}").collect() == spark.sql(f"{ends} given").collect()
    spark.sql(f"UPDATE {table} SET note = concat(note, note) WHERE id > {_sql(('a', 400, ''))}")
    spark.sql(f"DELETE FROM {table} WHERE id = {_sql(('a', 4095, 'y'))}")
    spark.sql(f"DELETE FROM {table} WHERE note < {_sql(('a', 200, ''))}")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM given WHERE n % 5 = 0) g ON t.id = g.id "
        "WHEN MATCHED THEN UPDATE SET note = reverse(g.note) WHEN NOT MATCHED THEN INSERT *"
    )
    lost = f"id = {_sql(('a', 4095, 'y'))} OR updated < {_sql(('a', 200, ''))}"
    spark.sql(
        f"""CREATE OR REPLACE TEMPORARY VIEW expected AS
        SELECT id, n, bin, parts,
            CASE WHEN n % 5 > 0 THEN updated WHEN lost THEN id ELSE reverse(id) END AS note
        FROM (SELECT *, {lost} AS lost FROM (
            SELECT *, IF(id > {_sql(("a", 400, ""))}, concat(note, note), note) AS updated
            FROM given))
        WHERE NOT lost OR n % 5 = 0"""
    )
    _same(spark, table, "expected")
    spark.sql(f"ALTER TABLE {table} COMPACT")
    _same(spark, table, "expected")
    assert _counts(spark, table) == _counts(spark, "expected")
    _same(spark, f"{table} VERSION AS OF 3", "given")
    state: set[tuple[str, str]] = set()
    changes = spark.sql(
        f"SELECT id, note, _change_type, _commit_version FROM {table} CHANGES FROM VERSION 1"
    ).collect()
    is_gone = {row: row[2] in ("delete", "update_preimage") for row in changes}
    for row in sorted(changes, key=lambda row: (row[3], not is_gone[row])):
        (state.remove if is_gone[row] else state.add)((row[0], row[1]))
    assert state == {tuple(row) for row in spark.table("expected").select("id", "note").collect()}
    plain = open_table(location_of(spark, table))
    for piece in _ASKED:
        text = piece[0] * piece[1] + piece[2]
        expected = spark.table("expected").where(f"id = {_sql(piece)}").select("n")
        found = plain.scan(["n"], pc.field("id") == text).to_arrow()
        assert found["n"].to_pylist() == [row.n for row in expected.collect()]


def test_tables_without_key(spark: SparkSession) -> None:
    """Here no column is sorted; VARCHAR, a default of an added column, and a view, too."""
    spark.sql(
        "CREATE TABLE heap (n INT, id VARCHAR(2000000), note STRING, bin BINARY, "
        "parts STRUCT<s: STRING, l: ARRAY<STRING>>)"
    )
    spark.sql("INSERT INTO heap SELECT n, id, note, bin, parts FROM given")
    _same(spark, "heap", "given")
    assert _counts(spark, "heap") == _counts(spark, "given")
    spark.sql(f"ALTER TABLE heap ADD COLUMN more STRING DEFAULT '{'é' * 300}'")
    spark.sql(f"INSERT INTO heap (n, more) VALUES (-1, '{'z' * 5000}')")
    assert spark.table("heap").where("length(more) = 300").count() == len(_PIECES)
    spark.sql(f"DELETE FROM heap WHERE more > '{'é' * 299}'")
    assert [tuple(row) for row in spark.sql("SELECT n, length(more) FROM heap").collect()] == [
        (-1, 5000)
    ]


def test_older_files(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose headers have bounds of up to 4 KiB, in columns that are in no key."""
    monkeypatch.setattr(ParquetFormatWriter, "_statistics", lambda self, sample: True)
    spark.sql("CREATE TABLE older (n INT, id STRING, note STRING)")
    rows = spark.sql("SELECT n, id, note FROM given").toArrow()
    open_table(location_of(spark, "older")).append(rows)
    query = "SELECT n, sha1(id), sha1(note) FROM {} ORDER BY n"
    assert spark.sql(query.format("older")).collect() == spark.sql(query.format("given")).collect()
