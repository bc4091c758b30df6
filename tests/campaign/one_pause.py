"""One user stopped before each of its inputs and outputs, while others work and expire."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count, product
from typing import Final

from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.kernel.errors import MissingFileError
from tests.campaign.history import History, Rows, Step, WrongRowsError
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import OPERATIONS, Operation, Scenario, Trial
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.pausing_file_io import PausingFileIO

_READ: Final = Operation(name="read", kind="read")
_FIRST: Final = ("upsert", "rollback", "compaction", "expiry", "append", "orphan cleaning")
"""Actors that the suite tries; the others follow."""

_ACTORS: Final = tuple(
    sorted(
        (*OPERATIONS, _READ),
        key=lambda actor: _FIRST.index(actor.name) if actor.name in _FIRST else len(_FIRST),
    )
)
_MEANWHILE: Final = (
    ("append", "append", "append", "expire 1"),
    ("append", "expire 1"),
    ("compact", "expire 1"),
    ("append", "append", "expire 1", "clean", "append", "compact", "expire 1", "clean"),
    ("append", "append", "expire 2", "append", "expire 2", "append", "expire 2"),
    ("rollback", "expire 1", "clean"),
    ("delete",),
    ("overwrite", "expire 2"),
    ("alter", "append", "compact"),
    ("clean", "append", "clean"),
)
_CASES: Final = tuple(product(_MEANWHILE, _ACTORS))
_LEEWAY_MS: Final = 60_000
"""Orphans are removed that are older; the beginning of each table is an hour old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter(Trial):
    """The step of an actor that is stopped, what others do meanwhile, and what all were told."""

    others: tuple[Step, ...]
    not_acknowledged: list[Step] = field(default_factory=list)

    def run(self, pause_at: int) -> bool:
        """Stop the actor before its n-th operation and check; was there one?"""
        table, history = self.begin()
        before_ms = int(time.time() * 1000) - _LEEWAY_MS

        def meanwhile() -> None:
            for step in self.others:
                self._tell(table.anew(), history, step, before_ms)
            table.check(history)

        history.doubt(self.step)  # whatever others see of it while it stands still
        io = PausingFileIO("/", meanwhile, at=pause_at)
        stopped = LocalTable(table.anew().path, io)
        if self.step.kind == "read":
            self._read(stopped, history)
        else:
            self._tell(stopped, history, self.step, before_ms)
        history.doubtful.remove(self.step)
        self._go_on(table, history)
        self.clear()
        return io.has_paused

    def _go_on(self, table: LocalTable, history: History) -> None:
        """Check, write once more, and check that nothing is left that nobody needs."""
        table.check(history)
        after = Step(kind="append", user="after", rows=((30, 1),))
        if not table.anew().tell(history, after):
            raise WrongRowsError(f"{after} was refused when all others had ended")
        table.check_clean()
        table.check(history)
        if self.scenario.operation.keeps_changes:
            fresh = table.anew()
            if fresh.replayed() != fresh.rows():
                raise WrongRowsError(f"changes lead to {fresh.replayed()}, not {fresh.rows()}")

    def _tell(self, table: LocalTable, history: History, step: Step, before_ms: int) -> None:
        if not table.tell(history, step, orphans_before_ms=before_ms):
            self.not_acknowledged.append(step)

    def _read(self, table: LocalTable, history: History) -> None:
        """Read the newest snapshot, unless it expires meanwhile."""
        try:
            seen: Rows = table.rows()
        except (MissingFileError, SnapshotNotFoundError):
            self.not_acknowledged.append(self.step)
            return
        latest = table.anew().opened().snapshot_store.latest_id() or 0
        if not any(seen in states.values() for states in history.possible_states(latest)):
            raise WrongRowsError(f"read {seen}, which the table never was")


def _run_case(case: Case) -> Counts:
    meanwhile, actor = _CASES[case.number % len(_CASES)]
    scenario = Scenario.make(actor, case.folder, case.random())
    step = scenario.step("stopped")
    others = tuple(_step(scenario, told, f"other{i}") for i, told in enumerate(meanwhile))
    not_acknowledged: list[Step] = []
    for pause_at in count(1):
        encounter = Encounter(
            scenario=scenario,
            path=case.folder / f"n{pause_at}",
            step=step,
            others=others,
            not_acknowledged=not_acknowledged,
        )
        try:
            if not encounter.run(pause_at):
                return {
                    "pauses": pause_at - 1,
                    "steps refused or in doubt": len(not_acknowledged),
                }
        except BaseException as error:
            error.add_note(f"{actor.name} stopped before {pause_at}: {step}; then {others}")
            raise
    raise AssertionError("unreachable")


def _step(scenario: Scenario, told: str, user: str) -> Step:
    kind, _, kept = told.partition(" ")
    if kind == "expire":
        return Step(kind=kind, user=user, target=int(kept))
    return scenario.step_of(kind, user)


ONE_PAUSE: Final = Technique(
    name="one-pause",
    goal="whoever is stopped anywhere, for as long as it likes, neither loses nor revives anything",
    suite_cases=len(_FIRST) // 2,
    release_cases=len(_CASES) * 3,
    run_case=_run_case,
)
