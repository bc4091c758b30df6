"""Random queries over two tables, for views: any operator over any other.

Each part of a query has the columns k INT, v INT and s STRING, so that every part fits everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_JOINS: Final = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_SETS: Final = ("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
_AGGREGATES: Final = (
    "count(*)",
    "sum(v)",
    "max(v)",
    "count(DISTINCT v)",
    "count(v) FILTER (WHERE v > 2)",
    "sum(CASE WHEN v IS NULL THEN 1 ELSE v END)",
    "bit_or(v)",
)
_WINDOWS: Final = (
    "row_number() OVER (PARTITION BY k ORDER BY v, s)",
    "rank() OVER (PARTITION BY s ORDER BY v)",
    "sum(v) OVER (PARTITION BY k)",
    "lag(v) OVER (PARTITION BY s ORDER BY v, k)",
    "count(*) OVER ()",
)
_TABLES: Final = ("a", "b")


@dataclass(slots=True)
class ViewQuery:
    """One query; `has_limit` is whether no rule of change is known for a part of it."""

    dice: random.Random
    has_limit: bool = False

    def text(self, depth: int) -> str:
        """A query of so many operators above each other."""
        if depth == 0:
            return f"SELECT k, v, s FROM {self.dice.choice(_TABLES)}"
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
            self._ranked,
            self._lateral,
            self._exploded,
            self._limited,
        )
        return self.dice.choice(kinds)(self.text(depth - 1), depth)

    def _other(self, depth: int) -> str:
        return self.text(self.dice.randrange(depth))

    def _projected(self, part: str, depth: int) -> str:
        columns = self.dice.choice(
            [
                "k, v + 1 AS v, upper(s) AS s",
                "v AS k, k AS v, s",
                "k, CASE WHEN s = 'x' THEN NULL ELSE v END AS v, coalesce(s, 'none') AS s",
                "DISTINCT k, v % 2 AS v, s",
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
                f"v IN (SELECT v FROM ({other}))",
                f"k = {number} OR v IN (SELECT k FROM ({other}))",
                f"k NOT IN (SELECT v FROM ({other}))",
                f"EXISTS (SELECT 1 FROM ({other}) AS o WHERE o.k = t.k)",
                f"NOT EXISTS (SELECT 1 FROM ({other}) AS o WHERE o.k = t.k AND o.v > t.v)",
                f"v >= (SELECT avg(v) FROM ({other}))",
                f"v <= (SELECT count(*) FROM ({other}) AS o WHERE o.s = t.s)",
            ]
        )
        return f"SELECT k, v, s FROM ({part}) AS t WHERE {condition}"

    def _joined(self, part: str, depth: int) -> str:
        other = self._other(depth)
        if self.dice.random() < 0.2:
            kind = self.dice.choice(["LEFT SEMI", "LEFT ANTI"])
            on = self.dice.choice(["l.k = r.k", "l.k = r.k AND l.v < r.v", "l.v <=> r.v"])
            return f"SELECT l.k, l.v, l.s FROM ({part}) AS l {kind} JOIN ({other}) AS r ON {on}"
        kind = self.dice.choice(_JOINS)
        on = self.dice.choice(
            ["l.k = r.k", "l.k = r.k AND l.s = r.s", "l.k = r.v AND r.v > 1", "l.v < r.k"]
        )
        return f"SELECT l.k, r.v, l.s FROM ({part}) AS l {kind} ({other}) AS r ON {on}"

    def _grouped(self, part: str, depth: int) -> str:
        value = f"CAST({self.dice.choice(_AGGREGATES)} AS INT) AS v"
        having = self.dice.choice(["", "", " HAVING count(*) > 1", " HAVING sum(v) IS NOT NULL"])
        return self.dice.choice(
            [
                f"SELECT k, {value}, min(s) AS s FROM ({part}) GROUP BY k{having}",
                f"SELECT CAST(NULL AS INT) AS k, {value}, s FROM ({part}) GROUP BY s{having}",
                f"SELECT k, {value}, s FROM ({part}) GROUP BY ROLLUP (k, s)",
                f"SELECT max(k) AS k, {value}, max(s) AS s FROM ({part})",
            ]
        )

    def _combined(self, part: str, depth: int) -> str:
        return f"({part}) {self.dice.choice(_SETS)} ({self._other(depth)})"

    def _ranked(self, part: str, depth: int) -> str:
        return f"SELECT k, CAST({self.dice.choice(_WINDOWS)} AS INT) AS v, s FROM ({part})"

    def _lateral(self, part: str, depth: int) -> str:
        return (
            f"SELECT t.k, m.v, t.s FROM ({part}) AS t, LATERAL "
            f"(SELECT max(o.v) AS v FROM ({self._other(depth)}) AS o WHERE o.k = t.k) AS m"
        )

    def _exploded(self, part: str, depth: int) -> str:
        return f"SELECT k, explode(array(v, k)) AS v, s FROM ({part})"

    def _limited(self, part: str, depth: int) -> str:
        if self.dice.random() < 0.7:
            return self._projected(part, depth)
        self.has_limit = True
        return f"SELECT * FROM ({part}) ORDER BY v, k, s LIMIT {self.dice.randrange(5)}"
