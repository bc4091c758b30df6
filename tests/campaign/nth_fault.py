"""A fault at every input and output of every operation."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Final

from tests.campaign.faulty_trial import FaultyTrial
from tests.campaign.scenario import OPERATIONS, Scenario, Trial
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.failing_file_io import Fault

_FAULTS: Final = tuple(Fault)
_SINGLE: Final = tuple(
    (operation, _FAULTS[(turn + place) % len(_FAULTS)])
    for turn in range(len(_FAULTS))
    for place, operation in enumerate(OPERATIONS)
)


def run_case(case: Case) -> Counts:
    """Let one operation meet one kind of fault, at each input and output in turn."""
    operation, fault = _SINGLE[case.number % len(_SINGLE)]
    scenario = Scenario.make(operation, case.folder, case.random())
    step = scenario.step("me")
    for fail_at in count(1):
        trial = Trial(scenario=scenario, path=case.folder / f"n{fail_at}", step=step)
        course = FaultyTrial.begin(trial)
        met = course.meet(fail_at, fault)
        course.end()
        if not met:
            return Counter({"faults": fail_at - 1})
    raise AssertionError("unreachable")


NTH_FAULT: Final = Technique(
    name="nth-fault",
    goal="a fault at any input or output leaves what was acknowledged, and a whole step or none",
    suite_cases=len(OPERATIONS),
    release_cases=len(_SINGLE) * 20,
    run_case=run_case,
)
