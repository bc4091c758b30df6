"""Readers without Spark join the tables of a chain of jobs while it goes on and is killed."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

import pyarrow.compute as pc

from table_store.topology import versions_together
from tests.campaign.chain_writer import JOBS, ROOT, Chain, write
from tests.campaign.history import WrongRowsError
from tests.campaign.technique import Case, Counts, Technique

# A new process is forked from one that has imported everything, and nothing else.
_PROCESSES: Final = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([write.__module__])
_TABLES: Final = (ROOT, *JOBS)
_READS: Final = 500
_KILLS: Final = 4
_EPOCHS_MAX: Final = 6
_SECONDS_MAX: Final = 1_500.0


@dataclass
class Readers:
    """What was read with which consistency; a barrier that was seen never goes back."""

    chain: Chain
    counts: Counter[str] = field(default_factory=Counter)
    last: dict[str, int] = field(default_factory=dict)

    def read(self, consistency: str) -> None:
        """Read all tables once.

        Raises:
            WrongRowsError: they are not of one barrier, or of an older one than before.
        """
        versions = versions_together(self.chain.root, _TABLES, consistency=consistency)
        seen = {name: self._seen(name, version) for name, version in versions.items()}
        count, moved = seen[ROOT]
        one_barrier = {
            ROOT: (count, moved),
            "credits": (count, moved),
            "debits": (count, moved),
            "balance": (2 * count, 0),
        }
        if seen == one_barrier:
            self.counts[f"{consistency} reads"] += 1
        elif consistency == "ReadUncommitted":
            self.counts["mixed ReadUncommitted reads"] += 1
        else:
            raise WrongRowsError(f"{consistency} reads {seen} at {versions}")
        if versions[ROOT] < self.last.get(consistency, 0):
            raise WrongRowsError(f"{consistency} goes back to {versions}, from {self.last}")
        self.last[consistency] = versions[ROOT]

    def _seen(self, name: str, version: int) -> tuple[int, int]:
        """How many rows a table has, and the sum of their amounts."""
        amounts = self.chain.table(name).scan(["amount"], version=version).to_arrow()["amount"]
        return len(amounts), pc.sum(amounts, min_count=0).as_py()

    @property
    def has_enough(self) -> bool:
        """Whether each type was tried, and there was something to mix up."""
        together = [self.counts[f"{one} reads"] for one in ("RepeatableRead", "ReadCommitted")]
        return sum(together) >= _READS and self.counts["mixed ReadUncommitted reads"] > 0


@contextmanager
def _writing(chain: Chain, rng: random.Random) -> Iterator[Connection]:
    """What a process tells that lets the chain go on, and is killed."""
    told, tells = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=write, args=(chain.root, rng.random(), tells), daemon=True)
    process.start()
    tells.close()
    try:
        yield told
    finally:
        process.kill()
        process.join()
        told.close()


def _await_epoch(told: Connection) -> None:
    try:
        told.recv()
    except EOFError:
        raise WrongRowsError("the chain has failed, as standard error says") from None


def _run_case(case: Case) -> Counts:
    rng = case.random()
    chain = Chain(str(case.folder / "warehouse"))
    chain.create()
    readers = Readers(chain)
    end = time.monotonic() + _SECONDS_MAX
    while not readers.has_enough or readers.counts["kills"] < _KILLS:
        with _writing(chain, rng) as told:
            _await_epoch(told)
            for _ in range(rng.randint(1, _EPOCHS_MAX)):
                for _ in range(_READS // (_KILLS * _EPOCHS_MAX)):
                    readers.read("RepeatableRead")
                    readers.read("ReadCommitted")
                readers.read("ReadUncommitted")
        readers.counts["kills"] += 1
        for consistency in ("RepeatableRead", "ReadCommitted", "ReadUncommitted"):
            readers.read(consistency)  # what the killed process left, however far it had come
        if time.monotonic() > end:
            raise WrongRowsError(f"no end after {_SECONDS_MAX} s: {readers.counts}")
    return readers.counts


MIXED_READS: Final = Technique(
    name="mixed-reads",
    goal="readers of a chain that is killed see one barrier, and none that is older than before",
    suite_cases=1,
    release_cases=1_000_000 // _READS,
    run_case=_run_case,
)
