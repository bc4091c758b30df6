"""Clocks of users and of the file system jump by hours, back and forth, between any two steps."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from tests.campaign.history import History, Rows, Step, WrongRowsError
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import KEPT_CHANGES, random_rows
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.manual_clock import ManualClock

_STEPS: Final = 15
_HOURS: Final = 30
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_KINDS: Final = ("append", "append", "append", "compact", "rollback", "expire by age", "clean")


@dataclass(slots=True, kw_only=True)
class Jumps:
    """A table whose users agree on no time."""

    table: LocalTable
    clock: ManualClock
    history: History
    rng: random.Random

    def step(self, number: int) -> None:
        """Let the clocks jump, take a step, and look at every snapshot and at times."""
        self.clock.time_ms += self._jump_ms()
        for path in self.table.path.rglob("*"):
            if self.rng.random() < 0.5:
                stat = path.stat()
                modified_s = stat.st_mtime + self._jump_ms() / 1000
                os.utime(path, (modified_s, modified_s))
        self._take(self.rng.choice(_KINDS), number)
        self.table.check(self.history)
        self._travel()

    def _jump_ms(self) -> int:
        return self.rng.randint(-_HOURS, _HOURS) * _HOUR_MS

    def _take(self, kind: str, number: int) -> None:
        table = self.table.opened()
        ids = table.snapshot_store.ids()
        if kind == "expire by age":
            older_than_ms = self.clock.time_ms - self.rng.randint(0, 48) * _HOUR_MS
            table.expire_snapshots(ExpireOptions(older_than_ms=older_than_ms, retain_min=1))
        elif kind == "clean":
            # Nobody writes just now; so nothing is lost, however wrong the times of files are.
            older_than_ms = self.clock.time_ms - _DAY_MS
            remove_orphan_files(
                self.table.file_io, table.path, table.schema_store, older_than_ms=older_than_ms
            )
        else:
            target = self.rng.choice(ids) if kind == "rollback" and ids else 0
            kind = "append" if kind == "rollback" and not target else kind
            rows = random_rows(self.rng, 3)
            step = Step(kind=kind, user=f"{kind}-{number}", rows=rows, target=target)
            self.history.acknowledge(step, self.table.do(step))

    def _travel(self) -> None:
        """Compare reads as of random times with the snapshots' own times, which must ascend."""
        table = self.table.anew()
        store = table.opened().snapshot_store
        snapshots = sorted(store.newest_first(), key=lambda snapshot: snapshot.id)
        times = [snapshot.time_ms for snapshot in snapshots]
        if times != sorted(times):
            raise WrongRowsError(f"times of snapshots descend: {times}")
        for time_ms in (*times, self.clock.time_ms, self.clock.time_ms + self._jump_ms()):
            current = [s.id for s in snapshots if s.time_ms <= time_ms]
            found = _rows_at(table, time_ms)
            wanted = table.rows(current[-1]) if current else None
            if found != wanted:
                raise WrongRowsError(f"as of {time_ms}: {found}, not {wanted}")


def _rows_at(table: LocalTable, time_ms: int) -> Rows | None:
    try:
        found = table.opened().scan(["k", "v"], timestamp_ms=time_ms).to_arrow()
    except SnapshotNotFoundError:
        return None
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


def _run_case(case: Case) -> Counts:
    rng = case.random()
    clock = ManualClock()
    has_key = rng.random() < 0.5
    options = KEPT_CHANGES if rng.random() < 0.3 else {}
    path: Path = case.folder / "t"
    LocalTable.create(path, has_key=has_key, options=options)
    jumps = Jumps(
        table=LocalTable(path, clock=clock),
        clock=clock,
        history=History(has_key, {0: Counter()}),
        rng=rng,
    )
    for number in range(_STEPS):
        jumps.step(number)
    return {"jumps": _STEPS}


CLOCK_JUMPS: Final = Technique(
    name="clock-jumps",
    goal="no row depends on what any clock says, and the times of snapshots ascend",
    suite_cases=3,
    release_cases=1000,
    run_case=_run_case,
)
