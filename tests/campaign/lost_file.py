"""One file of a table is deleted: what is read is right, or an error names the file."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.kernel.errors import MissingFileError, TableStoreError
from tests.campaign.history import Rows, States, Step, WrongRowsError
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import Operation, Scenario
from tests.campaign.technique import Case, Counts, Technique

_KINDS: Final = (
    Operation(name="with key", kind="append"),
    Operation(name="without key", kind="append", has_key=False),
    Operation(name="with kept changes", kind="append", keeps_changes=True),
)
_GOING_ON: Final = ("compact", "append", "expire", "clean")
_NOT_ROWS: Final = ("consumer",)
"""Folders whose files no row depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A table of known states, one of whose files is gone."""

    table: LocalTable
    states: States
    lost: str

    def check(self, states: States) -> int:
        """Read every snapshot, the newest and the changes; return how many said what is lost."""
        latest = max(states)
        table = self.table.anew()
        reads: list[tuple[Callable[[], Rows], Rows]] = [(table.rows, states[latest])]
        reads += [(partial(table.rows, i), rows) for i, rows in states.items() if i]
        return sum(not self.is_right(read, rows) for read, rows in reads)

    def is_right(self, read: Callable[[], Rows], rows: Rows) -> bool:
        try:
            seen = read()
        except TableStoreError as error:
            self.check_named(error)
            return False
        if seen != rows:
            raise WrongRowsError(f"without {self.lost}: {dict(seen)} instead of {dict(rows)}")
        return True

    def check_named(self, error: TableStoreError) -> None:
        """Raise unless an error says which file, or snapshot, is not there."""
        is_snapshot = isinstance(error, SnapshotNotFoundError) and "snapshot-" in self.lost
        # Without the mark that they have expired, snapshots count as lost.
        is_snapshot |= isinstance(error, MissingFileError) and "expiry/" in self.lost
        if self.lost.rsplit("/", 1)[-1] not in str(error) and not is_snapshot:
            raise WrongRowsError(f"without {self.lost}: {error}") from error

    def go_on(self, step: Step) -> int | None:
        """Take a step, which may be refused for what is lost; return its snapshot."""
        try:
            return self.table.anew().do(step)
        except TableStoreError as error:
            self.check_named(error)
            return None


def _run_case(case: Case) -> Counts:
    counts: Counter[str] = Counter()
    kind = _KINDS[case.number % len(_KINDS)]
    scenario = Scenario.make(kind, case.folder, case.random())
    _begin(scenario)
    states = LocalTable(scenario.template).states()
    for path in sorted(scenario.template.rglob("*")):
        name = str(path.relative_to(scenario.template))
        if path.is_dir() or name.startswith(_NOT_ROWS) or "left-over" in name:
            continue
        folder = case.folder / f"without-{counts['lost files']}"
        counts["lost files"] += 1
        for place, going_on in enumerate(_GOING_ON):
            table = scenario.copy(folder.with_name(f"{folder.name}-{place}"))
            (table.path / name).unlink()
            loss = Loss(table=table, states=states, lost=name)
            try:
                counts["errors that name the file"] += _try(loss, scenario, going_on, path)
            except Exception as error:
                error.add_note(f"{kind.name}, {name} is lost, then {going_on}; {table.path}")
                raise
            shutil.rmtree(table.path)
    return counts


def _begin(scenario: Scenario) -> None:
    """Let some changes be kept where the table keeps them."""
    if scenario.operation.keeps_changes:
        for kind in ("append", "expire"):
            LocalTable(scenario.template).do(Step(kind=kind, user="b", rows=((3, 3),), target=2))


def _try(loss: Loss, scenario: Scenario, kind: str, original: Path) -> int:
    """Read, take a step, read, bring the file back, and read what was not expired."""
    errors = loss.check(loss.states)
    step = Step(kind=kind, user="on", rows=((40, 1),), target=2)
    snapshot_id = loss.go_on(step)
    states = dict(loss.states)
    if snapshot_id is not None:
        states[snapshot_id] = step.after(
            states, snapshot_id - 1, has_key=scenario.operation.has_key
        )
    if kind != "expire":
        loss.is_right(loss.table.anew().rows, states[max(states)])
    back = loss.table.path / loss.lost
    if not back.exists():
        shutil.copy2(original, back)
    _check_restored(loss, states, kind)
    return errors


def _check_restored(loss: Loss, states: States, kind: str) -> None:
    """Once the file is back, nothing else may be gone but what expired."""
    table = loss.table.anew()
    ids = table.opened().snapshot_store.ids()
    if table.rows() != states[max(states)]:
        raise WrongRowsError(f"{loss.lost} came back, and the rows did not")
    if kind != "expire" and not set(states) - {0} <= set(ids):
        raise WrongRowsError(f"of {sorted(states)} only {ids} are left")
    for snapshot_id in set(ids) & set(states):
        if table.rows(snapshot_id) != states[snapshot_id]:
            raise WrongRowsError(f"{loss.lost} came back, and snapshot {snapshot_id} did not")


LOST_FILE: Final = Technique(
    name="lost-file",
    goal="without one of its files a table reads right rows, or says which file is not there",
    suite_cases=len(_KINDS),
    release_cases=60,
    run_case=_run_case,
)
