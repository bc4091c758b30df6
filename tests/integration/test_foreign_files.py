"""Goal: what other programs write arrives in tables as the documentation says, or is refused.

On three ways: a format of Spark, the connector, and plain Python. Oracle: the values that the
programs were given, and plain Spark over the same file.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from table_store import connect
from table_store.client.warehouse import Warehouse
from table_store.storage.kernel.errors import TableStoreError
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import refused, spark_session

pytestmark = pytest.mark.spark

NOON = dt.datetime.fromisoformat("2024-07-01 12:00")
NOON_UTC = NOON.replace(tzinfo=dt.UTC)
BERLIN = pd.Timestamp("2024-07-01 14:00", tz="Europe/Berlin")
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

COLUMNS = {
    "id": "INT",
    "clock": "TIMESTAMP_NTZ",
    "moment": "TIMESTAMP",
    "word": "STRING",
    "a b": "STRING",
    "x.y": "INT",
    "great": "DECIMAL(20, 0)",
    "tags": "ARRAY<STRING>",
    "at": "STRUCT<x: DOUBLE, y: DOUBLE>",
    "raw": "BINARY",
    "time": "TIME(6)",
    "number": "DOUBLE",
}
DECLARED = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())
NOTHING: dict[str, Any] = dict.fromkeys(COLUMNS)
ARRIVED = {
    "pandas": {"clock": NOON, "moment": NOON_UTC, "word": "b", "a b": "ü", "x.y": 5},
    "polars": {
        "clock": NOON,
        "moment": NOON_UTC,
        "word": "b",
        "great": Decimal(2**64 - 1),
        "tags": ["x", None],
        "at": {"x": 1.5, "y": None},
        "time": dt.time(12, 0, 0, 5),
        "raw": b"\xff",
    },
    "duckdb": {
        "clock": NOON,
        "moment": NOON_UTC,
        "word": "b",
        "great": Decimal(2**64 - 1),
        "tags": ["x"],
        "at": {"x": 2.5, "y": None},
        "raw": bytes.fromhex(UUID.replace("-", "")),
        "time": dt.time(10),
        "number": 7.0,
    },
    "impala": {"moment": NOON_UTC, "word": "b"},
}
"""By program: what the columns have; they are NULL where it wrote none."""


def write_by_all(folder: Path) -> None:
    """Let each program write one file."""
    folder.mkdir()
    words = pd.Series(pd.Categorical(["b"], categories=["a", "b"]))
    frame = pd.DataFrame(
        {"id": [1], "clock": [pd.Timestamp(NOON)], "moment": [BERLIN], "a b": ["ü"], "x.y": [5]}
    )
    frame.assign(word=words).set_index("id").to_parquet(folder / "pandas.parquet")
    pl.DataFrame(
        {
            "ID": [2],
            "clock": pl.Series([NOON]).cast(pl.Datetime("ns")),
            "moment": pl.Series([NOON]).cast(pl.Datetime("ms")).dt.replace_time_zone("UTC"),
            "word": pl.Series(["b"], dtype=pl.Enum(["a", "b"])),
            "great": pl.Series([2**64 - 1], dtype=pl.UInt64),
            "tags": [["x", None]],
            "at": [{"X": 1.5, "other": 1}],
            "time": [dt.time(12, 0, 0, 5)],
            "raw": [b"\xff"],
        }
    ).write_parquet(folder / "polars.parquet")
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 3 AS id, TIMESTAMP_MS '2024-07-01 12:00' AS clock, "
            "TIMESTAMPTZ '2024-07-01 12:00+00' AS moment, 'b'::ENUM('a', 'b') AS word, "
            f"{2**64 - 1}::UBIGINT AS great, ['x'] AS tags, {{'x': 2.5}} AS at, "
            f"'{UUID}'::UUID AS raw, TIMETZ '12:00:00+02' AS \"time\", 7::HUGEINT AS number) "
            f"TO '{folder}/duckdb.parquet' (COMPRESSION brotli, PARQUET_VERSION v2)"
        )
    impala = pa.table({"id": [4], "moment": [NOON], "word": [b"b"]})
    pq.write_table(
        impala,
        folder / "impala.parquet",
        use_deprecated_int96_timestamps=True,
        store_schema=False,
        compression="lz4",
    )


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.sort_by("id").to_pylist()
    return found


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("foreign-files")
    with spark_session(folder, OWN_NAME) as session:
        session.conf.set("spark.sql.timeType.enabled", "true")
        yield session


@pytest.fixture
def warehouse(spark: SparkSession) -> Warehouse:
    return connect(str(spark.conf.get("spark.sql.warehouse.dir")))


def test_what_arrives_by_the_connector(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    write_by_all(tmp_path / "in")
    spark.sql(
        f"CREATE TABLE given ({DECLARED}) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/in', 'format' = 'parquet')"
    )
    spark.sql(f"CREATE TABLE taken ({DECLARED})")
    spark.sql("INSERT INTO taken SELECT * FROM given")
    expected = [{**NOTHING, "id": at, **row} for at, row in enumerate(ARRIVED.values(), 1)]
    assert rows_of(warehouse.open("taken").scan().to_arrow()) == expected
    named = ", ".join(f"`{name}`" for name in COLUMNS)
    by_both = spark.sql(f"SELECT {named} FROM taken EXCEPT ALL SELECT {named} FROM given")
    assert by_both.collect() == []


def test_what_arrives_by_plain_python(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    """Fields of structs must be those of the table. DuckDB hands over a UUID as a text."""
    write_by_all(tmp_path / "in")
    spark.sql(f"CREATE TABLE appended ({DECLARED})")
    table = warehouse.open("appended")
    table.append(pd.read_parquet(tmp_path / "in" / "pandas.parquet").reset_index())
    table.append(pl.read_parquet(tmp_path / "in" / "polars.parquet").drop("at"))
    with duckdb.connect() as connection:
        source = f"read_parquet('{tmp_path}/in/duckdb.parquet')"
        table.append(connection.sql(f'SELECT * EXCLUDE ("at", raw) FROM {source}'))
    expected = [
        {**NOTHING, "id": 1, **ARRIVED["pandas"]},
        {**NOTHING, "id": 2, **ARRIVED["polars"], "at": None},
        {**NOTHING, "id": 3, **ARRIVED["duckdb"], "at": None, "raw": None},
    ]
    assert rows_of(table.scan().to_arrow()) == expected
    assert [row.id for row in spark.sql("SELECT id FROM appended ORDER BY id").collect()] == [
        1,
        2,
        3,
    ]


def test_what_is_refused_and_leaves_nothing(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    """Spark's own format refuses some of it, too, and stores others by its rules of assignment."""
    folder = tmp_path / "in"
    folder.mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT TIMESTAMP_NS '2024-01-01 00:00:00.000000001' AS nanos, '1' AS text, "
            f"true AS truth, 1e39::DOUBLE AS huge, 0.125::DOUBLE AS part, {2**63}::UBIGINT AS big, "
            "TIMESTAMP '2024-07-01 12:00' AS clock, TIMESTAMPTZ '2024-07-01 12:00+00' AS moment, "
            f"INTERVAL 1 DAY AS span) TO '{folder}/a.parquet'"
        )
    columns = {
        "nanos": ("TIMESTAMP_NTZ", "would lose data"),
        "text": ("INT", "of type string do not fit"),
        "truth": ("INT", "of type bool do not fit"),
        "huge": ("FLOAT", "beyond the range"),
        "part": ("DECIMAL(9, 2)", "data loss"),
        "big": ("BIGINT", "not in range"),
        "clock": ("TIMESTAMP", "declare it as TIMESTAMP_NTZ"),
        "moment": ("TIMESTAMP_NTZ", "declare it as TIMESTAMP,"),
        "span": ("BIGINT", "do not fit"),
    }
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    spark.sql(
        f"CREATE TABLE odd ({declared}) WITH ('connector' = 'filesystem', 'path' = '{folder}', "
        "'format' = 'parquet')"
    )
    spark.sql(f"CREATE TABLE odd_taken ({declared})")
    for name, (_, reason) in columns.items():
        error = refused(spark, f"INSERT INTO odd_taken ({name}) SELECT {name} FROM odd")
        assert "[TABLE_STORE_UNREADABLE_SOURCE_FILE]" in error
        assert reason in error
        assert f"{folder}/a.parquet" in error
        with pytest.raises(TableStoreError):
            warehouse.open("odd_taken").append(pq.read_table(folder / "a.parquet", columns=[name]))
    assert spark.sql("SELECT count(*) FROM odd_taken").collect()[0][0] == 0


def test_files_of_earlier_versions_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Their dates before 1582 have another calendar, by which Spark alone reads them."""
    session = spark.newSession()
    session.sql("USE table_store")
    for key, value in {
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    }.items():
        session.conf.set(key, value)
    rows = (
        "SELECT id, CAST(id AS DECIMAL(9, 2)) AS price, array(id) AS l, "
        "DATE'{year}-02-03' AS d, TIMESTAMP'{year}-02-03 04:05:06' AS t FROM range(3)"
    )
    kinds = "id BIGINT, price DECIMAL(9, 2), l ARRAY<BIGINT>, d DATE, t TIMESTAMP"
    for year in (1500, 2024):
        folder, expected = tmp_path / str(year), session.sql(rows.format(year=year))
        expected.coalesce(1).write.parquet(str(folder))
        session.sql(f"CREATE TABLE of_{year} ({kinds})")
        session.sql(f"INSERT INTO of_{year} SELECT * FROM parquet.`{folder}`")
        assert session.sql(f"SELECT * FROM of_{year}").exceptAll(expected).collect() == []
        session.sql(
            f"CREATE TABLE files_{year} ({kinds}) WITH ('connector' = 'filesystem', "
            f"'path' = '{folder}', 'format' = 'parquet')"
        )
    assert session.sql("SELECT * FROM files_2024").exceptAll(expected).collect() == []
    for column in ("d", "t"):
        error = refused(session, f"SELECT {column} FROM files_1500")
        assert "[TABLE_STORE_UNREADABLE_SOURCE_FILE]" in error
        assert "calendar of Spark 2" in error
    assert len(session.sql("SELECT id, price, l FROM files_1500").collect()) == 3
