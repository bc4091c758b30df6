"""Goal: a table over a database's table has its rows, and jobs follow each change of them.

Oracle: the database's own rows, by a plain client.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameReader, Row, SparkSession

from servers.postgres_server import PASSWORD, PostgresServer
from table_store import jobs, open_table
from tests.documents import examples
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

FULL = "ALTER TABLE {} REPLICA IDENTITY FULL"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("postgres-cdc"), OWN_NAME) as session:
        yield session


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    found = PostgresServer()
    yield found
    found.remove()


def insert(spark: SparkSession, statement: str, interval: str = "200 ms", **conf: str) -> str:
    with streaming(spark, interval, **conf):
        return str(spark.sql(statement).collect()[0].job)


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def path_of(spark: SparkSession, table: str) -> str:
    found = {row[0]: row[1] for row in spark.sql(f"DESCRIBE EXTENDED {table}").collect()}
    return str(found["Location"])


def kept_from(server: PostgresServer, slot: str) -> int:
    """From where on the server keeps changes for a slot."""
    ((found,),) = server.run(
        "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots "
        f"WHERE slot_name = '{slot}'"
    )
    return int(found)


def test_a_job_has_the_rows_and_then_each_change(
    spark: SparkSession, server: PostgresServer
) -> None:
    server.run(
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, item VARCHAR(20), price NUMERIC(9, 2))",
        FULL.format("orders"),
        "INSERT INTO orders SELECT i, 'i' || i % 7, i / 4.0 FROM generate_series(1, 1000) i",
    )
    columns = "(id BIGINT, item STRING, price DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED)"
    options = server.options("orders", scan__incremental__snapshot__chunk__size="300")
    spark.sql(f"CREATE TEMPORARY TABLE cdc_orders {columns} {options}")
    spark.sql(f"CREATE TABLE orders {columns}")
    spark.sql(f"CREATE TABLE teas {columns}")
    everything = "SELECT * FROM orders ORDER BY id"
    insert(spark, "INSERT INTO orders SELECT * FROM cdc_orders")
    insert(spark, "INSERT INTO teas SELECT * FROM cdc_orders WHERE item = 'i1'")
    jobs.flush(spark)
    assert rows(spark, everything) == server.run(everything)
    before = kept_from(server, "slot_orders")
    server.run(
        "INSERT INTO orders VALUES (2001, 'ü', NULL), (2002, NULL, -1.5), (2003, '', 0)",
        "UPDATE orders SET item = 'i1' WHERE id BETWEEN 500 AND 520",
        "UPDATE orders SET item = 'i2' WHERE id IN (8, 15)",
        "DELETE FROM orders WHERE id % 10 = 3",
        "UPDATE orders SET id = id + 5000 WHERE id BETWEEN 10 AND 20",
        "INSERT INTO orders VALUES (3000, 'short', 1)",
        "DELETE FROM orders WHERE id = 3000",
    )
    jobs.flush(spark)
    assert rows(spark, everything) == server.run(everything)
    teas = "SELECT * FROM orders WHERE item = 'i1' ORDER BY id"
    assert rows(spark, "SELECT * FROM teas") == server.run(teas)
    assert rows(spark, "SELECT * FROM cdc_orders") == server.run(everything)
    count = len(server.run(everything))
    assert spark.sql("SELECT count(*) FROM cdc_orders").collect()[0][0] == count
    # The database forgets what both jobs have committed, once they look again.
    ids = open_table(path_of(spark, "orders")).storage.snapshot_store.ids()
    ((end,),) = server.run("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
    deadline = time.monotonic() + 60
    while kept_from(server, "slot_orders") < end:
        assert time.monotonic() < deadline, (before, kept_from(server, "slot_orders"), end)
        time.sleep(0.1)
    # Looks at a quiet database make no snapshot.
    assert open_table(path_of(spark, "orders")).storage.snapshot_store.ids() == ids


def test_a_transaction_of_two_tables_is_whole_at_each_barrier(
    spark: SparkSession, server: PostgresServer
) -> None:
    """What goes from one to the other while barriers are cut is missing in neither."""
    names = ("debits", "credits")
    server.run(
        *(f"CREATE TABLE {name} (id INT PRIMARY KEY, money INT)" for name in names),
        *(FULL.format(name) for name in names),
        *(f"INSERT INTO {name} VALUES (0, 0), (1, 0), (2, 0)" for name in names),
    )
    is_over = threading.Event()

    def write() -> None:
        with server.connection() as held:
            while not is_over.wait(0.01):
                with held.transaction():
                    held.execute("UPDATE debits SET money = money - 1")
                    held.execute("UPDATE credits SET money = money + 1")

    writer = threading.Thread(target=write)
    writer.start()
    columns = "(id INT, money INT, PRIMARY KEY (id) NOT ENFORCED)"
    try:
        for name in names:
            spark.sql(f"CREATE TEMPORARY TABLE cdc_{name} {columns} {server.options(name)}")
            spark.sql(f"CREATE TABLE {name} {columns}")
            insert(spark, f"INSERT INTO {name} SELECT * FROM cdc_{name}")
        for _ in range(2):  # the first rows are read at different moments
            jobs.flush(spark)
        spark.sql("CREATE TABLE balances (id INT, debit INT, credit INT, PRIMARY KEY (id))")
        both = "SELECT d.id, d.money, c.money FROM debits d JOIN credits c ON d.id = c.id"
        insert(spark, f"INSERT INTO balances {both}")
        for _ in range(6):
            jobs.flush(spark)
    finally:
        is_over.set()
        writer.join()
    jobs.flush(spark)
    balances = open_table(path_of(spark, "balances"))
    seen = [
        {row["debit"] + row["credit"] for row in balances.scan(version=at).to_arrow().to_pylist()}
        for at in balances.storage.snapshot_store.ids()
    ]
    assert len(seen) > 5
    assert seen == [{0}] * len(seen)
    debits = server.run("SELECT * FROM debits ORDER BY id")
    assert rows(spark, "SELECT id, debit FROM balances") == debits


_UUID = "00000000-0000-4000-8000-00000000000a"
_TYPES = (
    ("id INT PRIMARY KEY", "id BIGINT", "1", 1),
    ("small SMALLINT", "small SMALLINT", "-32768", -32768),
    ("whole INT", "whole DECIMAL(10, 0)", "-2147483648", Decimal(-(2**31))),
    ("big BIGINT", "big BIGINT", "-9223372036854775808", -(2**63)),
    ("de NUMERIC(20, 5)", "de DECIMAL(38, 6)", "-12345.67891", Decimal("-12345.678910")),
    ("low NUMERIC(5, 5)", "low DECIMAL(5, 5)", "-0.00001", Decimal("-0.00001")),
    ("thousands NUMERIC(3, -3)", "thousands DECIMAL(6, 0)", "-123456", Decimal(-123000)),
    ("wide NUMERIC", "wide STRING", f"{10**62}.250", f"{10**62}.250"),
    ("fl REAL", "fl FLOAT", "1.23456789", 1.2345678806304932),
    ("fd REAL", "fd DOUBLE", "1.1", 1.100000023841858),
    ("db FLOAT8", "db DOUBLE", "0.1", 0.1),
    ("inf FLOAT8", "inf DOUBLE", "'-Infinity'", float("-inf")),
    ("truth BOOLEAN", "truth BOOLEAN", "true", True),
    ("tx TEXT", "tx STRING", "E'😀 \xfc\\n\"q\",\\\\ '", '😀 \xfc\n"q",\\ '),
    ("long TEXT", "long STRING", "repeat('x', 70000)", "x" * 70_000),
    ("vc VARCHAR(300)", "vc STRING", "''", ""),
    ("ch CHAR(5)", "ch STRING", "'ab'", "ab   "),
    ("by BYTEA", "by BINARY", "'\\x00ff5c'", b"\x00\xff\\"),
    ("no BYTEA", "no BINARY", "''", b""),
    ("da DATE", "da DATE", "'1000-01-02'", date(1000, 1, 2)),
    ("ds DATE", "ds STRING", "'infinity'", "infinity"),
    ("tm TIME(3)", "tm STRING", "'23:59:59.5'", "23:59:59.5"),
    (
        "ts TIMESTAMP",
        "ts TIMESTAMP_NTZ",
        "'2026-07-02 03:04:05.120001'",
        datetime(2026, 7, 2, 3, 4, 5, 120_001),  # noqa: DTZ001
    ),
    (
        "tu TIMESTAMP",
        "tu TIMESTAMP",
        "'1826-07-02 03:04:05'",
        datetime(1826, 7, 2, 3, 4, 5, tzinfo=UTC),
    ),
    (
        "tz TIMESTAMPTZ",
        "tz TIMESTAMP",
        "'2026-01-02 03:04:05.000001+05:30'",
        datetime(2026, 1, 1, 21, 34, 5, 1, tzinfo=UTC),
    ),
    (
        "tl TIMESTAMPTZ(0)",
        "tl TIMESTAMP_NTZ",
        "'2026-01-02 03:04:05+01'",
        datetime(2026, 1, 2, 2, 4, 5),  # noqa: DTZ001
    ),
    ("iv INTERVAL", "iv STRING", "'1 day 2 hours'", "1 day 02:00:00"),
    ("uu UUID", "uu STRING", f"'{_UUID}'", _UUID),
    ("js JSON", "js STRING", """'{"b": 1, "a":"\xfc"}'""", '{"b": 1, "a":"\xfc"}'),
    ("jb JSONB", "jb STRING", """'{"b": 1, "a":"\xfc"}'""", '{"a": "\xfc", "b": 1}'),
    ("en mood", "en STRING", "'so''so'", "so'so"),
    ("dm price", "dm DECIMAL(9, 2)", "1.5", Decimal("1.50")),
    ("ia INT[]", "ia STRING", "'{1,NULL,3}'", "{1,NULL,3}"),
    ("ta TEXT[]", "ta STRING", "ARRAY['a', '', 'c d']", '{a,"","c d"}'),
    ("ip INET", "ip STRING", "'10.0.0.1/8'", "10.0.0.1/8"),
    ('"a ""%s" INT', '`a "%s` INT', "7", 7),
)
"""A column of the database, as it is declared, a value in the database's SQL, and the value."""


def test_all_types_are_read_alike_from_the_table_and_the_log(
    spark: SparkSession, server: PostgresServer
) -> None:
    server.run(
        "CREATE TYPE mood AS ENUM ('fine', 'so''so')",
        "CREATE DOMAIN price AS NUMERIC(9, 2)",
        f"CREATE TABLE kinds ({', '.join(kind[0] for kind in _TYPES)})",
        FULL.format("kinds"),
        "ALTER TABLE kinds ALTER long SET STORAGE EXTERNAL",
    )
    declared = f"({', '.join(kind[1] for kind in _TYPES)}, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE postgres_kinds {declared} {server.options('kinds')}")
    spark.sql(f"CREATE TABLE kinds {declared}")
    insert(spark, "INSERT INTO kinds SELECT * FROM postgres_kinds")
    jobs.flush(spark)
    values = ", ".join(kind[2] for kind in _TYPES)
    server.run(
        f"INSERT INTO kinds VALUES ({values})",
        "INSERT INTO kinds (id) VALUES (3)",
        "INSERT INTO kinds (id, tx, by) VALUES (2147483647, '', '')",
        # The long text is stored apart, and this does not tell it.
        "UPDATE kinds SET whole = whole WHERE id = 1",
    )
    jobs.flush(spark)
    from_log = [plain(row) for row in spark.sql("SELECT * FROM kinds ORDER BY id").collect()]
    from_table = [
        plain(row) for row in spark.sql("SELECT * FROM postgres_kinds ORDER BY id").collect()
    ]
    assert from_log[0] == [kind[3] for kind in _TYPES]
    assert from_table == from_log
    names = [kind[1].split(" ")[0].strip("`") for kind in _TYPES]
    empty = dict.fromkeys(names)
    assert dict(zip(names, from_log[1], strict=True)) == {**empty, "id": 3}
    some = {"id": 2147483647, "tx": "", "by": b""}
    assert dict(zip(names, from_log[2], strict=True)) == {**empty, **some}
    server.run("UPDATE kinds SET id = id + 1 WHERE id < 4", "DELETE FROM kinds WHERE id > 4")
    jobs.flush(spark)
    found = spark.sql("SELECT id, length(long) FROM kinds ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(2, 70_000), (4, None)]
    # What is in no type of the declared columns stops the job, which says so.
    spark.sql(f"CREATE TABLE days (id BIGINT, ds DATE) {server.options('kinds')}")
    error = refused(spark, "SELECT * FROM days")
    assert "column ds has a value that DATE has no place for" in error


def plain(row: Row) -> list[object]:
    """A row's values as Python compares them."""
    return [
        bytes(value)
        if isinstance(value, bytearray)
        else value.astimezone(UTC)
        if isinstance(value, datetime) and name in ("tu", "tz")
        else value
        for name, value in row.asDict().items()
    ]


def test_where_the_changes_begin(spark: SparkSession, server: PostgresServer) -> None:
    server.run(
        "CREATE TABLE starts (a VARCHAR(9), b INT, c INT, PRIMARY KEY (a, b))",
        FULL.format("starts"),
        "INSERT INTO starts VALUES ('x', 1, 1), ('Y', 2, 2), ('z', 3, 3)",
    )
    declared = "(a STRING, b INT, c INT, PRIMARY KEY (a, b) NOT ENFORCED)"
    modes = {
        "initial": {"scan__incremental__snapshot__chunk__size": "1"},
        "latest": {"scan__startup__mode": "latest-offset"},
    }
    for name, options in modes.items():
        clause = server.options("starts", slot__name=f"slot_{name}", **options)
        spark.sql(f"CREATE TABLE from_{name} {declared} {clause}")
        for prefix in ("to", "late"):
            spark.sql(f"CREATE TABLE {prefix}_{name} {declared}")
        spark.sql(f"INSERT INTO to_{name} VALUES ('z', 3, 0), ('q', 9, 9)")
        insert(spark, f"INSERT INTO to_{name} SELECT * FROM from_{name}")
    jobs.flush(spark)
    server.run("INSERT INTO starts VALUES ('n', 5, 5)", "DELETE FROM starts WHERE b = 3")
    jobs.flush(spark)
    own, new = ("q", 9, 9), ("n", 5, 5)
    assert rows(spark, "SELECT * FROM to_initial") == [("Y", 2, 2), new, own, ("x", 1, 1)]
    # The delete of a row that somebody else has written takes it away.
    assert rows(spark, "SELECT * FROM to_latest") == [new, own]
    for name in modes:
        insert(spark, f"INSERT INTO late_{name} SELECT * FROM from_{name}")
    server.run("UPDATE starts SET c = 20 WHERE b = 2")
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM late_initial") == [("Y", 2, 20), new, ("x", 1, 1)]
    assert rows(spark, "SELECT * FROM late_latest") == [("Y", 2, 20)]


def test_keys_are_enough_with_upsert(spark: SparkSession, server: PostgresServer) -> None:
    server.run(
        "CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(20), price NUMERIC(9, 2))",
        "INSERT INTO items VALUES (1, 'tea', 1), (2, 'rice', 2), (3, 'salt', 3)",
    )
    declared = "(id INT, name STRING, price DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE all_items {declared} {server.options('items')}")
    upsert = server.options("items", changelog_mode="upsert")
    spark.sql(f"CREATE TABLE postgres_items {declared} {upsert}")
    spark.sql(f"CREATE TABLE items {declared}")
    with streaming(spark):
        error = refused(spark, "INSERT INTO items SELECT * FROM all_items")
        assert "its REPLICA IDENTITY is DEFAULT" in error
        assert "'changelog-mode' = 'upsert'" in error
        error = refused(spark, "INSERT INTO items SELECT * FROM postgres_items WHERE price > 1")
        assert "a condition of the query reads column 'price'" in error
    insert(spark, "INSERT INTO items SELECT * FROM postgres_items")
    jobs.flush(spark)
    server.run(
        "UPDATE items SET price = 10 WHERE id = 1",
        "UPDATE items SET id = 20 WHERE id = 2",
        "DELETE FROM items WHERE id = 3",
        "INSERT INTO items VALUES (3, 'oil', 4)",
        "UPDATE items SET id = 2 WHERE id = 3",
    )
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM items") == server.run("SELECT * FROM items ORDER BY id")
    # A value that may be stored apart is not told by a change that leaves it.
    server.run("CREATE TABLE apart (id INT PRIMARY KEY, name TEXT)")
    clause = server.options("apart", changelog_mode="upsert")
    spark.sql(f"CREATE TABLE apart (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) {clause}")
    spark.sql("CREATE TABLE to_apart (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED)")
    with streaming(spark):
        error = refused(spark, "INSERT INTO to_apart SELECT * FROM apart")
    assert "[TABLE_STORE_SOURCE_TABLE_UNSUITABLE]" in error
    assert "column name is stored apart from the row (TOAST)" in error


def test_what_cannot_be_read_is_refused(spark: SparkSession, server: PostgresServer) -> None:
    server.run(
        "CREATE TABLE plain (id BIGINT PRIMARY KEY, v BIGINT, place POINT)",
        FULL.format("plain"),
        "CREATE TABLE nokey (id BIGINT)",
        "CREATE TABLE parts (id BIGINT PRIMARY KEY, v BIGINT) PARTITION BY RANGE (id)",
        "CREATE UNLOGGED TABLE unlogged (id BIGINT PRIMARY KEY, v BIGINT)",
        "CREATE TABLE secret (id BIGINT PRIMARY KEY, v BIGINT)",
        "REVOKE ALL ON secret FROM reader",
        "CREATE PUBLICATION others FOR TABLE nokey",
        "CREATE PUBLICATION inserts FOR TABLE plain WITH (publish = 'insert')",
        "CREATE PUBLICATION few FOR TABLE plain WHERE (id > 3)",
        "SELECT pg_create_logical_replication_slot('decoder', 'test_decoding')",
        "CREATE ROLE simple LOGIN PASSWORD 'x'",
        "GRANT SELECT ON plain TO simple",
    )
    declared = "(id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    missing = server.options("plain").replace("'slot.name' = 'slot_plain', ", "")
    assert "'slot.name'" in refused(spark, f"CREATE TABLE bad {declared} {missing}")
    for key, value, text in (
        ("scan.startup.mode", "earliest-offset", "has 'initial', 'latest-offset'"),
        ("decoding.plugin.name", "wal2json", "pgoutput"),
        ("slot.name", "My-Slot", "small letters"),
        ("slot.nam", "a", "slot.name"),
        ("server-id", "7", "server-id"),
        ("changelog-mode", "some", "upsert"),
    ):
        clause = server.options("plain", **{key.replace(".", "__"): value})
        assert text in refused(spark, f"CREATE TABLE bad {declared} {clause}"), key
    for name, columns, options, condition, text in (
        ("password", declared, server.options("plain", password="x"), "REFUSED", "reader"),
        ("user", declared, server.options("plain", username="no"), "REFUSED", "'no'"),
        ("database", declared, server.options("plain", database_name="n"), "REFUSED", '"n"'),
        ("rights", declared, server.options("secret"), "REFUSED", "no SELECT on"),
        ("table", declared, server.options("absent"), "TABLE_NOT_FOUND", "shop.public.absent"),
        ("schema", declared, server.options("plain", schema_name="s"), "TABLE_NOT_FOUND", "s.pl"),
        ("nokey", "(id BIGINT)", server.options("nokey"), "TABLE_UNSUITABLE", "no primary key"),
        ("parts", declared, server.options("parts"), "TABLE_UNSUITABLE", "a partitioned table"),
        ("unlogged", declared, server.options("unlogged"), "TABLE_UNSUITABLE", "unlogged"),
        ("key", "(v BIGINT, PRIMARY KEY (v) NOT ENFORCED)", server.options("plain"), "TABLE_UNSU",
         "its primary key is (id), not (v)"),
        ("type", "(v INT)", server.options("plain"), "TABLE_UNSUITABLE", "bigint"),
        ("point", "(place STRING)", server.options("plain"), "TABLE_UNSUITABLE", "type point are"),
        ("column", "(w INT)", server.options("plain"), "TABLE_UNSUITABLE", "no such column"),
        ("port", declared, server.options("plain", port="1"), "UNAVAILABLE", "127.0.0.1:1"),
    ):  # fmt: skip
        spark.sql(f"CREATE TABLE bad_{name} {columns} {options}")
        error = refused(spark, f"SELECT * FROM bad_{name}")
        assert f"[TABLE_STORE_SOURCE_{condition}" in error, error
        assert text in error, error
        assert PASSWORD not in error
    spark.sql(f"CREATE TABLE postgres_plain {declared} {server.options('plain')}")
    assert PASSWORD not in str(spark.sql("SHOW CREATE TABLE postgres_plain").collect())
    spark.sql("CREATE TABLE bag (id BIGINT, v BIGINT)")
    spark.sql(f"CREATE TABLE keyed {declared}")
    publication = "debezium__publication__name"
    with streaming(spark):
        assert "has no primary key" in refused(
            spark, "INSERT INTO bag SELECT * FROM postgres_plain"
        )
        error = refused(
            spark, "INSERT INTO keyed SELECT id, sum(v) FROM postgres_plain GROUP BY id"
        )
        assert "Load it into a table first with INSERT INTO t SELECT * FROM" in error
        for number, (more, condition, text) in enumerate((
            ({publication: "absent"}, "SERVER_UNS", 'CREATE PUBLICATION "absent" FOR TABLE'),
            ({publication: "others"}, "SERVER_UNS", 'ALTER PUBLICATION "others" ADD TABLE'),
            ({publication: "inserts"}, "SERVER_UNS", "leaves out each update"),
            ({publication: "few"}, "SERVER_UNS", "leaves out rows"),
            ({"slot__name": "decoder"}, "SERVER_UNS", "is for test_decoding"),
            ({"username": "simple", "password": "x"}, "REFUSED", "REPLICATION"),
        )):  # fmt: skip
            clause = server.options("plain", **more)
            spark.sql(f"CREATE TABLE bad_{number} {declared} {clause}")
            error = refused(spark, f"INSERT INTO keyed SELECT * FROM bad_{number}")
            assert f"[TABLE_STORE_SOURCE_{condition}" in error, error
            assert text in error, error
    server.run("SELECT pg_drop_replication_slot('decoder')")


def state_of(spark: SparkSession, job: str) -> Row:
    (row,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
    return row


def suspended(spark: SparkSession, job: str, timeout_s: float = 90) -> str:
    """The error of a job once it has failed too often."""
    end = time.monotonic() + timeout_s
    while (row := state_of(spark, job)).state != "SUSPENDED":
        assert time.monotonic() < end, row
        time.sleep(0.2)
    return str(row.error)


def failing(spark: SparkSession, job: str, text: str, timeout_s: float = 60) -> Row:
    """A job once its error has a text."""
    end = time.monotonic() + timeout_s
    while text not in ((row := state_of(spark, job)).error or ""):
        assert time.monotonic() < end, row
        time.sleep(0.2)
    return row


def test_the_connector_is_a_format_with_the_tables_columns(
    spark: SparkSession, server: PostgresServer
) -> None:
    """Nothing is declared, and nothing is made in the database: such a read has no slot."""
    server.run(
        'CREATE TABLE "As is" (item TEXT, id BIGINT, n NUMERIC, price NUMERIC(9, 2), tags TEXT[], '
        "twice BIGINT GENERATED ALWAYS AS (id * 2) STORED, at TIMESTAMPTZ, PRIMARY KEY (id))",
        """INSERT INTO "As is" VALUES ('é', 1, 1e50, 1.5, '{a}', DEFAULT, '2026-01-02Z'), """
        "(NULL, 2, NULL, NULL, NULL, DEFAULT, NULL)",
        "CREATE TABLE places (id BIGINT PRIMARY KEY, place POINT)",
    )

    def reader(table: str) -> DataFrameReader:
        place = server.place(table, slot__name="no_slot")
        return spark.read.format("postgres-cdc").options(**place)

    found = reader("As is").load()
    assert [(field.name, field.dataType.simpleString()) for field in found.schema] == [
        ("item", "string"),
        ("id", "bigint"),
        ("n", "string"),
        ("price", "decimal(9,2)"),
        ("tags", "string"),
        ("at", "timestamp"),
    ]
    asked = found.select("item", "id", "n", "price", "tags").orderBy("id").collect()
    wanted = 'SELECT item, id, n::text, price, tags::text FROM "As is" ORDER BY id'
    assert [tuple(row) for row in asked] == server.run(wanted)
    assert found.where("at = timestamp'2026-01-02 00:00:00Z'").count() == 1
    slots = server.run("SELECT slot_name FROM pg_replication_slots")
    assert ("no_slot",) not in slots
    assert PASSWORD not in found._jdf.queryExecution().toString()
    for table, text in (("absent", "no table"), ("places", "columns of the type point are not")):
        with unlogged_errors(), pytest.raises(PySparkException) as error:
            reader(table).load()
        assert text in str(error.value), error.value


def test_what_the_database_has_lost_is_told(spark: SparkSession, server: PostgresServer) -> None:
    server.run(
        "CREATE TABLE lost (id BIGINT PRIMARY KEY, v INT)",
        FULL.format("lost"),
        "INSERT INTO lost VALUES (1, 1)",
    )
    declared = "(id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE postgres_lost {declared} {server.options('lost')}")
    spark.sql(f"CREATE TABLE lost {declared}")
    statement = "INSERT INTO lost SELECT * FROM postgres_lost"
    job = insert(spark, statement)
    jobs.flush(spark)
    # Added columns are nothing, and rows from before are read as they were.
    server.run(
        "INSERT INTO lost VALUES (2, 2)",
        "ALTER TABLE lost ADD COLUMN w INT DEFAULT 7, ALTER v TYPE BIGINT",
        "INSERT INTO lost VALUES (3, 3, 9)",
        "UPDATE lost SET v = 20 WHERE id = 2",
    )
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM lost") == [(1, 1), (2, 20), (3, 3)]
    spark.sql(f"STOP JOB '{job}'")
    server.run("INSERT INTO lost VALUES (4, 4, 9)", "SELECT pg_drop_replication_slot('slot_lost')")
    with streaming(spark):
        gone = refused(spark, statement)
    assert "[TABLE_STORE_SOURCE_CHANGES_GONE]" in gone
    assert "there is no replication slot slot_lost" in gone
    # Others have read what is still to come.
    server.run("SELECT pg_create_logical_replication_slot('slot_lost', 'pgoutput')")
    with streaming(spark):
        gone = refused(spark, statement)
    assert "[TABLE_STORE_SOURCE_CHANGES_GONE]" in gone
    assert "was advanced to" in gone
    # A new source takes the rows that are there.
    spark.sql("DROP TABLE postgres_lost")
    spark.sql(f"CREATE TABLE postgres_lost {declared} {server.options('lost')}")
    fresh = insert(spark, statement, **{"pipeline.name": "fresh"})
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM lost") == [(1, 1), (2, 20), (3, 3), (4, 4)]
    server.run("TRUNCATE lost", "INSERT INTO lost VALUES (5, 5)")
    with unlogged_errors():
        emptied = suspended(spark, fresh)
    assert "[TABLE_STORE_SOURCE_TABLE_CHANGED]" in emptied
    assert "TRUNCATE has emptied it between" in emptied
    assert len(rows(spark, "SELECT * FROM lost")) == 4
    spark.sql(f"STOP JOB '{fresh}'")
    server.run("DROP TABLE lost", "CREATE TABLE lost (id BIGINT PRIMARY KEY, v BIGINT)")
    server.run(FULL.format("lost"))
    with streaming(spark):
        assert "it was dropped and created again" in refused(spark, statement)


def test_what_holds_up_or_is_away_is_waited_for(
    spark: SparkSession, server: PostgresServer
) -> None:
    server.run(
        "CREATE TABLE away (id BIGINT PRIMARY KEY)",
        FULL.format("away"),
        "INSERT INTO away VALUES (1)",
    )
    declared = "(id BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE postgres_away {declared} {server.options('away')}")
    spark.sql(f"CREATE TABLE away {declared}")
    job = insert(spark, "INSERT INTO away SELECT * FROM postgres_away")
    jobs.flush(spark)
    # Another reader has the slot.
    with server.reader("slot_away") as pid:
        server.run("INSERT INTO away VALUES (2)")
        found = failing(spark, job, "TABLE_STORE_SOURCE_BUSY")
        assert f"active for PID {pid}" in found.error
        assert found.state == "RUNNING"
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM away") == [(1,), (2,)]
    server.kill()
    found = failing(spark, job, "does not answer")
    assert found.state == "RUNNING"
    server.start()
    server.run("INSERT INTO away VALUES (3)")
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM away") == [(1,), (2,), (3,)]


def test_a_server_that_does_not_log_enough_is_refused(
    spark: SparkSession, server: PostgresServer
) -> None:
    server.run("CREATE TABLE unlogged_enough (id BIGINT PRIMARY KEY)")
    slots = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
    server.run(FULL.format("unlogged_enough"), slots)
    declared = "(id BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    clause = server.options("unlogged_enough")
    spark.sql(f"CREATE TABLE postgres_unlogged_enough {declared} {clause}")
    spark.sql(f"CREATE TABLE unlogged_enough {declared}")
    server.stop()
    server.start(wal_level="replica")
    try:
        assert rows(spark, "SELECT * FROM postgres_unlogged_enough") == []
        with streaming(spark):
            error = refused(
                spark, "INSERT INTO unlogged_enough SELECT * FROM postgres_unlogged_enough"
            )
        assert "[TABLE_STORE_SOURCE_SERVER_UNSUITABLE]" in error
        assert "wal_level is replica, not logical" in error
    finally:
        server.stop()
        server.start()


def test_examples_of_the_documents(spark: SparkSession, server: PostgresServer) -> None:
    server.run(
        "DROP TABLE IF EXISTS orders",
        "CREATE ROLE writer LOGIN REPLICATION PASSWORD 'secret'",
        "GRANT CREATE ON DATABASE shop TO writer",
        "GRANT ALL ON SCHEMA public TO writer",
        "DROP PUBLICATION dbz_publication",
    )
    spark.sql("CREATE NAMESPACE doc_postgres")
    spark.sql("USE doc_postgres")
    in_order = sorted((*examples("python"), *examples("sql")), key=lambda example: example.line)
    known: dict[str, object] = {}
    for example in (e for e in in_order if e.page == "postgres-cdc"):
        code = example.with_text("'database'", "'127.0.0.1'").with_text("5432", str(server.port))
        code = code.with_text('host="database"', f'host="127.0.0.1", port={server.port}')
        code = code.with_text("'reader'", "'writer'")
        if code.language == "python":
            exec(code.code, known)
            continue
        found = []
        for statement in code.statements():
            answer = spark.sql(statement).collect()
            if statement.startswith("SELECT"):
                found += [tuple(" ".join(map(str, row)).split()) for row in answer]
        assert tuple(found) == code.printed, f"postgres-cdc, line {code.line}"
    assert known, "the page has examples"
    spark.sql("USE default")
    server.run(
        "DROP PUBLICATION dbz_publication", "CREATE PUBLICATION dbz_publication FOR ALL TABLES"
    )


SCRIPT = """
CREATE TABLE IF NOT EXISTS accounts (
  id BIGINT, owner STRING, money DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED
);
CREATE TEMPORARY TABLE postgres_accounts (
  id BIGINT, owner STRING, money DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED
) {options};
SET 'execution.checkpointing.interval' = '200 ms';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO accounts SELECT * FROM postgres_accounts;
"""


def test_it_has_the_databases_rows_whatever_is_killed(
    tmp_path: Path, server: PostgresServer
) -> None:
    """Planner and driver, after the first rows are there and while the log is read."""
    server.run(
        "CREATE TABLE accounts (id BIGINT PRIMARY KEY, owner VARCHAR(20), money NUMERIC(9, 2))",
        FULL.format("accounts"),
        "INSERT INTO accounts SELECT i, 'o' || i % 50, i FROM generate_series(1, 20000) i",
    )
    options = server.options("accounts", scan__incremental__snapshot__chunk__size="5000")
    text = SCRIPT.format(options=options)
    is_over = threading.Event()

    def write() -> None:
        choice = random.Random(7)
        with server.connection() as held:
            while not is_over.wait(0.01):
                one, other = choice.randrange(40_000), choice.randrange(40_000)
                upsert = f"INSERT INTO accounts VALUES ({one}, 'new', {other % 1000})"
                move = f"UPDATE accounts SET id = {other} WHERE id = {one}"
                statements = (
                    f"{upsert} ON CONFLICT (id) DO UPDATE SET owner = 'new', money = 0",
                    f"UPDATE accounts SET money = {other} WHERE id BETWEEN {one} AND {one + 9}",
                    f"DELETE FROM accounts WHERE id BETWEEN {other} AND {other + 3}",
                    f"{move} AND NOT EXISTS (SELECT 1 FROM accounts WHERE id = {other})",
                )
                is_kept = choice.random() < 0.9
                with held.transaction(force_rollback=not is_kept):
                    for statement in choice.sample(statements, 2):
                        held.execute(statement.encode())

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with JobScript(tmp_path, text, "killed") as script:
            first = script.wait_for_commit("accounts")
            os.kill(script.planner(), signal.SIGKILL)
            script.wait_for_commit("accounts", after=first)
            os.kill(script.process.pid, signal.SIGKILL)
            script.process.wait(60)
    finally:
        is_over.set()
        writer.join()
    table = open_table(str(tmp_path / "spark-warehouse" / "default.db" / "accounts"))
    wanted = server.run("SELECT * FROM accounts ORDER BY id")
    with JobScript(tmp_path, text, "last") as script:
        end = time.monotonic() + 180
        while (
            found := sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist())
        ) != wanted:
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, (len(found), len(wanted))
            time.sleep(0.3)
        assert script.end(signal.SIGTERM) == 0, script.errors
