"""Goal: files of a folder come into tables once each, and rows go out as whole files once each.

Oracle: plain Spark, which reads and writes the same files.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from fastavro import parse_schema, reader, writer
from pyspark.sql import DataFrame, Row, SparkSession

from table_store import open_table
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_io.object_file_io import ObjectFileIO
from tests.fakes import served_s3
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, stop_jobs, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

COLUMNS = (
    "id BIGINT, name STRING, price DECIMAL(9, 2), day DATE, at TIMESTAMP, ok BOOLEAN, x DOUBLE"
)
ROWS = (
    "SELECT id, IF(id % 7 = 0, NULL, concat('a \"b\", ', id)) AS name, "
    "CAST(id * 1.25 AS DECIMAL(9, 2)) AS price, date_add(DATE'2026-01-01', CAST(id AS INT)) AS "
    "day, TIMESTAMP'2026-01-01 00:00:00.123456' + make_dt_interval(0, id) AS at, id % 2 = 0 AS ok, "
    "id / 8 AS x FROM range({first}, {last})"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("filesystem"), OWN_NAME) as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session


def same(found: DataFrame, expected: DataFrame) -> None:
    """Both have the same rows, each as often."""
    assert found.schema.simpleString() == expected.schema.simpleString()
    assert Counter(map(str, found.collect())) == Counter(map(str, expected.collect()))


def finished(spark: SparkSession, job: str, timeout_s: float = 90) -> Row:
    """The job once it no longer runs."""
    end = time.monotonic() + timeout_s
    while True:
        (row,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if row.state != "RUNNING":
            return row
        assert time.monotonic() < end, row
        time.sleep(0.1)


def write(rows: DataFrame, form: str, folder: Path) -> None:
    """Let plain Spark write files."""
    writer = rows.write.mode("append").format(form)
    if form == "csv":
        writer = writer.option("escape", '"').option("nullValue", "-")
    writer.option("timestampFormat", "yyyy-MM-dd HH:mm:ss.SSSSSS").save(str(folder))


def options(form: str) -> str:
    return f"'format' = '{form}'" + (", 'csv.null-literal' = '-'" if form == "csv" else "")


def read(spark: SparkSession, form: str, folder: Path, schema: str) -> DataFrame:
    """What plain Spark reads."""
    reader = spark.read.format(form).schema(schema).option("escape", '"').option("nullValue", "-")
    return reader.load(str(folder))


@pytest.mark.parametrize("form", ["parquet", "json", "csv"])
def test_a_batch_query_reads_what_spark_has_written(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    rows = spark.sql(ROWS.format(first=0, last=5000))
    write(rows.repartition(3), form, tmp_path / "in")
    write(spark.sql(ROWS.format(first=5000, last=5003)), form, tmp_path / "in" / "more")
    for hidden in ("_temporary", ".staging"):
        write(spark.sql(ROWS.format(first=0, last=9)), form, tmp_path / "in" / hidden)
    spark.sql(
        f"CREATE TABLE in_{form} ({COLUMNS}, twice AS id * 2) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/in', {options(form)})"
    )
    expected = spark.sql(ROWS.format(first=0, last=5003))
    names = ", ".join(rows.columns)
    same(spark.sql(f"SELECT {names} FROM in_{form}"), expected)
    counted = spark.sql(f"SELECT count(*), sum(twice), max(day) FROM in_{form}").collect()[0]
    assert counted[:2] == (5003, 5002 * 5003)
    assert spark.sql(f"SELECT count(*) FROM in_{form}").collect()[0][0] == 5003
    some = f"SELECT name, id FROM in_{form} WHERE id BETWEEN 4998 AND 5001"
    assert sorted(row.id for row in spark.sql(some).collect()) == [4998, 4999, 5000, 5001]
    shown = spark.sql(f"SHOW CREATE TABLE in_{form}").collect()[0][0]
    spark.sql(f"DROP TABLE in_{form}")
    spark.sql(shown)
    same(spark.sql(f"SELECT {names} FROM in_{form}"), expected)


@pytest.mark.parametrize("form", ["parquet", "json", "csv"])
def test_spark_reads_what_inserts_have_written(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    columns = f"{COLUMNS}, part STRING, n INT"
    spark.sql(
        f"CREATE TABLE out_{form} ({columns}) PARTITIONED BY (part, n) WITH ("
        f"'connector' = 'filesystem', 'path' = '{tmp_path}/out', {options(form)}, "
        "'sink.partition-commit.policy.kind' = 'success-file', "
        "'sink.partition-commit.success-file.name' = '_DONE')"
    )
    rows = "SELECT *, IF(id % 3 = 0, NULL, concat('x/', id % 3)) AS part, CAST(id % 2 AS INT) AS n"
    for first, last in ((0, 2000), (2000, 2010)):
        spark.sql(f"INSERT INTO out_{form} {rows} FROM ({ROWS.format(first=first, last=last)})")
    expected = spark.sql(f"{rows} FROM ({ROWS.format(first=0, last=2010)})")
    same(read(spark, form, tmp_path / "out", columns), expected)
    same(spark.sql(f"SELECT * FROM out_{form}"), expected)
    per_day = f"SELECT part, count(*) FROM out_{form} WHERE n = 1 GROUP BY part"
    assert {row.part for row in spark.sql(per_day).collect()} == {None, "x/1", "x/2"}
    folders = {file.parent for file in (tmp_path / "out").rglob("part-*")}
    assert len(folders) == 6
    assert all((folder / "_DONE").read_bytes() == b"" for folder in folders)


def test_files_of_avro_are_read_and_written(spark: SparkSession, tmp_path: Path) -> None:
    """Oracle: `fastavro`, and files with other schemas than the one that follows from columns."""
    columns = "id BIGINT, name STRING, price DECIMAL(9, 2), at TIMESTAMP, tags ARRAY<STRING>"
    table = (
        f"CREATE TABLE {{}} ({columns}, n INT) PARTITIONED BY (n) WITH ('connector' = "
        f"'filesystem', 'path' = '{tmp_path}/avro', 'format' = 'avro', "
        "'avro.timestamp_mapping.legacy' = 'false'"
    )
    spark.sql(table.format("avro_out") + ", 'avro.codec' = 'deflate')")
    spark.sql(table.format("avro_in") + ")")
    rows = (
        "SELECT id, IF(id % 7 = 0, NULL, concat('a', id)) AS name, CAST(id / 4 AS DECIMAL(9, 2)) "
        "AS price, TIMESTAMP'2026-01-01 00:00:00.123456' AS at, array('x', NULL) AS tags, "
        "CAST(id % 2 AS INT) AS n FROM range(1000)"
    )
    spark.sql(f"INSERT INTO avro_out {rows}")
    expected = spark.sql(rows)
    same(spark.sql("SELECT * FROM avro_in"), expected)
    found: dict[int, Any] = {}
    for file in (tmp_path / "avro").rglob("part-*.avro"):
        with file.open("rb") as source:
            read_rows: list[Any] = list(reader(source))
        found.update({row["id"]: row for row in read_rows})
    assert [found[n]["name"] for n in range(1000)] == [row.name for row in expected.collect()]
    assert {str(row["at"]) for row in found.values()} == {"2026-01-01 00:00:00.123456+00:00"}
    schema = {
        "type": "record",
        "name": "other",
        "fields": [{"name": "name", "type": "string"}, {"name": "id", "type": "int"}],
    }
    path = tmp_path / "avro" / "n=7" / "x.avro"
    path.parent.mkdir()
    with path.open("wb") as out:
        writer(out, parse_schema(schema), [{"name": "b", "id": 5000}], codec="bzip2")
    seventh = spark.sql("SELECT * FROM avro_in WHERE n = 7").collect()
    assert [tuple(row) for row in seventh] == [(5000, "b", None, None, None, 7)]
    assert spark.sql("SELECT count(*) FROM avro_in").collect()[0][0] == 1001
    path.write_bytes(path.read_bytes()[:-1])
    assert "ends too early" in refused(spark, "SELECT id FROM avro_in")


def test_a_job_ends_with_the_files_that_are_there(spark: SparkSession, tmp_path: Path) -> None:
    write(spark.sql(ROWS.format(first=0, last=300)), "parquet", tmp_path / "in")
    spark.sql(
        f"CREATE TABLE ended ({COLUMNS}) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/in', 'format' = 'parquet')"
    )
    spark.sql(f"CREATE TABLE ended_sink ({COLUMNS})")
    with streaming(spark, **{"table.dml-sync": "true"}):
        spark.sql("INSERT INTO ended_sink SELECT * FROM ended").collect()
    expected = read(spark, "parquet", tmp_path / "in", COLUMNS)
    same(spark.sql("SELECT * FROM ended_sink"), expected)


def test_jobs_take_new_files_once_each(spark: SparkSession, tmp_path: Path) -> None:
    """Two jobs from a partitioned folder: a table, and another folder, which has the same rows."""
    columns = "id BIGINT, name STRING, day DATE, n INT"
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    made = "'connector' = 'filesystem', 'format' = 'json'"
    spark.sql(
        f"CREATE TABLE days ({columns}) PARTITIONED BY (day, n) WITH ({made}, "
        f"'path' = '{source}', 'source.monitor-interval' = '1 ms')"
    )
    spark.sql(f"CREATE TABLE days_kept ({columns})")
    spark.sql(
        f"CREATE TABLE days_out ({columns}) PARTITIONED BY (n) WITH ({made}, 'path' = '{target}', "
        "'sink.partition-commit.policy.kind' = 'success-file')"
    )
    with streaming(spark):
        for sink in ("days_kept", "days_out"):
            spark.sql(f"INSERT INTO {sink} SELECT * FROM days WHERE id % 10 <> 3")
    flush(spark)
    assert spark.sql("SELECT * FROM days_kept").collect() == []
    rows = (
        "SELECT id, concat('n', id) AS name, date_add(DATE'2026-01-01', CAST(id % 3 AS INT)) AS "
        "day, CAST(id % 2 AS INT) AS n FROM range({first}, {last})"
    )
    for first in range(0, 90, 30):
        added = spark.sql(rows.format(first=first, last=first + 30))
        added.write.mode("append").partitionBy("day", "n").json(str(source))
        flush(spark)
        flush(spark)  # nothing comes twice
        expected = read(spark, "json", source, columns).where("id % 10 <> 3")
        assert expected.count() == (first + 30) * 9 // 10
        same(spark.sql("SELECT * FROM days_kept"), expected)
        same(read(spark, "json", target, columns), expected.select("id", "name", "day", "n"))
    assert {path.parent.name for path in target.rglob("_SUCCESS")} == {"n=0", "n=1"}
    # Files whose rows are in may go; who begins later gets what is left.
    gone = sorted(source.rglob("part-*.json"))[:5]
    for path in gone:
        path.unlink()
    left = read(spark, "json", source, columns)
    spark.sql(f"CREATE TABLE days_late ({columns})")
    with streaming(spark):
        spark.sql("INSERT INTO days_late SELECT * FROM days")
    flush(spark)
    same(spark.sql("SELECT * FROM days_late"), left)
    assert spark.sql("SELECT count(*) FROM days_kept").collect()[0][0] == 81


def test_files_that_are_no_rows_or_change_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Until somebody puts them aside."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "1.csv").write_text("1,a\n2,b\n")
    spark.sql(
        "CREATE TABLE changing (id INT, name STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{source}', 'format' = 'csv', 'source.monitor-interval' = '1 ms')"
    )
    spark.sql("CREATE TABLE changing_sink (id INT, name STRING)")

    statement = "INSERT INTO changing_sink SELECT * FROM changing"

    def follow() -> None:
        with streaming(spark):
            spark.sql(statement)
        flush(spark)

    def failure() -> str:
        """Why the job does not go on; it is stopped then."""
        with streaming(spark):
            spark.sql(statement)
        error = refused(spark, "CALL sys.flush()")
        stop_jobs(spark)
        return error

    follow()
    stop_jobs(spark)
    (source / ".1.csv").write_text("1,a\n2,b\n3,c\n")
    (source / ".1.csv").rename(source / "1.csv")
    with streaming(spark):
        error = refused(spark, statement)
    assert "[TABLE_STORE_SOURCE_FILE_CHANGED]" in error
    assert f"{source}/1.csv" in error
    (source / "1.csv").rename(source / "_1.csv")
    for name, line in (("3", "3,c"), ("4", "four,d"), ("5", "5,e")):
        (source / f"{name}.csv").write_text(f"{line}\n")
    error = failure()
    assert "[TABLE_STORE_UNREADABLE_SOURCE_FILE]" in error
    assert f"{source}/4.csv" in error
    (source / "4.csv").rename(source / "_4.csv")
    (source / "5.csv").rename(tmp_path / "5.csv")
    assert "5.csv' was taken for its rows, and was deleted since" in failure()
    (tmp_path / "5.csv").rename(source / "5.csv")
    follow()
    found = spark.sql("SELECT * FROM changing_sink ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "a"), (2, "b"), (3, "c"), (5, "e")]


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    made = f"'connector' = 'filesystem', 'path' = '{tmp_path}/x'"
    elsewhere = "'connector' = 'filesystem', 'format' = 'json', 'path'"
    for columns, with_options, reason in (
        ("id INT", "'connector' = 'filesystem', 'format' = 'json'", "Option 'path'"),
        ("id INT", "'connector' = 'filesystem', 'format' = 'json', 'path' = 'x'", "not absolute"),
        ("id INT", made, "Option 'format'"),
        ("id INT", f"{elsewhere} = 's3:///x'", "names no bucket"),
        ("id INT", f"{elsewhere} = 's3://b/../x'", "climbs"),
        ("id INT", f"{elsewhere} = 'hdfs://b/x'", "scheme 'hdfs' is not supported"),
        ("id INT", f"{elsewhere} = 'memory://b/x'", "memory of one process"),
        ("id INT", f"{made}, 'format' = 'raw'", "files have 'parquet', 'avro', 'json', 'csv'"),
        ("id INT", f"{made}, 'format' = 'json', 'csv.null-literal' = '-'", "of the format 'csv'"),
        ("id INT", f"{made}, 'format' = 'json', 'paht' = '-'", "Did you mean 'path'?"),
        ("v VARIANT", f"{made}, 'format' = 'parquet'", "Type VARIANT"),
        ("id INT", f"{made}, 'format' = 'avro', 'dead-letter.table' = 'a.b'", "has no lines"),
        ("id INT", f"{made}, 'format' = 'csv', 'dead-letter.table' = 'b'", "with its namespace"),
        (
            "id INT",
            f"{made}, 'format' = 'csv', 'dead-letter.table' = 'DEFAULT.Bad'",
            "table itself",
        ),
        ("id INT", f"{made}, 'format' = 'csv', 'dead-letter.table' = 'no.b'", "namespace does not"),
        ("id INT", f"{elsewhere} = 's3://[b/x'", "it is no URI"),
    ):
        assert reason in refused(spark, f"CREATE TABLE bad ({columns}) WITH ({with_options})")
    assert not spark.catalog.tableExists("bad")
    spark.sql(f"CREATE TABLE absent (id INT) WITH ({made}, 'format' = 'json')")
    assert "[TABLE_STORE_SOURCE_FOLDER_NOT_FOUND]" in refused(spark, "SELECT * FROM absent")
    (tmp_path / "x").mkdir()
    assert spark.sql("SELECT * FROM absent").collect() == []
    (tmp_path / "x" / "bad.json").write_text('{"id": 1}\n\n{"id": "two"}\n')
    error = refused(spark, "SELECT * FROM absent")
    assert "[TABLE_STORE_UNREADABLE_SOURCE_FILE]" in error
    assert "line 2" in error
    spark.sql(
        f"CREATE TABLE lenient (id INT) WITH ({made}, 'format' = 'json', "
        "'json.ignore-parse-errors' = 'true')"
    )
    assert spark.sql("SELECT * FROM lenient").collect() == [Row(id=1)]
    spark.sql(
        f"CREATE TABLE watchful (id INT) WITH ({made}, 'format' = 'json', "
        "'dead-letter.table' = 'default.bad_lines')"
    )
    for _ in range(2):
        assert spark.sql("SELECT * FROM watchful").collect() == [Row(id=1)]
        (letter,) = spark.sql("SELECT * FROM bad_lines").collect()
        assert letter.path.endswith("/x/bad.json")
        assert (letter.line, letter.value) == (2, b'{"id": "two"}')
        assert "string" in letter.reason
    for statement in ("DELETE FROM absent", "UPDATE absent SET id = 1", "TRUNCATE TABLE absent"):
        assert "[TABLE_STORE_EXTERNAL_TABLE]" in refused(spark, statement)
    spark.sql("CREATE TABLE keyed (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    with streaming(spark):
        for query in ("SELECT id FROM keyed", "SELECT CAST(count(*) AS INT) FROM keyed"):
            error = refused(spark, f"INSERT INTO absent {query}")
            assert "has the connector 'filesystem' and takes only new rows" in error


def test_partitions_that_a_query_leaves_out_are_not_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What is in one of them is no rows, and harms nobody who does not ask for it."""
    for day, text in (
        ("2026-01-01", '{"id": 1}'),
        ("2026-01-02", "{"),
        ("2026-01-03", '{"id": 3}'),
    ):
        folder = tmp_path / f"day={day}" / "shop=a%2Fb"
        folder.mkdir(parents=True)
        (folder / "1.json").write_text(text)
    spark.sql(
        "CREATE TABLE pruned (id INT, day DATE, shop STRING, late AS id > 2) PARTITIONED BY (day, "
        f"shop) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    )
    for condition, ids in (
        ("day = DATE'2026-01-01'", [1]),
        ("day <> DATE'2026-01-02' AND NOT late", [1]),
        ("day IN (DATE'2026-01-01', DATE'2026-01-03') AND shop = 'a/b'", [1, 3]),
        ("shop = 'c'", []),
        ("date_format(day, 'dd') = '03' AND day > DATE'2026-01-02'", [3]),
    ):
        found = spark.sql(f"SELECT id FROM pruned WHERE {condition} ORDER BY id").collect()
        assert [row.id for row in found] == ids, condition
    bad = "[TABLE_STORE_UNREADABLE_SOURCE_FILE]"
    for condition in ("shop = 'a/b'", "late OR day = DATE'2026-01-01'"):
        assert bad in refused(spark, f"SELECT id FROM pruned WHERE {condition}")
    spark.sql("CREATE TABLE pruned_sink (id INT, day DATE)")
    with streaming(spark, **{"table.dml-sync": "true"}):
        spark.sql(
            "INSERT INTO pruned_sink SELECT id, day FROM pruned WHERE day > DATE'2026-01-02'"
        ).collect()
    assert [row.id for row in spark.sql("SELECT id FROM pruned_sink").collect()] == [3]


SCRIPT = """
CREATE TABLE IF NOT EXISTS kept (id BIGINT, n INT);
CREATE TABLE IF NOT EXISTS out (id BIGINT, n INT) PARTITIONED BY (n) WITH (
  'connector' = 'filesystem', 'path' = '{root}/out', 'format' = 'json');
CREATE TEMPORARY TABLE numbers (id BIGINT, n INT) WITH ('connector' = 'filesystem',
  'path' = '{root}/in', 'format' = 'json', 'source.monitor-interval' = '1 ms');
SET 'execution.checkpointing.interval' = '200 ms';
EXECUTE STATEMENT SET BEGIN
  INSERT INTO kept SELECT id, n FROM numbers;
  INSERT INTO out SELECT id, n FROM numbers;
END;
"""
KILLED_FILES, FILE_ROWS = 60, 50


@dataclass(frozen=True, slots=True)
class Exchange:
    """A folder with files that somebody else writes, and an environment that leads to it."""

    root: str
    file_io: FileIO
    environment: dict[str, str] = field(default_factory=dict)

    def give(self, numbers: Iterable[int]) -> None:
        """Put whole files there, each under its name at once."""
        for number in numbers:
            rows = range(number * FILE_ROWS, (number + 1) * FILE_ROWS)
            lines = [json.dumps({"id": row, "n": row % 2}) for row in rows]
            self.file_io.write_bytes(f"{self.root}/in/{number}.json", "\n".join(lines).encode())

    def written_ids(self) -> list[int]:
        """What a job has written; files are whole, or not there."""
        paths = [
            status.path
            for folder in ("n=0", "n=1")
            for status in self.file_io.list(f"{self.root}/out/{folder}")
            if status.name.startswith("part-")
        ]
        files = map(self.file_io.read_bytes, paths)
        return [json.loads(line)["id"] for file in files for line in file.splitlines()]


def local(folder: Path) -> Exchange:
    (folder / "in").mkdir()
    return Exchange(str(folder), LocalFileIO(str(folder)))


def objects(folder: Path) -> Exchange:
    options = served_s3.start()
    root = f"s3://{served_s3.BUCKET}/{folder.name}"
    environment = {f"AWS_{name.upper()}": value for name, value in options}
    return Exchange(root, ObjectFileIO(root, options), environment)


@pytest.mark.parametrize(
    "made", [local, pytest.param(objects, marks=pytest.mark.object_store)], ids=["local", "objects"]
)
def test_each_file_comes_in_and_goes_out_once_whatever_is_killed(
    tmp_path: Path, made: Callable[[Path], Exchange]
) -> None:
    """Planner and driver, in the middle of epochs, while files come."""
    exchange = made(tmp_path)
    text = SCRIPT.format(root=exchange.root)
    numbers = iter(range(KILLED_FILES))
    with JobScript(tmp_path, text, "killed", environment=exchange.environment) as script:
        exchange.give(islice(numbers, 20))
        first = script.wait_for_commit("kept")
        exchange.give(islice(numbers, 10))
        os.kill(script.planner(), signal.SIGKILL)
        exchange.give(islice(numbers, 10))
        script.wait_for_commit("kept", after=first)
        exchange.give(islice(numbers, 10))
        os.kill(script.process.pid, signal.SIGKILL)
        script.process.wait(60)
    exchange.give(numbers)
    kept = str(tmp_path / "spark-warehouse" / "default.db" / "kept")
    count = KILLED_FILES * FILE_ROWS
    with JobScript(tmp_path, text, "last", environment=exchange.environment) as script:
        end = time.monotonic() + 180
        while len(exchange.written_ids()) < count or len(kept_ids(kept)) < count:
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, script.errors
            time.sleep(0.3)
        assert script.end(signal.SIGTERM) == 0, script.errors
    assert sorted(exchange.written_ids()) == list(range(count))
    assert sorted(kept_ids(kept)) == list(range(count))


def kept_ids(path: str) -> list[int]:
    return list(open_table(path).scan(columns=["id"]).to_arrow().column(0).to_pylist())
