"""Random queries for views: any operator over any other.

Each part of a query has the columns k INT, v INT, s STRING, f DOUBLE and d DECIMAL(8,2), so that
every part fits everywhere. A query has one result, whatever the order of its rows: numbers stay
small, sums of `f` are exact, and rows are ordered by all that they consist of, where 0.0 stands
before -0.0. An aggregate of `f` may find either, and so adds 0.0.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

_COLUMNS: Final = "k, v, s, f, d"
_TOTAL_ORDER: Final = "v, k, s, f, d, CAST(f AS STRING)"
_DECIMAL: Final = "DECIMAL(8,2)"

_JOINS: Final = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_MATCHES: Final = (
    "l.k = r.k",
    "l.k = r.k AND l.s = r.s",
    "l.k = r.v AND r.v > 1",
    "l.v < r.k",
    "l.f = r.f",
    "l.d <=> r.d AND l.s <=> r.s",
    "l.k = r.k AND l.d > r.d",
    "l.k BETWEEN r.v - 1 AND r.v + 1",
    "l.s COLLATE UTF8_LCASE = r.s COLLATE UTF8_LCASE",
    "l.k = r.k AND exists(array(l.v, r.v, 3), x -> x > r.k + l.v)",
)
_SETS: Final = ("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
_AGGREGATES: Final = (
    "count(*)",
    "sum(v) % 1000",
    "min(v)",
    "max(v)",
    "avg(v)",
    "count(DISTINCT v)",
    "count(DISTINCT f, s)",
    "sum(DISTINCT v) % 1000",
    "count(v) FILTER (WHERE v > 2)",
    "sum(CASE WHEN v IS NULL THEN 1 ELSE v END) % 1000",
    "bit_or(v)",
    "bool_and(v > 1)",
    "max(length(s))",
    "bit_xor(v)",
    "median(v)",
    "percentile(v, 0.25)",
    "approx_count_distinct(v)",
    "sum(v) FILTER (WHERE s = 'x') % 1000",
)
_TEXT_AGGREGATES: Final = ("min(s)", "max(s)", "max(left(s, 1))")
"""None of a collation: without generated code Spark 4.2 loses such values next to a median."""
_FLOAT_AGGREGATES: Final = ("sum(f)", "avg(f)", "min(f)", "max(f)", "sum(DISTINCT f)", "sum(v / 2)")
_DECIMAL_AGGREGATES: Final = ("sum(d) % 1000", "avg(d)", "min(d)", "max(d)", "sum(d * v) % 1000")
_ADD: Final = "(a, x) -> a + coalesce(x, 1)"
_VARIANT: Final = "parse_json(to_json(named_struct('v', v, 's', s)))"
_WINDOWS: Final = (
    f"row_number() OVER (PARTITION BY k ORDER BY {_TOTAL_ORDER})",
    "rank() OVER (PARTITION BY s ORDER BY v)",
    "dense_rank() OVER (PARTITION BY f ORDER BY d DESC)",
    "sum(v) OVER (PARTITION BY k) % 1000",
    "lag(v) OVER (PARTITION BY s ORDER BY v, k)",
    f"lead(v) OVER (PARTITION BY d ORDER BY {_TOTAL_ORDER})",
    f"ntile(3) OVER (PARTITION BY k ORDER BY {_TOTAL_ORDER})",
    f"sum(k) OVER (PARTITION BY s ORDER BY {_TOTAL_ORDER} ROWS 1 PRECEDING) % 1000",
    "sum(v) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) % 1000",
    "100 * cume_dist() OVER (PARTITION BY s ORDER BY v)",
    "count(*) OVER ()",
)


@dataclass(slots=True)
class ViewQuery:
    """One query over some tables or views.

    Attributes:
        has_limit: whether no rule of change is known for a part of it.
        names: how many names it has given so far.
    """

    dice: random.Random
    tables: Sequence[str] = ("a", "b")
    has_limit: bool = False
    names: int = 0

    def text(self, depth: int) -> str:
        """A query of so many operators above each other."""
        if depth == 0:
            return f"SELECT {_COLUMNS} FROM {self.dice.choice(self.tables)}"
        kinds: tuple[Callable[[str, int], str], ...] = (
            self._projected,
            self._filtered,
            self._filtered,
            self._joined,
            self._joined,
            self._joined,
            self._grouped,
            self._grouped,
            self._combined,
            self._windowed,
            self._lateral,
            self._many_from_one,
            self._with_itself,
            self._pivoted,
            self._limited,
        )
        return self.dice.choice(kinds)(self.text(depth - 1), depth)

    def keyed_text(self, depth: int) -> str:
        """The same with one row for each k, which is never NULL."""
        return (
            f"SELECT k, {self._value()}, {self._text()}, {self._float()}, {self._decimal()} "
            f"FROM ({self.text(depth - 1)}) WHERE k IS NOT NULL GROUP BY k"
        )

    def _other(self, depth: int) -> str:
        return self.text(self.dice.randrange(depth))

    def _value(self) -> str:
        return f"CAST({self.dice.choice(_AGGREGATES)} AS INT) AS v"

    def _text(self) -> str:
        return f"{self.dice.choice(_TEXT_AGGREGATES)} AS s"

    def _float(self) -> str:
        return f"{self.dice.choice(_FLOAT_AGGREGATES)} + 0.0D AS f"

    def _decimal(self) -> str:
        return f"CAST({self.dice.choice(_DECIMAL_AGGREGATES)} AS {_DECIMAL}) AS d"

    def _projected(self, part: str, depth: int) -> str:
        columns = self.dice.choice(
            [
                f"k, v + 1 AS v, upper(s) AS s, -f AS f, CAST(d + 0.25 AS {_DECIMAL}) AS d",
                f"v AS k, k AS v, s, CAST(d AS DOUBLE) AS f, CAST(v + 0.5 AS {_DECIMAL}) AS d",
                "k, CASE WHEN s = 'x' THEN NULL ELSE v END AS v, coalesce(s, 'none') AS s, f, d",
                "DISTINCT k, v % 2 AS v, s, f, CAST(NULL AS DECIMAL(8,2)) AS d",
                "k, nullif(v, 1) AS v, s, nanvl(f, 2.5D) AS f, d",
                f"k, aggregate(transform(array(v, k), x -> x + v), 0, {_ADD}) % 1000 AS v, s, f, d",
                (
                    f"k, variant_get({_VARIANT}, '$.v', 'int') AS v, "
                    f"variant_get({_VARIANT}, '$.s', 'string') AS s, f, d"
                ),
            ]
        )
        return f"SELECT {columns} FROM ({part})"

    def _filtered(self, part: str, depth: int) -> str:
        number = self.dice.randrange(6)
        other = self._other(depth)
        condition = self.dice.choice(
            [
                f"v > {number}",
                f"k IS NULL OR v BETWEEN {number - 2} AND {number}",
                "f > 1 OR f = 0",
                f"v IN (SELECT v FROM ({other}))",
                f"(v, s) IN (SELECT v, s FROM ({other}))",
                f"k = {number} OR v IN (SELECT k FROM ({other}))",
                f"k NOT IN (SELECT v FROM ({other}))",
                f"d NOT IN (SELECT o.d FROM ({other}) AS o WHERE o.s = t.s)",
                f"EXISTS (SELECT 1 FROM ({other}) AS o WHERE o.k = t.k)",
                f"NOT EXISTS (SELECT 1 FROM ({other}) AS o WHERE o.k = t.k AND o.v > t.v)",
                f"EXISTS (SELECT 1 FROM ({other}) AS o WHERE o.f = t.f) OR v = {number}",
                f"v >= (SELECT avg(v) FROM ({other}))",
                f"d < (SELECT max(o.d) FROM ({other}) AS o WHERE o.k = t.k)",
                f"v <= (SELECT count(*) FROM ({other}) AS o WHERE o.s = t.s)",
            ]
        )
        return f"SELECT {_COLUMNS} FROM ({part}) AS t WHERE {condition}"

    def _joined(self, part: str, depth: int) -> str:
        other = self._other(depth)
        on = self.dice.choice(_MATCHES)
        dice = self.dice.random()
        if dice < 0.2:
            kind = self.dice.choice(["LEFT SEMI", "LEFT ANTI"])
            return f"SELECT l.* FROM ({part}) AS l {kind} JOIN ({other}) AS r ON {on}"
        kind = self.dice.choice(_JOINS)
        if dice < 0.3:
            return (
                f"SELECT k, r.v, l.s, l.f, r.d FROM ({part}) AS l {kind} ({other}) AS r USING (k)"
            )
        return f"SELECT l.k, r.v, l.s, r.f, l.d FROM ({part}) AS l {kind} ({other}) AS r ON {on}"

    def _with_itself(self, part: str, depth: int) -> str:
        self.names += 1
        name, kind = f"w{self.names}", self.dice.choice([*_JOINS, "CROSS JOIN"])
        on = "" if kind == "CROSS JOIN" else f" ON {self.dice.choice(_MATCHES)}"
        return (
            f"WITH {name} AS ({part}) SELECT l.k, r.v, r.s, l.f, r.d "
            f"FROM {name} AS l {kind} {name} AS r{on}"
        )

    def _grouped(self, part: str, depth: int) -> str:
        v, s, f, d = self._value(), self._text(), self._float(), self._decimal()
        folded = "CAST(lower(s COLLATE UTF8_LCASE) AS STRING) AS s"
        having = self.dice.choice(
            ["", "", " HAVING count(*) > 1", " HAVING sum(v) IS NOT NULL", " HAVING max(d) > 3"]
        )
        sets = self.dice.choice(
            ["ROLLUP (k, s)", "CUBE (k, s)", "GROUPING SETS ((k, s), (s), ())", "k, ROLLUP (s)"]
        )
        of_sets = self.dice.choice([v, "CAST(grouping_id(k, s) AS INT) AS v"])
        if sets == "k, ROLLUP (s)":
            of_sets = v
        return self.dice.choice(
            [
                f"SELECT k, {v}, {s}, {f}, {d} FROM ({part}) GROUP BY k{having}",
                f"SELECT max(k) AS k, {v}, s, {f}, {d} FROM ({part}) GROUP BY s{having}",
                f"SELECT min(k) AS k, {v}, {s}, f, d FROM ({part}) GROUP BY f, d{having}",
                f"SELECT k, {of_sets}, s, {f}, {d} FROM ({part}) GROUP BY {sets}{having}",
                f"SELECT max(k) AS k, {v}, {s}, {f}, {d} FROM ({part})",
                (
                    f"SELECT max(k) AS k, {v}, {folded}, {f}, {d} FROM ({part}) "
                    f"GROUP BY s COLLATE UTF8_LCASE{having}"
                ),
            ]
        )

    def _combined(self, part: str, depth: int) -> str:
        return f"({part}) {self.dice.choice(_SETS)} ({self._other(depth)})"

    def _windowed(self, part: str, depth: int) -> str:
        if self.dice.random() < 0.3:
            first = f"row_number() OVER (PARTITION BY s ORDER BY {_TOTAL_ORDER}) AS place"
            return f"SELECT {_COLUMNS} FROM (SELECT *, {first} FROM ({part})) WHERE place <= 2"
        value = f"CAST({self.dice.choice(_WINDOWS)} AS INT) AS v"
        return f"SELECT k, {value}, s, max(f) OVER (PARTITION BY k) + 0.0D AS f, d FROM ({part})"

    def _lateral(self, part: str, depth: int) -> str:
        on = self.dice.choice(["o.k = t.k", "o.k = t.k AND o.s = t.s", "o.v < t.v"])
        found = f"SELECT max(o.v) AS v, min(o.d) AS d FROM ({self._other(depth)}) AS o WHERE {on}"
        return f"SELECT t.k, m.v, t.s, t.f, m.d FROM ({part}) AS t, LATERAL ({found}) AS m"

    def _many_from_one(self, part: str, depth: int) -> str:
        some = "explode(filter(array(k, v), x -> x > 2))"
        places = "posexplode(array(v, 3)) AS l (at, e)"
        return self.dice.choice(
            [
                f"SELECT k, explode(array(v, k)) AS v, s, f, d FROM ({part})",
                f"SELECT k, e AS v, s, f, d FROM ({part}) LATERAL VIEW OUTER {some} AS e",
                f"SELECT at AS k, e AS v, s, f, d FROM ({part}), LATERAL {places}",
                f"SELECT u AS k, u AS v, n AS s, f, d FROM ({part}) UNPIVOT (u FOR n IN (k, v))",
            ]
        )

    def _pivoted(self, part: str, depth: int) -> str:
        value = self.dice.choice(["sum(v)", "count(v)", "max(v)"])
        return (
            "SELECT k, CAST(x % 1000 AS INT) AS v, CAST(y AS STRING) AS s, CAST(z AS DOUBLE) AS f, "
            f"CAST(z % 1000 AS {_DECIMAL}) AS d FROM (SELECT k, v, s FROM ({part})) "
            f"PIVOT ({value} FOR s IN ('x' AS x, 'Y' AS y, 'none' AS z))"
        )

    def _limited(self, part: str, depth: int) -> str:
        if self.dice.random() < 0.7:
            return self._projected(part, depth)
        self.has_limit = True
        return f"SELECT * FROM ({part}) ORDER BY {_TOTAL_ORDER} LIMIT {self.dice.randrange(5)}"
