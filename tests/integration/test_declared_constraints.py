"""Goal: no writer gets a row into a table that breaks its CHECK or NOT NULL, and each other row in.

Oracle: the same condition, evaluated by plain Spark over the same random rows.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from table_store import connect, open_table
from table_store.client.declared_rules import DeclaredRules
from table_store.client.errors import CheckViolationError, UnsupportedExpressionError
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.kernel.errors import InvalidSchemaError
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming

pytestmark = pytest.mark.spark

CONDITIONS = [
    "v > 0",
    "v IS NOT NULL AND length(s) BETWEEN 1 AND 3",
    "s = 'a' OR v % 2 = 0 OR k < 5",
    "NOT (p.x > v)",
    "coalesce(v, -1) <> 3",
    "twice < 8 OR twice IS NULL",
]
COLUMNS = "k INT, v INT, s STRING, p STRUCT<x: INT>"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("constraints"), OWN_NAME) as session:
        yield session


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession) -> Warehouse:
    return connect(str(spark.conf.get("spark.sql.warehouse.dir")))


def refused(action: Callable[[], object]) -> str:
    with unlogged_errors(), pytest.raises(PySparkException) as error:
        action()
    return str(error.value)


def run(spark: SparkSession, sql: str) -> Callable[[], object]:
    return lambda: spark.sql(sql).collect()


def some_rows(spark: SparkSession) -> DataFrame:
    chance = random.Random(7)

    def or_null(value: object) -> object:
        return None if chance.random() < 0.2 else value

    rows = [
        (k, or_null(chance.randint(-3, 6)), or_null(chance.choice(["", "a", "abcd"])), (k % 4,))
        for k in range(40)
    ]
    return spark.createDataFrame(rows, COLUMNS)


def test_a_row_is_in_if_and_only_if_plain_spark_says_so(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    """Through Spark all good rows come together; through plain Python each row is judged alone."""
    rows = some_rows(spark)
    rows.createOrReplaceTempView("some_rows")
    given = rows.toArrow().combine_chunks().to_batches()[0]
    for number, condition in enumerate(CONDITIONS):
        name = f"judged_{number}"
        spark.sql(
            f"CREATE TABLE {name} ({COLUMNS}, twice INT GENERATED ALWAYS AS (v * 2), "
            f"CONSTRAINT c CHECK ({condition}))"
        )
        known = rows.selectExpr("*", "v * 2 AS twice").selectExpr("k", f"({condition}) AS good")
        bad = {row.k for row in known.collect() if row.good is False}
        assert 0 < len(bad) < 40, "the rows say nothing about the condition"
        said = refused(run(spark, f"INSERT INTO {name} SELECT * FROM some_rows"))
        assert "[CHECK_CONSTRAINT_VIOLATION] CHECK constraint c" in said
        assert "SQLSTATE: 23001" in said
        listed = ", ".join(map(str, bad))
        spark.sql(f"INSERT INTO {name} SELECT * FROM some_rows WHERE k NOT IN ({listed})")
        table = warehouse.open(name)
        assert table.scan().to_arrow().num_rows == 40 - len(bad)
        if "p.x" in condition:  # fields of structs are Spark's alone
            with pytest.raises(UnsupportedExpressionError, match="of constraint 'c'"):
                table.append(given)
            continue
        with pytest.raises(CheckViolationError, match="Constraint 'c' demands"):
            table.append(given)
        assert {at for at in range(40) if is_refused(table, given.slice(at, 1))} == bad, condition


def is_refused(table: Table, row: pa.RecordBatch) -> bool:
    try:
        DeclaredRules(table.schema).complete(row)
    except CheckViolationError:
        return True
    return False


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (k) NOT ENFORCED"])
def test_every_statement_is_checked_and_deletes_are_not(spark: SparkSession, key: str) -> None:
    spark.sql("DROP TABLE IF EXISTS stated")
    spark.sql(
        "CREATE TABLE stated (k INT, v INT, twice INT GENERATED ALWAYS AS (v * 2), "
        f"CONSTRAINT positive CHECK (v > 0 AND v IS NOT NULL), CHECK (twice < 20){key})"
    )
    spark.sql("INSERT INTO stated VALUES (1, 1), (2, 2), (3, 3)")
    source = "(SELECT id AS k, id - 1 AS v FROM range(6)) s ON t.k = s.k"
    set_v = "WHEN MATCHED THEN UPDATE SET v = s.v"
    insert = "WHEN NOT MATCHED THEN INSERT (k, v)"
    upsert = f"WHEN MATCHED THEN UPDATE SET k = s.k, v = s.v {insert} VALUES (s.k, s.v)"
    broken = [
        "INSERT INTO stated VALUES (4, -1)",
        "INSERT INTO stated VALUES (4, 10)",
        "INSERT INTO stated (k) VALUES (4)",
        "INSERT INTO stated SELECT id, id - 50 FROM range(0, 100, 1, 4)",
        "INSERT OVERWRITE stated VALUES (1, 0)",
        "INSERT INTO stated REPLACE WHERE k = 1 VALUES (1, 0)",
        "UPDATE stated SET v = v - 2",
        "UPDATE stated SET v = NULL WHERE k = 1",
        f"MERGE INTO stated t USING {source} {set_v} {insert} VALUES (s.k, s.v)",
        f"MERGE INTO stated t USING (SELECT 1 AS k, 0 AS v) s ON t.k = s.k {upsert}",
        f"MERGE INTO stated t USING {source} {insert} VALUES (s.k, 0 * s.v)",
    ]
    for sql in broken if key else broken[-5:]:
        said = refused(run(spark, sql))
        assert "[CHECK_CONSTRAINT_VIOLATION]" in said, sql
    frame = spark.createDataFrame([(9, -1)], "k INT, v INT")
    for write in (
        lambda: frame.writeTo("stated").append(),
        lambda: frame.write.insertInto("stated"),
        lambda: frame.writeTo("stated").overwritePartitions(),
    ):
        assert "violated by row with values:\n - v : -1" in refused(write)
    assert [tuple(r) for r in spark.sql("SELECT k, v FROM stated ORDER BY k").collect()] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    # Spark reads rows below a join that it does not write; and a deleted row may break anything.
    spark.sql(
        "INSERT INTO stated SELECT a.k, b.v FROM (SELECT id + 4 AS k FROM range(2)) a "
        "JOIN (SELECT id AS k, id - 3 AS v FROM range(9)) b ON a.k = b.k"
    )
    spark.sql(
        "INSERT INTO stated WITH ('change-type-column' = 'op') SELECT * FROM VALUES "
        f"(4, 1, 'delete'), (5, {'NULL' if key else 2}, 'delete'), (7, 7, 'insert') AS s(k, v, op)"
    )
    spark.sql("DELETE FROM stated WHERE k = 2")
    spark.sql(
        "MERGE INTO stated t USING (SELECT 3 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE AND t.k = 1 THEN UPDATE SET v = 5"
    )
    assert [tuple(r) for r in spark.sql("SELECT k, v FROM stated ORDER BY k").collect()] == [
        (1, 5),
        (7, 7),
    ]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (k) NOT ENFORCED"])
def test_texts_compare_by_their_collations_in_every_statement(
    spark: SparkSession, key: str
) -> None:
    spark.sql("DROP TABLE IF EXISTS collated")
    spark.sql(
        "CREATE TABLE collated (k INT, v STRING COLLATE UTF8_LCASE, "
        "n STRUCT<w: STRING COLLATE UTF8_LCASE>, "
        f"CHECK (v <> 'bad'), CHECK (n.w IN ('good', 'x')){key})"
    )
    spark.sql("INSERT INTO collated VALUES (1, 'a', named_struct('w', 'Good'))")
    source = "MERGE INTO collated t USING (SELECT {} AS k, {} AS v, {} AS n) s ON t.k = s.k"
    set_all = "WHEN MATCHED THEN UPDATE SET k = s.k, v = s.v, n = s.n"
    insert = "WHEN NOT MATCHED THEN INSERT (k, v, n) VALUES (s.k, s.v, s.n)"
    x, bad, good = "named_struct('w', 'X')", "'Bad'", "'B'"
    for sql in (
        f"INSERT INTO collated VALUES (2, 'BAD', {x})",
        "UPDATE collated SET v = 'BAD'",
        "UPDATE collated SET n = named_struct('w', 'y')",
        f"{source.format(1, bad, x)} WHEN MATCHED THEN UPDATE SET v = s.v",
        f"{source.format(1, bad, x)} {set_all} {insert}",
        f"{source.format(2, bad, x)} {insert}",
    ):
        assert "[CHECK_CONSTRAINT_VIOLATION]" in refused(run(spark, sql)), sql
    spark.sql("UPDATE collated SET v = 'B', n.w = 'GOOD'")
    spark.sql(f"{source.format(2, good, x)} {insert}")
    spark.sql(f"{source.format(3, good, x)} {set_all} {insert}")
    spark.sql(f"INSERT INTO collated VALUES (4, 'B', {x})")
    assert {tuple(r) for r in spark.sql("SELECT k, v, n.w FROM collated").collect()} == {
        (1, "B", "GOOD"),
        (2, "B", "X"),
        (3, "B", "X"),
        (4, "B", "X"),
    }


def test_streams_and_jobs_stop_at_a_row_that_breaks_a_constraint(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.sql("CREATE TABLE flowing (k INT, v INT)")
    spark.sql("CREATE TABLE streamed (k INT, v INT, CONSTRAINT c CHECK (v > 0))")
    spark.sql("CREATE TABLE jobbed (k INT, v INT, CONSTRAINT c CHECK (v > 0))")

    def stream() -> None:
        query = spark.readStream.table("flowing").writeStream.trigger(availableNow=True)
        query.option("checkpointLocation", str(tmp_path)).toTable("streamed").awaitTermination()

    def job() -> str:
        with streaming(spark):
            return str(spark.sql("INSERT INTO jobbed SELECT k, v FROM flowing").collect()[0].job)

    spark.sql("INSERT INTO flowing VALUES (1, 1)")
    stream()
    spark.sql(f"STOP JOB '{job()}' WITH DRAIN")
    spark.sql("INSERT INTO flowing VALUES (2, -2), (3, 3)")
    assert "CHECK constraint c v > 0 violated" in refused(stream)
    with unlogged_errors():
        failing = job()
        spark.sql("CALL sys.await_jobs()").collect()
    told = {
        row.info_name: row.info_value for row in spark.sql(f"DESCRIBE JOB '{failing}'").collect()
    }
    assert told["state"] == "SUSPENDED"
    assert "CHECK constraint c v > 0 violated by row with values: v : -2" in str(told["error"])
    for name in ("streamed", "jobbed"):
        assert [tuple(row) for row in spark.table(name).collect()] == [(1, 1)]


def test_a_constraint_is_added_only_if_the_rows_satisfy_it(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE later (k INT, v INT, s STRUCT<x: INT>, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql(
        "INSERT INTO later VALUES (1, -1, NULL), (2, NULL, named_struct('x', 1)), (3, 4, NULL)"
    )
    said = refused(run(spark, "ALTER TABLE later ADD CONSTRAINT c CHECK (v > 0)"))
    assert "[TABLE_STORE_EXISTING_ROW_VIOLATION]" in said
    assert "v > 0 is false: k = 1, v = -1." in said
    spark.sql("INSERT INTO later VALUES (4, -4, NULL)")
    spark.sql("DELETE FROM later WHERE v < 0")
    spark.sql("ALTER TABLE later ADD CONSTRAINT c CHECK (v > 0)")
    assert "constraint c" in refused(run(spark, "INSERT INTO later VALUES (5, 0, NULL)"))
    refusals = {
        "ADD CONSTRAINT C CHECK (v > 1)": "TABLE_STORE_ALREADY_EXISTS",
        "ADD CONSTRAINT d CHECK (k > rand())": "not deterministic",
        "ADD CONSTRAINT d CHECK (k IN (SELECT 1))": "has a subquery",
        "ADD CONSTRAINT d CHECK (1 = 1)": "names no column",
        "ADD CONSTRAINT d CHECK (absent > 0)": "absent",
        "ADD CONSTRAINT d CHECK (k + 1)": "BOOLEAN",
        "ADD CONSTRAINT d UNIQUE (v) NOT ENFORCED": "is not supported",
        "ADD CONSTRAINT d PRIMARY KEY (v) NOT ENFORCED": "the primary key (k) already",
        "DROP CONSTRAINT d": "TABLE_STORE_NOT_FOUND",
        "DROP COLUMN v": "constraint 'c' uses it",
    }
    for change, expected in refusals.items():
        said = refused(run(spark, f"ALTER TABLE later {change}"))
        assert expected in said, change
        assert "org.apache" not in said.partition("JVM stacktrace")[0]
    spark.sql("ALTER TABLE later ADD CONSTRAINT d CHECK (s.x < 9 AND k < 9)")
    spark.sql("ALTER TABLE later RENAME COLUMN v TO `the value`")
    spark.sql("ALTER TABLE later RENAME COLUMN s TO t")
    assert "`the value` > 0" in refused(run(spark, "INSERT INTO later VALUES (6, 0, NULL)"))
    shown = spark.sql("SHOW CREATE TABLE later").collect()[0][0]
    assert "CONSTRAINT `c` CHECK (`the value` > 0)" in shown
    described = {row[0]: row[1] for row in spark.sql("DESCRIBE EXTENDED later").collect()}
    assert described["c"] == "CHECK (`the value` > 0) ENFORCED"
    spark.sql(shown.replace("later", "same"))
    assert spark.sql("SHOW CREATE TABLE same").collect()[0][0] == shown.replace("later", "same")
    spark.sql("CREATE TABLE alike LIKE later")
    assert "CHECK (`t`.x < 9 AND k < 9)" in spark.sql("SHOW CREATE TABLE alike").collect()[0][0]
    spark.sql("ALTER TABLE later DROP CONSTRAINT IF EXISTS absent")
    spark.sql("ALTER TABLE later DROP CONSTRAINT C")
    spark.sql("INSERT INTO later VALUES (6, 0, NULL)")


def test_not_null_is_set_and_dropped(spark: SparkSession) -> None:
    """Changes and versions of before still have their NULLs, and an older version stays older."""
    spark.sql("CREATE TABLE nulls (k INT, v INT)")
    spark.sql("INSERT INTO nulls VALUES (1, 1), (2, NULL)")
    said = refused(run(spark, "ALTER TABLE nulls ALTER COLUMN v SET NOT NULL"))
    assert "`v` IS NOT NULL is false: v = NULL" in said
    assert "CHECK" not in spark.sql("SHOW CREATE TABLE nulls").collect()[0][0]
    spark.sql("DELETE FROM nulls WHERE v IS NULL")
    spark.sql("ALTER TABLE nulls ALTER COLUMN v SET NOT NULL")
    for sql in ("INSERT INTO nulls VALUES (3, NULL)", "UPDATE nulls SET v = NULL"):
        assert "TABLE_STORE_NOT_NULL_VIOLATION" in refused(run(spark, sql))
    assert "v INT NOT NULL" in spark.sql("SHOW CREATE TABLE nulls").collect()[0][0]
    changes = spark.sql("SELECT k, v, _change_type FROM nulls CHANGES FROM VERSION 1")
    assert sorted(tuple(row) for row in changes.where("v IS NULL").collect()) == [
        (2, None, "delete"),
        (2, None, "insert"),
    ]
    assert spark.sql("SELECT * FROM nulls VERSION AS OF 1").where("v IS NULL").count() == 1
    said = refused(run(spark, "CALL sys.rollback(table => 'nulls', snapshot => 1)"))
    assert "[TABLE_STORE_RULE_OF_LATER]" in said
    spark.sql("ALTER TABLE nulls ALTER COLUMN v DROP NOT NULL")
    spark.sql("CALL sys.rollback(table => 'nulls', snapshot => 1)")
    assert spark.table("nulls").where("v IS NULL").count() == 1


def test_a_write_that_began_before_a_constraint_is_refused(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    """Its rows were never looked at; it is repeated under the rule, or its program told so."""
    spark.sql("CREATE TABLE racing (k INT, v INT)")
    table = warehouse.open("racing")
    with table.writer() as writer:
        writer.write(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([-1], pa.int32())}))
        messages = writer.prepare_commit()
        spark.sql("ALTER TABLE racing ADD CONSTRAINT c CHECK (v > 0)")
        with pytest.raises(CommitConflictError, match="before the table had the constraint 'c'"):
            table.commit(messages)
    assert open_table(table.path).scan().to_arrow().num_rows == 0


ZONE = "spark.sql.session.timeZone"
DECLARED = {
    ZONE: "America/New_York",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enabled": "false",
}
WRITERS = {
    ZONE: "Pacific/Apia",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enabled": "true",
}
MOMENTS = """VALUES (1, '12', TIMESTAMP'2024-07-01 02:00:00Z'),
    (2, 'ddd', TIMESTAMP'2024-07-01 14:00:00Z'), (3, '-4', TIMESTAMP'2024-03-10 07:30:00Z'),
    (4, NULL, NULL), (5, '99999999999', TIMESTAMP'1883-11-18 16:59:00Z') AS moments(k, s, at)"""
MEANINGS = [
    r"s RLIKE '^\d+$'",
    'length(s) > length("bb")',
    "CAST(s AS INT) > 0",
    "hour(at) < 12",
    "concat(current_timezone(), s) > 'America/New_York1'",
]
DEFAULTS = {
    "a TIMESTAMP": "TIMESTAMP'2024-07-01 12:00:00'",
    "b STRING": r"'\d\u0041'",
    "c DATE": "date(TIMESTAMP'2024-07-01 02:00:00Z')",
    "d STRING": "current_timezone()",
    "e INT": "CAST('x' AS INT)",
    "f TIMESTAMP": "'2024-11-03 01:30:00'",
    "g STRING": "CAST(TIMESTAMP'2024-07-01 02:00:00Z' AS STRING)",
    "h BINARY": "X'00FF27'",
    "i TIMESTAMP": "TIMESTAMP'2024-11-03 06:30:00Z'",
}


@contextmanager
def under(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {key: str(spark.conf.get(key)) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def test_rules_mean_what_they_meant_to_the_session_that_declared_them(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    """Oracle: plain Spark, which evaluates the same texts under the settings of the declaration."""
    values = ", ".join(f"({text}) AS v{i}" for i, text in enumerate(MEANINGS))
    computed = ", ".join(f"v{i} AS {text}" for i, text in enumerate(MEANINGS))
    with under(spark, DECLARED):
        spark.sql(
            f"CREATE TABLE kept (k INT, s STRING, at TIMESTAMP, {computed}, day AS date(at), "
            "PRIMARY KEY (k) NOT ENFORCED)"
        )
        spark.sql("CREATE TABLE held (k INT, s STRING, at TIMESTAMP)")
        for i, text in enumerate(MEANINGS):
            spark.sql(f"ALTER TABLE held ADD CONSTRAINT c{i} CHECK (k % 5 <> {i} OR {text})")
        told = spark.sql(f"SELECT k, s, at, {values}, date(at) AS day FROM {MOMENTS}").collect()
        spark.sql("CREATE TABLE like_held LIKE held")
    with under(spark, WRITERS):
        spark.sql(f"INSERT INTO kept SELECT k, s, at FROM {MOMENTS}")
        assert sorted(spark.table("kept").collect()) == sorted(told)
        spark.sql(
            f"MERGE INTO kept USING (SELECT * FROM {MOMENTS}) m ON kept.k = m.k "
            "WHEN MATCHED THEN UPDATE SET s = m.s"
        )
        assert sorted(spark.table("kept").collect()) == sorted(told)
        spark.sql("TRUNCATE TABLE kept")
        spark.sql(f"SELECT k, s, at FROM {MOMENTS}").writeTo("kept").append()
        assert sorted(spark.table("kept").collect()) == sorted(told)
        for name in ("held", "like_held"):
            for row in told:
                insert = f"INSERT INTO {name} SELECT 5 + v, s, at FROM (SELECT id AS v FROM "
                insert += f"range(5)), {MOMENTS} WHERE k = {row.k} AND v = {row.k - 1}"
                if row[3 + row.k - 1] is False:
                    assert "CHECK_CONSTRAINT_VIOLATION" in refused(run(spark, insert))
                else:
                    spark.sql(insert)
    shown = spark.sql("SHOW CREATE TABLE kept").collect()[0][0]
    assert shown.startswith("/* v0, v1, v2, v3, v4, day: declared with spark.sql.ansi.enabled = ")
    with pytest.raises(UnsupportedExpressionError, match=r"declared with spark\.sql\.ansi"):
        warehouse.open("kept").append(pa.table({"k": [9]}))
    with pytest.raises(InvalidSchemaError, match="may use it"):
        warehouse.open("held").definition.rename_column("s", "t")


def test_defaults_mean_what_they_meant_to_the_session_that_declared_them(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    columns = ", ".join(f"{column} DEFAULT {text}" for column, text in DEFAULTS.items())
    names = ("made", "added", "alike_made", "given")
    with under(spark, DECLARED):
        spark.sql(f"CREATE TABLE made (k INT, {columns})")
        spark.sql("CREATE TABLE added (k INT)")
        spark.sql("INSERT INTO added VALUES (0)")
        spark.sql(f"ALTER TABLE added ADD COLUMNS ({columns})")
        spark.sql("CREATE TABLE alike_made LIKE made")
        spark.sql(f"CREATE TABLE given (k INT, {', '.join(DEFAULTS)})")
        for column, text in DEFAULTS.items():
            spark.sql(f"ALTER TABLE given ALTER COLUMN {column.split()[0]} SET DEFAULT {text}")
        told = spark.sql(
            "SELECT " + ", ".join(f"CAST({t} AS {c.split()[1]})" for c, t in DEFAULTS.items())
        ).collect()
    with under(spark, WRITERS):
        every = ", ".join("DEFAULT" for _ in DEFAULTS)
        for name in names:
            spark.sql(f"INSERT INTO {name} (k) VALUES (1)")
            spark.sql(f"INSERT INTO {name} VALUES (2, {every})")
        spark.sql("UPDATE made SET e = DEFAULT, d = DEFAULT")
        for name in names:
            rows = spark.table(name).drop("k").collect()
            assert rows == told * len(rows), name


def test_plain_python_uses_the_zone_of_the_declaration(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    table = "zoned (k INT, at TIMESTAMP, day AS date(at), since TIMESTAMP DEFAULT '2024-07-01', "
    with under(spark, {ZONE: "Asia/Kolkata"}):
        spark.sql(f"CREATE TABLE {table} CONSTRAINT c CHECK (at < TIMESTAMP'2024-07-01 05:30:00'))")
    moment = dt.datetime(2024, 7, 1, 1, 0, tzinfo=dt.UTC)
    warehouse.open("zoned").append(pa.table({"k": [1], "at": [moment - dt.timedelta(hours=7)]}))
    with under(spark, {ZONE: "America/New_York"}):
        spark.sql("INSERT INTO zoned (k, at) VALUES (2, TIMESTAMP'2024-06-30 23:30:00Z')")
        assert "CHECK" in refused(
            run(spark, "INSERT INTO zoned (k, at) VALUES (3, TIMESTAMP'2024-07-01 01:00:00Z')")
        )
        rows = spark.sql("SELECT k, day, CAST(since AS BIGINT) FROM zoned").collect()
    assert sorted(rows) == [
        (1, dt.date(2024, 6, 30), 1719772200),
        (2, dt.date(2024, 7, 1), 1719772200),
    ]
    with pytest.raises(CheckViolationError):
        warehouse.open("zoned").append(pa.table({"k": [3], "at": [moment]}))
