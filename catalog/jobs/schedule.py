"""Which jobs of a program take the next barrier, and in which order.

A job takes a barrier when its interval has passed. A job that reads the table of another one takes
only barriers that this one takes, and has its epoch after it: so the table is at the barrier when
it is read. Jobs whose epochs last long let barriers pass that the others take. When a job is due
while one below it still works on an earlier barrier, nothing below it begins a new one, so that
all of them take the next barrier together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A job as far as its turn is concerned.

    Attributes:
        job: its id.
        sink: the directory of its table.
        sources: the directories of the tables that it reads.
        is_due: whether its interval has passed.
        is_asked: whether somebody waits for it, with all that is below it, whatever the intervals.
        is_busy: whether it has taken a barrier at which it has not come yet.
        is_halted: whether it has stopped by failures: its table is at no later barrier.
    """

    job: str
    sink: str
    sources: frozenset[str]
    is_due: bool = False
    is_asked: bool = False
    is_busy: bool = False
    is_halted: bool = False


@dataclass(frozen=True)
class Schedule:
    """The turns of all jobs of a program that have not ended, or have stopped by failures.

    Of several jobs with the same sink the last one counts. No job is below itself.
    """

    turns: Sequence[Turn]

    @cached_property
    def below(self) -> Mapping[str, tuple[Turn, ...]]:
        """The jobs whose tables a job reads itself, by the job's id."""
        of_sink = {turn.sink: turn for turn in self.turns}
        return {
            turn.job: tuple(of_sink[path] for path in sorted(turn.sources) if path in of_sink)
            for turn in self.turns
        }

    @cached_property
    def in_order(self) -> tuple[Turn, ...]:
        """Each job after all that are below it, else in the given order."""
        found: dict[str, Turn] = {}

        def visit(turn: Turn) -> None:
            for other in self.below[turn.job]:
                visit(other)
            found.setdefault(turn.job, turn)

        for turn in self.turns:
            visit(turn)
        return tuple(found.values())

    def takers(self) -> tuple[Turn, ...]:
        """The jobs that take the next barrier, each after all that are below it."""
        asked = {turn.job for turn in self.turns if turn.is_asked}
        asked |= {other.job for turn in self.turns if turn.is_asked for other in self._all(turn)}
        busy = {turn.job for turn in self.turns if turn.is_busy}
        ready = [
            turn
            for turn in self.in_order
            if (turn.is_due or turn.job in asked) and turn.job not in busy and not turn.is_halted
        ]
        waited_for = {
            other.job
            for turn in ready
            if any(other.job in busy for other in self._all(turn))
            for other in (turn, *self._all(turn))
        }
        taken: dict[str, Turn] = {}
        for turn in ready:
            below = self.below[turn.job]
            if turn.job not in waited_for and all(other.job in taken for other in below):
                taken[turn.job] = turn
        return tuple(taken.values())

    def _all(self, turn: Turn) -> tuple[Turn, ...]:
        """All jobs below one."""
        found: dict[str, Turn] = {}
        left = list(self.below[turn.job])
        while left:
            other = left.pop()
            if other.job not in found:
                found[other.job] = other
                left += self.below[other.job]
        return tuple(found.values())
