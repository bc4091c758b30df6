"""Goal: a password that a user gives to a table is shown nowhere and asked for again.

Each way to give one plants its own, through the stock `spark-sql` with an event log and the most
talkative plans; all that was printed and logged is searched for any of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.catalog_conf import SMALL, arguments

pytestmark = pytest.mark.spark

_KEY = "log.kafka.sasl.plain.password"
_MARK = "pl4nted"


def secret(number: int) -> str:
    """One that nothing else contains, with what SQL and patterns give a meaning to."""
    return f"{_MARK}{number}-a;b''c\\\\d e=f"


STATEMENTS = f"""
CREATE TABLE a (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('{_KEY}' = '{secret(1)}');
CREATE TABLE b (id BIGINT) TBLPROPERTIES ('{_KEY}' = '{secret(2)}');
CREATE TABLE b2 (id BIGINT) TBLPROPERTIES ({_KEY} = "{_MARK}2b");
ALTER TABLE b SET TBLPROPERTIES ('{_KEY}' = '{secret(3)}');
CREATE TABLE c WITH ('{_KEY}' = '{secret(4)}') AS SELECT id FROM range(10) GROUP BY id;
CREATE TABLE d TBLPROPERTIES ('{_KEY}' = '{secret(5)}') AS SELECT id FROM range(10) GROUP BY id;
CREATE OR REPLACE TABLE d (id BIGINT) WITH ('{_KEY}' = '{secret(6)}',
  'log.kafka.ssl.password' = '{_MARK}6b');
CREATE TABLE e LIKE a;
CREATE TABLE p (id INT) WITH ('log.kafka.socks5.proxy' = 'socks5://user:{_MARK}7@localhost:1');
CREATE TEMPORARY TABLE g (id INT) WITH ('{_KEY}' = '{secret(8)}');
SET table-storage.{_KEY} = {_MARK}9;
SET 'table-storage.{_KEY}' = '{secret(10)}';
SET table-storage.{_KEY};
SET table-storage.log.kafka.socks5.proxy = socks5://user:{_MARK}11@localhost:1;
CREATE TABLE h (id INT);
SET;
SET -v;
EXPLAIN EXTENDED CREATE TABLE i (id INT) WITH ('{_KEY}' = '{secret(12)}');
EXPLAIN FORMATTED CREATE TABLE i (id INT) TBLPROPERTIES ('{_KEY}' = '{secret(13)}');
EXPLAIN CODEGEN SET 'table-storage.{_KEY}' = '{secret(14)}';
EXPLAIN EXTENDED ALTER TABLE b SET TBLPROPERTIES ('{_KEY}' = '{secret(15)}');
CREATE TABLE j (id INT) WITH ('{_KEY}' = '{secret(16)}', 'bukket' = '1');
CREATE TABLE j (id INT) WITH ('{_KEY}' = '{secret(17)}') oops;
CREATE TABLE j (id INT) TBLPROPERTIES ('{_KEY}' = '{secret(18)}') oops;
CREATE TABLE j (id INT) WITH ('{_KEY}' = '{secret(20)}',
  'log.kafka.bootstrap.servers' = '127.0.0.1:1', 'log.kafka.timeout' = '500 ms');
CREATE TABLE j (id INT) WITH ('log.kafka.sasl.passwd' = '{secret(21)}');
ALTER TABLE nowhere SET TBLPROPERTIES ('{_KEY}' = '{secret(22)}');
ALTER TABLE a SET TBLPROPERTIES ('{_KEY}' = '{secret(23)}', 'bucket' = '7');
SELECT * FROM a WITH ('{_KEY}' = '{secret(24)}');
INSERT INTO a WITH ('{_KEY}' = '{secret(25)}') VALUES (1);
SELECT * FROM a /*+ OPTIONS('{_KEY}' = '{secret(26)}') */;
CREATE CATALOG other WITH ('type' = 'table-store', 'password' = '{secret(27)}');
INSERT INTO a SELECT id FROM range(100) GROUP BY id;
DESCRIBE EXTENDED a;
DESCRIBE FORMATTED g;
SHOW TBLPROPERTIES a;
SHOW TBLPROPERTIES p;
SHOW TABLE EXTENDED LIKE '*';
SELECT * FROM `a$options`;
SELECT * FROM `b$schemas`;
SELECT * FROM `p$options`;
EXPLAIN EXTENDED SELECT * FROM a;
ALTER TABLE a COMPACT;
UPDATE a SET id = id + 1000;
SHOW CREATE TABLE b;
SHOW CREATE TABLE e;
SHOW CREATE TABLE g;
SHOW CREATE TABLE p;
SELECT 'the end';
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What was printed, and the folder with all that was written."""

    printed: str
    folder: Path

    def logged(self) -> dict[str, str]:
        """The text of every file but those in which tables are."""
        return {
            str(path.relative_to(self.folder)): path.read_text(errors="replace")
            for place in ("events", "planner")
            for path in (self.folder / place).rglob("*")
            if path.is_file()
        }


def run(folder: Path, statements: str, *, env: dict[str, str] | None = None) -> Said:
    """What a script of statements says, also where they fail."""
    for name in ("events", "planner"):
        (folder / name).mkdir(exist_ok=True)
    script = folder / "script.sql"
    script.write_text(statements)
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.tablestore.planner.log.dir": str(folder / "planner"),
        "spark.sql.ui.explainMode": "extended",
    }
    binary = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(str(binary / "spark-sql"), "--master", "local[2]", *arguments({**SMALL, **conf})),
            *("--hiveconf", "hive.cli.errors.ignore=true", "-f", str(script)),
        ],
        cwd=folder,
        env={**os.environ, "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}", **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Said(done.stdout + done.stderr, folder)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    return run(tmp_path_factory.mktemp("secrets"), STATEMENTS)


def test_nothing_is_shown(said: Said) -> None:
    assert "the end" in said.printed
    assert found(said.printed) == {}
    everything = said.logged()
    assert any("SparkListenerSQLExecutionStart" in text for text in everything.values())
    assert {name: found(text) for name, text in everything.items() if found(text)} == {}


def test_tables_have_what_they_were_given(said: Said) -> None:
    """Also by ALTER and LIKE; what was refused is nowhere."""
    held: dict[str, set[str]] = {}
    for path in (said.folder / "spark-warehouse").rglob("schema-*"):
        table = path.relative_to(said.folder / "spark-warehouse").parts[1].partition("~")[0]
        held.setdefault(table, set()).update(s.removeprefix(_MARK) for s in found(path.read_text()))
    assert held == {
        "a": {"1"},
        "b": {"2", "3"},
        "b2": {"2b"},
        "c": {"4"},
        "d": {"5", "6", "6b"},
        "e": {"1"},
        "h": set(),
        "j": {"21"},
        "p": {"7"},
    }


def test_a_statement_shown_asks_for_the_secret(said: Said, tmp_path: Path) -> None:
    """It parses, and says which variable is missing as soon as brokers are to be asked."""
    (shown,) = re.findall(
        r"CREATE TABLE table_store\.default\.e .*?\nWITH \(.*?\)\n", said.printed, re.DOTALL
    )
    variable = "TABLE_STORE_LOG_KAFKA_SASL_PLAIN_PASSWORD"
    assert f"'{_KEY}' = '${{secret:env:{variable}}}'" in shown
    with_brokers = shown.replace(
        "WITH (",
        """WITH (
      'log.kafka.bootstrap.servers' = '127.0.0.1:1', 'log.kafka.timeout' = '500 ms',""",
    )
    again = run(tmp_path, f"{shown};\nDROP TABLE e;\n{with_brokers};\nSHOW CREATE TABLE e;")
    assert "[TABLE_STORE_INVALID_OPTION]" in again.printed
    assert f"the environment variable {variable} is not set" in again.printed
    known = run(tmp_path, f"{with_brokers};", env={variable: f"{_MARK}30"})
    assert "[TABLE_STORE_LOG_UNAVAILABLE]" in known.printed
    assert found(known.printed) == {}
    assert not [path for path in tmp_path.rglob("schema-*") if found(path.read_text())]


def found(text: str) -> dict[str, list[str]]:
    """Each planted secret that a text shows, with what stands around it."""
    shown: dict[str, list[str]] = {}
    for hit in re.finditer(_MARK + r"\d+b?", text):
        shown.setdefault(hit[0], []).append(text[max(0, hit.start() - 150) : hit.end() + 20])
    return shown
