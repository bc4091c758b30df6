"""The power cut at any moment of a random history, and the work that goes on behind it."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tests.campaign.history import History, Step, WrongRowsError
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import KEPT_CHANGES, random_rows
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.cut_disk import CutDisk, Journal

_KINDS: Final = (
    *("append",) * 4,
    "delete",
    "overwrite",
    *("compact",) * 2,
    *("expire",) * 3,
    "rollback",
    "clean",
    "alter",
    "consume",
)
_STEPS: Final = 8
_CUTS: Final = 8
_STRETCHES: Final = 3
_BEHIND_A_STEP: Final = 0.3
_GOING_ON: Final = ("append", "compact", "append", "expire", "clean")


@dataclass(slots=True, kw_only=True)
class Stretch:
    """Steps between two cuts: each with the number of events before it, and behind it."""

    table: LocalTable
    history: History
    rng: random.Random
    steps: list[tuple[int, int, Step, int | None]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    def run(self, disk: CutDisk) -> None:
        """Take the steps on a disk that records them."""
        with disk.in_use():
            for _ in range(_STEPS):
                step = self._step()
                begin = len(disk.events)
                snapshot_id = self.table.do(step)
                self.history.acknowledge(step, snapshot_id)
                self.steps.append((begin, len(disk.events), step, snapshot_id))

    def _step(self) -> Step:
        kind = self.rng.choice(_KINDS)
        user = f"{kind}-{self.rng.randrange(1 << 40)}"
        latest = max(self.table.opened().snapshot_store.ids(), default=0)
        rows = random_rows(self.rng, 3)
        target = self.rng.randint(1, 3)
        if kind == "rollback":
            target = self.rng.choice(self.table.opened().snapshot_store.ids() or (0,))
            kind = "append" if not target else kind
        elif kind == "overwrite":
            target = latest
        elif kind == "delete":
            live = sorted(self.table.rows()) if latest else []
            rows = tuple(self.rng.sample(live, min(2, len(live))))
            kind = "consume" if not rows else kind
        return Step(kind=kind, user=user, rows=rows, target=target)

    def known_at(self, moment: int, beginning: History) -> tuple[History, list[Step]]:
        """Return what was acknowledged at a moment, and the steps that were."""
        history = History(beginning.has_key, dict(beginning.beginning))
        done: list[Step] = []
        for begin, end, step, snapshot_id in self.steps:
            if end <= moment:
                history.acknowledge(step, snapshot_id)
                done.append(step)
            elif begin < moment and step.kind != "compact":
                history.doubt(step)
        return history, done


def _check(table: LocalTable, history: History, done: list[Step]) -> None:
    """Check rows, schema and consumers against what was acknowledged."""
    table.check(history)
    opened = table.anew().opened()
    names = set(opened.schema.column_names)
    consumers = {consumer.id for consumer in opened.consumers.all()}
    for step in done:
        if step.kind == "alter" and step.user not in names:
            raise WrongRowsError(f"the schema change {step} is lost")
        if step.kind == "consume" and step.user not in consumers:
            raise WrongRowsError(f"the consumer {step} is lost")


def _go_on(table: LocalTable, rng: random.Random) -> None:
    """Work on what a cut has left; nothing may be refused, and nothing is left over."""
    history = History(bool(table.opened().schema.primary_key), table.anew().states())
    for number, kind in enumerate(_GOING_ON):
        step = Step(kind=kind, user=f"on-{number}", rows=random_rows(rng, 3), target=1)
        history.acknowledge(step, table.do(step))
        table.check(history)
    table.check_clean()
    table.check(history)


def run_case(case: Case, disk_of: type[CutDisk] = CutDisk) -> Counts:
    """Take steps, cut the power at several moments, and go on from the last of them."""
    rng = case.random()
    journal = tuple(Journal)[case.number % 2]
    folder = case.folder / "begin"
    folder.mkdir()
    has_key = rng.random() < 0.5
    LocalTable.create(
        folder / "t", has_key=has_key, options=KEPT_CHANGES if rng.random() < 0.3 else {}
    )
    cuts = 0
    for stretch_number in range(_STRETCHES):
        table = LocalTable(folder / "t")
        beginning = History(has_key, table.anew().states())
        disk = disk_of(folder)
        stretch = Stretch(table=table, history=History(has_key, table.states()), rng=rng)
        stretch.run(disk)
        ends = [end for _, end, _, _ in stretch.steps]
        moments = [
            rng.choice(ends) if rng.random() < _BEHIND_A_STEP else rng.randint(0, len(disk.events))
            for _ in range(_CUTS)
        ]
        for cut, moment in enumerate(moments):
            folder = case.folder / f"cut-{stretch_number}-{cut}"
            disk.survivor(moment, journal, rng, folder)
            history, done = stretch.known_at(moment, beginning)
            try:
                left = LocalTable(folder / "t")
                _check(left, history, done)
                if cut % 4 == 0:
                    shutil.copytree(folder, case.folder / f"on-{stretch_number}-{cut}")
                    _go_on(LocalTable(case.folder / f"on-{stretch_number}-{cut}" / "t"), rng)
            except Exception as error:
                told = "\n".join(str(step) for step in stretch.steps)
                error.add_note(f"{journal} cut at {moment} of\n{told}\nleft in {folder}")
                raise
            cuts += 1
    return Counter({f"cuts ({journal.name.lower()})": cuts})


POWER_CUT: Final = Technique(
    name="power-cut",
    goal="what was acknowledged survives a power cut, and what was not is there whole or not",
    suite_cases=6,
    release_cases=840,
    run_case=run_case,
)
