"""Stock shells that are killed or stopped at any moment of a statement, while another one works.

Two `spark-sql` processes run random statements on one table of a few rows, both at once. One of
them is stopped, with all that it has started, for a while, and in the end killed. What it was told
to do then may have happened or not; all else has a serial order that explains every read, as in
`spark_sessions`.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from tests.campaign.sessions.database import Database, Row
from tests.campaign.sessions.ended import Ended, Outcome, check, timed
from tests.campaign.sessions.random_statements import Names, read_all, statement
from tests.campaign.sessions.runner import OTHERS_IN_THE_WAY, outcome_of
from tests.campaign.sessions.statement import Answer, Statement
from tests.campaign.technique import Case, Counts, Technique
from tests.integration.stock_shell import StockShell

_ROUNDS: Final = 4
_LONGEST_MOMENT_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 3.0


@lru_cache(maxsize=1)
def _worker() -> StockShell:
    """Return the shell that nobody stops; it ends with the process."""
    ending = ExitStack()
    folder = Path(tempfile.mkdtemp(prefix="campaign-shells-"))
    ending.callback(shutil.rmtree, folder, ignore_errors=True)
    shell = ending.enter_context(StockShell(folder, prefix="worker"))
    atexit.register(ending.close)
    return shell


def run_case(case: Case) -> Counts:
    """Let two shells work, stop one now and then, and kill it at last."""
    dice, worker = case.random(), _worker()
    names = Names.drawn(dice, f"k{case.campaign_seed}_{case.number}")
    rows = names.first_rows(dice)
    for sql in names.beginning(rows):
        worker.ok(sql)
    ended: list[Ended] = []
    with StockShell(worker.folder, prefix=f"v{case.campaign_seed}_{case.number}_") as victim:
        victim.ok(f"SELECT * FROM {names.table}")
        for number in range(_ROUNDS):
            ended += _round(dice, names, worker, victim, is_last=number == _ROUNDS - 1)
    clean = f"CALL sys.remove_orphan_files(table => '{names.table}')"
    for one in (
        read_all(names.table),
        Statement(sql=clean, name=names.table, changes=(lambda table: table,)),
        read_all(names.table),
    ):
        ended.append(_run(worker, one, 0))
    start = Database().creating(names.table, names.created().adding(rows))
    counts = check(start, ended)
    worker.ok(f"DROP TABLE {names.table}")
    return {"shells killed": 1, "shells stopped": _ROUNDS - 1, **counts}


def _round(
    dice: random.Random, names: Names, worker: StockShell, victim: StockShell, *, is_last: bool
) -> list[Ended]:
    """Run a statement in the one shell while it is stopped or killed, and some in the other."""
    ended: list[Ended] = []
    besides = [statement(dice, names, ()) for _ in range(2)]
    other = threading.Thread(target=lambda: ended.extend([_run(worker, one, 1) for one in besides]))
    moment_s = dice.uniform(0, _LONGEST_MOMENT_S)
    pause_s = None if is_last else dice.uniform(0, _LONGEST_PAUSE_S)
    disturber = threading.Thread(target=_disturb, args=(victim, moment_s, pause_s))
    other.start()
    disturber.start()
    mine = _run(victim, statement(dice, names, ()), 2)
    for thread in (other, disturber):
        thread.join()
    if len(ended) < len(besides):
        raise AssertionError(f"the shell that nobody stopped failed in one of {besides}")
    return [*ended, mine]


def _disturb(shell: StockShell, moment_s: float, pause_s: float | None) -> None:
    time.sleep(moment_s)
    if pause_s is None:
        shell.process.send_signal(signal.SIGKILL)
        return
    processes = _tree(shell.process.pid)
    _signal(processes, signal.SIGSTOP)
    time.sleep(pause_s)
    _signal(processes, signal.SIGCONT)


def _signal(processes: Sequence[int], what: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, what)


def _tree(root: int) -> list[int]:
    """Return a process and all below it."""
    children = Path(f"/proc/{root}/task").glob("*/children")
    below: list[int] = []
    for file in children:
        with suppress(OSError):
            below += [int(word) for word in file.read_text().split()]
    return [root, *(process for child in below for process in _tree(child))]


def _run(shell: StockShell, one: Statement, number: int) -> Ended:
    def ask() -> tuple[Outcome, Answer | None, str]:
        try:
            told = shell.run(one.sql)
        except (AssertionError, BrokenPipeError):
            if not _was_killed(shell):
                raise
            return Outcome.UNKNOWN, None, "killed"
        if told.error:
            return outcome_of(told.error, one, OTHERS_IN_THE_WAY), None, told.error
        return Outcome.DONE, _answer(one, told.rows) if one.reads else None, ""

    return timed(number, one, ask)


def _was_killed(shell: StockShell) -> bool:
    """Return whether it ends so; its output may have ended a moment before."""
    with suppress(subprocess.TimeoutExpired):
        return shell.process.wait(10) == -signal.SIGKILL
    return False


def _answer(one: Statement, printed: Sequence[tuple[str, ...]]) -> Answer:
    columns = ("id", "v") if one.sql.startswith("SELECT * ") else ("c", "s")
    rows: list[Row] = [tuple(None if w == "NULL" else int(w) for w in row) for row in printed]
    return columns, tuple(sorted(rows, key=lambda row: [(v is not None, v or 0) for v in row]))


SPARK_KILLED_SHELLS: Final = Technique(
    name="spark-killed-shells",
    goal="a shell killed or stopped within a statement leaves the table before or after it",
    suite_cases=0,
    release_cases=500,
    run_case=run_case,
    needs_spark=True,
)
