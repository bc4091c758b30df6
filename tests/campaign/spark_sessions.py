"""Sessions of one Spark at once, against a serial order that must exist.

Two or three sessions run two to four random statements each on a table of a few rows. Of every
statement is written down when it began, when it ended, and what it said; at the end all tables
are read. Then `serial_order` looks for an order of the statements, none before one that had ended
when it began, in which the model gives every read its rows. `sessions/statement.py` says what is
promised of each kind of statement.
"""

from __future__ import annotations

from typing import Final

from tests.campaign.sessions.database import Database
from tests.campaign.sessions.ended import check
from tests.campaign.sessions.random_statements import Names, random_plans, read_all
from tests.campaign.sessions.runner import run, run_at_once
from tests.campaign.spark_program import spark_program
from tests.campaign.technique import Case, Counts, Technique


def run_case(case: Case) -> Counts:
    """Run the statements of a case and look for their serial order."""
    dice, spark = case.random(), spark_program()
    names = Names.drawn(dice, f"s{case.campaign_seed}_{case.number}")
    plans = random_plans(dice, names, streams=0.1)
    rows = names.first_rows(dice)
    for sql in names.beginning(rows):
        spark.sql(sql)
    ended = run_at_once([spark.newSession() for _ in plans], plans, case.folder)
    ended += [run(spark, read_all(each), case.folder) for each in (names.table, names.other)]
    start = Database().creating(names.table, names.created().adding(rows))
    counts = check(start, ended)
    for each in (names.table, names.other):
        spark.sql(f"DROP TABLE IF EXISTS {each}")
    return {"sets": 1, **counts}


SPARK_SESSIONS: Final = Technique(
    name="spark-sessions",
    goal="statements of sessions at once have a serial order that explains every read",
    suite_cases=6,
    release_cases=100_000,
    run_case=run_case,
    needs_spark=True,
)
