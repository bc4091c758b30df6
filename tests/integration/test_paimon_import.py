"""Goal: a table of Apache Paimon comes in as Paimon itself would read it.

Oracle: tables that Paimon's own library writes, a dict of their rows, and that library's read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pypaimon_rust.datafusion import PaimonCatalog, SQLContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store import connect
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = pytest.mark.spark

DELETE = 3
"""Paimon's kind of a row that deletes the one of its key."""

COLUMNS = pa.schema(
    [
        pa.field("p", pa.int32(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("price", pa.decimal128(10, 2)),
        ("seen", pa.timestamp("ms")),
        ("at", pa.timestamp("ms", tz="UTC")),
        ("day", pa.date32()),
        ("name", pa.string()),
        ("code", pa.string()),
        ("raw", pa.binary()),
        ("ratio", pa.float64()),
        ("on", pa.bool_()),
        ("list", pa.list_(pa.int32())),
        ("map", pa.map_(pa.string(), pa.int32())),
        ("row", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]
)
DECLARED = (
    "p INT COMMENT 'the part', id BIGINT, price DECIMAL(10, 2), seen TIMESTAMP(3), "
    "at TIMESTAMP WITH TIME ZONE, day DATE, name STRING, code CHAR(5), raw BYTEA, ratio DOUBLE, "
    '"on" BOOLEAN, list ARRAY<INT>, map MAP(STRING, INT), "row" STRUCT<x INT, y STRING>'
)
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("paimon"), OWN_NAME) as session:
        yield session


class Paimon:
    """A warehouse of Paimon's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.context = SQLContext()
        self.context.register_catalog("paimon", {"warehouse": str(folder)})
        self.context.sql("CREATE SCHEMA paimon.db")

    def create(self, table: str, columns: str, clauses: str = "") -> None:
        self.context.sql(f"CREATE TABLE paimon.db.{table} ({columns}) {clauses}")

    def write(self, table: str, rows: Rows, schema: pa.Schema = COLUMNS, kind: int = 0) -> None:
        builder = (
            PaimonCatalog({"warehouse": str(self.folder)})
            .get_table(f"db.{table}")
            .new_batch_write_builder()
        )
        writer = builder.new_write()
        batch = pa.RecordBatch.from_pylist(rows, schema=schema)
        if kind:
            kinds = pa.array([kind] * len(rows), pa.int8())
            batch = batch.append_column("_VALUE_KIND", kinds)
        writer.write_arrow(batch)
        builder.new_commit().commit(writer.prepare_commit())

    def read(self, table: str) -> Rows:
        batches = self.context.sql(f"SELECT * FROM paimon.db.{table}")
        return [row for batch in batches for row in batch.to_pylist()]

    def path(self, table: str) -> str:
        return str(self.folder / "db.db" / table)


@pytest.fixture
def paimon(tmp_path: Path) -> Paimon:
    return Paimon(tmp_path)


def some_row(chance: random.Random, at: tuple[int, int]) -> dict[str, Any]:
    def or_null(value: object) -> object:
        return None if chance.random() < 0.2 else value

    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(milliseconds=chance.randrange(10**12))
    return {
        "p": at[0],
        "id": at[1],
        "price": or_null(Decimal(chance.randrange(-(10**10), 10**10)).scaleb(-2)),
        "seen": or_null(moment.replace(tzinfo=None)),
        "at": or_null(moment),
        "day": or_null(date(1900, 1, 1) + timedelta(chance.randrange(80_000))),
        "name": or_null("é" * chance.randrange(4)),
        "code": or_null("ab"),
        "raw": or_null(chance.randbytes(3)),
        "ratio": or_null(chance.random()),
        "on": or_null(True),
        "list": or_null([1, None, chance.randrange(9)]),
        "map": or_null([("k", chance.randrange(9)), ("n", None)]),
        "row": or_null({"x": chance.randrange(9), "y": None}),
    }


def by_key(rows: Rows) -> dict[tuple[int, int], dict[str, Any]]:
    found = {(row["p"], row["id"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def imported(spark: SparkSession, table: str) -> Rows:
    warehouse = connect(str(spark.conf.get("spark.sql.warehouse.dir")))
    rows: Rows = warehouse.open(table).scan().to_arrow().to_pylist()
    return rows


def refused(action: Callable[[], object]) -> str:
    with unlogged_errors(), pytest.raises(PySparkException) as error:
        action()
    return str(error.value).partition("JVM stacktrace")[0]


def test_runs_are_merged_and_deleted_rows_stay_away(spark: SparkSession, paimon: Paimon) -> None:
    clauses = "PARTITIONED BY (p) WITH ('bucket' = '2')"
    paimon.create("t", f"{DECLARED}, PRIMARY KEY (p, id)", clauses)
    chance, model = random.Random(3), dict[tuple[int, int], dict[str, Any]]()
    for _ in range(5):
        written = {
            (number % 3, number): some_row(chance, (number % 3, number))
            for number in chance.sample(range(150), 60)
        }
        paimon.write("t", list(written.values()))
        model |= written
        gone = chance.sample(sorted(model), 10)
        paimon.write("t", [model.pop(key) for key in gone], kind=DELETE)
    paimon.context.sql("ALTER TABLE paimon.db.t ADD COLUMN later INT")
    model = {key: row | {"later": None} for key, row in model.items()}
    model[0, 900] = some_row(chance, (0, 900)) | {"later": 5}
    paimon.write("t", [model[0, 900]], COLUMNS.append(pa.field("later", pa.int32())))
    path = paimon.path("t")
    assert by_key(paimon.read("t")) == model
    done = spark.sql(f"CALL sys.import('paimon', '{path}', 'of_paimon')").first()
    assert done is not None
    assert done.rows == len(model)
    assert by_key(imported(spark, "of_paimon")) == model
    created = str(spark.sql("SHOW CREATE TABLE of_paimon").collect()[0][0])
    for part in (
        "PRIMARY KEY (p, id)",
        "PARTITIONED BY (p)",
        "COMMENT 'the part'",
        "price DECIMAL(10,2)",
        "seen TIMESTAMP_NTZ",
        "at TIMESTAMP,",
        "code varchar(5)",
        "map MAP<STRING, INT>",
    ):
        assert part in created, part
    spark.sql(f"CALL sys.import('paimon', 'file:{path}', 'keyless', primary_key => '')")
    assert by_key(imported(spark, "keyless")) == model
    assert "PRIMARY KEY" not in str(spark.sql("SHOW CREATE TABLE keyless").collect()[0][0])


def test_many_rows_are_read_by_workers(spark: SparkSession, paimon: Paimon) -> None:
    paimon.create("large", "id BIGINT, n BIGINT, PRIMARY KEY (id)", "WITH ('bucket' = '3')")
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    for number, ids in enumerate((range(80_000), range(0, 160_000, 2))):
        paimon.write("large", [{"id": i, "n": number} for i in ids], columns)
    done = spark.sql(f"CALL sys.import('paimon', '{paimon.path('large')}', 'large')").first()
    assert done is not None
    assert done.rows == 120_000
    found = spark.sql("SELECT n, count(*), sum(id) FROM large GROUP BY n ORDER BY n").collect()
    assert [tuple(row) for row in found] == [
        (0, 40_000, sum(range(1, 80_000, 2))),
        (1, 80_000, sum(range(0, 160_000, 2))),
    ]
    assert spark.sql("SELECT id, count(*) FROM large GROUP BY id HAVING count(*) > 1").count() == 0


def test_what_cannot_be_imported_is_refused(spark: SparkSession, paimon: Paimon) -> None:
    columns = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    paimon.create("plain", "a BIGINT, b BIGINT")
    paimon.write("plain", [{"a": 1, "b": n} for n in range(3)], columns)
    paimon.create("odd", "a BIGINT, v VARIANT")
    calls = {
        f"'{paimon.path('plain')}', 'no', primary_key => 'a'": "DUPLICATE_IMPORTED_KEY] 2 rows",
        f"'{paimon.path('plain')}', 'no', primary_key => 'c'": "INVALID_SCHEMA",
        f"'{paimon.path('odd')}', 'no'": "UNSUPPORTED_TYPE",
        f"'{paimon.folder}', 'no'": "IMPORT_FAILED",
        f"'{paimon.folder}/absent', 'no'": "IMPORT_FAILED",
        "'s3://bucket/t', 'no'": "IMPORT_FAILED",
        "'relative/t', 'no'": "PATH_NOT_ALLOWED",
    }
    for call, expected in calls.items():
        said = refused(partial(spark.sql, f"CALL sys.import('paimon', {call})"))
        assert expected in said, call
        assert "Traceback" not in said
        assert not spark.catalog.tableExists("no"), call
    spark.sql(f"CALL sys.import('paimon', '{paimon.path('plain')}', 'plain')")
    assert sorted(row["b"] for row in imported(spark, "plain")) == [0, 1, 2]
    again = f"CALL sys.import('paimon', '{paimon.path('plain')}', 'plain')"
    assert "ALREADY_EXISTS" in refused(lambda: spark.sql(again))
    for file in Path(paimon.path("plain")).rglob("data-*"):
        file.write_bytes(b"PAR1" + bytes(50))
    damaged = f"CALL sys.import('paimon', '{paimon.path('plain')}', 'no')"
    assert "IMPORT_FAILED" in refused(lambda: spark.sql(damaged))
