"""Random statements against DuckDB: after each one both hold the same rows, and the past stays."""

from __future__ import annotations

from typing import Final

import duckdb

from tests.campaign.spark_program import spark_program
from tests.campaign.sql_twins import Twins
from tests.campaign.technique import Case, Counts, Technique

_STATEMENTS: Final = 25
_SHAPES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("id",), "TBLPROPERTIES ('bucket' = '2')"),
    (("id", "p"), "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2')"),
    ((), ""),
    ((), "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2')"),
)


def run_case(case: Case) -> Counts:
    """Change one table by random statements; in the end compare each of its snapshots."""
    key, options = _SHAPES[case.number % len(_SHAPES)]
    session = spark_program().newSession()
    # Sources of MERGE count as small, and the few rows of these tables as many.
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "1KB")
    # Of every other round of the shapes the planner reads the rows, and Spark has no job.
    is_answered = case.number // len(_SHAPES) % 2 == 1
    session.conf.set("spark.table-store.answered-rows", "1000" if is_answered else "0")
    name = f"r{case.campaign_seed}_{case.number}"
    with duckdb.connect() as duck:
        twins = Twins(session, duck, case.random(), name, key)
        try:
            twins.create(options)
            for _ in range(_STATEMENTS):
                twins.step()
            twins.check_past()
            twins.check_changes()
            twins.check_ranges()
        except Exception:
            print(*twins.said, sep=";\n")
            raise
    session.sql(f"DROP TABLE {name}")
    return {
        "statements": len(twins.said),
        "queries": twins.asked,
        "snapshots": len(twins.versions),
    }


SPARK_RANDOM_SQL: Final = Technique(
    name="spark-random-sql",
    goal="after each random statement Spark and DuckDB have the same rows and answers",
    suite_cases=4,
    release_cases=40_000,
    run_case=run_case,
    needs_spark=True,
)
