"""Random conditions and queries that mean the same in Spark and in DuckDB."""

from __future__ import annotations

import random


def condition(dice: random.Random, table: str) -> str:
    """Return a condition on the columns id, p and v of a table, with a subquery now and then."""
    number, other, value = dice.randrange(12), dice.randrange(12), dice.randrange(100)
    text = dice.choice(["x", "y", "nix"])
    return dice.choice(
        [
            f"v < {value}",
            f"id IN ({number}, {other})",
            f"p = '{text}' AND v >= {value}",
            "v IS NULL",
            "p IS NULL",
            f"p IS NULL OR p = '{text}'",
            f"NOT (id > {number} OR v IS NULL)",
            f"id = (SELECT max(id) FROM {table})",
            f"id IN (SELECT v FROM {table} WHERE v < 12)",
            f"id NOT IN (SELECT id FROM {table} WHERE v < {value})",
            f"p IN (SELECT p FROM {table} WHERE v > {value})",
        ]
    )


def query(dice: random.Random, table: str) -> str:
    """Return a query whose rows, in any order, both engines agree on."""
    where = f"WHERE {condition(dice, table)}"
    number = dice.randrange(12)
    return dice.choice(
        [
            (
                f"SELECT p, id, count(*), sum(v) FROM {table} {where} "
                "GROUP BY GROUPING SETS ((p, id), (p), (id))"
            ),
            f"SELECT p, count(*) FROM {table} GROUP BY p HAVING p > 'x'",
            f"SELECT p, v FROM {table} GROUP BY p, v HAVING v IS NULL OR p IS NULL",
            f"SELECT max(v) FROM {table} {where} HAVING count(*) > {number}",
            f"SELECT count(*) FROM (SELECT DISTINCT p FROM {table} {where}) AS q",
            f"SELECT count(*) FROM (SELECT id FROM {table} {where} LIMIT {number}) AS q",
            (
                f"SELECT count(*) FROM (SELECT p, count(*) AS c FROM {table} GROUP BY p) AS q "
                f"WHERE c > {number % 4}"
            ),
            f"SELECT id, p, sum(v) OVER (PARTITION BY p), count(*) OVER () FROM {table} {where}",
            f"SELECT id, rank() OVER (PARTITION BY p ORDER BY v NULLS FIRST) FROM {table}",
            f"SELECT id, max(v) OVER (ORDER BY id NULLS FIRST, v NULLS FIRST) FROM {table} {where}",
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
            f"SELECT p FROM {table} EXCEPT ALL SELECT p FROM {table} {where}",
            f"SELECT id, p FROM {table} INTERSECT SELECT id, p FROM {table} {where}",
            f"SELECT id FROM {table} {where} UNION ALL SELECT v FROM {table}",
            f"SELECT p, count(DISTINCT v), min(id), max(p) FROM {table} {where} GROUP BY p",
            f"SELECT sum(v), count(v), count(*) FROM {table} {where}",
            f"SELECT DISTINCT p, v IS NULL FROM {table} {where}",
        ]
    )
