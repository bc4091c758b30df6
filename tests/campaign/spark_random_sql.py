"""Random statements against DuckDB: after each one both hold the same rows, and the past stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import duckdb
from pyspark.sql import SparkSession

from tests.campaign.spark_program import QUICK, spark_program
from tests.campaign.sql_twins import Twins
from tests.campaign.technique import Case, Counts, Technique
from tests.values.session_settings import draw_settings

_CHANGES: Final = 12
_QUERIES: Final = 9
"""Random ones between two changes."""

_SHAPES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("id",), "TBLPROPERTIES ('bucket' = '2')"),
    (("id", "p"), "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2')"),
    ((), ""),
    ((), "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2')"),
)


def run_case(case: Case) -> Counts:
    """Change one table by random statements; in the end compare each of its snapshots."""
    key, options = _SHAPES[case.number % len(_SHAPES)]
    dice = case.random()
    settings = draw_settings(dice)
    case.said.append(f"-- {settings}")
    session = _session(case.number, settings)
    name = f"r{case.campaign_seed}_{case.number}"
    with duckdb.connect() as duck:
        twins = Twins(session, duck, dice, name, key, case.said)
        twins.create(options)
        for _ in range(_CHANGES):
            twins.step(_QUERIES)
        twins.check_past()
        twins.check_changes()
        twins.check_ranges()
    session.sql(f"DROP TABLE {name}")
    return {
        "changes": _CHANGES,
        "queries": twins.asked,
        "snapshots": len(twins.versions),
    }


def _session(number: int, settings: Mapping[str, str]) -> SparkSession:
    """Return a session that reads by Spark or by the planner; every shape is read in every way."""
    session = spark_program().newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    # Sources of MERGE count as small, and the few rows of these tables as many.
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "1KB")
    session.conf.set("spark.sql.timeType.enabled", "true")
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")  # as in DuckDB
    round_ = number // len(_SHAPES)
    is_read_by_spark = (number + round_) % 2 == 0
    session.conf.set("spark.table-store.answered-rows", "0" if is_read_by_spark else "1000")
    if not is_read_by_spark or round_ % 4 > 1:
        for setting, value in QUICK.items():
            session.conf.set(setting, value)
    return session


SPARK_RANDOM_SQL: Final = Technique(
    name="spark-random-sql",
    goal="after each random statement Spark and DuckDB have the same rows and answers",
    suite_cases=1,
    release_cases=8_300,
    run_case=run_case,
    needs_spark=True,
)
