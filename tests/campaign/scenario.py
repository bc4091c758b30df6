"""A table with some history, and a step to be taken in it."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.campaign.history import History, Row, States, Step
from tests.campaign.known_rows import KnownRows
from tests.campaign.local_table import LocalTable, make_old

KEPT_CHANGES: Final = {"log.retention": "7 d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A kind of step, and the kind of table it is taken in."""

    name: str
    kind: str
    has_key: bool = True
    keeps_changes: bool = False


OPERATIONS: Final = (
    Operation(name="append", kind="append", has_key=False),
    Operation(name="upsert", kind="append"),
    Operation(name="delete", kind="delete"),
    Operation(name="delete without key", kind="delete", has_key=False),
    Operation(name="overwrite", kind="overwrite"),
    Operation(name="compaction", kind="compact"),
    Operation(name="expiry", kind="expire"),
    Operation(name="expiry that keeps changes", kind="expire", keeps_changes=True),
    Operation(name="rollback", kind="rollback"),
    Operation(name="orphan cleaning", kind="clean"),
    Operation(name="schema change", kind="alter"),
    Operation(name="consumer", kind="consume"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The table at `template`, its rows at each snapshot, and chance to make steps from."""

    operation: Operation
    template: Path
    states: States
    rng: random.Random
    known: KnownRows

    @staticmethod
    def make(operation: Operation, folder: Path, rng: random.Random) -> Scenario:
        """Make a table of two writes, a compaction, another write, and some orphans."""
        template = folder / "template"
        options = KEPT_CHANGES if operation.keeps_changes else {}
        table = LocalTable.create(template, has_key=operation.has_key, options=options)
        history = History(operation.has_key, {0: table.rows()})
        for number in range(4):
            kind = "compact" if number == 2 else "append"
            rows = random_rows(rng, 4)
            step = Step(kind=kind, user=f"begin-{number}", rows=rows)
            if not table.tell(history, step):
                raise AssertionError(step)
        table.check(history)
        for left_over in ("manifest/.tmp-left-over", "bucket-0/data-left-over.parquet"):
            (template / left_over).write_bytes(b"left over")
        make_old(template)
        known = KnownRows()
        states = replace(table, known=known).states()
        return Scenario(operation=operation, template=template, states=states, rng=rng, known=known)

    def copy(self, path: Path) -> LocalTable:
        """Return a table of its own that is like the template."""
        shutil.copytree(self.template, path, symlinks=True)
        return LocalTable(path, known=self.known)

    def history(self) -> History:
        """Return the history so far: what the template holds."""
        return History(self.operation.has_key, dict(self.states))

    def step(self, user: str) -> Step:
        """Return a step of the operation's kind."""
        return self.step_of(self.operation.kind, user)

    def step_of(self, kind: str, user: str) -> Step:
        """Return a step of any kind; what is taken away is in the template."""
        latest = max(self.states)
        rows: tuple[Row, ...] = ()
        target = 0
        match kind:
            case "append":
                rows = random_rows(self.rng, 3)
            case "overwrite":
                rows, target = random_rows(self.rng, 3), latest
            case "delete":
                rows = tuple(self.rng.sample(sorted(self.states[latest]), 2))
            case "rollback":
                target = self.rng.randint(1, latest - 1)
            case "expire":
                target = self.rng.randint(1, 3)
            case "consume":
                target = self.rng.randint(1, latest)
        return Step(kind=kind, user=user, rows=rows, target=target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One step, to be tried at a table of its own, which is like the scenario's."""

    scenario: Scenario
    path: Path
    step: Step

    def begin(self) -> tuple[LocalTable, History]:
        """Make the table at `path`; return it, and the history so far."""
        return self.scenario.copy(self.path), self.scenario.history()

    def clear(self) -> None:
        """Remove the table, with what its users wrote beside it."""
        for path in self.path.parent.glob(f"{self.path.name}-*"):
            path.unlink()
        shutil.rmtree(self.path)


def random_rows(rng: random.Random, row_count: int) -> tuple[Row, ...]:
    """Return rows of different keys, of which there are few."""
    return tuple((key, rng.randrange(1000)) for key in rng.sample(range(12), row_count))
