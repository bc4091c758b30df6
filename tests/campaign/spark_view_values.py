"""Materialized views over values of all kinds, made in sessions with drawn flags.

A view keeps the flags of the session that made it. After every refresh, by whichever session, it
has the rows of its query in that session; maps keep the order of their entries.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.campaign.spark_program import QUICK, arrow_answer, session_with_warehouse, spark_program
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import plain_scalar
from tests.values.envelope import Envelope
from tests.values.kinds import Array, Kind, Map, Struct, Value, sql
from tests.values.sql_values import sql_rows, sql_value

_VIEWS: Final = 5
_EPOCHS: Final = 2
_ROWS: Final = 6
_QUERIES: Final = (
    "SELECT * FROM a",
    "SELECT k, m, l FROM a WHERE v IS NOT NULL",
    "SELECT a.k, b.m, a.s FROM a JOIN b ON a.v = b.v",
    "SELECT a.k, b.q, a.s FROM a LEFT JOIN b ON a.s = b.s",
    "SELECT s, count(*) AS c, max(v) AS v FROM a GROUP BY s",
    "SELECT q, count(*) AS c FROM a GROUP BY q",
    "SELECT DISTINCT s, v FROM a",
    "SELECT k, m FROM a UNION ALL SELECT k, m FROM b",
    "SELECT k, map_concat(m, map('new', v)) AS m FROM a",
    "SELECT k, map_keys(m) AS ks, map_values(m) AS vs, size(m) AS n FROM a",
    "SELECT k, e, x FROM a LATERAL VIEW OUTER explode(m) AS e, x",
    "SELECT k, x FROM a LATERAL VIEW posexplode(l) AS at, x",
    "SELECT a.k, (SELECT count(*) FROM b WHERE b.v = a.v) AS c FROM a",
    "SELECT a.k, (SELECT count(*) + 1 FROM b WHERE b.s = a.s) AS c FROM a",
    "SELECT k, v IN (SELECT v FROM b WHERE v < -100) AS c FROM a",
    "SELECT k, v IN (SELECT v FROM b WHERE false) AS c FROM a",
    "SELECT k FROM a WHERE (v IN (SELECT v FROM b WHERE v > 99)) IS NULL",
    "SELECT k, size(l) AS n, element_at(m, 'x') AS e FROM a",
    "SELECT k, concat_ws('-', s, v) AS c, array_distinct(l) AS l FROM a",
    "SELECT k, substring_index(s, 'a', 1) AS c, v / 2 AS h, v div 2 AS d FROM a",
    "SELECT k, CAST(s AS BOOLEAN) AS b, nullif(s, 'a') AS n FROM a",
    "SELECT * FROM a TABLESAMPLE (50 PERCENT) REPEATABLE (1)",
    "SELECT k, v FROM a TABLESAMPLE (BUCKET 1 OUT OF 2)",
)
_NOT_FLIPPED: Final = ("hive", "python", "codegen", "streaming", "execution", "catalog", "debug")
"""Flags that change no result of these queries, and how they are run."""


@lru_cache(maxsize=1)
def flags() -> tuple[tuple[str, str], ...]:
    """Every flag of Spark that may change a result, and the value that is not its default."""
    jvm: Any = spark_program()._jvm
    conf = getattr(getattr(jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    entries = conf.getConfigEntries().toArray()
    known = [(str(entry.key()), str(entry.defaultValueString())) for entry in entries]
    return tuple(
        (key, "false" if default == "true" else "true")
        for key, default in sorted(known)
        if default in ("true", "false")
        and (".legacy." in key or ".optimizer." in key or ".ansi." in key)
        and not any(word in key.lower() for word in _NOT_FLIPPED)
    )


@dataclass
class View:
    """A materialized view, and the session that made it."""

    name: str
    query: str
    session: SparkSession


@dataclass
class Views:
    """Two tables of envelope values, and views over them."""

    case: Case
    envelope: Envelope
    columns: dict[str, Kind]
    views: list[View] = field(default_factory=list)
    refused: int = 0

    @property
    def dice(self) -> random.Random:
        return self.envelope.dice

    def session(self, share: float = 0.0) -> SparkSession:
        """A session in which so large a share of all flags is not as usual."""
        session = session_with_warehouse(f"c{self.case.seed}", self.case.folder)
        for key, value in QUICK.items():
            session.conf.set(key, value)
        for key, value in flags():
            if self.dice.random() < share:
                try:
                    session.conf.set(key, value)
                except PySparkException:
                    continue
                self.case.said.append(f"SET {key} = {value}")
        return session

    def create(self) -> None:
        """Make the tables, with some rows, and the views."""
        session = self.session()
        columns = ", ".join(f"{name} {sql(kind)}" for name, kind in self.columns.items())
        for table in "ab":
            key = self.dice.choice(["", ", PRIMARY KEY (k) NOT ENFORCED"])
            self.run(session, f"CREATE TABLE {table} ({columns}{key})")
            self.insert(session, table)
        for number in range(_VIEWS):
            query, name = self.dice.choice(_QUERIES), f"m{number}"
            share = self.dice.choice([0.0, 0.02, 0.1, 0.4])
            session = self.session(share)
            made = f"CREATE MATERIALIZED VIEW {name} REFRESH POLICY INCREMENTAL AS {query}"
            if self.is_done(session, made):
                self.views.append(View(name, query, session))

    def insert(self, session: SparkSession, table: str) -> None:
        """INSERT of rows whose small values meet in joins."""
        rows = []
        for _ in range(self.dice.randint(1, _ROWS)):
            drawn = {name: self.envelope.value(kind) for name, kind in self.columns.items()}
            drawn["k"] = self.dice.randrange(12)
            drawn["v"] = self.dice.choice([None, *range(4)])
            drawn["s"] = self.dice.choice([drawn["s"], b"a", b"aba", b"true", None])
            rows.append(tuple(drawn.values()))
        rows = list({row[0]: row for row in rows}.values())
        self.run(session, f"INSERT INTO {table} {sql_rows(rows, self.columns)}")

    def change(self, session: SparkSession) -> None:
        """Change one of the tables."""
        table, key = self.dice.choice("ab"), self.dice.randrange(12)
        where = self.dice.choice([f"k = {key}", f"k < {key}", "v = 1", "s = 'a'", "true"])
        name = self.dice.choice([name for name in self.columns if name != "k"])
        new = sql_value(self.envelope.value(self.columns[name]), self.columns[name])
        turned = "map_from_entries(reverse(map_entries(m)))"
        statement = self.dice.choice(
            [
                f"UPDATE {table} SET m = {turned} WHERE {where}",
                f"UPDATE {table} SET {name} = {new} WHERE {where}",
                f"DELETE FROM {table} WHERE {where} AND k % 3 = 0",
                "",
                "",
            ]
        )
        if statement:
            self.run(session, statement)
        else:
            self.insert(session, table)

    def check(self) -> None:
        """Refresh each view in a session of its own, and compare it with its query."""
        session = self.session()
        for view in self.views:
            full = self.dice.choice(["", "", " FULL"])
            self.run(session, f"REFRESH MATERIALIZED VIEW {view.name}{full}")
            found = self.rows(session, f"SELECT * FROM {view.name}")
            wanted = self.rows(view.session, view.query)
            assert found == wanted, (
                f"{view.name} of {view.query}: too many {_first(found - wanted)}, "
                f"missing {_first(wanted - found)}"
            )

    def rows(self, session: SparkSession, query: str) -> Counter[tuple[Value, ...]]:
        """The answer to a query."""
        answer = arrow_answer(session.sql(query))
        columns = [[plain_scalar(one) for one in column] for column in answer.columns]
        return Counter(zip(*columns, strict=True))

    def run(self, session: SparkSession, statement: str) -> None:
        """Run a statement."""
        self.case.said.append(statement)
        session.sql(statement).collect()

    def is_done(self, session: SparkSession, statement: str) -> bool:
        """Run a statement, which may be refused."""
        try:
            self.run(session, statement)
        except PySparkException as error:
            if (error.getCondition() or "INTERNAL_ERROR") == "INTERNAL_ERROR":
                raise
            self.case.said.append(f"-- refused: {str(error)[:200]}")
            self.refused += 1
            return False
        return True


def _first(rows: Counter[tuple[Value, ...]]) -> str:
    return repr(next(iter(rows.items()), None))[:800]


def _columns(envelope: Envelope) -> dict[str, Kind]:
    return {
        "k": "INT",
        "v": "INT",
        "s": "STRING",
        "m": Map("INT"),
        "l": Array(envelope.dice.choice(["INT", "STRING"])),
        "q": Struct((("a", envelope.dice.choice(["INT", "STRING", "DATE"])), ("b", "INT"))),
        "x": envelope.kind(),
    }


def run_case(case: Case) -> Counts:
    """Make views, change what they read, and compare them after each refresh."""
    envelope = Envelope(case.random(), longest=4_096)
    views = Views(case, envelope, _columns(envelope))
    views.create()
    for _ in range(_EPOCHS):
        session = views.session()
        for _ in range(3):
            views.change(session)
        views.check()
    return {"views": len(views.views), "refused": views.refused}


SPARK_VIEW_VALUES: Final = Technique(
    name="spark-view-values",
    goal="a view over values of all kinds has the rows of its query under its own flags",
    suite_cases=0,
    release_cases=1_000,
    run_case=run_case,
    needs_spark=True,
)
