"""Goal: tables of other formats come in whole, and versions go out whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import refused, spark_session

pytestmark = pytest.mark.spark

COLUMNS = (
    "id",
    "id % 3 AS k",
    "CAST(id AS DECIMAL(10,2)) AS d",
    "named_struct('a', id, 'b', array(id)) AS s",
    "if(id % 5 = 0, NULL, concat('v', id)) AS v",
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("transfer"), OWN_NAME) as session:
        yield session


def rows(spark: SparkSession, query: str) -> list[str]:
    return sorted(map(str, spark.sql(query).collect()))


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_import(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    folder = f"{tmp_path}/source"
    frame = spark.range(100).selectExpr(*COLUMNS)
    vectors = ("delta.enableDeletionVectors", "true")
    frame.write.partitionBy("k").format(kind).option(*vectors).save(folder)
    if kind == "delta":  # rows that deletion vectors hide must not come back
        DeltaTable.forPath(spark, folder).delete("id % 7 = 0")
    source = spark.read.format(kind).load(folder)
    expected = sorted(map(str, source.collect()))
    done = spark.sql(
        f"CALL sys.import(format => '{kind}', path => '{folder}', table => 'of_{kind}', "
        "primary_key => 'k,id', partitioned_by => 'k')"
    ).first()
    assert done is not None
    assert done.rows == len(expected)
    assert rows(spark, f"SELECT {', '.join(source.columns)} FROM of_{kind}") == expected
    created = str(spark.sql(f"SHOW CREATE TABLE of_{kind}").first())
    assert "PARTITIONED BY (k)" in created
    assert "PRIMARY KEY" in created
    with pytest.raises(PySparkException, match="TABLE_STORE_ALREADY_EXISTS"):
        spark.sql(f"CALL sys.import('{kind}', '{folder}', 'of_{kind}')")


def test_an_import_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder = f"{tmp_path}/twice"
    spark.range(10).selectExpr("id % 9 AS id", "id AS n", "nullif(id, 3) AS v").write.parquet(
        folder
    )
    clash, junk = f"{tmp_path}/clash", tmp_path / "junk"
    for value in ("1", "'x'"):
        spark.sql(f"SELECT {value} AS id").write.mode("append").parquet(clash)
    junk.mkdir()
    Path(junk, "a.parquet").write_text("no such thing")
    for call, condition in (
        (f"'parquet', '{folder}', 'failed', primary_key => 'id'", "DUPLICATE_IMPORTED_KEY"),
        (f"'parquet', '{folder}', 'failed', primary_key => 'nothing'", "INVALID_SCHEMA"),
        (f"'parquet', '{folder}', 'failed', primary_key => 'n,v'", "NULL in column 'v'"),
        (f"'parquet', '{clash}', 'failed'", "IMPORT_FAILED.*Parquet column .id"),
        (f"'parquet', '{junk}', 'failed'", "IMPORT_FAILED.*a.parquet"),
        (f"'parquet', '{tmp_path}/absent', 'failed'", "PATH_NOT_FOUND"),
        (f"'delta', '{folder}', 'failed'", "DELTA"),
        (f"'orc', '{folder}', 'failed'", "INVALID_OPTION"),
    ):
        with pytest.raises(PySparkException, match=condition):
            spark.sql(f"CALL sys.import({call})").collect()
        assert not spark.catalog.tableExists("failed"), call


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_export(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    table, folder = f"out_{kind}", f"{tmp_path}/out"
    spark.sql(
        f"CREATE TABLE {table} (k INT, id INT, v STRING, PRIMARY KEY (k, id) NOT ENFORCED) "
        "PARTITIONED BY (k)"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 3, 'c')")
    spark.sql(f"UPDATE {table} SET v = 'z' WHERE id = 2")
    spark.sql(f"CALL sys.create_tag('{table}', 'kept')")
    spark.sql(f"DELETE FROM {table} WHERE k = 1")
    spark.sql(
        f"CALL sys.expire_snapshots(table => '{table}', retain_max => 1, "
        "retain_min => 1, older_than => '2999-01-01')"
    )
    kept = [(1, 1, "a"), (1, 2, "z"), (2, 3, "c")]
    done = spark.sql(f"CALL sys.export('{table}', '{kind}', '{folder}', 'kept')").first()
    assert done is not None
    assert (done.snapshot_id, done.rows) == (2, 3)
    read = spark.read.format(kind).load(folder).select("k", "id", "v")
    assert sorted(map(tuple, read.collect())) == kept
    manifest = json.loads(Path(folder, "_MANIFEST.json").read_text())
    listed = [f"{folder}/{file['path']}" for file in manifest["files"]]
    assert (len(listed), manifest["rows"], manifest["primaryKey"]) == (done.files, 3, ["k", "id"])
    assert sum(pq.read_metadata(file).num_rows for file in listed) == 3
    assert all(
        Path(f).stat().st_size == m["bytes"] for f, m in zip(listed, manifest["files"], strict=True)
    )
    if kind == "parquet":
        found = duckdb.read_parquet(listed, hive_partitioning=True).select("k, id, v").fetchall()
        assert sorted((int(k), i, v) for k, i, v in found) == kept
    with pytest.raises(PySparkException, match="EXISTS"):
        spark.sql(f"CALL sys.export('{table}', '{kind}', '{folder}')")
    spark.sql(f"CALL sys.export('{table}', '{kind}', '{folder}2')")
    assert spark.read.format(kind).load(f"{folder}2").count() == 1


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_partition_that_would_be_read_as_null_is_not_exported(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    table, folder = f"taken_{kind}", f"{tmp_path}/out"
    spark.sql(f"CREATE TABLE {table} (id INT, p STRING) PARTITIONED BY (p)")
    for value in ("", "__HIVE_DEFAULT_PARTITION__"):
        spark.sql(f"INSERT INTO {table} VALUES (1, '{value}'), (2, NULL), (3, 'a')")
        said = refused(spark, f"CALL sys.export('{table}', '{kind}', '{folder}')")
        assert "TABLE_STORE_INVALID_OPTION" in said
        assert f"partition column 'p' has the value '{value}'" in said
        assert not Path(folder).exists()
        spark.sql(f"DELETE FROM {table} WHERE p = '{value}'")
    spark.sql(f"CALL sys.export('{table}', '{kind}', '{folder}')")
    read = spark.read.format(kind).load(folder).select("p")
    assert sorted(map(str, read.distinct().collect())) == ["Row(p='a')", "Row(p=None)"]


@pytest.mark.parametrize("kind", ["parquet", "delta"])
@pytest.mark.parametrize(
    ("data_type", "kept", "lost"),
    [
        ("BINARY", "X'C3A9'", "X'E9'"),
        ("BINARY", "X'C3A9'", "X''"),
        # In Berlin it is half past two twice.
        ("TIMESTAMP", "TIMESTAMP'2025-10-26 00:30:00Z'", "TIMESTAMP'2025-10-26 01:30:00Z'"),
    ],
)
def test_a_partition_that_has_no_text_of_its_own_is_not_exported(
    kind: str, data_type: str, kept: str, lost: str, spark: SparkSession, tmp_path: Path
) -> None:
    folder = f"{tmp_path}/out"
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        spark.sql(f"CREATE TABLE lossy (id INT, p {data_type}) PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO lossy VALUES (1, {kept}), (2, {lost}), (3, NULL)")
        said = refused(spark, f"CALL sys.export('lossy', '{kind}', '{folder}')")
        assert "partition column 'p' has the value" in said
        assert not Path(folder).exists()
        spark.sql("DELETE FROM lossy WHERE id = 2")
        spark.sql(f"CALL sys.export('lossy', '{kind}', '{folder}')")
        if kind == "delta":
            read = spark.read.format(kind).load(folder).select("id", "p")
            assert sorted(map(str, read.collect())) == rows(spark, "SELECT * FROM lossy")
    finally:
        spark.sql("DROP TABLE lossy")
        spark.conf.unset("spark.sql.session.timeZone")


def test_an_export_comes_back_with_its_types(spark: SparkSession, tmp_path: Path) -> None:
    folder = f"{tmp_path}/out"
    spark.sql("CREATE TABLE typed (id INT, p STRING, t TIMESTAMP) PARTITIONED BY (p, t)")
    spark.sql("INSERT INTO typed VALUES (1, '1', now()), (2, '01', NULL), (3, NULL, NULL)")
    expected = rows(spark, "SELECT id, p, unix_micros(t) FROM typed")
    spark.sql("SET TIME ZONE 'Asia/Tokyo'")
    spark.sql(f"CALL sys.export('typed', 'parquet', '{folder}')")
    spark.sql("RESET spark.sql.session.timeZone")
    done = spark.sql(
        f"CALL sys.import('parquet', '{folder}', 'typed_again', partitioned_by => 'p, t')"
    ).first()
    assert done is not None
    assert done.rows == 3
    assert spark.table("typed_again").schema["p"].dataType.simpleString() == "string"
    assert rows(spark, "SELECT id, p, unix_micros(t) FROM typed_again") == expected
    manifest = Path(folder, "_MANIFEST.json")
    manifest.write_text(manifest.read_text().replace("string", "binary", 1))
    said = refused(spark, f"CALL sys.import('parquet', '{folder}', 'typed_damaged')")
    assert "TABLE_STORE_CORRUPT_FILE" in said
    manifest.unlink()  # Spark's own guesses
    spark.sql(f"CALL sys.import('parquet', '{folder}', 'untyped')")
    assert rows(spark, "SELECT p FROM untyped WHERE id < 3") == ["Row(p=1)", "Row(p=1)"]


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_table_without_rows(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    table, folder = f"empty_{kind}", f"{tmp_path}/out"
    spark.sql(f"CREATE TABLE {table} (id INT, p STRING) PARTITIONED BY (p)")
    done = spark.sql(f"CALL sys.export('{table}', '{kind}', '{folder}')").first()
    assert done is not None
    assert (done.snapshot_id, done.rows) == (0, 0)
    spark.sql(f"CALL sys.import('{kind}', '{folder}', '{table}_again')")
    assert spark.table(f"{table}_again").schema == spark.table(table).schema


def test_an_export_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE torn (id INT, p INT) PARTITIONED BY (p)")
    spark.sql("INSERT INTO torn VALUES (1, 1), (2, 2)")
    files = spark.sql("SELECT file_path FROM `torn$files`").collect()
    (location,) = {Path(file[0]).parents[2] for file in files}
    for folder in ("relative", f"{location}/out", f"{location.parents[1]}/out"):
        said = refused(spark, f"CALL sys.export('torn', 'parquet', '{folder}')")
        assert "TABLE_STORE_PATH_NOT_ALLOWED" in said
        assert not Path(folder).exists()
    own = tmp_path / "own"
    own.mkdir()
    said = refused(spark, f"CALL sys.export('torn', 'delta', '{own}')")
    assert "TABLE_STORE_ALREADY_EXISTS" in said
    assert own.exists()
    next(location.rglob("p=2/**/*.parquet")).unlink()
    for kind in ("parquet", "delta"):
        said = refused(spark, f"CALL sys.export('torn', '{kind}', '{tmp_path}/{kind}')")
        assert "TABLE_STORE_MISSING_FILE" in said
        assert [*tmp_path.iterdir()] == [own]


def test_tags(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE tagged (id INT)")
    with pytest.raises(PySparkException, match="TABLE_STORE_NOT_FOUND"):
        spark.sql("CALL sys.create_tag('tagged', 'a')")
    spark.sql("INSERT INTO tagged VALUES (1)")
    spark.sql("CALL sys.create_tag('tagged', 'a')")
    spark.sql("INSERT INTO tagged VALUES (2)")
    spark.sql(
        "CALL sys.expire_snapshots(table => 'tagged', retain_max => 1, "
        "retain_min => 1, older_than => '2999-01-01')"
    )
    assert rows(spark, "SELECT * FROM tagged VERSION AS OF 'a'") == ["Row(id=1)"]
    assert rows(spark, "SELECT * FROM tagged VERSION AS OF 1") == ["Row(id=1)"]
    assert rows(spark, "SELECT count(*) AS n FROM tagged VERSION AS OF 'a'") == ["Row(n=1)"]
    assert rows(spark, "SELECT tag_name, snapshot_id FROM `tagged$tags`") == [
        "Row(tag_name='a', snapshot_id=1)"
    ]
    spark.sql("CALL sys.delete_tag('tagged', 'a')")
    with pytest.raises(PySparkException, match="TABLE_STORE_NOT_FOUND"):
        spark.sql("SELECT * FROM tagged VERSION AS OF 'a'")
