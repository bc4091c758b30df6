"""A step that meets faults, each in a process of its own, and the state that they leave."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from table_store.storage.file_io.file_io import TEMP_PREFIX
from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.campaign.history import History, Step
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import Trial
from tests.fakes.counting_ids import CountingIds
from tests.fakes.failing_file_io import FailingFileIO, Fault

FaultAt: TypeAlias = tuple[int, Fault]
"""The number of the input or output that a fault is at, from 1, and what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that what follows depends on: files with their content, and what was told of the step.

    Files get the same names in each run of a step, but for temporary ones.
    """

    files: tuple[tuple[str, bytes | None], ...]
    acknowledged: tuple[tuple[int, Step], ...]
    doubtful: tuple[Step, ...]
    may_refuse: bool


@dataclass(slots=True, kw_only=True)
class FaultyTrial:
    """How far a step has come that meets faults."""

    trial: Trial
    table: LocalTable
    history: History
    met: tuple[FaultAt, ...] = ()
    may_refuse: bool = False
    """Whether what the step brings back or replaces is another by now."""
    processes: int = 0

    @staticmethod
    def begin(trial: Trial) -> FaultyTrial:
        """Make the trial's table; the step has not been taken yet."""
        table, history = trial.begin()
        return FaultyTrial(trial=trial, table=table, history=history)

    def copy(self, path: Path) -> FaultyTrial:
        """Return a trial at `path` that has come as far."""
        shutil.copytree(self.table.path, path, symlinks=True)
        return replace(
            self,
            trial=replace(self.trial, path=path),
            table=replace(self.table, path=path),
            history=self.history.copy(),
        )

    def meet(self, fail_at: int, fault: Fault) -> bool:
        """Let a process take the step and meet a fault; return whether there was one.

        Others write and expire before a late write lands.
        """
        self.met += ((fail_at, fault),)
        io = FailingFileIO(LocalFileIO(), fail_at, fault)
        with self._told():
            done = replace(self._process(), file_io=io).tell(self.history, self.trial.step)
            if not io.reached and not done and not self.may_refuse:
                raise AssertionError("it was refused without a fault")
            self.table.check(self.history)
            if fault is Fault.LATE and io.reached:
                self.may_refuse |= self.trial.step.kind in ("rollback", "overwrite")
                self._others()
                io.land()
                self.table.check(self.history)
        return io.reached

    def end(self) -> None:
        """Let the last process meet nothing; look at all that is left, and remove it."""
        with self._told():
            if not self._process().tell(self.history, self.trial.step) and not self.may_refuse:
                raise AssertionError("it was refused when it was repeated")
            self.table.check_clean()
            self.table.check(self.history)
        self.trial.clear()

    def state(self) -> State:
        """Return what the next process will find."""
        return State(
            files=tuple(sorted(_contents(self.table.path), key=lambda file: (file[0], repr(file)))),
            acknowledged=tuple(sorted(self.history.acknowledged.items(), key=lambda item: item[0])),
            doubtful=tuple(self.history.doubtful),
            may_refuse=self.may_refuse,
        )

    def _process(self) -> LocalTable:
        self.processes += 1
        return replace(self.table.anew(), ids=CountingIds(f"process-{self.processes}"))

    def _others(self) -> None:
        for number, kind in enumerate(("append", "append", "expire")):
            step = Step(kind=kind, user=f"other-{number}", rows=((20 + number, 1),), target=1)
            if not self._process().tell(self.history, step):
                raise AssertionError(f"{step} was refused without a fault")
            self.table.check(self.history)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            met = ", then ".join(f"at {fail_at}: {fault.value}" for fail_at, fault in self.met)
            step = self.trial.step
            error.add_note(f"{self.trial.scenario.operation.name} with faults {met}; {step}")
            raise


def _contents(folder: Path) -> Iterator[tuple[str, bytes | None]]:
    for path in folder.rglob("*"):
        is_temporary = path.name.startswith(TEMP_PREFIX)
        name = path.with_name(TEMP_PREFIX) if is_temporary else path
        yield str(name.relative_to(folder)), path.read_bytes() if path.is_file() else None
