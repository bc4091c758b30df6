"""Users in processes of their own, which are stopped and killed at random moments."""

from __future__ import annotations

import heapq
import json
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.campaign.history import Step, WrongRowsError
from tests.campaign.local_table import LocalTable
from tests.campaign.table_user import COMMITS_OF_A_USER, User, Users, commit_rows, commits_of
from tests.campaign.technique import Case, Counts, Technique

_ROLES: Final = ("writer", "writer", "writer", "compaction", "expiry", "rollback", "reader")
_ROUND_S: Final = 12.0
_STOP_S_MAX: Final = 2.0
_BETWEEN_S: Final = 0.25
_KILLED: Final = 0.4
_SNAPSHOTS_READ: Final = 3


@dataclass(slots=True)
class Outcomes:
    """What the users were told, over all journals of a round."""

    counts: Counter[str] = field(default_factory=Counter)
    commits: dict[int, int] = field(default_factory=dict)
    rollbacks: dict[int, int] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    published: dict[int, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def read(self, journal: Path) -> int | None:
        """Add a journal; return the target of a rollback that it leaves open, if any."""
        attempt: dict[str, object] | None = None
        for line in journal.read_text().splitlines():
            item = json.loads(line)
            if item["what"] == "attempt":
                attempt = item
                continue
            self.counts[_noun(item)] += 1
            if item["what"] == "failed":
                self.failures.append(item["error"])
            elif item["what"] == "acknowledged" and attempt is not None:
                self._acknowledge(attempt, item["snapshot"])
            elif item["what"] == "unknown" and attempt is not None:
                self._doubt(attempt)
            attempt = None
        if attempt is None:
            return None
        self._doubt(attempt)
        return int(str(attempt["target"])) if attempt["kind"] == "rollback" else None

    def _acknowledge(self, attempt: dict[str, object], snapshot_id: int | None) -> None:
        target = int(str(attempt["target"]))
        if snapshot_id is None:
            return
        if snapshot_id in self.published:
            other = self.published[snapshot_id]
            raise WrongRowsError(f"{attempt} and {other} were both acknowledged as {snapshot_id}")
        self.published[snapshot_id] = str(attempt)
        if attempt["kind"] == "append":
            self.commits[snapshot_id] = target
        else:
            self.rollbacks[snapshot_id] = target

    def _doubt(self, attempt: dict[str, object]) -> None:
        if attempt["kind"] == "append":
            self.unknown.add(int(str(attempt["target"])))

    def live(self, latest: int) -> set[int]:
        """Return the acknowledged commits that no rollback has taken away."""
        found: set[int] = set()
        at = latest
        while at > 0:
            if at in self.rollbacks:
                at = self.rollbacks[at]
                continue
            if at in self.commits:
                found.add(self.commits[at])
            at -= 1
        return found

    def check(self, seen: set[int], latest: int) -> None:
        """Compare with the commits of the newest snapshot."""
        if self.failures:
            raise WrongRowsError(self.failures[0])
        if self.published and latest < max(self.published):
            raise WrongRowsError(f"{max(self.published)} was acknowledged, newest is {latest}")
        live = self.live(latest)
        lost, revived = live - seen, seen - live - self.unknown
        if lost or revived:
            raise WrongRowsError(
                f"of {len(self.commits)} acknowledged commits {len(lost)} are lost and "
                f"{len(revived)} are there that should not: {sorted(lost)[:9]}, "
                f"{sorted(revived)[:9]}; newest snapshot {latest}, rollbacks {self.rollbacks}"
            )


def _noun(item: dict[str, object]) -> str:
    nouns = {"acknowledged": "steps", "read": "reads", "expired": "reads of expired snapshots"}
    what = str(item["what"])
    return nouns.get(what, f"{what} {item['error']}" if what in ("refused", "unknown") else what)


@dataclass(slots=True)
class Round:
    """Users of one table, each with a place; a killed user is followed by another of its role."""

    folder: Path
    rng: random.Random
    has_key: bool
    outcomes: Outcomes = field(default_factory=Outcomes)
    living: dict[int, tuple[int, User]] = field(default_factory=dict)
    numbers: int = 0

    def run(self) -> Counts:
        """Stop and kill for a while, then check what is left."""
        table = LocalTable.create(self.folder / "table", has_key=self.has_key)
        users = Users(self.folder / "said")
        try:
            for place, role in enumerate(_ROLES):
                self._start(users, place, role)
            self._disturb(users, table)
        finally:
            for place in list(self.living):
                self._kill(users, place, table)
            users.close()
        self._check(table)
        self.outcomes.counts["commits"] = len(self.outcomes.published)
        return self.outcomes.counts

    def _disturb(self, users: Users, table: LocalTable) -> None:
        end = time.monotonic() + _ROUND_S
        stopped: list[tuple[float, int]] = []
        while (now := time.monotonic()) < end:
            while stopped and stopped[0][0] <= now:
                self._signal(heapq.heappop(stopped)[1], signal.SIGCONT)
            place = self.rng.randrange(len(_ROLES))
            if place not in {stopped_place for _, stopped_place in stopped}:
                if self.rng.random() < _KILLED:
                    role = self._kill(users, place, table)
                    self._start(users, place, role)
                else:
                    self.outcomes.counts["stops"] += 1
                    self._signal(place, signal.SIGSTOP)
                    heapq.heappush(stopped, (now + self.rng.random() * _STOP_S_MAX, place))
            time.sleep(self.rng.random() * _BETWEEN_S)
        for _, place in stopped:
            self._signal(place, signal.SIGCONT)

    def _start(self, users: Users, place: int, role: str) -> None:
        self.numbers += 1
        user = User(
            role=role,
            number=self.numbers,
            path=str(self.folder / "table"),
            journal=str(self.folder / f"journal-{self.numbers}"),
            has_key=self.has_key,
            seed=self.rng.randrange(1 << 30),
        )
        self.living[place] = users.start(user), user

    def _signal(self, place: int, number: signal.Signals) -> None:
        os.kill(self.living[place][0], number)

    def _kill(self, users: Users, place: int, table: LocalTable) -> str:
        """Kill a user, hear its journal, and return its role."""
        process_id, user = self.living.pop(place)
        os.kill(process_id, signal.SIGKILL)
        users.wait(process_id)
        self.outcomes.counts["kills"] += 1
        journal = Path(user.journal)
        target = self.outcomes.read(journal) if journal.exists() else None
        if target is not None:
            # Nobody else rolls back, and every snapshot says where that was done last.
            latest = table.anew().opened().latest_snapshot()
            at = 0 if latest is None else latest.last_rollback
            if at and at not in self.outcomes.rollbacks:
                self.outcomes.rollbacks[at] = target
        return user.role

    def _check(self, table: LocalTable) -> None:
        """Compare, clean, and go on."""
        self._compare(table)
        table.check_clean()
        self._compare(table)
        number = (self.numbers + 1) * COMMITS_OF_A_USER
        for kind in ("append", "compact", "expire"):
            rows = commit_rows(number, has_key=self.has_key)
            step = Step(kind=kind, user=f"after-{kind}", rows=rows, target=1)
            snapshot_id = table.anew().do(step)
            if snapshot_id is not None:
                self.outcomes.commits[snapshot_id] = number
        self._compare(table)

    def _compare(self, table: LocalTable) -> None:
        """Compare the newest snapshot; the oldest and some others must be whole as well."""
        fresh = table.anew()
        ids = fresh.opened().snapshot_store.ids() or (0,)
        others = {ids[0], *self.rng.sample(ids, min(_SNAPSHOTS_READ, len(ids)))} - {0, ids[-1]}
        for snapshot_id in others:
            commits_of(fresh.rows(snapshot_id), has_key=self.has_key)
        self.outcomes.check(commits_of(fresh.rows(), has_key=self.has_key), ids[-1])


def _run_case(case: Case) -> Counts:
    return Round(case.folder, case.random(), has_key=case.number % 2 == 1).run()


STOPS_AND_KILLS: Final = Technique(
    name="stops-and-kills",
    goal="every acknowledged commit is there once, whoever was stopped or killed beside it",
    suite_cases=2,
    release_cases=600,
    run_case=_run_case,
)
