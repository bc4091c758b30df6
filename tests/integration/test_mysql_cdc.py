"""Goal: a table over a database's table has its rows, and jobs follow each change of them.

Oracle: the database's own rows, by a plain client.
"""

from __future__ import annotations

import json
import os
import random
import re
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

from demo.followed_topic import FollowedTopic
from demo.shop import Shop, opening
from demo.sql_file import statements
from demo.warehouse_truth import QUERIES, differences
from servers.binlog_server import PASSWORD, USER, BinlogServer
from servers.kafka_broker import KafkaBroker
from servers.mariadb_server import MariadbServer
from servers.mysql_server import MysqlServer
from table_store import jobs, open_table
from table_store.catalog.connectors.database_errors import (
    SourceTableChangedError,
    SourceUnavailableError,
)
from table_store.catalog.connectors.mysql.mysql_binlog import Binlog
from table_store.catalog.connectors.mysql.mysql_connection import Database
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition
from table_store.catalog.connectors.mysql.mysql_json import json_text
from table_store.catalog.connectors.mysql.mysql_log import TableLog
from table_store.catalog.connectors.mysql.mysql_source import MysqlSource
from table_store.catalog.connectors.mysql.shared_binlog import (
    READ_ALONE,
    READ_FOR_ALL,
    shared_events,
)
from table_store.catalog.connectors.mysql.table_names import TableNames
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import Position, PositionStore
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER, AskedRows
from table_store.catalog.definition.table_change import AddColumn, changed_schema
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.types import INTEGER, STRING
from table_store.storage.log_store.logged_table import open_logged
from tests.checkout import REPOSITORY
from tests.documents import examples
from tests.fakes.short_connections import ShortConnections
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("mysql-cdc"), OWN_NAME) as session:
        yield session


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbServer]:
    found = MariadbServer(tmp_path_factory.mktemp("mariadb"))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    found = MysqlServer(tmp_path_factory.mktemp("mysql"))
    yield found
    found.stop()


@pytest.fixture(params=["server", "mysql"])
def either(request: pytest.FixtureRequest) -> BinlogServer:
    """A server of MariaDB, and one of MySQL."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, BinlogServer)
    return found


@pytest.fixture
def here(spark: SparkSession, either: BinlogServer) -> Iterator[BinlogServer]:
    """One of them, with a namespace of Spark's that has no other tables."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS of_{type(either).__name__}")
    spark.sql(f"USE of_{type(either).__name__}")
    yield either
    spark.sql("USE default")


def insert(spark: SparkSession, statement: str, interval: str = "200 ms", **conf: str) -> str:
    with streaming(spark, interval, **conf):
        return str(spark.sql(statement).collect()[0].job)


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def path_of(spark: SparkSession, table: str) -> str:
    found = {row[0]: row[1] for row in spark.sql(f"DESCRIBE EXTENDED {table}").collect()}
    return str(found["Location"])


def test_a_job_has_the_rows_and_then_each_change(spark: SparkSession, here: BinlogServer) -> None:
    here.run(
        "DROP TABLE IF EXISTS orders",
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, item VARCHAR(20), price DECIMAL(9, 2))",
        "INSERT INTO orders VALUES "
        + ", ".join(f"({at}, 'i{at % 7}', {at / 4})" for at in range(1, 1001)),
    )
    columns = "(id BIGINT, item STRING, price DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED)"
    options = here.options("orders", scan__incremental__snapshot__chunk__size="300")
    spark.sql("DROP TEMPORARY TABLE IF EXISTS cdc_orders")
    spark.sql(f"CREATE TEMPORARY TABLE cdc_orders {columns} {options}")
    spark.sql(f"CREATE TABLE orders {columns}")
    spark.sql(f"CREATE TABLE teas {columns}")
    everything = "SELECT * FROM orders ORDER BY id"
    insert(spark, "INSERT INTO orders SELECT * FROM cdc_orders")
    insert(spark, "INSERT INTO teas SELECT * FROM cdc_orders WHERE item = 'i1'")
    jobs.flush(spark)
    assert rows(spark, everything) == list(here.run(everything))
    here.run(
        "INSERT INTO orders VALUES (2001, 'ü', NULL), (2002, NULL, -1.5)",
        "UPDATE orders SET item = 'i1' WHERE id BETWEEN 500 AND 520",
        "UPDATE orders SET item = 'i2' WHERE id IN (8, 15)",
        "DELETE FROM orders WHERE id % 10 = 3",
        "UPDATE orders SET id = id + 5000 WHERE id BETWEEN 10 AND 20",
        "INSERT INTO orders VALUES (3000, 'short', 1)",
        "DELETE FROM orders WHERE id = 3000",
    )
    jobs.flush(spark)
    assert rows(spark, everything) == list(here.run(everything))
    teas = "SELECT * FROM orders WHERE item = 'i1' ORDER BY id"
    assert rows(spark, "SELECT * FROM teas") == list(here.run(teas))
    assert rows(spark, "SELECT * FROM cdc_orders") == list(here.run(everything))
    assert spark.sql("SELECT count(*) FROM cdc_orders").collect()[0][0] == len(here.run(everything))


def test_how_far_the_first_rows_have_come_is_told(
    spark: SparkSession, server: MariadbServer
) -> None:
    server.run(
        "CREATE TABLE large (id INT PRIMARY KEY)",
        "INSERT INTO large SELECT seq FROM seq_1_to_3000",
    )
    declared = "(id INT, PRIMARY KEY (id) NOT ENFORCED)"
    options = server.options("large", scan__incremental__snapshot__chunk__size="200")
    spark.sql(f"CREATE TABLE from_large {declared} {options}")
    spark.sql(f"CREATE TABLE large {declared}")
    job = insert(spark, "INSERT INTO large SELECT * FROM from_large")
    told: list[str] = []
    while True:
        (row,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if row.rows_changed:
            break
        assert (row.state, row.error) == ("RUNNING", None)
        told += [] if row.progress is None else [row.progress]
    found = [re.fullmatch(r"(\d+) of (\d+) tasks, (\d+) rows", text) for text in told]
    assert None not in found
    numbers = [tuple(map(int, match.groups())) for match in found if match is not None]
    of_chunks = [(done, rows) for done, tasks, rows in numbers if tasks > 10]
    assert of_chunks == sorted(of_chunks)
    assert any(done and 0 < rows < 3000 for done, rows in of_chunks)
    jobs.flush(spark)
    details = {
        row.info_name: row.info_value for row in spark.sql(f"DESCRIBE JOB '{job}'").collect()
    }
    assert details["progress"] is None
    assert spark.sql("SELECT count(*) FROM large").collect()[0][0] == 3000


def test_a_transaction_of_two_tables_is_whole_at_each_barrier(
    spark: SparkSession, server: MariadbServer
) -> None:
    """What goes from one to the other while barriers are cut is missing in neither."""
    accounts = "(id INT PRIMARY KEY, money INT)"
    server.run(
        *(f"CREATE TABLE {name} {accounts}" for name in ("debits", "credits")),
        *(f"INSERT INTO {name} VALUES (0, 0), (1, 0), (2, 0)" for name in ("debits", "credits")),
    )
    is_over = threading.Event()

    def write() -> None:
        with server.connection() as held, held.cursor() as cursor:
            held.autocommit(False)
            while not is_over.wait(0.01):
                for statement in (
                    "UPDATE debits SET money = money - 1",
                    "UPDATE credits SET money = money + 1",
                ):
                    cursor.execute(statement)
                held.commit()

    writer = threading.Thread(target=write)
    writer.start()
    columns = "(id INT, money INT, PRIMARY KEY (id) NOT ENFORCED)"
    try:
        for name in ("debits", "credits"):
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
    assert rows(spark, "SELECT id, debit FROM balances") == list(server.run("SELECT * FROM debits"))


_TYPES = (
    ("id INT UNSIGNED PRIMARY KEY", "id BIGINT", "1", 1),
    ("tiny TINYINT", "tiny TINYINT", "-128", -128),
    ("truth TINYINT(1)", "truth BOOLEAN", "1", True),
    ("small SMALLINT UNSIGNED", "small INT", "65535", 65535),
    ("medium MEDIUMINT", "medium INT", "-8388608", -8388608),
    ("big BIGINT UNSIGNED", "big DECIMAL(20, 0)", "18446744073709551615", Decimal(2**64 - 1)),
    ("bit1 BIT(1)", "bit1 BOOLEAN", "b'1'", True),
    ("bit10 BIT(10)", "bit10 INT", "b'1000000001'", 513),
    ("de DECIMAL(20, 5)", "de DECIMAL(38, 6)", "-12345.67891", Decimal("-12345.678910")),
    ("low DECIMAL(5, 5)", "low DECIMAL(5, 5)", "-0.00001", Decimal("-0.00001")),
    ("wide DECIMAL(65, 2)", "wide STRING", f"{10**62}.25", f"{10**62}.25"),
    ("fl FLOAT", "fl FLOAT", "1.23456789", 1.2345678806304932),
    ("db DOUBLE", "db DOUBLE", "0.1", 0.1),
    ("vc VARCHAR(300)", "vc STRING", "'😀 \xfc '", "😀 \xfc "),
    ("l1 VARCHAR(20) CHARACTER SET latin1", "l1 STRING", "'\xe4\u20ac'", "\xe4\u20ac"),
    ("ch CHAR(5)", "ch STRING", "'ab '", "ab"),
    ("bi BINARY(5)", "bi BINARY", "'a\\0b'", b"a\0b\0\0"),
    ("vb VARBINARY(10)", "vb BINARY", "'ab\\0'", b"ab\0"),
    ("bl LONGBLOB", "bl BINARY", "x'00ff'", b"\x00\xff"),
    ("tx MEDIUMTEXT", "tx STRING", "repeat('x', 70000)", "x" * 70_000),
    ("js JSON", "js STRING", """'{"b": 1, "a":"\xfc"}'""", '{"b": 1, "a":"\xfc"}'),
    ("en ENUM('a', 'b''c', '')", "en STRING", "'b''c'", "b'c"),
    ("el ENUM('\xe4', '\xf6') CHARACTER SET latin1", "el STRING", "'\xf6'", "\xf6"),
    ("st SET('x', 'y', 'z')", "st STRING", "'z,x'", "x,z"),
    ("da DATE", "da DATE", "'1000-01-02'", date(1000, 1, 2)),
    (
        "dt DATETIME(3)",
        "dt TIMESTAMP_NTZ",
        "'2026-07-02 03:04:05.120'",
        datetime(2026, 7, 2, 3, 4, 5, 120_000),  # noqa: DTZ001
    ),
    (
        "dz DATETIME",
        "dz TIMESTAMP",
        "'2026-07-02 03:04:05'",
        datetime(2026, 7, 2, 1, 4, 5, tzinfo=UTC),
    ),
    (
        "ts TIMESTAMP(6) NULL",
        "ts TIMESTAMP",
        "'2026-01-02 03:04:05.000001'",
        datetime(2026, 1, 2, 3, 4, 5, 1, tzinfo=UTC),
    ),
    (
        "tl TIMESTAMP NULL",
        "tl TIMESTAMP_NTZ",
        "'2026-01-02 03:04:05'",
        datetime(2026, 1, 2, 4, 4, 5),  # noqa: DTZ001
    ),
    ("tm TIME", "tm STRING", "'-838:59:59'", "-838:59:59"),
    ("tf TIME(4)", "tf STRING", "'-00:00:00.5'", "-00:00:00.5"),
    ("ye YEAR", "ye SMALLINT", "2026", 2026),
    ("`a ``%s` INT", "`a ``%s` INT", "7", 7),
)
"""A column of the database, as it is declared, a value in the database's SQL, and the value."""


def test_all_types_are_read_alike_from_the_table_and_the_binlog(
    spark: SparkSession, here: BinlogServer
) -> None:
    here.run(f"CREATE TABLE kinds ({', '.join(kind[0] for kind in _TYPES)})")
    declared = f"({', '.join(kind[1] for kind in _TYPES)}, PRIMARY KEY (id) NOT ENFORCED)"
    options = here.options("kinds", server_time_zone="Europe/Berlin")
    spark.sql(f"CREATE TABLE mysql_kinds {declared} {options}")
    spark.sql(f"CREATE TABLE kinds {declared}")
    insert(spark, "INSERT INTO kinds SELECT * FROM mysql_kinds")
    jobs.flush(spark)
    values = ", ".join(kind[2] for kind in _TYPES)
    here.run(
        f"INSERT INTO kinds VALUES ({values})",
        "INSERT INTO kinds (id, st, en) VALUES (4294967295, '', '')",
        "SET sql_mode = ''",
    )
    with here.connection() as held, held.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        nothing = "'0000-00-00 00:00:00'"
        cursor.execute(
            f"INSERT INTO kinds (id, da, dt, ts, ye) VALUES (3, {nothing}, {nothing}, {nothing}, 0)"
        )
    jobs.flush(spark)
    from_log = [plain(row) for row in spark.sql("SELECT * FROM kinds ORDER BY id").collect()]
    from_table = [
        plain(row) for row in spark.sql("SELECT * FROM mysql_kinds ORDER BY id").collect()
    ]
    wanted = [kind[3] for kind in _TYPES]
    if isinstance(here, MysqlServer):  # which keeps no text of a JSON value
        wanted[[kind[0] for kind in _TYPES].index("js JSON")] = '{"a": "\xfc", "b": 1}'
    assert from_log[0] == wanted
    assert from_table == from_log
    names = [kind[1].split()[0] for kind in _TYPES]
    empty = dict.fromkeys(names)
    assert dict(zip(names, from_log[1], strict=True)) == {**empty, "id": 3, "ye": 0}
    some = {"id": 4294967295, "st": "", "en": ""}
    assert dict(zip(names, from_log[2], strict=True)) == {**empty, **some}
    # The row that is taken back is the one that came, column by column, else both would stay.
    here.run("UPDATE kinds SET id = id + 1 WHERE id < 4", "DELETE FROM kinds WHERE id > 4")
    jobs.flush(spark)
    assert [row.id for row in spark.sql("SELECT id FROM kinds ORDER BY id").collect()] == [2, 4]


@pytest.mark.filterwarnings("ignore:'db' is deprecated")  # the binlog's client says it
def test_json_of_mysql_is_the_text_that_it_shows(mysql: MysqlServer) -> None:
    """Random documents, from the binlog alone."""
    choice = random.Random(5)

    def made(depth: int) -> object:
        texts = ["", 'a"', "\\", "\n\x01\x7f", "\xfc\u2028/", "x" * 300]
        plain = (
            None,
            choice.random() < 0.5,
            choice.randrange(-(2**63), 2**64),
            choice.randrange(-40_000, 40_000),
            choice.choice([choice.random(), 1.5, 7.0]) * 10.0 ** choice.randrange(-20, 24),
            choice.choice(texts),
        )
        kind = choice.randrange(len(plain) + (2 if depth < 4 else 0))
        if kind < len(plain):
            return plain[kind]
        inner = [made(depth + 1) for _ in range(choice.randrange(5))]
        return inner if kind == len(plain) else {f"k{at}\xe4": v for at, v in enumerate(inner)}

    mysql.run("CREATE TABLE texts (id INT PRIMARY KEY AUTO_INCREMENT, v JSON)")
    large = [{f"k{at}": at / 2 for at in range(20)} for _ in range(3000)]
    with mysql.connection() as held, held.cursor() as cursor:
        documents = [(json.dumps(made(0)),) for _ in range(500)]
        cursor.executemany("INSERT INTO texts (v) VALUES (%s)", [*documents, (json.dumps(large),)])
    database = Database("127.0.0.1", mysql.port, USER, PASSWORD)
    with database.connected() as connection:
        log = Binlog.of(connection, database.name)
    changes = TableLog(
        database=database,
        names=TableNames("shop", "texts"),
        log=log,
        server_ids=(5500, 5500),
        labels={},
    )
    found = {
        row["id"]: json_text(row["v"])
        for images in changes.images(log.begin_place(), log.end_place(None))
        for row in images.values
    }
    assert len(found) == 501
    assert found == dict(mysql.run("SELECT id, v FROM texts"))


def plain(row: Row) -> list[object]:
    """A row's values as Python compares them."""
    return [
        value.astimezone(UTC) if isinstance(value, datetime) and name in ("dz", "ts") else value
        for name, value in row.asDict().items()
    ]


def test_where_the_changes_begin(spark: SparkSession, here: BinlogServer) -> None:
    here.run(
        "CREATE TABLE starts (a VARCHAR(9), b INT, c INT, PRIMARY KEY (a, b))",
        "INSERT INTO starts VALUES ('x', 1, 1), ('Y', 2, 2), ('z', 3, 3)",
        "FLUSH BINARY LOGS",
    )
    ((file, position),) = [row[:2] for row in here.run("SHOW MASTER STATUS")]
    began_ms = _next_second(here)
    here.run("UPDATE starts SET c = 20 WHERE b = 2", "DELETE FROM starts WHERE b = 3")
    declared = "(a STRING, b INT, c INT, PRIMARY KEY (a, b) NOT ENFORCED)"
    specific = {
        "scan__startup__mode": "specific-offset",
        "scan__startup__specific_offset__file": file,
        "scan__startup__specific_offset__pos": str(position),
    }
    modes: dict[str, dict[str, str]] = {
        "initial": {"scan__incremental__snapshot__chunk__size": "1"},
        "latest": {"scan__startup__mode": "latest-offset"},
        "earliest": {"scan__startup__mode": "earliest-offset"},
        "timestamp": {
            "scan__startup__mode": "timestamp",
            "scan__startup__timestamp_millis": str(began_ms),
        },
        "specific": {**specific, "server_id": "5400-5440"},
    }
    for name, options in modes.items():
        clause = here.options("starts", **options).replace("specific.offset", "specific-offset")
        spark.sql(f"CREATE TABLE from_{name} {declared} {clause}")
        spark.sql(f"CREATE TABLE to_{name} {declared}")
        spark.sql(f"INSERT INTO to_{name} VALUES ('z', 3, 0), ('q', 9, 9)")
        insert(spark, f"INSERT INTO to_{name} SELECT * FROM from_{name}")
    jobs.flush(spark)
    here.run("INSERT INTO starts VALUES ('n', 5, 5)")
    jobs.flush(spark)
    own, new, old = ("q", 9, 9), ("n", 5, 5), ("z", 3, 0)
    assert rows(spark, "SELECT * FROM to_initial") == [("Y", 2, 20), new, own, ("x", 1, 1), old]
    assert rows(spark, "SELECT * FROM to_latest") == [new, own, old]
    # The delete of a row that somebody else has written takes it away.
    assert rows(spark, "SELECT * FROM to_earliest") == [("Y", 2, 20), new, own, ("x", 1, 1)]
    assert rows(spark, "SELECT * FROM to_timestamp") == [("Y", 2, 20), new, own]
    assert rows(spark, "SELECT * FROM to_specific") == [("Y", 2, 20), new, own]


def _next_second(server: BinlogServer) -> int:
    """Wait until a second of the database's has passed; the next one in ms since 1970."""
    ((now,),) = server.run("SELECT unix_timestamp()")
    while server.run("SELECT unix_timestamp()")[0][0] == now:
        time.sleep(0.05)
    return (int(now) + 1) * 1000


def test_tables_of_a_pattern_are_one(spark: SparkSession, here: BinlogServer) -> None:
    """Also one that comes later, with an ENUM of its own, and of another database."""
    columns = "(id INT PRIMARY KEY, kind ENUM('a', 'b'), price INT)"
    here.run(
        *(f"DROP DATABASE IF EXISTS {name}" for name in ("east", "west", "southeast")),
        *(f"CREATE DATABASE {name}" for name in ("east", "west", "southeast")),
        f"CREATE TABLE east.sales_1 {columns}",
        f"CREATE TABLE west.sales_22 {columns}",
        f"CREATE TABLE west.sales_old {columns}",
        f"CREATE TABLE southeast.sales_1 {columns}",
        "INSERT INTO east.sales_1 VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 3)",
        "INSERT INTO west.sales_22 VALUES (1, 'b', 10)",
        "INSERT INTO west.sales_old VALUES (7, 'b', 70)",
        "INSERT INTO southeast.sales_1 VALUES (8, 'b', 70)",
        "GRANT SELECT ON *.* TO reader@'127.0.0.1'",
    )
    declared = (
        "(place STRING METADATA FROM 'database_name' VIRTUAL, "
        "table_name STRING METADATA VIRTUAL, id INT, kind STRING, price INT, "
        "PRIMARY KEY (place, table_name, id) NOT ENFORCED)"
    )
    options = here.options("sales_[0-9]+", scan__incremental__snapshot__chunk__size="2")
    options = options.replace("'shop'", "'(east|west)'")
    spark.sql(f"CREATE TABLE from_sales {declared} {options}")
    spark.sql(
        "CREATE TABLE sales (place STRING, name STRING, id INT, kind STRING, price INT, "
        "PRIMARY KEY (place, name, id) NOT ENFORCED)"
    )
    insert(spark, "INSERT INTO sales SELECT * FROM from_sales")

    def truth(*tables: str) -> list[tuple[object, ...]]:
        found = [
            (*table.split("."), *row)
            for table in tables
            for row in here.run(f"SELECT * FROM {table}")
        ]
        return sorted(found, key=repr)

    def found(table: str) -> list[tuple[object, ...]]:
        return sorted(
            (tuple(row) for row in spark.sql(f"SELECT * FROM {table}").collect()), key=repr
        )

    jobs.flush(spark)
    assert found("sales") == truth("east.sales_1", "west.sales_22")
    here.run(
        "UPDATE west.sales_22 SET price = 11",
        "DELETE FROM east.sales_1 WHERE id = 2",
        "UPDATE west.sales_old SET price = 71",
        "CREATE TABLE east.sales_3 (price INT, id INT PRIMARY KEY, more INT, kind SET('x', 'y'))",
        "INSERT INTO east.sales_3 (id, kind, price) VALUES (1, 'y,x', 5), (2, '', 6)",
        "UPDATE east.sales_3 SET id = 3 WHERE id = 1",
    )
    jobs.flush(spark)
    later = [
        ("east", "sales_3", id_, kind, price)
        for price, id_, _, kind in here.run("SELECT * FROM east.sales_3")
    ]
    wanted = sorted((*truth("east.sales_1", "west.sales_22"), *later), key=repr)
    assert found("sales") == wanted
    assert found("from_sales") == wanted
    assert spark.sql("SELECT count(DISTINCT table_name) FROM from_sales").collect()[0][0] == 3
    error = refused(spark, f"CREATE TABLE bad (id INT) {here.options('sales_(')}")
    assert "it is no regular expression" in error
    spark.sql(f"CREATE TABLE from_none (id INT) {here.options('none.*')}")
    assert "no table shop.none.*" in refused(spark, "SELECT * FROM from_none")
    metadata = "(id INT, ts STRING METADATA FROM 'op_ts')"
    error = refused(spark, f"CREATE TABLE bad {metadata} {options}")
    assert "it has 'database_name' and 'table_name'" in error


def test_a_database_is_synchronised(spark: SparkSession, here: BinlogServer) -> None:
    """While it is written; tables that come later are taken by the next call."""
    kinds = [kind for kind in _TYPES if kind[0].split()[0] not in ("id", "`a")]
    tables = {
        "clients": "id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(20) NOT NULL, since DATETIME(3)",
        "Lines-1": "`order no` INT, place TINYINT UNSIGNED, price DECIMAL(9, 2), PRIMARY KEY "
        "(`order no`, place)",
        "every": "id INT PRIMARY KEY, " + ", ".join(kind[0] for kind in kinds),
    }
    here.run(
        "DROP DATABASE IF EXISTS whole",
        "CREATE DATABASE whole",
        *(f"CREATE TABLE whole.`{name}` ({columns})" for name, columns in tables.items()),
        "CREATE TABLE whole.nokey (id INT)",
        "CREATE TABLE whole.shapes (id INT PRIMARY KEY, g GEOMETRY)",
        "CREATE TABLE whole.old_clients (id INT PRIMARY KEY)",
        "INSERT INTO whole.clients VALUES "
        + ", ".join(f"({at}, 'n{at}', '2026-01-02 03:04:05.123')" for at in range(1, 301)),
        "INSERT INTO whole.every VALUES (1, " + ", ".join(kind[2] for kind in kinds) + ")",
        "GRANT SELECT ON *.* TO reader@'127.0.0.1'",
    )
    options = here.options(".*", scan__incremental__snapshot__chunk__size="100")
    options = options.replace("'shop'", "'whole'")
    spark.sql(f"CREATE TABLE whole (table_name STRING METADATA VIRTUAL) {options}")
    target = f"whole_{type(here).__name__}"
    call = f"CALL sys.sync_database('whole', '{target}', excluding_tables => 'old_.*')"

    def synchronised() -> dict[str, Row]:
        with streaming(spark, "200 ms"):
            return {row.table: row for row in spark.sql(call).collect()}

    def in_spark(name: str) -> list[tuple[object, ...]]:
        found = spark.sql(f"SELECT * FROM {target}.`{name}`").collect()
        return sorted((tuple(row) for row in found), key=repr)

    def in_database(name: str) -> list[tuple[object, ...]]:
        return sorted(here.run(f"SELECT * FROM whole.`{name}`"), key=repr)

    error = refused(spark, call)
    assert "requires a checkpoint interval" in error
    first = synchronised()
    assert {name: row.state for name, row in first.items()} == {
        **{f"whole.{name}": "RUNNING" for name in tables},
        "whole.nokey": "REFUSED",
        "whole.shapes": "REFUSED",
    }
    assert "it has no primary key" in first["whole.nokey"].reason
    assert "columns of the type geometry are not read" in first["whole.shapes"].reason
    is_over = threading.Event()

    def write() -> None:
        choice = random.Random(3)
        with here.connection() as held, held.cursor() as cursor:
            held.select_db("whole")
            while not is_over.wait(0.01):
                at = choice.randrange(1, 400)
                cursor.execute(f"REPLACE INTO clients VALUES ({at}, 'w', NULL)")
                cursor.execute(f"DELETE FROM clients WHERE id = {choice.randrange(1, 400)}")
                cursor.execute(f"REPLACE INTO `Lines-1` VALUES ({at}, {at % 200}, {at / 4})")
                cursor.execute("UPDATE `Lines-1` SET price = price + 1 ORDER BY place LIMIT 3")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        jobs.flush(spark)
        here.run(
            "CREATE TABLE whole.later (id INT PRIMARY KEY, v ENUM('a', 'b'))",
            "INSERT INTO whole.later VALUES (1, 'b')",
        )
        second = synchronised()
    finally:
        is_over.set()
        writer.join()
    assert second.pop("whole.later").state == "RUNNING"
    assert {name: row.job for name, row in second.items()} == {
        name: row.job for name, row in first.items()
    }
    here.run("UPDATE whole.every SET id = 2", "UPDATE whole.later SET v = 'a'")
    jobs.flush(spark)
    for name in ("clients", "Lines-1", "later"):
        assert in_spark(name) == in_database(name), name
        assert in_database(name)
    (every,) = in_spark("every")
    (same,) = spark.sql(f"SELECT * FROM {target}_source.`every`").collect()
    assert every == tuple(same)
    assert len(every) == len(kinds) + 1
    spark.sql("ALTER TABLE whole SET TBLPROPERTIES ('hostname' = 'localhost')")
    assert {row.state for row in synchronised().values()} == {"RUNNING", "REFUSED"}
    here.run("INSERT INTO whole.later VALUES (5, 'a')")
    jobs.flush(spark)
    assert in_spark("later") == in_database("later")
    shown = spark.sql(f"SHOW CREATE TABLE {target}_source.later").collect()[0][0]
    assert "'hostname' = 'localhost'" in shown
    spark.sql(f"CREATE TABLE {target}.rows (id INT)")
    with streaming(spark):
        error = refused(spark, f"CALL sys.sync_database('{target}.rows', '{target}')")
    assert "not 'mysql-cdc'" in error


def test_a_synchronised_table_gets_columns(spark: SparkSession, here: BinlogServer) -> None:
    """While it is written: rows of before, and those of meanwhile, have what the database has."""
    here.run(
        "DROP DATABASE IF EXISTS growing",
        "CREATE DATABASE growing",
        "CREATE TABLE growing.people (id INT PRIMARY KEY, name VARCHAR(20))",
        "INSERT INTO growing.people VALUES "
        + ", ".join(f"({at}, 'n{at}')" for at in range(1, 301)),
        "GRANT SELECT ON *.* TO reader@'127.0.0.1'",
    )
    options = here.options(".*").replace("'shop'", "'growing'")
    spark.sql(f"CREATE TABLE growing (table_name STRING METADATA VIRTUAL) {options}")
    target = f"growing_{type(here).__name__}"

    def synchronised(more: str = "") -> Row:
        with streaming(spark, "200 ms"):
            (row,) = spark.sql(f"CALL sys.sync_database('growing', '{target}'{more})").collect()
            return row

    first = synchronised()
    jobs.flush(spark)
    is_over, has_grown = threading.Event(), threading.Event()

    def write() -> None:
        choice = random.Random(4)
        with here.connection() as held, held.cursor() as cursor:
            held.select_db("growing")
            while not is_over.wait(0.01):
                at = choice.randrange(1, 400)
                if has_grown.is_set():
                    cursor.execute(f"REPLACE INTO people VALUES ({at}, 'w', {at % 9}, NULL)")
                else:
                    cursor.execute(f"REPLACE INTO people (id, name) VALUES ({at}, 'w')")
                cursor.execute(f"DELETE FROM people WHERE id = {choice.randrange(1, 400)}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(0.5)
        here.run(
            "ALTER TABLE growing.people ADD COLUMN age INT DEFAULT 7, ADD COLUMN city VARCHAR(9)"
        )
        has_grown.set()
        time.sleep(0.5)
        refused_one = synchronised()
        assert refused_one.state == "REFUSED"
        assert "has no column age INT" in refused_one.reason
        second = synchronised(", add_columns => true")
    finally:
        is_over.set()
        writer.join()
    assert second.state == "RUNNING"
    assert second.job != first.job
    jobs.flush(spark)
    everything = rows(spark, f"SELECT id, name, age, city FROM {target}.people")
    assert everything == sorted(here.run("SELECT id, name, age, city FROM growing.people"))
    assert {row[2] for row in everything} > {7}
    assert synchronised(", add_columns => true").job == second.job
    here.run("UPDATE growing.people SET city = 'Ulm' WHERE id < 100")
    jobs.flush(spark)
    assert rows(spark, f"SELECT * FROM {target}.people") == sorted(
        here.run("SELECT * FROM growing.people"), key=lambda row: row[0]
    )
    # As a crash leaves it: the job has ended, both tables have the column, and no row has.
    spark.sql(f"STOP JOB '{second.job}' WITH DRAIN")
    here.run(
        "ALTER TABLE growing.people ADD COLUMN zip INT DEFAULT 3",
        "DELETE FROM growing.people WHERE id < 200",
    )
    column = AddColumn(column=Field(id=0, name="zip", type=INTEGER))
    for namespace in (target, f"{target}_source"):
        schemas = open_logged(path_of(spark, f"{namespace}.people")).schema_store
        schemas.evolve(lambda old: changed_schema(old, [column], time_ms=old.time_ms))
    assert synchronised().state == "RUNNING"
    jobs.flush(spark)
    left = rows(spark, f"SELECT id, name, age, zip FROM {target}.people")
    assert left == sorted(here.run("SELECT id, name, age, zip FROM growing.people"))
    assert {row[3] for row in left} == {3}
    running = [job for job in spark.sql("SHOW JOBS").collect() if job.state == "RUNNING"]
    assert [job.name for job in running if target in job.name] == [f"table_store.{target}.people"]


@pytest.mark.filterwarnings("ignore:'db' is deprecated")  # the binlog's client says it
def test_a_range_of_the_binlog_is_read_once_for_all_tables(either: BinlogServer) -> None:
    """Each has its own changes, in their order, and fails for its own statements alone."""
    either.run(
        "DROP DATABASE IF EXISTS several",
        "CREATE DATABASE several",
        *(
            f"CREATE TABLE several.{name} (id INT PRIMARY KEY, v VARCHAR(9))"
            for name in ("first", "second", "emptied", "quiet")
        ),
        "GRANT SELECT ON *.* TO reader@'127.0.0.1'",
    )
    database = Database("127.0.0.1", either.port, USER, PASSWORD)

    def end() -> Binlog:
        with database.connected() as connection:
            return Binlog.of(connection, database.name)

    start = end().end_place(None)
    either.run(
        "INSERT INTO several.first VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO several.second VALUES (1, 'c')",
        "INSERT INTO several.emptied VALUES (1, 'd')",
        "UPDATE several.first SET v = 'e' WHERE id = 1",
        "TRUNCATE TABLE several.emptied",
        "DELETE FROM several.first WHERE id = 2",
    )
    log = end()

    def changes(names: str, *, shared: bool) -> list[tuple[bool, int, str]]:
        table = TableLog(
            database=database,
            names=TableNames("several", names),
            log=log,
            server_ids=(5500, 5600),
            labels={},
        )
        place = log.end_place(start)
        found = table.images(start, place)
        if shared:
            found = table.images_of(shared_events(table, start, place))
        return [
            (come, row["id"], row["v"])
            for images in found
            for come, row in zip(images.come, images.values, strict=True)
        ]

    def counts() -> tuple[int, int]:
        return READ_FOR_ALL.value, READ_ALONE.value

    before = counts()
    of_first = [
        (True, 1, "a"),
        (True, 2, "b"),
        (False, 1, "a"),
        (True, 1, "e"),
        (False, 2, "b"),
    ]
    assert changes("first", shared=True) == of_first
    assert changes("second", shared=True) == [(True, 1, "c")]
    assert changes("quiet", shared=True) == []
    with pytest.raises(SourceTableChangedError, match="TRUNCATE has emptied"):
        changes("emptied", shared=True)
    assert counts() == (before[0] + 1, before[1])
    # What was given out is read again, by who asks again, or for several tables.
    assert changes("first", shared=True) == of_first == changes("first", shared=False)
    assert changes("first|second", shared=True) == changes("first|second", shared=False)
    assert counts() == (before[0] + 1, before[1] + 2)
    if not log.is_mariadb:
        return
    # A table beside, of which the client knows no column, harms nobody else.
    start = end().end_place(start)
    either.run(
        "CREATE TABLE several.odd (id INT PRIMARY KEY, v VARCHAR(90) COMPRESSED)",
        "INSERT INTO several.odd VALUES (1, 'f')",
        "INSERT INTO several.first VALUES (3, 'g')",
    )
    log = end()
    for names in ("first", "(first|second)", "first"):
        for shared in (True, False):
            assert changes(names, shared=shared) == [(True, 3, "g")]
    assert counts()[0] == before[0] + 2


def test_rows_of_many_megabytes_are_read(spark: SparkSession, mysql: MysqlServer) -> None:
    """From the table and from the binlog, where one is larger than the protocol's packets."""
    mysql.run(
        "SET GLOBAL max_allowed_packet = 64 << 20",
        "CREATE TABLE heavy (id INT PRIMARY KEY, b LONGBLOB, t LONGTEXT)",
    )
    mysql.run(
        "INSERT INTO heavy VALUES (1, repeat('b', 17 << 20), NULL), (2, NULL, repeat('ü', 2 << 20))"
    )
    declared = "(id INT, b BINARY, t STRING, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE from_heavy {declared} {mysql.options('heavy')}")
    spark.sql(f"CREATE TABLE heavy {declared}")
    insert(spark, "INSERT INTO heavy SELECT * FROM from_heavy")
    summed = "SELECT id, length(b), md5(b), char_length(t), md5(t) FROM heavy ORDER BY id"
    jobs.flush(spark)
    assert rows(spark, summed) == list(mysql.run(summed))
    mysql.run(
        "INSERT INTO heavy VALUES (3, repeat('c', 20 << 20), repeat('d', 9 << 20))",
        "UPDATE heavy SET b = repeat('e', 18 << 20) WHERE id = 2",
        "DELETE FROM heavy WHERE id = 1",
    )
    jobs.flush(spark)
    assert rows(spark, summed) == list(mysql.run(summed))


@pytest.mark.filterwarnings("ignore:'db' is deprecated")  # the binlog's client says it
def test_a_cut_connection_is_told_wherever_it_is_cut(either: BinlogServer) -> None:
    """After each 4001st byte: what is read is all, or an error that a job waits for."""
    either.run(
        "FLUSH BINARY LOGS",  # the database looks for transactions through a whole file
        "DROP TABLE IF EXISTS torn",
        "CREATE TABLE torn (id INT PRIMARY KEY, v TEXT)",
        "INSERT INTO torn VALUES (1, repeat('x', 9000)), (2, repeat('y', 9000))",
    )
    proxy = ShortConnections(either.port)
    options = {
        "connector": "mysql-cdc",
        "hostname": "127.0.0.1",
        "port": str(proxy.port),
        "username": USER,
        "password": PASSWORD,
        "database-name": either.database,
        "table-name": "torn",
        "scan.startup.mode": "latest-offset",
    }
    fields = (Field(id=1, name="id", type=INTEGER), Field(id=2, name="v", type=STRING))
    schema = TableSchema(fields=fields, highest_field_id=2, time_ms=0, options=options)
    source = MysqlSource(MysqlDefinition.of(schema))
    first = source.following(None, 0, 0, Moment())
    assert first is not None
    for at in range(3, 9):
        either.run(
            f"INSERT INTO torn VALUES ({at}, repeat('é', 4500))",
            f"DELETE FROM torn WHERE id = {at - 1}",
        )
    last = source.following(first, 1, 0, Moment())
    assert last is not None

    class Known(PositionStore):
        def last(self) -> Position | None:
            return last

    positions = Known(LocalFileIO(), "/nowhere")

    def read(begin: int, end: int | None) -> list[dict[str, object]]:
        asked = AskedRows(
            table="torn", first=begin, last=end, limit=None, is_bounded=False, parallelism=1
        )
        plan = source.plan(asked, positions)
        assert plan is not None
        columns = ["id", "v"] if end is None else ["id", "v", CHANGE_ORDER]
        return [
            row
            for part in plan.parts
            for batch in plan.reader.read(part, columns)
            for row in batch.to_pylist()
        ]

    try:
        for begin, end in ((0, None), (first.rows, last.rows)):
            whole = read(begin, end)
            assert len(whole) == (2 if end is None else 12)
            cuts = 0
            while True:
                proxy.allow(4001 * cuts)
                try:
                    is_whole = read(begin, end) == whole
                except SourceUnavailableError:
                    cuts += 1
                    continue
                assert is_whole, cuts
                if not proxy.has_cut:
                    break
                cuts += 1
            proxy.left = None
            assert cuts > 5
    finally:
        proxy.close()


@pytest.mark.parametrize("kind", [MariadbServer, MysqlServer])
def test_a_job_goes_on_with_the_replica_that_takes_over(
    spark: SparkSession, tmp_path: Path, kind: type[MariadbServer] | type[MysqlServer]
) -> None:
    """Its binlog has files of other names; the job has not read all when the primary dies."""
    primary = kind(tmp_path / "1")
    replica = kind(tmp_path / "2", primary=primary)
    try:
        primary.run(
            "CREATE TABLE ranks (id INT PRIMARY KEY, v INT)",
            "INSERT INTO ranks VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
            "FLUSH BINARY LOGS",
        )
        table = f"ranks_{kind.__name__}"
        declared = "(id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)"
        spark.sql(f"CREATE TABLE from_{table} {declared} {primary.options('ranks')}")
        spark.sql(f"CREATE TABLE {table} {declared}")
        everything = "SELECT * FROM ranks ORDER BY id"
        # Barriers are cut by hand.
        insert(spark, f"INSERT INTO {table} SELECT * FROM from_{table}", "1 h")
        jobs.flush(spark)
        primary.run("UPDATE ranks SET v = 10 WHERE id = 1", "INSERT INTO ranks VALUES (5, 5)")
        jobs.flush(spark)
        assert rows(spark, f"SELECT * FROM {table}") == primary.run(everything)
        primary.run("DELETE FROM ranks WHERE id = 2", "UPDATE ranks SET id = 6 WHERE id = 3")
        replica.catch_up(primary)
        primary.stop(signal.SIGKILL)
        replica.promote()
        replica.run("UPDATE ranks SET v = 40 WHERE id = 4", "INSERT INTO ranks VALUES (7, 7)")
        spark.sql(
            f"ALTER TABLE from_{table} SET TBLPROPERTIES ('hostname' = 'localhost', "
            f"'port' = '{replica.port}')"
        )
        jobs.flush(spark)
        assert rows(spark, f"SELECT * FROM {table}") == replica.run(everything)
        replica.run("UPDATE ranks SET v = v + 1")
        jobs.flush(spark)
        assert rows(spark, f"SELECT * FROM {table}") == replica.run(everything)
        assert [row.error for row in spark.sql("SHOW JOBS").collect() if row.error] == []
    finally:
        primary.stop(signal.SIGKILL)
        replica.stop(signal.SIGKILL)


def test_examples_of_the_documents(spark: SparkSession, server: MariadbServer) -> None:
    server.run(
        "CREATE USER writer@'127.0.0.1' IDENTIFIED BY 'secret'",
        "GRANT ALL ON shop.* TO writer@'127.0.0.1'",
        "DROP TABLE IF EXISTS orders",
    )
    spark.sql("CREATE NAMESPACE doc_mysql")
    spark.sql("USE doc_mysql")
    in_order = sorted((*examples("python"), *examples("sql")), key=lambda example: example.line)
    known: dict[str, object] = {}
    for example in (e for e in in_order if e.page == "mysql-cdc"):
        code = example.with_text("'database'", "'127.0.0.1'").with_text("3306", str(server.port))
        code = code.with_text('host="database"', f'host="127.0.0.1", port={server.port}')
        code = code.with_text("'reader'", "'writer'")
        if code.language == "python":
            exec(code.code, known)
            server.run("GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO writer@'127.0.0.1'")
            continue
        found = []
        for statement in code.statements():
            answer = spark.sql(statement).collect()
            if statement.startswith("SELECT"):
                found += [tuple(" ".join(map(str, row)).split()) for row in answer]
        assert tuple(found) == code.printed, f"mysql-cdc, line {code.line}"
    spark.sql("USE default")


def test_the_warehouse_of_the_demo(
    spark: SparkSession, server: MariadbServer, kafka_broker: KafkaBroker
) -> None:
    """Its script, its correction and its trade, compared as the demo compares them."""
    server.run("DROP TABLE IF EXISTS orders", *opening(400))
    kafka_broker.create_topic("dws_cate_day")
    spark.sql("CREATE NAMESPACE retail")
    spark.sql("USE retail")
    script = (REPOSITORY / "demo" / "warehouse.sql").read_text()
    password = PASSWORD.replace("'", "''")
    for there, here in (
        ("'database-name' = 'retail'", f"'database-name' = '{server.database}'"),
        ("'username' = 'retail'", f"'username' = '{USER}'"),
        ("'123456'", f"'{password}'"),
        ("'3306'", f"'{server.port}'"),
        ("localhost:9092", kafka_broker.bootstrap),
    ):
        assert there in script
        script = script.replace(there, here)
    for statement in statements(script):
        spark.sql(statement)
    jobs.flush(spark)
    share, history, correction = statements(
        (REPOSITORY / "demo" / "warehouse_queries.sql").read_text()
    )
    spark.sql(correction)
    with server.connection() as held:
        held.autocommit(False)
        shop = Shop(held, random.Random(11))
        for _ in range(80):
            shop.trade()
    jobs.flush(spark)
    topic = FollowedTopic(kafka_broker.bootstrap, "dws_cate_day")
    topic.stop()
    fields = ("dt", "parent_cate_id", "cate_gmv")
    told = [tuple(value[field] for field in fields) for value in topic.values()]
    for table in QUERIES:
        assert differences(server, table, rows(spark, f"SELECT * FROM {table}")) == []
    assert differences(server, "dws_cate_day", told) == []
    assert len(rows(spark, share)) == 10
    assert len(rows(spark, history)) == 100
    assert shop.rows_changed > 80
    spark.sql("USE default")


def test_what_cannot_be_read_is_refused(spark: SparkSession, server: MariadbServer) -> None:
    server.run(
        "CREATE TABLE plain (id BIGINT PRIMARY KEY, v INT UNSIGNED)",
        "CREATE TABLE nokey (id BIGINT)",
        "CREATE TABLE child (id BIGINT PRIMARY KEY, v BIGINT, "
        "FOREIGN KEY (v) REFERENCES plain (id) ON DELETE CASCADE)",
    )
    declared = "(id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    missing = server.options("plain").replace("'database-name' = 'shop', ", "")
    assert "'database-name'" in refused(spark, f"CREATE TABLE bad {declared} {missing}")
    kafka = server.options("plain", scan__startup__mode="group-offsets")
    assert "'initial', 'earliest-offset'" in refused(spark, f"CREATE TABLE bad {declared} {kafka}")
    for name, columns, options, condition, text in (
        ("password", declared, server.options("plain", password="x"), "REFUSED", "'reader'"),
        ("table", declared, server.options("absent"), "TABLE_NOT_FOUND", "shop.absent"),
        ("nokey", "(id BIGINT)", server.options("nokey"), "TABLE_UNSUITABLE", "no primary key"),
        ("child", declared, server.options("child"), "TABLE_UNSUITABLE", "CASCADE or SET NULL"),
        ("type", "(v INT)", server.options("plain"), "TABLE_UNSUITABLE", "int(10) unsigned"),
        ("column", "(w INT)", server.options("plain"), "TABLE_UNSUITABLE", "no such column"),
        ("port", declared, server.options("plain", port="1"), "UNAVAILABLE", "127.0.0.1:1"),
    ):
        spark.sql(f"CREATE TABLE bad_{name} {columns} {options}")
        error = refused(spark, f"SELECT * FROM bad_{name}")
        assert f"[TABLE_STORE_SOURCE_{condition}]" in error, error
        assert text in error, error
        assert PASSWORD not in error
    spark.sql(f"CREATE TABLE mysql_plain {declared} {server.options('plain')}")
    assert PASSWORD not in str(spark.sql("SHOW CREATE TABLE mysql_plain").collect())
    spark.sql("CREATE TABLE bag (id BIGINT, v BIGINT)")
    spark.sql(f"CREATE TABLE keyed {declared}")
    server.run("SET GLOBAL binlog_row_metadata = MINIMAL")
    with streaming(spark):
        assert "has no primary key" in refused(spark, "INSERT INTO bag SELECT * FROM mysql_plain")
        error = refused(spark, "INSERT INTO keyed SELECT id, sum(v) FROM mysql_plain GROUP BY id")
        assert "Load it into a table first with INSERT INTO t SELECT * FROM" in error
        error = refused(spark, "INSERT INTO keyed SELECT * FROM mysql_plain")
        assert "[TABLE_STORE_SOURCE_SERVER_UNSUITABLE]" in error
        assert "SET GLOBAL binlog_row_metadata = FULL" in error
    server.run("SET GLOBAL binlog_row_metadata = FULL")


def test_the_connector_is_a_format_with_the_tables_columns(
    spark: SparkSession, either: BinlogServer
) -> None:
    """Nothing is declared: each type has a place for what the database's column may hold."""
    either.run(
        "DROP TABLE IF EXISTS `as it is`, bag",
        "CREATE TABLE `as it is` (id BIGINT UNSIGNED, day DATE, item VARCHAR(20), bits BIT(3), "
        "price DECIMAL(65, 2), `at` TIMESTAMP NULL, twice INT AS (length(item) * 2) STORED, "
        "PRIMARY KEY (day, id))",
        "INSERT INTO `as it is` (id, day, item, bits, price, `at`) VALUES "
        "(18446744073709551615, '2026-01-02', 'té', b'101', 1e60, '2026-01-02 03:04:05'), "
        "(1, '2026-01-03', NULL, NULL, NULL, NULL)",
        "CREATE TABLE bag (id BIGINT)",
    )

    def reader(table: str, **more: str) -> DataFrameReader:
        return spark.read.format("mysql-cdc").options(**either.place(table, **more))

    found = reader("as it is").load()
    assert [(field.name, field.dataType.simpleString()) for field in found.schema] == [
        ("id", "decimal(20,0)"),
        ("day", "date"),
        ("item", "string"),
        ("bits", "tinyint"),
        ("price", "string"),
        ("at", "timestamp"),
        ("twice", "int"),
    ]
    everything = "SELECT id, day, item, bits + 0, price + 0, twice FROM `as it is` ORDER BY day"
    wanted = [tuple(map(str, row)) for row in either.run(everything)]
    asked = ["id", "day", "item", "bits", "price", "twice"]
    rows_then = [tuple(map(str, row)) for row in found.select(asked).orderBy("day").collect()]
    assert rows_then == wanted
    assert found.where("at = timestamp'2026-01-02 03:04:05Z'").count() == 1
    either.run("DELETE FROM `as it is` WHERE id = 1")
    assert found.count() == 1, "each query reads anew"
    assert reader("as it is").schema("item STRING, id DECIMAL(20, 0)").load().count() == 1
    plan = found._jdf.queryExecution().toString()
    assert PASSWORD not in plan, plan
    for table, more, text in (
        ("absent", {}, "no table"),
        ("bag", {}, "no primary key"),
        ("(as it is|bag)", {}, "stands for 2 tables"),
        ("bag", {"password": "x"}, "Check 'username' and 'password'"),
        ("bag", {"passwort": "x"}, "Did you mean 'password'"),
    ):
        with unlogged_errors(), pytest.raises(PySparkException) as error:
            reader(table, **more).load()
        assert text in str(error.value), error.value


def test_what_mysql_is_not_set_for_is_refused(spark: SparkSession, mysql: MysqlServer) -> None:
    mysql.run("CREATE TABLE shapes (id BIGINT PRIMARY KEY, g GEOMETRY)")
    spark.sql(f"CREATE TABLE shapes (id BIGINT, g BINARY) {mysql.options('shapes')}")
    error = refused(spark, "SELECT * FROM shapes")
    assert "column g: columns of the type geometry are not read" in error
    for setting, value, back in (
        ("gtid_mode", "ON_PERMISSIVE", "ON"),
        ("binlog_row_value_options", "PARTIAL_JSON", "''"),
        ("binlog_row_image", "MINIMAL", "FULL"),
    ):
        mysql.run(f"SET GLOBAL {setting} = {value}")
        error = refused(spark, "SELECT * FROM shapes")
        mysql.run(f"SET GLOBAL {setting} = {back}")
        assert "[TABLE_STORE_SOURCE_SERVER_UNSUITABLE]" in error
        assert f"{setting} is {value}, not" in error


def suspended(spark: SparkSession, job: str, timeout_s: float = 90) -> str:
    """The error of a job once it has failed too often."""
    end = time.monotonic() + timeout_s
    while True:
        (row,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if row.state == "SUSPENDED":
            return str(row.error)
        assert time.monotonic() < end, row
        time.sleep(0.2)


def test_what_the_database_has_lost_is_told(spark: SparkSession, server: MariadbServer) -> None:
    server.run("CREATE TABLE lost (id BIGINT PRIMARY KEY, v INT)", "INSERT INTO lost VALUES (1, 1)")
    declared = "(id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE mysql_lost {declared} {server.options('lost')}")
    spark.sql(f"CREATE TABLE lost {declared}")
    statement = "INSERT INTO lost SELECT * FROM mysql_lost"
    job = insert(spark, statement)
    jobs.flush(spark)
    # Added columns are nothing, and rows from before are read as they were.
    server.run(
        "INSERT INTO lost VALUES (2, 2)",
        "ALTER TABLE lost ADD COLUMN w INT FIRST, MODIFY v SMALLINT",
        "INSERT INTO lost VALUES (9, 3, 3)",
    )
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM lost") == [(1, 1), (2, 2), (3, 3)]
    spark.sql(f"STOP JOB '{job}'")
    server.run("INSERT INTO lost VALUES (9, 4, 4)", "FLUSH BINARY LOGS")
    newest = server.run("SHOW MASTER STATUS")[0][0]
    end = time.monotonic() + 60
    while len(server.run("SHOW BINARY LOGS")) > 1:  # a reader may still be leaving an old file
        server.run(f"PURGE BINARY LOGS TO '{newest}'")
        assert time.monotonic() < end
    with unlogged_errors():
        gone = suspended(spark, insert(spark, statement))
    assert "[TABLE_STORE_SOURCE_CHANGES_GONE]" in gone
    assert "from changes.0" in gone
    assert f"begins with {newest}" in gone
    # Another name takes the rows that are there.
    fresh = insert(spark, statement, **{"pipeline.name": "fresh"})
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM lost") == [(1, 1), (2, 2), (3, 3), (4, 4)]
    server.run("TRUNCATE TABLE lost", "INSERT INTO lost VALUES (0, 5, 5)")
    with unlogged_errors():
        emptied = suspended(spark, fresh)
    assert "[TABLE_STORE_SOURCE_TABLE_CHANGED]" in emptied
    assert f"TRUNCATE has emptied or replaced it at {newest}:" in emptied
    assert len(rows(spark, "SELECT * FROM lost")) == 4


def test_a_database_that_is_away_is_waited_for(spark: SparkSession, server: MariadbServer) -> None:
    server.run("CREATE TABLE away (id BIGINT PRIMARY KEY)", "INSERT INTO away VALUES (1)")
    declared = "(id BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE mysql_away {declared} {server.options('away')}")
    spark.sql(f"CREATE TABLE away {declared}")
    job = insert(spark, "INSERT INTO away SELECT * FROM mysql_away")
    jobs.flush(spark)
    server.run("INSERT INTO away VALUES (2)")
    server.stop(signal.SIGKILL)
    end = time.monotonic() + 60
    while True:
        (found,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if found.error:
            break
        assert time.monotonic() < end, found
        time.sleep(0.2)
    server.start()
    assert found.state == "RUNNING"
    assert "does not answer" in found.error
    server.run("INSERT INTO away VALUES (3)")
    jobs.flush(spark)
    assert rows(spark, "SELECT * FROM away") == [(1,), (2,), (3,)]


SCRIPT = """
CREATE TABLE IF NOT EXISTS accounts (
  id BIGINT, owner STRING, money DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED
);
CREATE TEMPORARY TABLE mysql_accounts (
  id BIGINT, owner STRING, money DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED
) {options};
SET 'execution.checkpointing.interval' = '200 ms';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO accounts SELECT * FROM mysql_accounts;
"""


def await_position(folder: Path, script: JobScript) -> None:
    """Return when it is fixed where the changes begin: then the first rows are read."""
    external = folder / "spark-warehouse" / "_external"
    end = time.monotonic() + 120
    while not any(external.rglob("position/*")):
        assert script.process.poll() is None, script.errors
        assert time.monotonic() < end, script.errors
        time.sleep(0.02)


def test_it_has_the_databases_rows_whatever_is_killed(
    tmp_path: Path, server: MariadbServer
) -> None:
    """The planner in the middle of the first rows, then it and the driver after them."""
    server.run(
        "CREATE TABLE accounts (id BIGINT PRIMARY KEY, owner VARCHAR(20), money DECIMAL(9, 2))",
        "INSERT INTO accounts SELECT seq, concat('o', seq % 50), seq FROM seq_1_to_20000",
    )
    options = server.options("accounts", scan__incremental__snapshot__chunk__size="5000")
    text = SCRIPT.format(options=options)
    is_over = threading.Event()

    def write() -> None:
        choice = random.Random(7)
        with server.connection() as held, held.cursor() as cursor:
            held.autocommit(False)
            while not is_over.wait(0.01):
                one, other = choice.randrange(40_000), choice.randrange(40_000)
                for statement in choice.sample(
                    (
                        f"REPLACE INTO accounts VALUES ({one}, 'new', {other % 1000})",
                        f"UPDATE accounts SET money = {other} WHERE id BETWEEN {one} AND {one + 9}",
                        f"DELETE FROM accounts WHERE id BETWEEN {other} AND {other + 3}",
                        f"UPDATE IGNORE accounts SET id = {other} WHERE id = {one}",
                    ),
                    2,
                ):
                    cursor.execute(statement)
                if choice.random() < 0.9:
                    held.commit()
                else:
                    held.rollback()
            held.commit()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with JobScript(tmp_path, text, "killed") as script:
            await_position(tmp_path, script)
            os.kill(script.planner(), signal.SIGKILL)
            first = script.wait_for_commit("accounts")
            os.kill(script.planner(), signal.SIGKILL)
            script.wait_for_commit("accounts", after=first)
            os.kill(script.process.pid, signal.SIGKILL)
            script.process.wait(60)
    finally:
        is_over.set()
        writer.join()
    table = open_table(str(tmp_path / "spark-warehouse" / "default.db" / "accounts"))
    wanted = sorted(server.run("SELECT * FROM accounts"))
    with JobScript(tmp_path, text, "last") as script:
        end = time.monotonic() + 180
        while (
            found := sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist())
        ) != wanted:
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, (len(found), len(wanted))
            time.sleep(0.3)
        assert script.end(signal.SIGTERM) == 0, script.errors
