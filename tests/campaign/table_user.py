"""A process that uses a table until it is killed, and writes down what it is told.

Started once, it waits for commands on its standard input and forks a process for each user: that
takes a hundredth of the time of starting Python and loading Arrow. A user writes its journal before
and after each step; what a killed process has written stays, so that nothing is synchronised.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from table_store.storage.file_store.model.errors import (
    CommitStateUnknownError,
    SnapshotNotFoundError,
)
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FileAccessError,
    MissingFileError,
    TableStoreError,
)
from tests.campaign.history import Row, Rows, Step, WrongRowsError
from tests.campaign.local_table import LocalTable
from tests.checkout import REPOSITORY

ROWS_OF_A_COMMIT: Final = 3
COMMITS_OF_A_USER: Final = 100_000
_SHARED_KEYS: Final = -10


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who uses the table; `number` is nobody else's in this round."""

    role: str
    number: int
    path: str
    journal: str
    has_key: bool
    seed: int


def commit_rows(commit: int, *, has_key: bool) -> tuple[Row, ...]:
    """Return the rows of a commit, which are visible all or not at all.

    With a key they have keys of their own, and two that all commits share: their values must be
    the same at every moment.
    """
    own = tuple((commit * ROWS_OF_A_COMMIT + i, commit) for i in range(ROWS_OF_A_COMMIT))
    return (*own, (_SHARED_KEYS, commit), (_SHARED_KEYS - 1, commit)) if has_key else own


def commits_of(rows: Rows, *, has_key: bool) -> set[int]:
    """Return which commits the rows of a snapshot are of.

    Raises:
        WrongRowsError: a commit is there in part or twice, or two are mixed.
    """
    commits = {commit for key, commit in rows if key > _SHARED_KEYS}
    wanted = Rows(row for commit in commits for row in commit_rows(commit, has_key=False))
    shared = Rows({row: n for row, n in rows.items() if row[0] <= _SHARED_KEYS})
    if rows - shared != wanted:
        raise WrongRowsError(f"torn or doubled: {rows - shared - wanted}, {wanted - rows}")
    values = {value for _, value in shared}
    if has_key and commits and (shared.total() != 2 or len(values) != 1 or not values <= commits):
        raise WrongRowsError(f"rows of shared keys: {shared}")
    return commits


class Journal:
    """Lines of what a user did; one that stands for an attempt is followed by its outcome."""

    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)

    def note(self, what: str, **details: object) -> None:
        """Write a line at once."""
        os.write(self._handle, (json.dumps({"what": what, **details}) + "\n").encode())


def use(user: User) -> None:
    """Take one step after the other, for ever."""
    rng = random.Random(user.seed)
    journal = Journal(user.journal)
    table = LocalTable(Path(user.path), clock=SystemClock())
    number = user.number * COMMITS_OF_A_USER
    try:
        while True:
            number += 1
            if user.role == "reader":
                _read(table, user, journal)
            else:
                _take(table, _step(user, number, rng, table), journal)
            if user.role in ("expiry", "rollback"):
                time.sleep(rng.random() * (0.05 if user.role == "expiry" else 1.0))
    except BaseException:
        journal.note("failed", error=traceback.format_exc())
        raise


def _step(user: User, number: int, rng: random.Random, table: LocalTable) -> Step:
    name = f"{user.role}-{number}"
    match user.role:
        case "writer":
            rows = commit_rows(number, has_key=user.has_key)
            return Step(kind="append", user=name, rows=rows, target=number)
        case "rollback":
            ids = table.opened().snapshot_store.ids() or (1,)
            return Step(kind="rollback", user=name, target=rng.choice(ids))
        case "expiry":
            return Step(kind="expire", user=name, target=rng.randint(1, 3))
    return Step(kind="compact", user=name)


def _take(table: LocalTable, step: Step, journal: Journal) -> None:
    journal.note("attempt", kind=step.kind, target=step.target)
    try:
        journal.note("acknowledged", snapshot=table.do(step))
    except CorruptFileError:
        raise
    except (CommitStateUnknownError, FileAccessError) as error:
        journal.note("unknown", error=type(error).__name__)
    except TableStoreError as error:
        journal.note("refused", error=type(error).__name__)


def _read(table: LocalTable, user: User, journal: Journal) -> None:
    """Read the newest snapshot; it may only fail when the snapshot expires meanwhile."""
    store = table.opened().snapshot_store
    newest = store.latest_id()
    if newest is None:
        return
    try:
        commits = commits_of(table.rows(newest), has_key=user.has_key)
    except (MissingFileError, SnapshotNotFoundError):
        try:
            store.get(newest)
        except SnapshotNotFoundError:
            journal.note("expired", snapshot=newest)
            return
        raise
    journal.note("read", snapshot=newest, commits=len(commits))


class Users:
    """Starts users, and waits for those that were killed."""

    def __init__(self, said: Path) -> None:
        with said.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.campaign.table_user"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=REPOSITORY,
                text=True,
                start_new_session=True,  # Ctrl-C is for the campaign, which ends its users
            )

    def start(self, user: User) -> int:
        """Return the process id of a new user; it stays the user's until `wait`."""
        return self._ask({"start": asdict(user)})

    def wait(self, process_id: int) -> int:
        """Wait until a user that was killed is gone."""
        return self._ask({"wait": process_id})

    def close(self) -> None:
        """End the process that starts users, and those that live."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, command: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def main() -> None:
    """Start users and wait for them, as standard input says; its end is the end of all users."""
    living: set[int] = set()
    for line in iter(sys.stdin.readline, ""):
        command = json.loads(line)
        if "wait" in command:
            _, answer = os.waitpid(command["wait"], 0)
            living.remove(command["wait"])
        else:
            answer = os.fork()
            if not answer:
                try:
                    use(User(**command["start"]))
                finally:
                    os._exit(1)
            living.add(answer)
        print(answer, flush=True)
    for process_id in living:
        os.kill(process_id, signal.SIGKILL)


if __name__ == "__main__":
    main()
