"""Random conditions and queries that mean the same in Spark and in DuckDB."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final, TypeAlias

from tests.values.kinds import DECIMALS, INTEGERS
from tests.values.shared_sql import shared_sql, shared_values, sql_text

TYPES: Final = (
    *INTEGERS,
    *DECIMALS,
    *("DOUBLE", "FLOAT", "STRING", "VARCHAR(9)", "BOOLEAN", "BINARY", "DATE", "TIMESTAMP"),
    "TIME(6)",
)
"""Of columns that are added; TIMESTAMP has no zone."""

_STRINGS: Final = ("STRING", "VARCHAR(9)")

Added: TypeAlias = Mapping[str, str]
"""Types by name of the columns behind id, p and v."""


def literal(dice: random.Random, kind: str) -> str:
    """Return a value of a type as both engines write it."""
    return shared_sql(dice.choice(shared_values(kind)), kind)


def condition(dice: random.Random, table: str, added: Added) -> str:
    """Return a condition on the columns of a table, now and then one of two parts."""
    if dice.random() < 0.7:
        return _simple_condition(dice, table, added)
    first, second = (_simple_condition(dice, table, added) for _ in range(2))
    return f"{dice.choice(['', 'NOT '])}(({first}) {dice.choice(['AND', 'OR'])} ({second}))"


def _simple_condition(dice: random.Random, table: str, added: Added) -> str:
    if added and dice.random() < 0.4:
        return _condition_of_type(dice, table, *dice.choice([*added.items()]))
    number, other, value = dice.randrange(12), dice.randrange(12), dice.randrange(100)
    text = sql_text(dice.choice([*("x", "y", "nix") * 3, "x" * 240, "é" * 4096]))
    return dice.choice(
        [
            f"v < {value}",
            f"v BETWEEN {value - 20} AND {value + 20}",
            f"v % 7 = {number % 7}",
            f"v IS DISTINCT FROM {value}",
            f"coalesce(v, {value}) > 50",
            f"id = {number}",
            f"id IN ({number}, {other})",
            f"p = {text} AND v >= {value}",
            f"p <> {text}",
            f"p >= {text} AND id < {number}",
            "p LIKE 'z%'",
            f"abs(v - {value}) < 15",
            f"v + id > {value}",
            f"(v > {value}) = (id > {number})",
            f"p || 'q' <> {text} || 'q'",
            "v IS NULL",
            "p IS NULL",
            f"p IS NULL OR p = {text}",
            f"NOT (id > {number} OR v IS NULL)",
            f"id = (SELECT max(id) FROM {table})",
            f"v > (SELECT avg(s.v) FROM {table} AS s)",
            f"id IN (SELECT v FROM {table} WHERE v < 12)",
            f"id NOT IN (SELECT id FROM {table} WHERE v < {value})",
            f"p IN (SELECT p FROM {table} WHERE v > {value})",
            f"EXISTS (SELECT 1 FROM {table} AS s WHERE s.v > {value})",
        ]
    )


def _condition_of_type(dice: random.Random, table: str, column: str, kind: str) -> str:
    """Return a condition on a column of any type."""
    one, other = literal(dice, kind), literal(dice, kind)
    sign = dice.choice(["=", "<>", "<", "<=", ">", ">="])
    choices = [
        f"{column} {sign} {one}",
        f"{one} {sign} {column}",
        f"{column} IS NOT NULL",
        f"{column} IS NOT DISTINCT FROM {one}",
        f"{column} IN ({one}, {other})",
        f"{column} NOT IN ({one}, {other})",
        f"{column} BETWEEN {one} AND {other}",
        f"coalesce({column}, {one}) {sign} {other}",
        f"CASE WHEN v > 50 THEN {column} ELSE {one} END {sign} {other}",
        f"{column} {sign} (SELECT max({column}) FROM {table})",
        f"{column} NOT IN (SELECT {column} FROM {table} WHERE {column} {sign} {one})",
    ]
    if kind in _STRINGS:
        choices += [f"{column} LIKE 'a%'", f"length({column}) {sign} 2", f"upper({column}) = 'A'"]
    elif kind == "BOOLEAN":
        choices += [column, f"NOT {column}"]
    elif kind in ("DATE", "TIMESTAMP"):
        choices += [f"year({column}) {sign} 1970", f"month({column}) {sign} 3"]
    elif kind == "TIME(6)":
        choices += [f"hour({column}) {sign} 12", f"minute({column}) {sign} 30"]
    elif kind in INTEGERS:
        choices += [f"{column} {sign} 12.5", f"{column} % 7 {sign} v", f"{column} {sign} id"]
    return dice.choice(choices)


def query(dice: random.Random, table: str, added: Added) -> str:
    """Return a query whose rows, in any order, both engines agree on."""
    number = dice.randrange(12)
    where = f"WHERE {condition(dice, table, added)}"
    if added and dice.random() < 0.3:
        return _of_column(dice, table, where, dice.choice([*added]))
    kinds = [_aggregation, _aggregation, _window, _join, _rows, _rows]
    return dice.choice(kinds)(dice, table, where, number)


def _of_column(dice: random.Random, table: str, where: str, column: str) -> str:
    return dice.choice(
        [
            f"SELECT {column}, count(*), max(v) FROM {table} {where} GROUP BY {column}",
            f"SELECT min({column}), max({column}), count({column}) FROM {table}",
            f"SELECT min({column}), max({column}), count({column}) FROM {table} {where}",
            f"SELECT p, max({column}), count(DISTINCT {column}) FROM {table} {where} GROUP BY p",
            f"SELECT DISTINCT {column} FROM {table} {where}",
            (
                f"SELECT id, {column} FROM {table} {where} "
                f"ORDER BY {column} NULLS FIRST, id DESC NULLS LAST LIMIT {dice.randrange(6)}"
            ),
            f"SELECT a.id, b.id FROM {table} AS a JOIN {table} AS b ON a.{column} = b.{column}",
            f"SELECT id, max({column}) OVER (PARTITION BY p) FROM {table} {where}",
        ]
    )


def _aggregation(dice: random.Random, table: str, where: str, number: int) -> str:
    return dice.choice(
        [
            (
                f"SELECT p, id, count(*), sum(v) FROM {table} {where} "
                "GROUP BY GROUPING SETS ((p, id), (p), (id))"
            ),
            # Of no row at all Spark has no total, and DuckDB one.
            (
                f"SELECT p, id, max(v), grouping(p) FROM {table} {where} "
                "GROUP BY ROLLUP (p, id) HAVING count(*) > 0"
            ),
            f"SELECT p, count(*) FROM {table} GROUP BY p HAVING p > 'x'",
            f"SELECT p, v FROM {table} GROUP BY p, v HAVING v IS NULL OR p IS NULL",
            f"SELECT max(v) FROM {table} {where} HAVING count(*) > {number}",
            f"SELECT count(*), max(v), min(id) FROM {table}",
            f"SELECT sum(v), count(v), count(*) FROM {table} {where}",
            f"SELECT min(p), max(p), count(DISTINCT p), sum(DISTINCT v) FROM {table} {where}",
            f"SELECT count(*) FROM (SELECT DISTINCT p FROM {table} {where}) AS q",
            f"SELECT count(*) FROM (SELECT id FROM {table} {where} LIMIT {number}) AS q",
            (
                f"SELECT count(*) FROM (SELECT p, count(*) AS c FROM {table} GROUP BY p) AS q "
                f"WHERE c > {number % 4}"
            ),
            f"SELECT p, count(DISTINCT v), min(id), max(p) FROM {table} {where} GROUP BY p",
            (
                f"SELECT p, sum(v) FILTER (WHERE id > {number}), count(*) FILTER (WHERE v < 50) "
                f"FROM {table} {where} GROUP BY p"
            ),
            f"SELECT v % 5, count(*), sum(id * 2) FROM {table} {where} GROUP BY v % 5",
            (
                f"SELECT CASE WHEN id < {number} THEN 'low' WHEN id IS NULL THEN p ELSE 'high' END "
                f"AS k, max(v) FROM {table} {where} GROUP BY k"
            ),
            (
                f"SELECT p, max(v) FROM {table} {where} GROUP BY p "
                f"ORDER BY max(v) DESC NULLS LAST, p NULLS FIRST LIMIT {number % 4}"
            ),
        ]
    )


def _window(dice: random.Random, table: str, where: str, number: int) -> str:
    return dice.choice(
        [
            f"SELECT id, p, sum(v) OVER (PARTITION BY p), count(*) OVER () FROM {table} {where}",
            f"SELECT id, rank() OVER (PARTITION BY p ORDER BY v NULLS FIRST) FROM {table}",
            f"SELECT id, max(v) OVER (ORDER BY id NULLS FIRST, v NULLS FIRST) FROM {table} {where}",
            (
                "SELECT id, lag(v) OVER (PARTITION BY p ORDER BY id NULLS FIRST, v NULLS FIRST) "
                f"FROM {table} {where}"
            ),
            (
                "SELECT id, p, v FROM (SELECT *, dense_rank() OVER (PARTITION BY p "
                f"ORDER BY v DESC NULLS LAST) AS r FROM {table} {where}) AS q "
                f"WHERE r <= {number % 3}"
            ),
        ]
    )


def _join(dice: random.Random, table: str, where: str, number: int) -> str:
    return dice.choice(
        [
            (
                f"SELECT id, v FROM {table} AS t WHERE EXISTS "
                f"(SELECT 1 FROM {table} AS s WHERE s.id = t.id + 1 AND s.v > {number})"
            ),
            (
                f"SELECT id FROM {table} AS t WHERE NOT EXISTS "
                f"(SELECT 1 FROM {table} AS s WHERE s.p = t.p AND s.v > t.v)"
            ),
            f"SELECT id, (SELECT max(s.v) FROM {table} AS s WHERE s.p = t.p) FROM {table} AS t",
            (
                f"SELECT t.id, s.v FROM {table} AS t LEFT JOIN {table} AS s "
                f"ON t.p IS NOT DISTINCT FROM s.p AND s.id = {number}"
            ),
            (
                f"SELECT a.id, b.v FROM (SELECT * FROM {table} {where}) AS a "
                f"JOIN {table} AS b ON a.id = b.id AND a.v <= b.v"
            ),
            (
                f"SELECT a.id, b.v FROM {table} AS a "
                f"JOIN (SELECT p, v FROM {table} {where}) AS b ON a.p = b.p"
            ),
            (
                f"SELECT a.id, b.p FROM (SELECT * FROM {table} {where}) AS a FULL JOIN "
                f"(SELECT * FROM {table} WHERE v > {number * 8}) AS b ON a.id = b.id"
            ),
            (
                f"WITH q AS (SELECT p, sum(v) AS s FROM {table} {where} GROUP BY p) "
                "SELECT a.p, b.s FROM q AS a JOIN q AS b ON a.s <= b.s"
            ),
        ]
    )


def _rows(dice: random.Random, table: str, where: str, number: int) -> str:
    order = "v DESC NULLS LAST, id NULLS FIRST, p NULLS FIRST"
    ordered = f"SELECT id, p, v FROM {table} {where} ORDER BY {order}"
    return dice.choice(
        [
            f"SELECT id, p, v FROM {table} {where}",
            f"{ordered} LIMIT {number}",
            f"{ordered} LIMIT {number} OFFSET {number % 3}",
            f"SELECT p FROM {table} EXCEPT ALL SELECT p FROM {table} {where}",
            f"SELECT id, p FROM {table} INTERSECT SELECT id, p FROM {table} {where}",
            f"SELECT id FROM {table} {where} UNION ALL SELECT v FROM {table}",
            f"SELECT DISTINCT p, v IS NULL FROM {table} {where}",
        ]
    )
