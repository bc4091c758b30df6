"""Goal: the names of a table and of its columns change in a query, and nothing else of its text."""

from __future__ import annotations

import pytest

from table_store.catalog.jobs.renamed_query import TableName, renamed_column, renamed_table

TABLE = TableName(parts=("c", "p", "s"), current=("c", "p"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT k,  v FROM s -- v", "SELECT k,  `w` AS `v` FROM s -- v"),
        ("SELECT v + 1 AS x FROM p.S", "SELECT `w` + 1 AS x FROM p.S"),
        ("SELECT a.V FROM c.p.s a, o WHERE o.v = a.v",
         "SELECT a.`w` AS `v` FROM c.p.s a, o WHERE o.v = a.`w`"),
        ("SELECT x.v FROM (SELECT v FROM s) x", "SELECT x.v FROM (SELECT `w` AS `v` FROM s) x"),
        ("SELECT v FROM q.s", "SELECT v FROM q.s"),
        ("SELECT 'v' AS t, `v` FROM s", "SELECT 'v' AS t, `w` AS `v` FROM s"),
        ("SELECT k FROM o WHERE EXISTS (SELECT 1 FROM s WHERE s.v = o.v)",
         "SELECT k FROM o WHERE EXISTS (SELECT 1 FROM s WHERE s.`w` = o.v)"),
        ("SELECT v.f FROM s", "SELECT `w`.f FROM s"),
        ("WITH s AS (SELECT 1 AS v) SELECT v FROM s", "WITH s AS (SELECT 1 AS v) SELECT v FROM s"),
        ("SELECT v, count(*) FROM s GROUP BY v", "SELECT `w` AS `v`, count(*) FROM s GROUP BY `w`"),
    ],
)  # fmt: skip
def test_a_column(before: str, after: str) -> None:
    assert next(renamed_column(before, TABLE, "v", "w")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT s.k FROM s", "SELECT s.k FROM `c`.`n`.`t u` AS `s`"),
        ("SELECT k FROM p.s x JOIN q.s", "SELECT k FROM `c`.`n`.`t u` x JOIN q.s"),
        ("WITH s AS (SELECT * FROM p.s) SELECT * FROM s",
         "WITH s AS (SELECT * FROM `c`.`n`.`t u` AS `s`) SELECT * FROM s"),
        ("SELECT s FROM o WHERE k IN (SELECT k FROM C.P.S)",
         "SELECT s FROM o WHERE k IN (SELECT k FROM `c`.`n`.`t u` AS `S`)"),
    ],
)  # fmt: skip
def test_a_table(before: str, after: str) -> None:
    assert next(renamed_table(before, TABLE, ("c", "n", "t u"))) == after


def test_what_cannot_be_read_is_left_alone() -> None:
    assert list(renamed_column("SELECT FROM WHERE (", TABLE, "v", "w")) == []
    assert list(renamed_table("SELECT FROM WHERE (", TABLE, ("t",))) == []
