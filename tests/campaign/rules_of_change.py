"""The rules of change alone, on random plans over bags: they give the difference of the results."""

from __future__ import annotations

from typing import Final

from hypothesis import HealthCheck, given, seed, settings

from tests.campaign.technique import Case, Counts, Technique
from tests.property.test_delta import CASES, check_rules

_PLANS: Final = 500


def _run_case(case: Case) -> Counts:
    many = settings(
        max_examples=_PLANS, database=None, deadline=None, suppress_health_check=[*HealthCheck]
    )
    many(seed(case.seed)(given(**CASES)(check_rules)))()
    return {"plans": _PLANS}


RULES_OF_CHANGE: Final = Technique(
    name="rules-of-change",
    goal="the rules give the difference of the results of any plan before and after any change",
    suite_cases=1,
    release_cases=200,
    run_case=_run_case,
)
