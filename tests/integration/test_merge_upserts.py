"""MERGE that writes whole rows by key: without a look at the target, and with the same outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

DUPLICATE = "[TABLE_STORE_DUPLICATE_KEY]"
UPDATE_ALL = "WHEN MATCHED THEN UPDATE SET *"
INSERT_ALL = "WHEN NOT MATCHED THEN INSERT *"

Row: TypeAlias = tuple[int, str]
OLD: Mapping[int, Row] = {1: (10, "a"), 2: (20, "b"), 3: (30, "c")}
NEW: Mapping[int, Row] = {2: (200, "x"), 3: (300, "y"), 7: (700, "z")}
SOURCE = "(SELECT * FROM VALUES (2L, 200, 'x'), (3L, 300, 'y'), (7L, 700, 'z') AS q(id, n, t)) s"

WHOLE_ROWS = {
    "stars": (SOURCE, "t.id = s.id", UPDATE_ALL, INSERT_ALL),
    "sides changed": (SOURCE, "s.id = t.id", UPDATE_ALL, INSERT_ALL),
    "all but the key": (
        SOURCE,
        "t.id = s.id",
        "WHEN MATCHED THEN UPDATE SET n = s.n, t = s.t",
        "WHEN NOT MATCHED THEN INSERT (t, n, id) VALUES (s.t, s.n, s.id)",
    ),
    "a key that is computed": (
        SOURCE.replace("SELECT *", "SELECT id - 1 AS before, n, t"),
        "t.id = s.before + 1",
        "WHEN MATCHED THEN UPDATE SET n = s.n, t = s.t",
        "WHEN NOT MATCHED THEN INSERT (id, n, t) VALUES (s.before + 1, s.n, s.t)",
    ),
}

OTHERS: Mapping[str, tuple[tuple[str, str, str, str], Mapping[int, Row | None]]] = {
    "some columns": (
        (SOURCE, "t.id = s.id", "WHEN MATCHED THEN UPDATE SET n = s.n", INSERT_ALL),
        {key: (row[0], OLD[key][1] if key in OLD else row[1]) for key, row in NEW.items()},
    ),
    "condition of the update": (
        (SOURCE, "t.id = s.id", "WHEN MATCHED AND s.n > 250 THEN UPDATE SET *", INSERT_ALL),
        {3: NEW[3], 7: NEW[7]},
    ),
    "condition of the insert": (
        (SOURCE, "t.id = s.id", UPDATE_ALL, "WHEN NOT MATCHED AND s.n > 700 THEN INSERT *"),
        {2: NEW[2], 3: NEW[3]},
    ),
    "condition on the target": (
        (
            SOURCE,
            "t.id = s.id AND t.n < 25",
            "WHEN MATCHED THEN UPDATE SET n = -1, t = s.t",
            "WHEN NOT MATCHED AND s.id = 7 THEN INSERT (id, n, t) VALUES (s.id, -1, s.t)",
        ),
        {2: (-1, "x"), 7: (-1, "z")},
    ),
    "condition on the source": (
        (
            SOURCE,
            "t.id = s.id AND s.n < 250",
            UPDATE_ALL,
            "WHEN NOT MATCHED AND s.id > 3 THEN INSERT *",
        ),
        {2: NEW[2], 7: NEW[7]},
    ),
    "another key is inserted": (
        (
            SOURCE,
            "t.id = s.id",
            "WHEN MATCHED THEN UPDATE SET n = s.n, t = s.t",
            "WHEN NOT MATCHED THEN INSERT (id, n, t) VALUES (s.id + 1, s.n, s.t)",
        ),
        {2: NEW[2], 3: NEW[3], 8: NEW[7]},
    ),
    "joined by another number": (
        (
            SOURCE,
            "t.id = s.id - 1",
            "WHEN MATCHED THEN UPDATE SET n = s.n, t = s.t",
            "WHEN NOT MATCHED THEN INSERT *",
        ),
        {1: NEW[2], 2: NEW[3], 7: NEW[7]},
    ),
    "deletes": (
        (SOURCE, "t.id = s.id", "WHEN MATCHED THEN DELETE", INSERT_ALL),
        {2: None, 3: None, 7: NEW[7]},
    ),
    "rows of the target alone": (
        (
            SOURCE,
            "t.id = s.id",
            UPDATE_ALL,
            f"{INSERT_ALL} WHEN NOT MATCHED BY SOURCE THEN DELETE",
        ),
        {1: None, **NEW},
    ),
}


def _filled(shell: StockShell) -> None:
    shell.ok("CREATE OR REPLACE TABLE up (id BIGINT PRIMARY KEY, n INT, t STRING)")
    shell.ok(f"INSERT INTO up VALUES {', '.join(str((key, *row)) for key, row in OLD.items())}")


def _rows(shell: StockShell) -> dict[int, Row]:
    found = shell.ok("SELECT id, n, t FROM up")
    assert len(found) == len({key for key, _, _ in found})
    return {int(key): (int(n), t) for key, n, t in found}


def _statement(source: str, on: str, matched: str, not_matched: str) -> str:
    return f"MERGE INTO up t USING {source} ON {on} {matched} {not_matched}"


@pytest.mark.parametrize("case", WHOLE_ROWS)
def test_whole_rows_are_written_without_a_join(shell: StockShell, case: str) -> None:
    """The plan has no scan of the target, and the outcome is that of the join."""
    _filled(shell)
    statement = _statement(*WHOLE_ROWS[case])
    plan = str(shell.ok(f"EXPLAIN {statement}"))
    assert "Join" not in plan
    assert "RelationV2" not in plan
    shell.ok(statement)
    assert _rows(shell) == {**OLD, **NEW}


@pytest.mark.parametrize("case", OTHERS)
def test_other_merges_look_at_the_target(shell: StockShell, case: str) -> None:
    """Whatever depends on the target's rows is what SQL says."""
    _filled(shell)
    parts, changed = OTHERS[case]
    statement = _statement(*parts)
    assert "Join" in str(shell.ok(f"EXPLAIN {statement}"))
    shell.ok(statement)
    after: dict[int, Row | None] = {**OLD, **changed}
    assert _rows(shell) == {key: row for key, row in after.items() if row is not None}


@pytest.mark.parametrize("rows", ["few", "a job's"])
def test_a_key_twice_in_the_source(shell: StockShell, rows: str) -> None:
    """Spark refuses it where the target has the key, and else the table does.

    No file of any attempt is left. With the option the last row counts, as of an INSERT.
    """
    _filled(shell)

    def merge(*keys: int) -> str:
        values = ", ".join(f"({key}L, {n}, 'd')" for n, key in enumerate(keys))
        source = f"SELECT * FROM VALUES {values} AS q(id, n, t)"
        if rows != "few":
            source = f"SELECT /*+ REPARTITION(1) */ * FROM ({source})"
        return _statement(f"({source}) s", "t.id = s.id", UPDATE_ALL, INSERT_ALL)

    count = len(list(shell.tables.rglob("data-*.parquet")))
    refused = shell.run(merge(8, 2, 2))
    assert "MERGE_CARDINALITY_VIOLATION" in refused.error
    assert _rows(shell) == OLD
    refused = shell.run(merge(8, 2, 8))
    assert DUPLICATE in refused.error
    assert ".up would have the key id = 8: the statement writes both" in refused.error
    assert _rows(shell) == OLD
    assert len(list(shell.tables.rglob("data-*.parquet"))) == count
    shell.ok("ALTER TABLE up SET TBLPROPERTIES ('duplicate-key' = 'replace')")
    shell.ok(merge(8, 2, 8))
    assert _rows(shell) == {**OLD, 2: (1, "d"), 8: (2, "d")}
    assert len(list(shell.tables.rglob("data-*.parquet"))) == count + 1


KEY_CHANGES: Mapping[str, Mapping[int, Row] | str] = {
    "UPDATE up SET id = id + 1": {key + 1: row for key, row in OLD.items()},
    "UPDATE up SET id = 4 - id": {4 - key: row for key, row in OLD.items()},
    "UPDATE up SET id = id": OLD,
    "UPDATE up SET id = 7": "id = 7: the statement writes both",
    "UPDATE up SET id = 2 WHERE id = 1": "id = 2: one that the statement writes, and one that it",
    "UPDATE up SET id = CASE id WHEN 1 THEN 2 ELSE 1 END WHERE id < 3": {
        1: OLD[2],
        2: OLD[1],
        3: OLD[3],
    },
    "MERGE INTO up t USING (SELECT 30 AS n) s ON t.n = s.n WHEN MATCHED THEN UPDATE SET id = 9": {
        1: OLD[1],
        2: OLD[2],
        9: OLD[3],
    },
    "MERGE INTO up t USING (SELECT 30 AS n) s ON t.n = s.n WHEN MATCHED THEN UPDATE SET id = 1": (
        "id = 1: one that"
    ),
    "MERGE INTO up t USING (SELECT 2L AS id, 99 AS n) s ON t.n = s.n "
    "WHEN NOT MATCHED THEN INSERT (id, n, t) VALUES (s.id, s.n, 'x')": "id = 2: one that",
    "MERGE INTO up t USING (SELECT explode(array(8, 8)) AS id) s ON t.id = s.id "
    "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)": "id = 8: the statement writes both",
    "MERGE INTO up t USING (SELECT 2L AS id, 99 AS n) s ON t.n = s.n WHEN NOT MATCHED THEN "
    "INSERT (id, n, t) VALUES (s.id, s.n, 'x') WHEN NOT MATCHED BY SOURCE AND id = 2 THEN DELETE": {
        1: OLD[1],
        2: (99, "x"),
        3: OLD[3],
    },
    "MERGE INTO up t USING (SELECT 2L AS id, 20 AS n UNION ALL SELECT 1L, 99) s ON t.n = s.n "
    "WHEN MATCHED THEN UPDATE SET t = 'u' WHEN NOT MATCHED THEN "
    "INSERT (id, n, t) VALUES (s.id, s.n, 'x')": "id = 1: one that",
}


@pytest.mark.parametrize("statement", KEY_CHANGES)
def test_statements_that_change_keys(shell: StockShell, statement: str) -> None:
    """Each key keeps one row, or nothing is written; as a SELECT of the new keys says."""
    _filled(shell)
    expected = KEY_CHANGES[statement]
    if isinstance(expected, str):
        error = shell.run(statement).error
        assert DUPLICATE in error
        assert f"the key {expected}" in error
        assert "SQLSTATE: 23505" in error
        assert _rows(shell) == OLD
    else:
        shell.ok(statement)
        assert _rows(shell) == expected


def test_a_session_replaces(shell: StockShell) -> None:
    """The option of a session counts for its statements, whatever the table's option is."""
    _filled(shell)
    shell.ok("SET table-storage.duplicate-key = replace")
    shell.ok("UPDATE up SET id = 2 WHERE id = 1")
    shell.ok("SET table-storage.duplicate-key = fail")
    assert _rows(shell) == {2: OLD[1], 3: OLD[3]}
    assert DUPLICATE in shell.run("UPDATE up SET id = 2 WHERE id = 3").error
    shell.ok("RESET table-storage.duplicate-key")


def test_keys_that_are_compared_otherwise(shell: StockShell) -> None:
    """Zeros are equal for a join whatever their sign, so that the target's row is changed."""
    shell.ok("CREATE OR REPLACE TABLE zeros (id DOUBLE PRIMARY KEY, n INT)")
    shell.ok("INSERT INTO zeros VALUES (0.0, 1), (1.0, 1)")
    source = "(SELECT /*+ REPARTITION(1) */ double(id) * -1 AS id, 2 AS n FROM range(2)) s"
    statement = f"MERGE INTO zeros t USING {source} ON t.id = s.id {UPDATE_ALL} {INSERT_ALL}"
    assert "Join" in str(shell.ok(f"EXPLAIN {statement}"))
    shell.ok(statement)
    assert shell.run("SELECT abs(id), n FROM zeros").sorted() == [
        ("0.0", "2"),
        ("1.0", "1"),
        ("1.0", "2"),
    ]


def test_null_keys_are_refused(shell: StockShell) -> None:
    """And nothing is written."""
    _filled(shell)
    source = SOURCE.replace("(7L,", "(CAST(NULL AS BIGINT),")
    refused = shell.run(_statement(source, "t.id = s.id", UPDATE_ALL, INSERT_ALL))
    assert "NULL" in refused.error
    assert _rows(shell) == OLD


def test_computed_columns_and_partitions(shell: StockShell) -> None:
    """A computed column follows the new row; each row goes to its partition."""
    shell.ok(
        "CREATE OR REPLACE TABLE parted (p STRING, id INT, n INT, twice INT GENERATED ALWAYS AS "
        "(n * 2), PRIMARY KEY (p, id)) PARTITIONED BY (p)"
    )
    shell.ok("INSERT INTO parted (p, id, n) VALUES ('a', 1, 1), ('b', 1, 1), ('b', 2, 2)")
    source = (
        "(SELECT if(id < 3, 'b', 'c') AS p, int(id) AS id, int(id * 10) AS n FROM range(1, 5)) s"
    )
    statement = (
        f"MERGE INTO parted t USING {source} ON t.p = s.p AND t.id = s.id {UPDATE_ALL} {INSERT_ALL}"
    )
    assert "Join" not in str(shell.ok(f"EXPLAIN {statement}"))
    shell.ok(statement)
    assert shell.run("SELECT * FROM parted").sorted() == [
        ("a", "1", "1", "2"),
        ("b", "1", "10", "20"),
        ("b", "2", "20", "40"),
        ("c", "3", "30", "60"),
        ("c", "4", "40", "80"),
    ]
