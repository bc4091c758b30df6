"""Goal: what is seen for a barrier is one moment, and never the half of a producer's transaction.

Method: hypothesis chooses who does the next step: producers that note transactions and commit to
tables within them, or who looks for a barrier. Each runs the real code in a thread of its own. The
history of all commits, kept beside, tells which moments there were and what was open then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.catalog.jobs.job_errors import TransactionOpenError
from table_store.catalog.jobs.ledger import Head
from table_store.catalog.meta_service.one_moment import Heads, seen_at_once
from table_store.catalog.meta_service.producer_transactions import ProducerTransactions
from tests.fakes.manual_clock import ManualClock
from tests.fakes.stepped_files import SteppedFiles, Steps

TABLES = ("/w/ol", "/w/po")
LOOKER, PRODUCERS = 0, (1, 2)
LOOKS = 6
State = tuple[int, ...]


@dataclass
class History:
    """The tables, what each transaction has yet to commit, and all moments at which none is cut."""

    now: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    halves: set[int] = field(default_factory=set)
    whole: list[State] = field(default_factory=list)

    @property
    def state(self) -> State:
        return tuple(self.now[table] for table in TABLES)

    def note(self) -> None:
        if not self.halves:
            self.whole.append(self.state)


@settings(max_examples=300)
@given(
    turns=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 8)), max_size=40),
    written=st.lists(
        st.lists(st.lists(st.sampled_from(TABLES), min_size=1, max_size=3), max_size=3),
        min_size=len(PRODUCERS),
        max_size=len(PRODUCERS),
    ),
)
def test_a_barrier_has_all_of_a_transaction_or_nothing(
    turns: list[tuple[int, int]], written: list[list[list[str]]]
) -> None:
    files: dict[str, bytes] = {}
    steps, history = Steps(3), History()
    history.note()
    seen: list[Heads] = []

    def notes(taker: int) -> ProducerTransactions:
        file_io: Any = SteppedFiles(files, steps, taker)
        return ProducerTransactions(file_io, "/w", ManualClock())

    def produce(producer: int) -> None:
        own = notes(producer)
        for number, tables in enumerate(written[producer - 1]):
            name = f"{producer}-{number}"
            own.begin(name, TABLES)
            for at, table in enumerate(tables):
                steps.wait(producer)
                history.now[table] += 1
                if at + 1 < len(tables):
                    history.halves.add(producer)
                else:
                    history.halves.discard(producer)
                history.note()
            own.end(name)

    def look(looker: int) -> None:
        own = notes(looker)

        def heads() -> Heads:
            found: Heads = {}
            for table in TABLES:
                steps.wait(looker)
                found[table] = Head(snapshot=history.now[table], created_ms=1)
            return found

        def are_still(before: Heads) -> bool:
            return heads() == before

        for _ in range(LOOKS):
            try:
                seen.append(seen_at_once(own.look, lambda: frozenset(TABLES), heads, are_still))
            except TransactionOpenError:
                continue

    steps.run([look, produce, produce], [taker for taker, count in turns for _ in range(count)])
    states = [tuple(found[table].snapshot for table in TABLES) for found in seen]
    assert [state for state in states if state not in history.whole] == []
    assert states == sorted(states), "what is seen only rises"
