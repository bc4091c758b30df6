"""Goal: one session of the Thrift server sees of another what both store, and nothing else.

Two PyHive sessions at once. What Spark's own server shares too is not looked at: its page, which
shows everybody's statements, global temporary views, and the rights of the server's user.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyhive import hive
from TCLIService.ttypes import TOperationState

from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.thrift_server import ThriftServer, ThriftSession

pytestmark = pytest.mark.spark

_NEVER_ENDS = (
    "SELECT a.id FROM range(1000000) AS a CROSS JOIN range(1000000) AS b WHERE a.id + b.id < 0"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    folder = tmp_path_factory.mktemp("sessions")
    (folder / "events").mkdir()
    logged = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(folder / "events"),
    }
    with ThriftServer(folder, *arguments(SMALL, logged)) as running:
        yield running


@pytest.fixture(scope="module")
def first(server: ThriftServer) -> Iterator[ThriftSession]:
    with server.connect() as session:
        yield session


@pytest.fixture
def second(server: ThriftServer, first: ThriftSession) -> Iterator[ThriftSession]:
    with server.connect() as session:
        yield session


def test_temporary_tables(first: ThriftSession, second: ThriftSession) -> None:
    first.run("CREATE TEMPORARY TABLE mine AS SELECT 1 AS a")
    for statement in ("SELECT * FROM mine", "DROP TABLE mine", "INSERT INTO mine VALUES (1)"):
        assert "42P01" in second.error(statement)
    assert "mine" not in {row[1] for row in second.run("SHOW TABLES")}
    second.run("CREATE TEMPORARY TABLE mine (b STRING, c INT)")
    second.run("INSERT INTO mine VALUES ('x', 2)")
    assert first.run("SELECT * FROM mine") == [(1,)]
    second.run("DROP TEMPORARY TABLE mine")
    assert first.run("SELECT * FROM mine") == [(1,)]
    first.run("DROP TEMPORARY TABLE mine")


def test_settings_and_catalogs(first: ThriftSession, second: ThriftSession, tmp_path: Path) -> None:
    first.run("SET 'table-storage.bucket' = '5'")
    first.run("SET table-storage.log.kafka.sasl.plain.password = pl4nted1")
    first.run("SET 'execution.runtime-mode' = 'streaming'")
    first.run(f"CREATE CATALOG own WITH ('type' = 'table-store', 'warehouse' = '{tmp_path}')")
    first.run("CREATE TABLE of_first (a INT)")
    second.run("CREATE TABLE of_second (a INT)")
    first.run("SET 'execution.checkpointing.interval' = '1 s'")
    streaming = "INSERT INTO of_first SELECT a FROM of_second"
    assert "a server's sessions" in first.error(streaming)
    first.run("SET 'table-store.jobs' = 'runner'")
    ((job,),) = first.run(streaming)
    assert [row[3] for row in second.run("SHOW JOBS") if row[0] == job] == ["SUBMITTED"]
    assert "TABLE_STORE_NO_JOB_RUNNER" in second.error(f"STOP JOB '{job}' WITH DRAIN")
    second.run(f"STOP JOB '{job}'")
    assert not [row for row in first.run("SHOW JOBS") if row[0] == job]
    first.run("RESET 'table-store.jobs'")
    first.run("RESET 'execution.checkpointing.interval'")
    (shown,) = second.run("SHOW CREATE TABLE of_second")
    assert "bucket" not in str(shown)
    for key in ("table-storage.bucket", "execution.runtime-mode"):
        assert second.run(f"SET '{key}'") == [(key, "<undefined>")]
    assert not [row for row in second.run("SET") if str(row[0]).startswith("table-storage")]
    assert second.error("SELECT * FROM own.default.x").startswith("42P01")
    assert "own" not in {row[0] for row in second.run("SHOW CATALOGS")}
    for key in ("table-storage.bucket", "table-storage.log.kafka.sasl.plain.password"):
        first.run(f"RESET '{key}'")
    first.run("RESET 'execution.runtime-mode'")


def test_errors_reach_their_own_session(server: ThriftServer) -> None:
    """Many at once, each about a table of its session."""

    def fail(number: int) -> list[str]:
        with server.connect() as session:
            return [
                session.error(f"CREATE TABLE e{number} (a INT) WITH ('bukket{number}' = '1')")
                if step % 2
                else session.error(f"INSERT INTO e{number}_{step} VALUES (1)")
                for step in range(6)
            ]

    with ThreadPoolExecutor(4) as threads:
        for number, errors in enumerate(threads.map(fail, range(4))):
            for step, error in enumerate(errors):
                assert f"bukket{number}" in error if step % 2 else f"e{number}_{step}" in error


def test_a_cancelled_statement_is_its_sessions_alone(
    server: ThriftServer, first: ThriftSession, second: ThriftSession
) -> None:
    """It leaves nothing behind; what the other session runs meanwhile goes on and is whole."""
    first.run("CREATE TABLE shared (id BIGINT, PRIMARY KEY (id) NOT ENFORCED)")
    connection = hive.connect("127.0.0.1", server.port, username="tester")
    cursor = connection.cursor()
    cursor.execute(f"INSERT INTO shared {_NEVER_ENDS}", async_=True)
    with ThreadPoolExecutor(1) as threads:
        long = threads.submit(
            second.run,
            "SELECT count(*) FROM range(3000) AS a CROSS JOIN range(30000) AS b "
            "WHERE pmod(hash(a.id, b.id), 7) >= 0",
        )
        first.run("INSERT INTO shared VALUES (1), (2)")
        assert cursor.poll().operationState == TOperationState.RUNNING_STATE
        cursor.cancel()
        assert cursor.poll().operationState == TOperationState.CANCELED_STATE
        assert long.result(240) == [(90_000_000,)]
    first.run("INSERT INTO shared VALUES (3)")
    assert first.run("SELECT count(*) FROM shared") == [(3,)]
    after = connection.cursor()
    after.execute("SELECT count(*) FROM shared")
    assert after.fetchall() == [(3,)]
    connection.close()


def test_secrets_are_in_no_log(server: ThriftServer, first: ThriftSession) -> None:
    """Of the server or of events, where all its users look; nor in an answer."""
    key = "log.kafka.sasl.plain.password"
    first.run(f"CREATE TABLE closed (a INT) WITH ('{key}' = 'pl4nted2')")
    first.run(f"ALTER TABLE closed SET TBLPROPERTIES ('{key}' = 'pl4nted3')")
    first.run(f"SET 'table-storage.{key}' = 'pl4nted4'")
    first.run(f"RESET 'table-storage.{key}'")
    errors = first.error(f"CREATE TABLE x (a INT) WITH ('{key}' = 'pl4nted5') oops")
    errors += first.error(f"CREATE TABLE x (a INT) TBLPROPERTIES ('{key}' = 'pl4nted6') oops")
    answers = [
        first.run(sql)
        for sql in (
            "SHOW CREATE TABLE closed",
            "SHOW TBLPROPERTIES closed",
            "SET",
            "DESCRIBE EXTENDED closed",
        )
    ]
    events = server.log.parent / "events"
    until = time.monotonic() + 60
    while "DESCRIBE EXTENDED closed" not in (text := _text(events)) and time.monotonic() < until:
        time.sleep(0.2)
    assert "DESCRIBE EXTENDED closed" in text
    assert "pl4nted" not in text
    assert "pl4nted" not in server.log.read_text()
    assert "pl4nted" not in errors + str(answers)


def _text(folder: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
