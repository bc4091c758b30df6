"""Goal: tables USING delta, parquet, json are Spark's, under names of our catalog.

In both configurations of the catalog: they are made, filled, changed, joined with managed tables
and dropped, another process finds them at once, and each way to fail says why. In place of
`spark_catalog` they have partitions, statistics and buckets as Spark's own do, and there are
persistent functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.catalog_conf import OWN_NAME, SESSION_CATALOG, SMALL, arguments
from tests.integration.shared_shells import SharedShells
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark


@pytest.fixture(
    scope="module",
    params=[pytest.param(OWN_NAME, id="own-name"), pytest.param(SESSION_CATALOG, id="session")],
)
def shells(
    request: pytest.FixtureRequest, shared_shells: SharedShells
) -> Iterator[tuple[StockShell, StockShell]]:
    """Two shells at once, the second started in the folder of the first."""
    conf = arguments(SMALL, request.param)
    with (
        shared_shells.lent_with(request.param, "foreign") as first,
        StockShell(first.folder, *conf, prefix="foreign") as second,
    ):
        second.ok(f"USE {first.namespace}")
        yield first, second


@pytest.fixture
def shell(shells: tuple[StockShell, StockShell]) -> StockShell:
    """The first of the two."""
    return shells[0]


def is_replaced(shell: StockShell) -> bool:
    """Whether the catalog stands in place of `spark_catalog`, where these tables are Spark's v1."""
    return shell.catalog == "spark_catalog"


def files(shell: StockShell, name: str) -> list[Path]:
    """The folders of a table, whatever makes them unique."""
    return sorted(shell.tables.glob(f"{name}-*"))


@pytest.mark.parametrize("provider", ["parquet", "json", "orc", "csv"])
def test_files(shell: StockShell, provider: str) -> None:
    """A table of files: made, filled, overwritten, read, dropped with its files."""
    name = f"f_{provider}"
    shell.ok(f"CREATE TABLE {name} (id INT, v STRING) USING {provider} COMMENT 'c'")
    assert shell.ok(f"SELECT * FROM {name}") == ()
    shell.ok(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    shell.ok(f"INSERT INTO {name} (v, id) VALUES ('c', 3)")
    assert shell.run(f"SELECT * FROM {name}").sorted() == [("1", "a"), ("2", "b"), ("3", "c")]
    shell.ok(f"INSERT OVERWRITE {name} VALUES (9, 'z')")
    assert shell.ok(f"SELECT v, id FROM {name} WHERE id > 3") == (("z", "9"),)
    assert any(file.suffix == f".{provider}" for file in files(shell, name)[0].iterdir())
    rows = shell.ok(f"DESCRIBE EXTENDED {name}")
    described = {row[0]: row[1] for row in rows if len(row) > 1}
    assert {key.strip(): value.strip() for key, value in described.items()}["Provider"] == provider
    shell.ok(f"DROP TABLE {name}")
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run(f"SELECT * FROM {name}").error
    assert files(shell, name) == []


def test_create_as_select(shell: StockShell) -> None:
    """CTAS with partitions and format options; a failing one leaves neither name nor files."""
    shell.ok(
        "CREATE TABLE ctas USING csv OPTIONS ('sep' = '|', 'header' = 'true') PARTITIONED BY (k) "
        "AS SELECT id, concat('v', id) AS v, id % 2 AS k FROM range(4)"
    )
    assert shell.run("SELECT * FROM ctas").sorted() == [
        ("0", "v0", "0"),
        ("1", "v1", "1"),
        ("2", "v2", "0"),
        ("3", "v3", "1"),
    ]
    (folder,) = files(shell, "ctas")
    assert sorted(path.name for path in folder.iterdir() if "=" in path.name) == ["k=0", "k=1"]
    assert "id|v" in next(folder.glob("k=0/*.csv")).read_text()
    shell.ok("INSERT OVERWRITE ctas PARTITION (k = 1) VALUES (7, 'seven')")
    assert shell.run("SELECT id FROM ctas").sorted() == [("0",), ("2",), ("7",)]
    failed = shell.run("CREATE TABLE broken USING parquet AS SELECT 1 / 0 AS x FROM range(3)")
    assert "DIVIDE_BY_ZERO" in failed.error
    assert files(shell, "broken") == []
    shell.ok("CREATE TABLE broken USING parquet AS SELECT 1 AS x")
    assert shell.ok("SELECT * FROM broken") == (("1",),)


def test_delta(shell: StockShell) -> None:
    """Delta through delta-spark, in the same session: all its statements and its history."""
    shell.ok("CREATE TABLE d (id INT, v STRING) USING delta")
    shell.ok("INSERT INTO d VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    shell.ok("UPDATE d SET v = 'B' WHERE id = 2")
    shell.ok("DELETE FROM d WHERE id = 3")
    shell.ok(
        "MERGE INTO d USING (SELECT * FROM VALUES (1, 'A'), (4, 'd') AS s(id, v)) s "
        "ON d.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert shell.run("SELECT * FROM d").sorted() == [("1", "A"), ("2", "B"), ("4", "d")]
    assert shell.ok("SELECT count(*), max(v) FROM d VERSION AS OF 1") == (("3", "c"),)
    history = {row[0]: row[1] for row in shell.ok("DESCRIBE HISTORY d")}
    assert shell.ok(f"SELECT max(v) FROM d TIMESTAMP AS OF '{history['3']}'") == (("a",),)
    shell.ok("ALTER TABLE d ADD COLUMN w INT")
    assert [row[0].strip() for row in shell.ok("DESCRIBE TABLE d")] == ["id", "v", "w"]
    shell.ok("CREATE OR REPLACE TABLE d USING delta PARTITIONED BY (q) AS SELECT 5 AS p, 6 AS q")
    assert shell.ok("SELECT * FROM d") == (("5", "6"),)
    assert len(files(shell, "d")) == 1
    shell.ok("DROP TABLE d")
    assert files(shell, "d") == []


def test_join_with_managed(shell: StockShell) -> None:
    """One query reads and one statement writes across all kinds of table."""
    shell.ok("CREATE TABLE mine (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("CREATE TABLE pq USING parquet AS SELECT 1 AS id, 'p' AS w")
    shell.ok("CREATE TABLE dl USING delta AS SELECT 1 AS id, 'd' AS x")
    shell.ok("INSERT INTO mine SELECT id, concat(w, x) FROM pq JOIN dl USING (id)")
    assert shell.ok("SELECT * FROM mine JOIN pq USING (id) JOIN dl USING (id)") == (
        ("1", "pd", "p", "d"),
    )
    shell.ok("INSERT INTO pq SELECT id + 1, v FROM mine")
    shell.ok("INSERT INTO dl SELECT id + 1, v FROM mine")
    assert shell.run("SELECT * FROM pq JOIN dl USING (id)").sorted() == [
        ("1", "p", "d"),
        ("2", "pd", "pd"),
    ]
    names = {row[-1] for row in shell.ok("SHOW TABLES")}
    assert {"mine", "pq", "dl"} <= names


def test_named_location(shell: StockShell) -> None:
    """A LOCATION stays when the table goes, and its columns are found."""
    place = shell.folder / "elsewhere"
    shell.ok(f"CREATE TABLE ext (id INT, v STRING) USING parquet LOCATION '{place}'")
    shell.ok("INSERT INTO ext VALUES (1, 'a')")
    shell.ok("DROP TABLE ext")
    assert list(place.glob("*.parquet"))
    shell.ok(f"CREATE TABLE again USING parquet LOCATION '{place}'")
    assert shell.ok("SELECT v, id FROM again") == (("a", "1"),)


def test_a_schema_goes_with_the_files_that_are_its_own(shell: StockShell) -> None:
    place = shell.folder / "outside"
    shell.ok("CREATE SCHEMA going")
    shell.ok("CREATE TABLE going.own USING parquet AS SELECT 1 AS id")
    shell.ok(f"CREATE TABLE going.named USING parquet LOCATION '{place}' AS SELECT 1 AS id")
    assert "[SCHEMA_NOT_EMPTY]" in shell.run("DROP SCHEMA going").error
    shell.ok("DROP SCHEMA going CASCADE")
    assert not (shell.tables.parent / "going.db").exists()
    assert list(place.glob("*.parquet"))
    shell.ok("CREATE TABLE stays USING parquet AS SELECT 1 AS id")
    assert shell.run("DROP SCHEMA default CASCADE").error
    assert shell.ok("SELECT id FROM stays") == (("1",),)
    shell.ok("DROP TABLE stays")


def test_another_location(shell: StockShell) -> None:
    """Of a table whose LOCATION the user named; in a folder of the catalog's the files stay."""
    shell.ok(f"CREATE TABLE moved (id INT) USING parquet LOCATION '{shell.folder / 'one'}'")
    shell.ok("INSERT INTO moved VALUES (1)")
    shell.ok(f"ALTER TABLE moved SET LOCATION '{shell.folder / 'two'}'")
    assert shell.ok("SELECT * FROM moved") == ()
    shell.ok("INSERT INTO moved VALUES (2)")
    shell.ok("DROP TABLE moved")
    assert all(list((shell.folder / place).glob("*.parquet")) for place in ("one", "two"))
    shell.ok("CREATE TABLE kept (id INT) USING parquet")
    shell.ok("INSERT INTO kept VALUES (3)")
    shell.ok("CREATE TABLE other (id INT)")
    shell.ok("INSERT INTO other VALUES (4)")
    for place in ("/tmp/elsewhere", "elsewhere", shell.tables / "other"):
        refused = shell.run(f"ALTER TABLE kept SET LOCATION '{place}'")
        assert "[TABLE_STORE_PATH_NOT_ALLOWED]" in refused.error
    shell.ok("ALTER TABLE kept SET TBLPROPERTIES ('a' = 'b')")
    assert shell.ok("SELECT * FROM kept") == (("3",),)
    shell.ok("DROP TABLE kept")
    assert shell.ok("SELECT * FROM other") == (("4",),)
    assert not list(shell.tables.glob("kept*"))


def test_alter_and_rename(shell: StockShell) -> None:
    """What Spark's own tables of files can: a column at the end, properties, another name."""
    shell.ok("CREATE TABLE al (id INT) USING parquet")
    shell.ok("INSERT INTO al VALUES (1)")
    shell.ok("ALTER TABLE al ADD COLUMN v STRING")
    shell.ok("ALTER TABLE al SET TBLPROPERTIES ('owner.team' = 'x')")
    shell.ok("ALTER TABLE al RENAME TO al2")
    shell.ok("INSERT INTO al2 VALUES (2, 'b')")
    assert shell.run("SELECT * FROM al2").sorted() == [("1", "NULL"), ("2", "b")]
    properties = {row[0]: row[1] for row in shell.ok("SHOW TBLPROPERTIES al2")}
    assert "x" in properties["owner.team"]
    refused = shell.run("ALTER TABLE al2 DROP COLUMN v").error
    assert ("UNSUPPORTED" if is_replaced(shell) else "TABLE_STORE_ALTER_NOT_SUPPORTED") in refused


def test_replace(shell: StockShell) -> None:
    """Another table in its place, whatever its format, also made of the one that goes."""
    shell.ok("CREATE TABLE rp USING parquet AS SELECT 1 AS a")
    shell.ok("CREATE OR REPLACE TABLE rp USING parquet AS SELECT a + 1 AS b FROM rp")
    assert shell.ok("SELECT b FROM rp") == (("2",),)
    shell.ok("CREATE OR REPLACE TABLE rp USING delta AS SELECT b + 1 AS c FROM rp")
    assert shell.ok("SELECT c FROM rp") == (("3",),)
    shell.ok("CREATE OR REPLACE TABLE rp USING json AS SELECT c + 1 AS d FROM rp")
    assert shell.ok("SELECT d FROM rp") == (("4",),)
    assert len(files(shell, "rp")) == 1


def test_refused(shell: StockShell) -> None:
    """Each way to fail is an error of one line, and changes nothing."""
    shell.ok("CREATE TABLE kept (id INT) USING parquet")
    shell.ok("CREATE TABLE own (id INT)")
    assert "DATA_SOURCE_NOT_FOUND" in shell.run("CREATE TABLE x (a INT) USING nonsense").error
    assert "ALREADY_EXISTS" in shell.run("CREATE TABLE kept (a INT) USING json").error
    assert "ALREADY_EXISTS" in shell.run("CREATE TABLE kept (a INT)").error
    assert "ALREADY_EXISTS" in shell.run("CREATE TABLE own (a INT) USING json").error
    shell.ok("CREATE TABLE IF NOT EXISTS kept (a INT) USING json")
    replaced = shell.run("CREATE OR REPLACE TABLE own USING parquet AS SELECT 1 AS a")
    assert "TABLE_STORE_WRONG_RELATION_KIND" in replaced.error
    assert "TIME_TRAVEL_NOT_SUPPORTED" in shell.run("SELECT * FROM kept VERSION AS OF 1").error
    assert "TABLE_OPERATION" in shell.run("DELETE FROM kept WHERE id = 1").error
    assert "SCHEMA_NOT_FOUND" in shell.run("CREATE TABLE nowhere.t (a INT) USING json").error
    assert shell.ok("SELECT * FROM kept") == ()
    shell.ok("CREATE VIEW over_kept AS SELECT * FROM kept")
    assert shell.ok("SELECT count(*) FROM over_kept") == (("0",),)


def test_other_process_follows(shells: tuple[StockShell, StockShell]) -> None:
    """Another process sees what is made, written, dropped and made anew, at once."""
    one, two = shells
    before = {path.name for path in one.folder.iterdir()}  # the first shell had others' statements
    for provider in ("parquet", "delta"):
        name = f"shared_{provider}"
        one.ok(f"CREATE TABLE {name} USING {provider} AS SELECT 1 AS id")
        assert two.ok(f"SELECT * FROM {name}") == (("1",),)
        two.ok(f"INSERT INTO {name} VALUES (2)")
        assert one.run(f"SELECT * FROM {name}").sorted() == [("1",), ("2",)]
        two.ok(f"DROP TABLE {name}")
        assert "TABLE_OR_VIEW_NOT_FOUND" in one.run(f"SELECT * FROM {name}").error
        one.ok(f"CREATE TABLE {name} USING {provider} AS SELECT 'text' AS other")
        assert two.ok(f"SELECT other FROM {name}") == (("text",),)
    after = {path.name for path in one.folder.iterdir()}
    assert not {"metastore_db", "derby.log"} & (after - before)


def test_partitions_of_other_process(shells: tuple[StockShell, StockShell]) -> None:
    """Rows of a new partition are there for the other process, whichever catalog wrote them.

    In place of `spark_catalog` a partition that is added or dropped is so for both, and a drop of
    one that was given a folder of something else leaves that folder.
    """
    one, two = shells
    one.ok("CREATE TABLE parts (k INT, v INT) USING parquet PARTITIONED BY (k)")
    rows = "SELECT v, k FROM parts"
    one.ok("INSERT INTO parts (v, k) VALUES (1, 1)")
    two.ok("INSERT INTO parts (v, k) VALUES (2, 2)")
    one.ok(f"INSERT INTO table_store.{one.namespace}.parts (v, k) VALUES (3, 3)")
    expected = [("1", "1"), ("2", "2"), ("3", "3")]
    assert one.run(rows).sorted() == two.run(rows).sorted() == expected
    if not is_replaced(one):
        return
    shown = [("k=1",), ("k=2",), ("k=3",)]
    assert one.run("SHOW PARTITIONS parts").sorted() == shown
    assert two.run("SHOW PARTITIONS parts").sorted() == shown
    elsewhere = one.folder / "elsewhere of k"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    two.ok(f"ALTER TABLE parts ADD PARTITION (k = 4) LOCATION '{elsewhere}'")
    one.ok("ALTER TABLE parts DROP PARTITION (k = 1), PARTITION (k = 4)")
    assert (elsewhere / "kept").exists()
    assert not list(files(one, "parts")[0].glob("k=1"))
    assert two.run("SHOW PARTITIONS parts").sorted() == [("k=2",), ("k=3",)]
    assert two.run(rows).sorted() == [("2", "2"), ("3", "3")]
    two.ok("TRUNCATE TABLE parts")
    assert one.ok(rows) == ()


def test_statistics_of_other_process(shells: tuple[StockShell, StockShell]) -> None:
    """What ANALYZE found, buckets and LIKE are the table's, not the process's."""
    one, two = shells
    if not is_replaced(one):
        return
    one.ok("CREATE TABLE st USING parquet CLUSTERED BY (v) INTO 2 BUCKETS AS SELECT 7 AS v")
    one.ok("ANALYZE TABLE st COMPUTE STATISTICS FOR COLUMNS v")
    assert ("max", "7") in two.ok("DESCRIBE EXTENDED st v")
    two.ok("CREATE TABLE like_st LIKE st")
    created = "\n".join(row[0] for row in one.ok("SHOW CREATE TABLE like_st"))
    assert "USING parquet" in created
    assert "INTO 2 BUCKETS" in created


def test_functions(shells: tuple[StockShell, StockShell]) -> None:
    """Persistent functions in place of `spark_catalog`: the other process has them at once."""
    one, two = shells
    if not is_replaced(one):
        return
    one.ok("CREATE FUNCTION next_one(x INT) RETURNS INT RETURN x + 1")
    assert two.ok("SELECT next_one(1)") == (("2",),)
    assert (f"spark_catalog.{one.namespace}.next_one",) in two.ok("SHOW USER FUNCTIONS")
    one.ok("CREATE OR REPLACE FUNCTION next_one(x INT) RETURNS INT RETURN x + 10")
    assert two.ok(f"SELECT {one.namespace}.next_one(1)") == (("11",),)
    up_to = "SELECT explode(sequence(1, n))"
    two.ok(f"CREATE FUNCTION rows_to(n INT) RETURNS TABLE (i INT) RETURN {up_to}")
    assert one.run("SELECT i FROM rows_to(2)").sorted() == [("1",), ("2",)]
    again = two.run("CREATE FUNCTION next_one() RETURNS INT RETURN 1")
    assert "ROUTINE_ALREADY_EXISTS" in again.error
    two.ok("DROP FUNCTION next_one")
    assert "UNRESOLVED_ROUTINE" in one.run("SELECT next_one(1)").error
    one.ok("DROP FUNCTION rows_to")
    one.ok("CREATE DATABASE of_functions")
    one.ok("CREATE FUNCTION of_functions.f() RETURNS INT RETURN 1")
    assert "SCHEMA_NOT_EMPTY" in two.run("DROP DATABASE of_functions").error
    two.ok("DROP DATABASE of_functions CASCADE")
    one.ok("CREATE DATABASE of_functions")
    assert "UNRESOLVED_ROUTINE" in one.run("SELECT of_functions.f()").error
    one.ok("DROP DATABASE of_functions")
