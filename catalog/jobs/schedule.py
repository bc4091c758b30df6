"""Which jobs of a program take the next barrier, and in which order.

A job takes a barrier when its interval has passed. A job that reads the table of another one takes
only barriers that this one takes, and has its epoch after it: so the table is at the barrier when
it is read. A job that is due waits until each one below it has been due, too, since the barrier
that it took last; then all of them take the next one, also those whose interval has not passed
again. So it comes as often as the slowest below it, whether their intervals have common multiples
or not. Jobs whose epochs last long let barriers pass that the others take. When a job is due while
one below it still works on an earlier barrier, nothing below it begins a new one, so that all of
them take the next barrier together; where two such jobs would hold up each other, the one whose
last barrier is older comes first.
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
        taken: when it took its last barrier, in milliseconds; 0 if it has taken none.
        is_due: whether its interval has passed.
        is_asked: whether somebody waits for it, with all that is below it, whatever the intervals.
        is_busy: whether it has taken a barrier at which it has not come yet.
        is_halted: whether it has stopped by failures: its table is at no later barrier.
    """

    job: str
    sink: str
    sources: frozenset[str]
    taken: int = 0
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
        asked |= {job for turn in self.turns if turn.is_asked for job in self._below(turn)}
        busy = {turn.job for turn in self.turns if turn.is_busy}
        halted = {turn.job for turn in self.turns if turn.is_halted}
        able = [turn for turn in self.in_order if not {turn.job, *self._below(turn)} & halted]
        ready = [t for t in able if (t.is_due or t.job in asked) and t.job not in busy]
        going: set[str] = set()
        held: set[str] = set()
        # Of jobs with the same last barrier those above come first: they have waited longer.
        by_age = list(reversed(ready))
        by_age.sort(key=lambda turn: turn.taken)
        for turn in by_age:
            needed = {turn.job, *self._below(turn)}
            if needed & held or not (turn.job in asked or self._has_waited(turn)):
                continue
            if not needed & busy:
                going |= needed
            elif not needed & going:
                held |= needed
        going |= {turn.job for turn in ready} - held
        taken: dict[str, Turn] = {}
        for turn in able:
            if turn.job in going and all(other.job in taken for other in self.below[turn.job]):
                taken[turn.job] = turn
        return tuple(taken.values())

    def _has_waited(self, turn: Turn) -> bool:
        """Whether all below a job have been due since its last barrier."""
        return all(o.is_due or o.taken > turn.taken for o in self._below(turn).values())

    def _below(self, turn: Turn) -> Mapping[str, Turn]:
        """All jobs below one, by their ids."""
        found: dict[str, Turn] = {}
        left = list(self.below[turn.job])
        while left:
            other = left.pop()
            if other.job not in found:
                found[other.job] = other
                left += self.below[other.job]
        return found
