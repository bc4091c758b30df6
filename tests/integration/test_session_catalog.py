"""Goal: statements on views are the same where our catalog stands in place of `spark_catalog`.

One test runs in both configurations; only the catalog's name may differ.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.catalog_conf import OWN_NAME, SESSION_CATALOG
from tests.integration.shared_shells import SharedShells
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("table_store", OWN_NAME), id="own-name"),
        pytest.param(("spark_catalog", SESSION_CATALOG), id="session"),
    ],
)
def named(
    request: pytest.FixtureRequest, shared_shells: SharedShells
) -> Iterator[tuple[str, StockShell]]:
    """The catalog's name, and a shell."""
    name, settings = request.param
    with shared_shells.lent_with(settings, "session_catalog") as shell:
        shell.ok("CREATE TABLE base (a INT, b STRING)")
        shell.ok("INSERT INTO base VALUES (1, 'x')")
        yield name, shell


def properties(shell: StockShell, view: str) -> dict[str, str]:
    """What SHOW TBLPROPERTIES says."""
    return {row[0]: row[1] for row in shell.ok(f"SHOW TBLPROPERTIES {view}")}


def test_shown(named: tuple[str, StockShell]) -> None:
    """DESCRIBE, SHOW CREATE TABLE, SHOW TBLPROPERTIES and SHOW COLUMNS of a view."""
    catalog, shell = named
    shell.ok("CREATE VIEW v (a COMMENT 'c', b) COMMENT 'cv' AS SELECT a, b FROM base")
    assert [row[:2] for row in shell.ok("DESCRIBE v")] == [("a", "int"), ("b", "string")]
    assert shell.ok("DESCRIBE v a") == (("col_name", "a"), ("data_type", "int"), ("comment", "c"))
    told = {row[0]: row[1] for row in shell.ok("DESCRIBE EXTENDED v")}
    assert (told["Catalog"], told["View"], told["Comment"]) == (catalog, "v", "cv")
    assert told["View Text"] == "SELECT a, b FROM base"
    created = "\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE v"))
    assert created.startswith(f"CREATE VIEW {catalog}.{shell.namespace}.v (")
    assert shell.ok("SHOW COLUMNS IN v") == (("a",), ("b",))
    missing = shell.run("SHOW TBLPROPERTIES v ('no')").error
    shown = shell.run("SHOW TBLPROPERTIES v ('no')").rows
    assert f"{catalog}.{shell.namespace}.v" in missing + str(shown)
    shell.ok("DROP VIEW v")
    shell.ok(created)
    assert shell.ok("SELECT * FROM v") == (("1", "x"),)


def test_altered(named: tuple[str, StockShell]) -> None:
    """ALTER VIEW … AS, SET and UNSET TBLPROPERTIES, RENAME, WITH SCHEMA."""
    _, shell = named
    shell.ok("CREATE OR REPLACE VIEW w TBLPROPERTIES ('p' = '1') AS SELECT a FROM base")
    shell.ok("ALTER VIEW w AS SELECT a + 1 AS c FROM base")
    assert shell.ok("SELECT c FROM w") == (("2",),)
    shell.ok(f"ALTER VIEW {shell.namespace}.w SET TBLPROPERTIES ('q' = '2')")
    assert properties(shell, "w") == {"p": "1", "q": "2"}
    shell.ok("ALTER VIEW w UNSET TBLPROPERTIES ('p')")
    assert properties(shell, "w") == {"q": "2"}
    shell.ok("ALTER VIEW w RENAME TO w2")
    assert properties(shell, f"{shell.namespace}.w2") == {"q": "2"}
    shell.ok("ALTER VIEW w2 WITH SCHEMA EVOLUTION")
    assert shell.ok("SELECT c FROM w2") == (("2",),)
    assert "w" not in {row[1] for row in shell.ok("SHOW VIEWS")}
    assert "42P01" in shell.run("ALTER VIEW w AS SELECT 1").error


def test_schema_modes(named: tuple[str, StockShell]) -> None:
    """What WITH SCHEMA … lets through of a table's changes; all that Spark does is tested apart."""
    _, shell = named
    shell.ok("CREATE TABLE moving (a INT, b VARCHAR(5))")
    shell.ok("INSERT INTO moving VALUES (1, 'b')")
    for name, mode in (("bound", "BINDING"), ("typed", "TYPE EVOLUTION"), ("free", "EVOLUTION")):
        shell.ok(f"CREATE VIEW {name} WITH SCHEMA {mode} AS SELECT * FROM moving")
    shell.ok("ALTER TABLE moving ADD COLUMN c INT")
    assert shell.ok("SELECT * FROM bound") == (("1", "b"),)
    shell.ok("ALTER TABLE moving ALTER COLUMN a TYPE BIGINT")
    assert "[CANNOT_UP_CAST_DATATYPE]" in shell.run("SELECT * FROM bound").error
    assert shell.ok("SELECT typeof(a), b FROM typed") == (("bigint", "b"),)
    assert shell.ok("SELECT typeof(a), c FROM free") == (("bigint", "NULL"),)
    types = [("a", "bigint"), ("b", "varchar(5)"), ("c", "int")]
    assert [row[:2] for row in shell.ok("DESCRIBE typed")] == types[:2]
    assert [row[:2] for row in shell.ok("DESCRIBE free")] == types


def test_refused(named: tuple[str, StockShell]) -> None:
    """A statement on tables says that it met a view, and the other way round."""
    _, shell = named
    shell.ok("CREATE OR REPLACE VIEW r AS SELECT a FROM base")
    for statement in (
        "ALTER TABLE r RENAME TO r2",
        "ALTER TABLE r SET TBLPROPERTIES ('x' = 'y')",
        "DROP TABLE r",
        "ALTER VIEW base AS SELECT 1",
        "DROP VIEW base",
    ):
        assert "SQLSTATE: 42809" in shell.run(statement).error, statement
    assert shell.ok("SELECT * FROM r") == (("1",),)


def test_temporary_views(named: tuple[str, StockShell]) -> None:
    """They come before a view of the same name, and stay Spark's."""
    _, shell = named
    shell.ok("CREATE VIEW t AS SELECT 'stored' AS s")
    shell.ok("CREATE TEMPORARY VIEW t AS SELECT 1 AS one")
    shell.ok("ALTER VIEW t AS SELECT 2 AS two")
    assert shell.ok("SHOW COLUMNS IN t") == (("two",),)
    assert shell.ok("DESCRIBE t")[0][0].strip() == "two"
    shell.ok("DROP VIEW t")
    assert shell.ok("SELECT * FROM t") == (("stored",),)
    assert shell.ok("SHOW COLUMNS IN t") == (("s",),)
