"""Goal: the stock Thrift server serves BI tools, in both configurations of the catalog.

SHOW-based clients (PyHive), beeline, and clients that browse by JDBC metadata see the same tables,
which follow every change: of the same process at once, of another one when a session starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.catalog_conf import OWN_NAME, SESSION_CATALOG, SMALL, arguments
from tests.integration.jdbc_metadata import JdbcBrowser
from tests.integration.shared_shells import SharedShells
from tests.integration.stock_shell import StockShell
from tests.integration.thrift_server import ThriftServer, ThriftSession

pytestmark = pytest.mark.spark


@dataclass(frozen=True, slots=True)
class Running:
    """A server, one session of it, one JDBC client whose connection stays open, and a shell.

    `before` is what other modules had left in the shell's folder.
    """

    server: ThriftServer
    session: ThriftSession
    browser: JdbcBrowser
    shell: StockShell
    before: frozenset[str]


@pytest.fixture(
    scope="module",
    params=[pytest.param(OWN_NAME, id="own-name"), pytest.param(SESSION_CATALOG, id="session")],
)
def running(request: pytest.FixtureRequest, shared_shells: SharedShells) -> Iterator[Running]:
    """All of them at once, in the shell's folder."""
    conf = arguments(SMALL, request.param)
    with shared_shells.lent_with(request.param, "thrift") as shell:
        before = names_in(shell)
        with (
            ThriftServer(shell.folder, *conf) as server,
            server.connect() as session,
            JdbcBrowser(server.url) as browser,
        ):
            browser.hold()
            yield Running(server, session, browser, shell, before)


def names_in(shell: StockShell) -> frozenset[str]:
    return frozenset(path.name for path in shell.folder.iterdir())


def test_statements(running: Running) -> None:
    """What SHOW-based clients send: all kinds of statement, values of many types."""
    run = running.session.run
    run("CREATE TABLE st (id BIGINT, v STRING, d DECIMAL(10,2), PRIMARY KEY (id) NOT ENFORCED)")
    run("INSERT INTO st VALUES (1, 'a', 1.5), (2, NULL, 2.5), (1, 'b', 3.5)")
    run("UPDATE st SET v = 'c' WHERE v IS NULL")
    assert [tuple(map(str, row)) for row in run("SELECT * FROM st ORDER BY id")] == [
        ("1", "b", "3.50"),
        ("2", "c", "2.50"),
    ]
    run("CREATE VIEW st_view AS SELECT count(*) AS n FROM st")
    run("CREATE TEMPORARY VIEW st_temp AS SELECT 7 AS seven")
    assert run("SELECT n, seven FROM st_view, st_temp") == [(2, 7)]
    shown = {row[1] for row in run("SHOW TABLES")}
    assert {"st", "st_view"} <= shown
    assert ("default", "st_view") in {row[:2] for row in run("SHOW VIEWS")}
    assert run("SELECT current_schema()") == [("default",)]


def test_show_table_extended(running: Running) -> None:
    """Views and temporary views are listed with the tables, each with readable properties.

    dbt-spark takes a relation's kind, owner and columns from these texts.
    """
    run = running.session.run
    run("CREATE SCHEMA ext")
    run("CREATE TABLE ext.t (id INT NOT NULL, p DATE) PARTITIONED BY (p) WITH ('bucket' = '2')")
    run("CREATE VIEW ext.tv COMMENT 'seen' AS SELECT id FROM ext.t")
    run("CREATE VIEW ext.other AS SELECT 1 AS one")
    run("CREATE TEMPORARY VIEW t_temp AS SELECT 1 AS one")
    rows = run("SHOW TABLE EXTENDED IN ext LIKE 't*'")
    assert [row[:3] for row in rows] == [
        ("ext", "t", False),
        ("ext", "tv", False),
        ("", "t_temp", True),
    ]
    table, view, _ = (str(row[3]).splitlines() for row in rows)
    assert {"Type: MANAGED", "Table Properties: [bucket=2]", "Partition Columns: [p]"} <= {*table}
    assert " |-- id: integer (nullable = false)" in table
    assert {"Type: VIEW", "Comment: seen", "View Text: SELECT id FROM ext.t"} <= {*view}
    assert " |-- id: integer" in str(view)
    run("DROP VIEW t_temp")
    run("DROP SCHEMA ext CASCADE")


def test_errors(running: Running) -> None:
    """Errors keep their SQLSTATE, and the session goes on."""
    error = running.session.error
    assert error("SELECT * FROM nowhere").startswith("42P01")
    assert "TABLE_STORE_UNKNOWN_OPTION" in error("CREATE TABLE x (a INT) WITH ('bukket' = '1')")
    assert error("SELECT 1 +").startswith("42601")
    assert running.session.run("SELECT 1") == [(1,)]


def test_two_sessions(running: Running) -> None:
    """Each session has its own settings, schema and temporary views."""
    with running.server.connect() as other:
        other.run("CREATE TEMPORARY VIEW mine_alone AS SELECT 1 AS x")
        other.run("SET spark.sql.shuffle.partitions = 3")
        other.run("CREATE SCHEMA of_thrift")
        other.run("USE of_thrift")
        other.run("CREATE TABLE two (a INT)")
        assert other.run("SELECT current_schema()") == [("of_thrift",)]
        assert running.session.run("SELECT current_schema()") == [("default",)]
        assert "42P01" in running.session.error("SELECT * FROM mine_alone")
        assert running.session.run("SET spark.sql.shuffle.partitions")[0][1] == "2"
        assert running.session.run("SELECT count(*) FROM of_thrift.two") == [(0,)]
    with running.server.connect(database="of_thrift") as third:
        assert third.run("SELECT count(*) FROM two") == [(0,)]


def test_eight_sessions_at_once(running: Running) -> None:
    """One planner serves them all: no statement fails, no row is lost, no setting is another's."""
    running.session.run("CREATE TABLE eight (id INT, who STRING, PRIMARY KEY (id) NOT ENFORCED)")

    def work(number: int) -> list[tuple[object, ...]]:
        with running.server.connect() as session:
            session.run(f"SET 'table-storage.bucket' = '{number + 1}'")
            session.run(f"CREATE TEMPORARY TABLE own AS SELECT {number} AS id")
            for step in range(3):
                session.run(f"INSERT INTO eight SELECT id * 3 + {step}, 'w{number}' FROM own")
            session.run(f"CREATE TABLE eight_{number} (a INT)")
            (shown,) = session.run(f"SHOW CREATE TABLE eight_{number}")
            assert f"'bucket' = '{number + 1}'" in str(shown[0])
            return session.run("SELECT id FROM own")

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [[(number,)] for number in range(8)]
    assert running.session.run("SELECT count(*), count(DISTINCT who) FROM eight") == [(24, 8)]


def test_temporary_tables_end_with_their_session(running: Running) -> None:
    """Not with the server; those of another session stay."""
    folder = running.shell.folder / "spark-warehouse" / "_temporary"
    before = set(folder.iterdir()) if folder.exists() else set()

    def folders() -> set[Path]:
        return set(folder.iterdir()) - before

    running.session.run("CREATE TEMPORARY TABLE stays AS SELECT 1 AS a")
    with running.server.connect() as other:
        other.run("CREATE TEMPORARY TABLE goes (a INT)")
        other.run("INSERT INTO goes VALUES (1)")
        assert other.run("SELECT * FROM goes") == [(1,)]
        assert "42P01" in running.session.error("SELECT * FROM goes")
        assert len(folders()) == 2
    until = time.monotonic() + 30
    while len(folders()) > 1 and time.monotonic() < until:
        time.sleep(0.1)
    assert len(folders()) == 1
    assert running.session.run("SELECT * FROM stays") == [(1,)]
    running.session.run("DROP TEMPORARY TABLE stays")


def test_metadata_follows_this_process(running: Running) -> None:
    """JDBC: getTables and getColumns show every change at once, on a connection that stays open."""
    run, browser = running.session.run, running.browser
    run("CREATE SCHEMA meta")
    run("CREATE TABLE meta.t (id BIGINT NOT NULL, V STRING COMMENT 'c') COMMENT 'x'")
    run("CREATE VIEW meta.vw AS SELECT id FROM meta.t")
    run("CREATE TABLE meta.pq USING parquet AS SELECT 1 AS a")
    run("CREATE TABLE meta.copied AS SELECT 1.5 AS q")
    assert sorted(browser.tables("meta")) == [
        ("meta", "copied", "TABLE"),
        ("meta", "pq", "TABLE"),
        ("meta", "t", "TABLE"),
        ("meta", "vw", "VIEW"),
    ]
    assert browser.columns("t", "meta") == [("id", "BIGINT"), ("V", "STRING")]
    assert browser.columns("copied", "meta") == [("q", "DECIMAL(2,1)")]
    run("ALTER TABLE meta.t ADD COLUMN n INT AFTER id")
    run("ALTER TABLE meta.t RENAME COLUMN V TO w")
    assert browser.columns("t", "meta") == [("id", "BIGINT"), ("n", "INT"), ("w", "STRING")]
    run("ALTER TABLE meta.t RENAME TO meta.t2")
    run("DROP VIEW meta.vw")
    run("DROP TABLE meta.pq")
    run("CREATE OR REPLACE TABLE meta.copied AS SELECT 'x' AS r")
    assert sorted(name for _, name, _ in browser.tables("meta")) == ["copied", "t2"]
    assert browser.columns("copied", "meta") == [("r", "STRING")]
    assert browser.query("SELECT r FROM meta.copied") == [["x"]]
    run("DROP SCHEMA meta CASCADE")
    assert "meta" not in browser.schemas()
    assert browser.tables("meta") == []


def test_metadata_has_all_types(running: Running) -> None:
    """Types that JDBC metadata of Spark does not know are text there, and hide no other column."""
    run, browser = running.session.run, running.browser
    run("CREATE SCHEMA types")
    run("CREATE TABLE types.t (id INT, v VARIANT, s STRUCT<v: VARIANT>, l ARRAY<INT>)")
    run("CREATE TABLE types.u (id INT)")
    assert [name for name, _ in browser.columns("%", "types")] == ["id", "v", "s", "l", "id"]
    assert browser.columns("t", "types")[1] == ("v", "STRING")
    run("DROP SCHEMA types CASCADE")


def test_metadata_describes(running: Running) -> None:
    """JDBC: comments and nullability, also of unusual names and of views, after each change."""
    run, described = running.session.run, running.browser.described
    run("CREATE SCHEMA `meta.2`")
    run("CREATE TABLE `meta.2`.`a b` (id INT NOT NULL COMMENT 'key', `x.y` STRING) COMMENT 'table'")
    run("CREATE VIEW `meta.2`.`v 1` COMMENT 'view' AS SELECT id FROM `meta.2`.`a b`")
    columns = [("id", "NO", "key"), ("x.y", "YES", "")]
    assert described("a b", "meta.2") == ("table", columns)
    assert described("v 1", "meta.2") == ("view", columns[:1])
    run("COMMENT ON TABLE `meta.2`.`a b` IS 'new'")
    run("ALTER TABLE `meta.2`.`a b` ALTER COLUMN id COMMENT 'it''s'")
    run("ALTER TABLE `meta.2`.`a b` ALTER COLUMN id DROP NOT NULL")
    run("ALTER VIEW `meta.2`.`v 1` AS SELECT 1 AS one")
    assert described("a b", "meta.2") == ("new", [("id", "YES", "it's"), ("x.y", "YES", "")])
    assert [name for name, *_ in described("v 1", "meta.2")[1]] == ["one"]
    run("ALTER VIEW `meta.2`.`v 1` RENAME TO `meta.2`.w")
    assert {name for _, name, _ in running.browser.tables("meta.2")} == {"a b", "w"}
    run("DROP SCHEMA `meta.2` CASCADE")


def test_metadata_follows_other_processes(running: Running) -> None:
    """What another process changed shows when a session starts; rows show at once."""
    shell, run = running.shell, running.session.run
    shell.ok("CREATE SCHEMA far")
    shell.ok("CREATE TABLE far.t (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO far.t VALUES (1)")
    assert run("SELECT * FROM far.t") == [(1,)]
    with running.server.connect():
        assert running.browser.tables("far") == [("far", "t", "TABLE")]
    shell.ok("ALTER TABLE far.t ADD COLUMN v STRING")
    with running.server.connect():
        assert running.browser.columns("t", "far") == [("id", "INT"), ("v", "STRING")]
    shell.ok("DROP TABLE far.t")
    shell.ok("DROP SCHEMA far")
    with running.server.connect():
        assert "far" not in running.browser.schemas()
    assert "42P01" in running.session.error("SELECT * FROM far.t")


def test_beeline(running: Running, tmp_path: Path) -> None:
    """The stock `beeline -f` runs a script."""
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE TABLE bee (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2');\n"
        "INSERT INTO bee VALUES (1), (2), (1);\nSELECT concat('rows-', count(*)) FROM bee;\n"
    )
    binary = Path(sys.executable).parent
    done = subprocess.run(
        [str(binary / "beeline"), "-u", running.server.url, "-n", "tester", "-f", str(script)],
        env={**os.environ, "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "rows-2" in done.stdout


def test_nothing_left_in_the_folder(running: Running) -> None:
    """No metastore in the folder in which all of them were started."""
    assert ("default", "bee", "TABLE") in running.browser.tables()
    left = names_in(running.shell) - running.before
    assert not {"metastore_db", "derby.log"} & left
