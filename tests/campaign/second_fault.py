"""A second fault while a step is repeated after a first one: all pairs.

What follows on a first fault is decided by the state that it leaves, down to the names of files.
Most inputs and outputs read; what is left by a fault at one of them is what a fault before it has
left, and all second faults are met from there.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Final

from tests.campaign.faulty_trial import FaultAt, FaultyTrial
from tests.campaign.scenario import OPERATIONS, Scenario, Trial
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.failing_file_io import Fault

_FAULTS: Final = (Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.ERROR_AFTER, Fault.LATE)
_OPERATIONS_MAX: Final = 80
"""No operation of these small tables has more inputs and outputs."""

_FIRST: Final = tuple(itertools.product(range(1, _OPERATIONS_MAX + 1), OPERATIONS, _FAULTS))
_STRIDE: Final = 1009
"""Prime to the number of first faults, so that the first cases are of all kinds."""


def run_case(case: Case) -> Counts:
    """Let one operation meet one first fault, and each second one behind it."""
    first_at, operation, fault = _FIRST[case.number * _STRIDE % len(_FIRST)]
    scenario = Scenario.make(operation, case.folder, case.random())
    step = scenario.step("me")

    def course(name: str, at: FaultAt) -> FaultyTrial | None:
        trial = Trial(scenario=scenario, path=case.folder / name, step=step)
        begun = FaultyTrial.begin(trial)
        return begun if begun.meet(*at) else None

    first = course("first", (first_at, fault))
    if first is None:
        return Counter()
    state = first.state()
    for number, at in enumerate(_before(first_at, fault)):
        other = course(f"before-{number}", at)
        if other is not None and other.state() == state:
            return Counter({"first faults that leave what one before left": 1})
    pairs = sum(_behind(first, second) for second in _FAULTS)
    return Counter({"first faults": 1, "pairs of faults": pairs})


def _before(fail_at: int, fault: Fault) -> Iterator[FaultAt]:
    """Yield the faults before this one at the same input or output, and those at the last one."""
    yield from ((fail_at, other) for other in _FAULTS[: _FAULTS.index(fault)])
    if fail_at > 1:
        yield from ((fail_at - 1, other) for other in _FAULTS)


def _behind(first: FaultyTrial, fault: Fault) -> int:
    """Let the step meet a fault at each input and output when it is repeated; return how many."""
    for fail_at in count(1):
        course = first.copy(first.table.path.with_name(f"{fault.name}-{fail_at}"))
        met = course.meet(fail_at, fault)
        course.end()
        if not met:
            return fail_at - 1
    raise AssertionError("unreachable")


SECOND_FAULT: Final = Technique(
    name="second-fault",
    goal="a second fault while a step is repeated after a first one leaves no less",
    suite_cases=6,
    release_cases=len(_FIRST),
    run_case=run_case,
)
