"""Random materialized views over a random history: after each REFRESH they are their queries."""

from __future__ import annotations

import random
from collections import Counter
from typing import Final

from pyspark.sql import SparkSession

from tests.campaign.random_view_queries import ViewQuery
from tests.campaign.spark_program import spark_program
from tests.campaign.technique import Case, Counts, Technique

_VIEWS: Final = 4
_EPOCHS: Final = 3
_DEPTH_MAX: Final = 4


def run_case(case: Case) -> Counts:
    """Make views of random queries, change their tables, refresh, and compare with the queries."""
    session, dice = spark_program().newSession(), case.random()
    name = f"v{case.campaign_seed}_{case.number}"
    session.sql(f"CREATE NAMESPACE {name}")
    session.sql(f"USE {name}")
    session.sql("CREATE TABLE a (k INT, v INT, s STRING, PRIMARY KEY (k) NOT ENFORCED)")
    session.sql("CREATE TABLE b (k INT, v INT, s STRING)")
    said = [_changed(session, dice) for _ in range(dice.randrange(4))]
    refreshes = 0
    for number in range(_VIEWS):
        query = ViewQuery(dice)
        text = query.text(1 + dice.randrange(_DEPTH_MAX))
        said.append(f"CREATE MATERIALIZED VIEW m{number} REFRESH POLICY INCREMENTAL AS {text}")
        try:
            session.sql(said[-1])
            for _ in range(_EPOCHS):
                before = _rows(session, f"m{number}")
                said.extend(_changed(session, dice) for _ in range(dice.randrange(1, 4)))
                said.append(f"REFRESH MATERIALIZED VIEW m{number}")
                (done,) = session.sql(said[-1]).collect()
                found, wanted = _rows(session, f"m{number}"), _bag(session, text)
                assert found == wanted, f"only ours {found - wanted}, missing {wanted - found}"
                written = (found - before) + (before - found)
                assert done.rows_changed == written.total(), (done, written)
                assert done.rule != "full" or query.has_limit, done
                refreshes += 1
        except Exception:
            print(*said, sep=";\n")
            raise
    session.sql(f"DROP NAMESPACE {name} CASCADE")
    return {"views": _VIEWS, "refreshes": refreshes}


def _rows(session: SparkSession, table: str) -> Counter[str]:
    return _bag(session, f"SELECT * FROM {table}")


def _bag(session: SparkSession, query: str) -> Counter[str]:
    return Counter(map(str, session.sql(query).collect()))


def _changed(session: SparkSession, dice: random.Random) -> str:
    """A statement that changes one of the tables, run."""
    value = dice.choice(["NULL", *map(str, range(6))])
    text = dice.choice(["'x'", "'Y'", "NULL"])
    key, kind = dice.randrange(8), dice.randrange(8)
    if kind <= 1:
        statement = f"INSERT INTO a VALUES ({key}, {value}, {text}), ({key + 1}, 2, 'x')"
    elif kind <= 3:
        other = dice.choice(["NULL", str(key)])
        statement = f"INSERT INTO b VALUES ({other}, {value}, {text}), ({key}, 1, {text})"
    else:
        table = dice.choice("ab")
        statement = (
            f"DELETE FROM {table} WHERE k % 3 = {key % 3}",
            f"DELETE FROM {table} WHERE v = {key}",
            f"UPDATE {table} SET v = {value} WHERE k < {key}",
            f"UPDATE b SET k = {value}, v = v + 1, s = {text} WHERE k = {key % 4} OR k IS NULL",
        )[kind - 4]
    session.sql(statement)
    return statement


SPARK_VIEWS: Final = Technique(
    name="spark-views",
    goal="after each refresh a view has the rows of its query, and only the difference was written",
    suite_cases=1,
    release_cases=20_000,
    run_case=run_case,
    needs_spark=True,
)
