"""Random statements about structs, arrays and maps, beside plain Spark over the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from tests.campaign.nested_twins import NestedTwins
from tests.campaign.spark_program import QUICK, spark_program
from tests.campaign.technique import Case, Counts, Technique
from tests.values.session_settings import draw_settings

_CHANGES: Final = 12
_QUERIES: Final = 4
"""Random ones between two changes."""

_SHAPES: Final[tuple[tuple[bool, str], ...]] = (
    (True, "TBLPROPERTIES ('bucket' = '2')"),
    (False, ""),
    (False, "PARTITIONED BY (p)"),
)


def run_case(case: Case) -> Counts:
    """Change one table by random statements; in the end compare each of its snapshots."""
    is_keyed, options = _SHAPES[case.number % len(_SHAPES)]
    # Every other round reads by the planner; half of those by Spark compile their plans.
    round_ = case.number // len(_SHAPES)
    dice = case.random()
    settings = draw_settings(dice)
    case.said.append(f"-- {settings}")
    session = _session(settings, "0" if round_ % 2 else "1000", is_quick=round_ % 4 != 3)
    name = f"nested{case.campaign_seed}_{case.number}"
    truth = _session(settings, "0", is_quick=True)
    twins = NestedTwins(session, truth, dice, name, is_keyed, case.said)
    twins.create(options)
    for _ in range(_CHANGES):
        twins.step(_QUERIES)
    twins.check_past()
    session.sql(f"DROP TABLE {name}")
    return {
        "changes": _CHANGES,
        "queries": twins.asked,
        "snapshots": len(twins.versions),
    }


def _session(settings: Mapping[str, str], answered_rows: str, *, is_quick: bool) -> SparkSession:
    session = spark_program().newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    session.conf.set("spark.table-store.answered-rows", answered_rows)
    for key, value in QUICK.items() if is_quick else ():
        session.conf.set(key, value)
    return session


SPARK_NESTED: Final = Technique(
    name="spark-nested",
    goal="after each random statement nested columns have the values that plain Spark computes",
    suite_cases=1,
    release_cases=1_000,
    run_case=run_case,
    needs_spark=True,
)
