"""Goal: INSERTs into `print` and `blackhole` bring out exactly what a query's result changes by.

Oracle: the printed changes, replayed onto an empty bag, against Spark's own result of the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("sinks"), OWN_NAME) as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session


class Printed:
    """What the driver prints while its standard output leads into a file."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.path = path
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "it is no session of Connect"
        self.java = jvm.java
        self.before = self.java.lang.System.out

    def __enter__(self) -> Printed:
        stream = self.java.io.PrintStream(str(self.path))
        self.java.lang.System.setOut(stream)
        return self

    def __exit__(self, *_: object) -> None:
        self.java.lang.System.setOut(self.before)

    def changes(self, identifier: str) -> list[str]:
        start = f"{identifier}> "
        lines = self.path.read_text().splitlines()
        return [line.removeprefix(start) for line in lines if line.startswith(start)]

    def replayed(self, identifier: str) -> Counter[str]:
        """The rows that are there after all changes; none may go that was not there."""
        bag: Counter[str] = Counter()
        for change in self.changes(identifier):
            match = re.fullmatch(r"([+-])[IUD]\[(.*)\]", change)
            assert match is not None, change
            bag[match[2]] += 1 if match[1] == "+" else -1
        assert min(bag.values(), default=0) >= 0, bag
        return +bag


def path_of(spark: SparkSession, table: str) -> str:
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
    return f"{warehouse}/default.db/{table}"


def test_printed_changes_add_up_to_the_result(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE sold (item STRING, amount INT)")
    spark.sql("INSERT INTO sold VALUES ('tea', 1), ('rice', 2)")
    keyed = "(item STRING, total BIGINT, PRIMARY KEY (item) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE keyed {keyed} WITH ('connector' = 'print', 'print-identifier' = 'k')")
    spark.sql(
        "CREATE TEMPORARY TABLE bag (item STRING, total BIGINT, twice AS total * 2) "
        "WITH ('connector' = 'print', 'print-identifier' = 'b')"
    )
    query = "SELECT item, sum(amount) AS total FROM sold GROUP BY item"
    with Printed(spark, tmp_path / "out") as printed:
        with streaming(spark):
            for sink in ("keyed", "bag"):
                spark.sql(f"INSERT INTO {sink} {query}")
        flush(spark)
        first = ["+I[rice, 2]", "+I[tea, 1]"]
        assert sorted(printed.changes("k")) == sorted(printed.changes("b")) == first
        spark.sql("INSERT INTO sold VALUES ('tea', 10), ('salt', 5)")
        spark.sql("DELETE FROM sold WHERE item = 'rice'")
        flush(spark)
        expected = Counter(f"{row.item}, {row.total}" for row in spark.sql(query).collect())
        assert printed.replayed("k") == printed.replayed("b") == expected
        keyed_changes = printed.changes("k")[2:]
        at = keyed_changes.index("-U[tea, 1]")
        assert keyed_changes[at + 1] == "+U[tea, 11]"
        assert "-D[rice, 2]" in keyed_changes
        for job in spark.sql("SHOW JOBS").collect():
            spark.sql(f"STOP JOB '{job.job}'")
        spark.sql("INSERT INTO sold VALUES ('salt', 1)")
        with streaming(spark):  # the job resumes, and prints nothing again
            spark.sql(f"INSERT INTO keyed {query}")
        flush(spark)
        assert printed.changes("k")[2 + len(keyed_changes) :] == ["-U[salt, 5]", "+U[salt, 6]"]


def test_a_batch_insert_is_out_when_it_ends(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        "CREATE TABLE shown (id INT, name STRING) WITH ('connector' = 'print', "
        "'print-identifier' = 's')"
    )
    with Printed(spark, tmp_path / "out") as printed:
        spark.sql("INSERT INTO shown VALUES (1, 'a'), (2, NULL)")
        assert sorted(printed.changes("s")) == ["+I[1, a]", "+I[2, null]"]
        spark.sql("INSERT INTO shown BY NAME SELECT 3 AS id")
        assert printed.changes("s")[2:] == ["+I[3, null]"]
        PositionFile(LocalFileIO(), path_of(spark, "shown")).write(LogPosition(snapshot_id=1))
        (relayed,) = spark.sql("CALL sys.relay_log(table => 'shown')").collect()
        assert relayed[0] == 2
        assert printed.changes("s")[3:] == ["+I[3, null]"]


def test_a_black_hole_keeps_nothing(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE hole (id BIGINT) WITH ('connector' = 'blackhole')")
    spark.sql("INSERT INTO hole SELECT id FROM range(150000)")
    latest = FileStoreTable.open(path_of(spark, "hole")).latest_snapshot()
    assert latest is not None
    assert latest.total_record_count == 0


def test_what_cannot_be_read_is_described(spark: SparkSession) -> None:
    """Spark asks for statistics, too, of a table that only takes rows, or never ends."""
    for connector in ("print", "datagen"):
        spark.sql(f"CREATE TABLE of_{connector} (id INT) WITH ('connector' = '{connector}')")
        told = {row.col_name for row in spark.sql(f"DESCRIBE EXTENDED of_{connector}").collect()}
        assert "id" in told
        assert "Statistics" not in told


def test_what_is_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE target (id INT)")
    spark.sql("CREATE TABLE only_out (id INT) WITH ('connector' = 'print')")
    for statement, operation in (
        ("SELECT * FROM only_out", "SELECT"),
        ("SELECT count(*) FROM only_out", "SELECT"),
        ("INSERT INTO target SELECT * FROM only_out", "SELECT"),
        ("INSERT OVERWRITE only_out VALUES (1)", "DELETE/INSERT"),
        ("UPDATE only_out SET id = 1", "UPDATE"),
        ("DELETE FROM only_out", "DELETE"),
        ("TRUNCATE TABLE only_out", "TRUNCATE"),
        ("ALTER TABLE only_out ADD COLUMN y INT", "ALTER of columns"),
    ):
        error = refused(spark, statement)
        assert f"[TABLE_STORE_EXTERNAL_TABLE] {operation} does not work on" in error
    with streaming(spark):
        error = refused(spark, "INSERT INTO target SELECT id FROM only_out")
    assert "[TABLE_STORE_EXTERNAL_TABLE] SELECT does not work on" in error
    unknown = "CREATE TABLE bad (id INT) WITH ('connector' = 'print', 'print-identifer' = 'x')"
    assert "'print-identifier'" in refused(spark, unknown)
    other = "CREATE TABLE bad (id INT) WITH ('connector' = 'blackhole', 'print-identifier' = 'x')"
    assert "does not take it" in refused(spark, other)
