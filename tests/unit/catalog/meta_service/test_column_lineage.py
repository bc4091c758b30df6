"""Goal: each column of a result depends on the columns that Spark computes it from, and no other.

What cannot be read is told as such: a query that only looks readable must not be told wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from table_store.catalog.meta_service.column_lineage import (
    ColumnLineage,
    LineageKind,
    NamedRelation,
    WrittenTable,
    column_lineage,
)
from table_store.catalog.names.identifier import Identifier
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.types import INTEGER

ALL = None
"""Stands for all columns of a job's table."""


def stored(text: str, columns: Sequence[str] = (), namespace: str = "n") -> StoredQuery:
    return StoredQuery(
        text=text,
        current_catalog="c",
        current_namespace=(namespace,),
        settings={},
        columns=tuple(columns),
    )


def table(name: str, *columns: str, namespace: str = "n") -> NamedRelation:
    identifier = Identifier(namespace, name)
    return NamedRelation(identifier=identifier, columns=columns, location=f"/{namespace}/{name}")


def view(name: str, query: StoredQuery, *columns: str) -> NamedRelation:
    return NamedRelation(identifier=Identifier("n", name), columns=columns, query=query)


RELATIONS = {
    named.identifier.key: named
    for named in (
        table("t", "k", "a", "b", "s", "xs"),
        table("u", "k", "c", "d"),
        table("T-U", "x`y", "Ä"),
        table("w", "k", "e", namespace="m"),
        table("z", "day", "ts", "time"),
        view("v", stored("SELECT k AS p, a + b FROM t WHERE s > 0"), "p", "q"),
        view("vv", stored("SELECT q, c FROM v JOIN m.w ON p = k JOIN u USING (k)", ("q", "c"))),
        view("vm", stored("SELECT * FROM w", ("k",), "m"), "k"),
        NamedRelation(identifier=Identifier("n", "f"), columns=("g",)),
    )
}


def find(identifier: Identifier) -> NamedRelation | None:
    return RELATIONS.get(identifier.key)


def fields(names: str) -> tuple[Field, ...]:
    return tuple(Field(id=0, name=name, type=INTEGER) for name in names.split())


def written(text: str, columns: str, sources: str) -> WrittenTable:
    paths = frozenset(f"/{'' if '/' in name else 'n/'}{name}" for name in sources.split())
    return WrittenTable(fields=fields(columns), query=stored(text), catalog="c", sources=paths)


def lineage(written: WrittenTable) -> dict[str | None, str | None]:
    """The sources of each column, of which those that all depend on are those of `ALL`."""
    found: dict[str | None, str | None] = {}
    for one in column_lineage(written, find):
        assert (one.kind is LineageKind.INDIRECT) == (one.column is ALL)
        if one.kind is None:
            assert one.source is None
            found[one.column] = None
            continue
        namespace = "" if one.source is None else one.source.table.namespace.removeprefix("n")
        name = one.source and f"{namespace}{'.' * bool(namespace)}{one.source.table.name}"
        text = "" if one.source is None else f"{name}.{one.source.name}"
        found[one.column] = f"{found.get(one.column) or ''} {text}".strip()
    return found


def of(text: str, sources: str, **expected: str) -> object:
    """A case: a query, the tables that it reads, and for each column of the result its sources."""
    return pytest.param(text, sources, expected, id=text)


CASES = [
    # Projections.
    of("SELECT a, b + k AS z, 1 AS one FROM t", "t", a="t.a", z="t.b t.k", one=""),
    of("SELECT A, `B` FROM N.T", "t", a="t.a", b="t.b"),
    of("SELECT T.a, n.t.b, c.n.t.k FROM c.n.t", "t", a="t.a", b="t.b", k="t.k"),
    of("SELECT * FROM u", "u", k="u.k", c="u.c", d="u.d"),
    of("SELECT y.*, x.a FROM t x, u y", "t u", k="u.k", c="u.c", d="u.d", a="t.a"),
    of("SELECT * EXCEPT (k, xs), k FROM t", "t", a="t.a", b="t.b", s="t.s", k="t.k"),
    of("SELECT `x``y` AS z, `ä` FROM `T-U`", "T-U", z="T-U.x`y", ä="T-U.Ä"),
    of("SELECT s.f.g AS z, t.s.f, n.t.s.f.h AS i, s['x'] AS y FROM t", "t",
       z="t.s", f="t.s", i="t.s", y="t.s"),
    of("SELECT cast(a AS BIGINT), b::STRING AS b2 FROM t", "t", a="t.a", b2="t.b"),
    of("SELECT CASE WHEN a > 0 THEN b ELSE k END AS z FROM t", "t", z="t.a t.b t.k"),
    of("SELECT a AS x, x + b AS y, y AS z FROM t", "t", x="t.a", y="t.a t.b", z="t.a t.b"),
    of("SELECT b AS a, a AS z FROM t", "t", a="t.b", z="t.a"),
    of("SELECT transform(xs, K -> k + a + t.b) AS z FROM t", "t", z="t.a t.b t.xs"),
    of("SELECT transform(xs, k -> k.a.b.a) AS z FROM t", "t", z="t.xs"),
    of("SELECT aggregate(xs, 0, (a, x) -> a + x.b) AS z FROM t", "t", z="t.xs"),
    of("SELECT extract(YEAR FROM a) AS y, date_trunc('DAY', b) AS d FROM t", "t",
       y="t.a", d="t.b"),
    of("SELECT day + INTERVAL 1 DAY AS p, dateadd(DAY, 1, ts) AS q, extract(DAY FROM ts) AS r,"
       " cast(ts AS TIME) AS t FROM z", "z", p="z.day", q="z.ts", r="z.ts", t="z.ts"),
    of("SELECT a FROM t ORDER BY b", "t", a="t.a"),
    of("SELECT e FROM m.w WITH ('scan.mode' = 'x') AS y WHERE y.k > 0", "m/w",
       e="m.w.e", ALL="m.w.k"),
    of("SELECT /*+ BROADCAST(t) */ a FROM t TABLESAMPLE (10 PERCENT)", "t", a="t.a"),
    # Rows.
    of("SELECT a FROM t WHERE b > 0 AND s IN (1, 2)", "t", a="t.a", ALL="t.b t.s"),
    of("SELECT a FROM t ORDER BY b LIMIT 3", "t", a="t.a", ALL="t.b"),
    of("SELECT DISTINCT a, b FROM t", "t", a="t.a", b="t.b", ALL="t.a t.b"),
    of("SELECT k, sum(a) AS z, count(*) AS n FROM t GROUP BY k", "t", k="t.k", z="t.a", n="",
       ALL="t.k"),
    of("SELECT a + b AS g, max(s) AS z FROM t GROUP BY g HAVING z > 0 AND min(k) > 0", "t",
       g="t.a t.b", z="t.s", ALL="t.a t.b t.k t.s"),
    of("SELECT b, a, count(xs) AS z FROM t GROUP BY 2, b", "t", b="t.b", a="t.a", z="t.xs",
       ALL="t.a t.b"),
    of("SELECT a, b, count(*) + max(k) AS z FROM t GROUP BY ALL", "t", a="t.a", b="t.b", z="t.k",
       ALL="t.a t.b"),
    of("SELECT a, count(k) AS z FROM t GROUP BY GROUPING SETS ((a), (b))", "t", a="t.a", z="t.k",
       ALL="t.a t.b"),
    of("SELECT k, sum(a) AS a FROM t GROUP BY k HAVING sum(a) > 0", "t", k="t.k", a="t.a",
       ALL="t.a t.k"),
    of("SELECT max(a) FILTER (WHERE b > 0) AS z FROM t", "t", z="t.a t.b"),
    of("SELECT sum(a) OVER (PARTITION BY k ORDER BY b) AS z FROM t", "t", z="t.a t.b t.k"),
    of("SELECT sum(a) OVER w AS z FROM t WINDOW w AS (PARTITION BY k)", "t", z="t.a t.k"),
    # Joins.
    of("SELECT a, c FROM t JOIN u ON t.k = u.k AND d > 0", "t u", a="t.a", c="u.c",
       ALL="t.k u.d u.k"),
    of("SELECT k, a, c FROM t JOIN u USING (k)", "t u", k="t.k", a="t.a", c="u.c",
       ALL="t.k u.k"),
    of("SELECT * FROM u LEFT JOIN m.w USING (k)", "u m/w", k="u.k", c="u.c", d="u.d",
       e="m.w.e", ALL="m.w.k u.k"),
    of("SELECT k, u.k AS l, c FROM u RIGHT JOIN m.w USING (k)", "u m/w", k="m.w.k", l="u.k",
       c="u.c", ALL="m.w.k u.k"),
    of("SELECT * FROM u FULL JOIN m.w USING (k)", "u m/w", k="m.w.k u.k", c="u.c", d="u.d",
       e="m.w.e", ALL="m.w.k u.k"),
    of("SELECT * FROM m.w NATURAL JOIN u", "u m/w", k="m.w.k", e="m.w.e", c="u.c", d="u.d",
       ALL="m.w.k u.k"),
    of("SELECT * FROM m.w LEFT SEMI JOIN u ON w.k = u.k", "u m/w", k="m.w.k", e="m.w.e",
       ALL="m.w.k u.k"),
    of("SELECT * FROM m.w LEFT ANTI JOIN m.w x ON w.k = x.e", "m/w", k="m.w.k", e="m.w.e",
       ALL="m.w.e m.w.k"),
    of("SELECT x.a, y.b FROM t x JOIN t y ON x.k = y.a", "t", a="t.a", b="t.b", ALL="t.a t.k"),
    of("SELECT a, w.e FROM t JOIN (u JOIN m.w ON u.k = w.k) ON a = c", "t u m/w", a="t.a",
       e="m.w.e", ALL="m.w.k t.a u.c u.k"),
    # Subqueries.
    of("SELECT p FROM ((SELECT a AS p, k FROM t) x JOIN u ON x.k = u.k) y", "t u", p="t.a",
       ALL="t.k u.k"),
    of("SELECT y.q FROM (t JOIN u ON t.k = u.k) AS y (p, q, r, s, t, u, v, w)", "t u", q="t.a",
       ALL="t.k u.k"),
    of("SELECT z FROM (SELECT a + b AS z, k FROM t WHERE s > 0) WHERE k > 0", "t", z="t.a t.b",
       ALL="t.k t.s"),
    of("SELECT x.p FROM (SELECT a, b FROM t) AS x (p, q)", "t", p="t.a"),
    of("SELECT a, (SELECT max(c) FROM u WHERE u.k = t.k) AS z FROM t", "t u", a="t.a", z="u.c",
       ALL="t.k u.k"),
    of("SELECT a, (SELECT max(c) FROM u) z FROM t", "t u", a="t.a", z="u.c"),
    of("SELECT a FROM t WHERE k IN (SELECT c FROM u WHERE d > b)", "t u", a="t.a",
       ALL="t.b t.k u.c u.d"),
    of("SELECT a FROM t WHERE EXISTS (SELECT d FROM u WHERE c = b)", "t u", a="t.a",
       ALL="t.b u.c"),
    of("SELECT a FROM t WHERE b > (SELECT avg(c) FROM u)", "t u", a="t.a", ALL="t.b u.c"),
    of("SELECT a, z FROM t, LATERAL (SELECT c + b AS z FROM u WHERE u.k = t.k)", "t u", a="t.a",
       z="t.b u.c", ALL="t.k u.k"),
    # Common tables.
    of("WITH x AS (SELECT a AS p FROM t), y AS (SELECT p + 1 AS q FROM x) SELECT q FROM y", "t",
       q="t.a"),
    of("WITH t AS (SELECT c AS a FROM u) SELECT a FROM t", "u", a="u.c"),
    of("WITH u AS (SELECT * FROM u WHERE d > 0) SELECT c FROM u", "u", c="u.c", ALL="u.d"),
    of("WITH x (p, q) AS (SELECT a, b FROM t) SELECT q, p FROM x", "t", q="t.b", p="t.a"),
    of("WITH x AS (SELECT a FROM t) SELECT d FROM u WHERE c IN (SELECT a FROM x)", "t u", d="u.d",
       ALL="t.a u.c"),
    of("WITH x AS (SELECT nothing FROM nowhere) SELECT a FROM t", "t", a="t.a"),
    # Set operations.
    of("SELECT a AS z FROM t UNION ALL SELECT c FROM u WHERE d > 0", "t u", z="t.a u.c",
       ALL="u.d"),
    of("SELECT a AS z FROM t UNION SELECT c FROM u", "t u", z="t.a u.c", ALL="t.a u.c"),
    of("SELECT a AS z FROM t EXCEPT SELECT c FROM u", "t u", z="t.a", ALL="t.a u.c"),
    of("(SELECT a AS z FROM t) UNION ALL (SELECT b FROM t) ORDER BY z LIMIT 1", "t", z="t.a t.b",
       ALL="t.a t.b"),
    # Rows out of arrays and out of nothing.
    of("SELECT a, explode(xs) AS z FROM t", "t", a="t.a", z="t.xs"),
    of("SELECT posexplode(xs) AS (p, z) FROM t", "t", p="t.xs", z="t.xs"),
    of("SELECT a, e FROM t LATERAL VIEW OUTER explode(xs) y AS e", "t", a="t.a", e="t.xs"),
    of("SELECT f FROM t LATERAL VIEW explode(xs) y AS e LATERAL VIEW explode(y.e.fs) z AS f", "t",
       f="t.xs"),
    of("SELECT e FROM t, LATERAL explode(xs) AS y (e)", "t", e="t.xs"),
    of("SELECT p, a FROM t JOIN VALUES (1, 2) AS v (p, q) ON a = q", "t", p="", a="t.a",
       ALL="t.a"),
    of("SELECT id, a FROM range(3), t", "t", id="", a="t.a"),
    # Views, and tables that Spark reads itself.
    of("SELECT p, q FROM v", "t", p="t.k", q="t.a t.b", ALL="t.s"),
    of("SELECT * FROM vv", "t u m/w", q="t.a t.b", c="u.c", ALL="m.w.k t.k t.s u.k"),
    of("SELECT * FROM vm", "m/w", k="m.w.k"),
    of("SELECT g FROM f", "", g="f.g"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sources", "expected"), CASES)
def test_a_query(text: str, sources: str, expected: dict[str, str]) -> None:
    columns = [name for name in expected if name != "ALL"]
    found = lineage(written(text, " ".join(columns), sources))
    assert found.pop(ALL, "") == expected.get("ALL", "")
    assert found == {name: expected[name] for name in columns}


UNREADABLE = [
    "SELECT FROM WHERE (",
    "SHOW TABLES",
    "SELECT a, nothing FROM t",
    "SELECT a, k FROM t, u",
    "SELECT a, b FROM nowhere",
    "SELECT a, b FROM other.n.t",
    "SELECT a, b FROM other.c.n.t",
    "SELECT a, b AS z FROM t",
    "SELECT s.*, a FROM t",
    "SELECT a, b FROM t VERSION AS OF 1",
    "SELECT * FROM (SELECT a, b FROM t) PIVOT (sum(a) FOR b IN (1, 2))",
    "SELECT a, b FROM t LATERAL VIEW explode(xs) y",
    "SELECT inline(xs) FROM t",
    "SELECT a, b FROM IDENTIFIER('t')",
    "SELECT a, b FROM t UNION BY NAME SELECT b, a FROM t",
    "WITH RECURSIVE t AS (SELECT 1 AS a, 2 AS b UNION ALL SELECT a, b FROM t) SELECT a, b FROM t",
    "SELECT a, my_max(b) AS b FROM t GROUP BY ALL",
    "SELECT * EXCEPT (k, s, xs) FROM t GROUP BY ALL",
    "SELECT a, sum(b) + k AS b FROM t GROUP BY ALL",
    "SELECT a, b FROM (SELECT a FROM t UNION ALL SELECT a, b FROM t)",
    "SELECT k AS a, sum(a) AS b FROM t GROUP BY k HAVING b > 0",
    "SELECT k AS a, sum(b) AS b FROM t GROUP BY k HAVING a > 0",
    "SELECT a, b FROM t GROUP BY CUBE (1, 2)",
    "SELECT a, sum(b) OVER w AS b FROM t",
    "SELECT a, b FROM v.t",
    "SELECT a, b FROM t WHERE " + " OR ".join(["a > 0"] * 5_000),
]
"""Queries of the table t, which have no meaning or one that is not read, of columns a and b."""


@pytest.mark.parametrize("text", UNREADABLE, ids=[text[:60] for text in UNREADABLE])
def test_what_cannot_be_read_is_not_known(text: str) -> None:
    job = replace(written(text, "a b", "t"), query=stored(text, ("a", "b")))
    unknown = [ColumnLineage("a", None, None), ColumnLineage("b", None, None)]
    assert column_lineage(job, find) == unknown


def test_names_must_stand_for_what_the_job_reads() -> None:
    job = written("SELECT a FROM t", "a", "t")
    assert lineage(job) == {"a": "t.a"}
    for sources in ("", "u", "t u"):
        assert lineage(written("SELECT a FROM t", "a", sources)) == {"a": None}
    assert lineage(replace(job, catalog="other")) == {"a": None}
    assert lineage(replace(job, query=None)) == {"a": None}


def test_double_quotes_are_names_where_spark_is_told_so() -> None:
    job = written('SELECT "a" AS z FROM t', "z", "t")
    assert lineage(job) == {"z": ""}
    ansi = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}
    as_name = replace(stored('SELECT "a" AS z FROM t'), settings=ansi)
    assert lineage(replace(job, query=as_name)) == {"z": None}


@pytest.mark.parametrize(
    "expression",
    ["date_trunc(day, ts)", "trunc(ts, day)", "time_trunc('HOUR', time)", "ts COLLATE day"],
)
def test_columns_in_the_place_of_a_unit_are_not_overlooked(expression: str) -> None:
    assert lineage(written(f"SELECT {expression} AS p FROM z", "p", "z")) == {"p": None}


@pytest.mark.parametrize(
    ("query", "columns", "expected"),
    [
        ("SELECT * FROM t", "k b", {"k": "t.k", "b": "t.b"}),
        ("SELECT * FROM t x JOIN t y ON x.a = y.b", "a a",
         {"p": "t.a", "q": "t.a", ALL: "t.a t.b"}),
        ("SELECT * FROM u, m.w", "k c d k e",
         {"p": "u.k", "q": "u.c", "r": "u.d", "s": "m.w.k", "t": "m.w.e"}),
        ("SELECT * FROM t", "k gone", {"p": None, "q": None}),
    ],
)  # fmt: skip
def test_a_star_has_the_columns_of_the_definition(
    query: str, columns: str, expected: dict[str | None, str | None]
) -> None:
    names = " ".join(name for name in expected if name is not None)
    job = written(query, names, "u m/w" if "m.w" in query else "t")
    assert lineage(replace(job, query=stored(query, columns.split()))) == expected


@pytest.mark.parametrize(
    ("insert", "expected"),
    [
        ("INSERT INTO j SELECT a, b FROM t", {"p": "t.a", "q": "t.b"}),
        ("INSERT INTO j (q, p) SELECT a, b FROM t WHERE k > 0",
         {"p": "t.b", "q": "t.a", ALL: "t.k"}),
        ("INSERT INTO n.j (Q) SELECT a FROM t", {"p": "", "q": "t.a"}),
        ("INSERT INTO TABLE c.n.j BY NAME SELECT a AS q, b AS p FROM t",
         {"p": "t.b", "q": "t.a"}),
        ("INSERT INTO j BY NAME SELECT a AS p FROM t", {"p": "t.a", "q": ""}),
        ("INSERT INTO j WITH ('x.y' = 'z') SELECT a, b FROM t", {"p": "t.a", "q": "t.b"}),
        ("WITH x AS (SELECT a FROM t) INSERT INTO j SELECT a, 1 FROM x", {"p": "t.a", "q": ""}),
        ("INSERT INTO j WITH x AS (SELECT a FROM t) SELECT 1, a FROM x", {"p": "", "q": "t.a"}),
        ("INSERT INTO j SELECT a FROM t", {"p": None, "q": None}),
        ("INSERT INTO j (p, r) SELECT a, b FROM t", {"p": None, "q": None}),
        ("INSERT INTO j BY NAME SELECT a + 1, b AS p FROM t", {"p": None, "q": None}),
        ("INSERT INTO j PARTITION (p = 1) SELECT a FROM t", {"p": None, "q": None}),
        ("INSERT INTO other.n.j SELECT a, b FROM t", {"p": None, "q": None}),
        ("FROM t INSERT INTO j SELECT a, b", {"p": None, "q": None}),
    ],
)  # fmt: skip
def test_an_insert(insert: str, expected: dict[str | None, str | None]) -> None:
    assert lineage(replace(written(insert, "p q", "t"), catalog=None)) == expected


def test_computed_columns_come_from_what_they_are_computed_from() -> None:
    computed = Field(id=0, name="z", type=INTEGER, generated=StoredExpression("p + upper(`q`) + 1"))
    job = written("INSERT INTO j SELECT a, b + k FROM t", "p q", "t")
    with_computed = (job.fields[0], computed, job.fields[1])
    found = lineage(replace(job, fields=with_computed))
    assert found == {"p": "t.a", "z": "t.a t.b t.k", "q": "t.b t.k"}
