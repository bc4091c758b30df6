"""How statements ended, as seen from outside, and whether a serial order explains it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from tests.campaign.sessions.database import Database
from tests.campaign.sessions.serial_order import Observed, serial_order
from tests.campaign.sessions.statement import Answer, Statement
from tests.campaign.technique import Counts


class Outcome(Enum):
    """What a statement's end says about it."""

    DONE = "done"
    REFUSED = "refused"
    NO_TABLE = "refused by the name"
    NOT_FITTING = "refused by the columns"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A statement that was run."""

    session: int
    statement: Statement
    begun_ns: int
    ended_ns: int
    outcome: Outcome
    answer: Answer | None
    said: str

    def observed(self) -> Observed | None:
        """Return it as the search takes it; None where it has surely done nothing."""
        if self.outcome is Outcome.NO_TABLE:
            steps = self.statement.steps_without_table()
        elif self.outcome is Outcome.NOT_FITTING:
            steps = self.statement.steps_not_fitting()
        elif self.outcome is Outcome.REFUSED and len(self.statement.changes) < 2:
            return None
        else:
            # Of a stream that was refused, earlier batches may be there.
            steps = self.statement.steps(self.answer)
        return Observed(
            text=self.statement.sql,
            steps=steps,
            begun_ns=self.begun_ns,
            ended_ns=self.ended_ns,
            is_certain=self.outcome not in (Outcome.REFUSED, Outcome.UNKNOWN),
        )

    def told(self, start_ns: int) -> str:
        """Return it for people."""
        begun, ended = ((t - start_ns) / 1e6 for t in (self.begun_ns, self.ended_ns))
        what = self.answer if self.outcome is Outcome.DONE else self.said[:300]
        return (
            f"{begun:8.1f} to {ended:8.1f} ms, session {self.session}: {self.statement.sql}\n"
            f"    {self.outcome.value}: {what}"
        )


def timed(
    session: int, one: Statement, ask: Callable[[], tuple[Outcome, Answer | None, str]]
) -> Ended:
    """Ask what a statement's end says, and note when it began and had ended."""
    begun_ns = time.monotonic_ns()
    outcome, answer, said = ask()
    return Ended(
        session=session,
        statement=one,
        begun_ns=begun_ns,
        ended_ns=time.monotonic_ns(),
        outcome=outcome,
        answer=answer,
        said=said,
    )


def check(start: Database, ended: Sequence[Ended]) -> Counts:
    """Look for the order of the statements; return how they ended.

    Raises:
        AssertionError: there is none.
    """
    known = [one.observed() for one in ended]
    if serial_order(start, [one for one in known if one is not None]) is None:
        first_ns = min(one.begun_ns for one in ended)
        told = "\n".join(one.told(first_ns) for one in sorted(ended, key=lambda e: e.begun_ns))
        raise AssertionError(f"no serial order of these, from {start}:\n{told}")
    outcomes = Counter(one.outcome for one in ended)
    return {
        "statements": len(ended),
        "refused": outcomes[Outcome.REFUSED],
        "refused by a name or column": outcomes[Outcome.NO_TABLE] + outcomes[Outcome.NOT_FITTING],
        "unknown": outcomes[Outcome.UNKNOWN],
    }
