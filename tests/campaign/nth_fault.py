"""A fault at every input and output of every operation, and a second one while it is repeated."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.campaign.history import History, Step
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import OPERATIONS, Scenario, Trial
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.failing_file_io import FailingFileIO, Fault

_FAULTS: Final = tuple(Fault)
_SECOND_FAULTS: Final = (Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.ERROR_AFTER, Fault.LATE)
_OPERATIONS_MAX: Final = 80
"""No operation of these small tables has more inputs and outputs."""

_SINGLE: Final = tuple(
    (operation, _FAULTS[(turn + place) % len(_FAULTS)])
    for turn in range(len(_FAULTS))
    for place, operation in enumerate(OPERATIONS)
)
_PAIRS: Final = tuple(
    itertools.product(range(1, _OPERATIONS_MAX + 1), OPERATIONS, _SECOND_FAULTS, _SECOND_FAULTS)
)
_STRIDE: Final = 1009
"""Prime to the number of pairs, so that the first cases are of all kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyTrial(Trial):
    """A step that meets faults, each in a process of its own."""

    def run(self, faults: Sequence[tuple[int, Fault]]) -> bool:
        """Let the step meet the faults, then nothing; check after each. Was the last one met?

        Others write and expire before a late write lands.
        """
        table, history = self.begin()
        met = True
        may_refuse = False  # what it brings back or replaces is another by then
        for fail_at, fault in faults:
            io = FailingFileIO(LocalFileIO(), fail_at, fault)
            told = LocalTable(table.anew().path, io).tell(history, self.step)
            met = io.reached
            if not met and not told and not may_refuse:
                raise AssertionError(f"{self.step} was refused without a fault")
            table.check(history)
            if fault is Fault.LATE and met:
                may_refuse = self.step.kind in ("rollback", "overwrite")
                self._others(table, history)
                io.land()
                table.check(history)
        if not table.anew().tell(history, self.step) and not may_refuse:
            raise AssertionError(f"{self.step} was refused when it was repeated")
        table.check_clean()
        table.check(history)
        self.clear()
        return met

    def _others(self, table: LocalTable, history: History) -> None:
        for number, kind in enumerate(("append", "append", "expire")):
            step = Step(kind=kind, user=f"other-{number}", rows=((20 + number, 1),), target=1)
            if not table.anew().tell(history, step):
                raise AssertionError(f"{step} was refused without a fault")
            table.check(history)


def _single(case: Case) -> Counts:
    operation, fault = _SINGLE[case.number % len(_SINGLE)]
    scenario = Scenario.make(operation, case.folder, case.random())
    step = scenario.step("me")
    for fail_at in count(1):
        trial = FaultyTrial(scenario=scenario, path=case.folder / f"n{fail_at}", step=step)
        if not _told_where(trial, (fail_at, fault)):
            return Counter({"faults": fail_at - 1})
    raise AssertionError("unreachable")


def _double(case: Case) -> Counts:
    place = case.number * _STRIDE % len(_PAIRS)
    first_at, operation, first, second = _PAIRS[place]
    scenario = Scenario.make(operation, case.folder, case.random())
    step = scenario.step("me")
    probe = FaultyTrial(scenario=scenario, path=case.folder / "probe", step=step)
    if not _told_where(probe, (first_at, first)):
        return Counter()
    for second_at in count(1):
        trial = FaultyTrial(scenario=scenario, path=case.folder / f"n{second_at}", step=step)
        if not _told_where(trial, (first_at, first), (second_at, second)):
            return Counter({"pairs of faults": second_at - 1})
    raise AssertionError("unreachable")


def _told_where(trial: FaultyTrial, *faults: tuple[int, Fault]) -> bool:
    try:
        return trial.run(faults)
    except BaseException as error:
        told = ", then ".join(f"at {fail_at}: {fault.value}" for fail_at, fault in faults)
        error.add_note(f"{trial.scenario.operation.name} with faults {told}; {trial.step}")
        raise


NTH_FAULT: Final = Technique(
    name="nth-fault",
    goal="a fault at any input or output leaves what was acknowledged, and a whole step or none",
    suite_cases=len(OPERATIONS),
    release_cases=len(_SINGLE) * 20,
    run_case=_single,
)

SECOND_FAULT: Final = Technique(
    name="second-fault",
    goal="so does a second fault while the step is repeated",
    suite_cases=6,
    release_cases=len(_PAIRS),
    run_case=_double,
)
