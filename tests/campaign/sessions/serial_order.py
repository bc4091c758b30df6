"""Whether statements that ran at once have a serial order (after Wing and Gong, 1993).

The search takes one step after the other of any statement that may be next: all statements that
had been answered before it was begun have taken theirs. Where it has been before, with the same
database, it need not look again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.campaign.sessions.database import Database
from tests.campaign.sessions.statement import Memory, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A statement as it was seen from outside.

    `begun_ns` and `ended_ns` are of one clock for all of them. Of one that is not `is_certain`,
    none, some or all steps happened, at the earliest when it was begun, at the latest never.
    """

    text: str
    steps: Sequence[Step]
    begun_ns: int
    ended_ns: int
    is_certain: bool = True


_Place: TypeAlias = tuple[tuple[int, ...], tuple[Memory, ...], Database]


def serial_order(start: Database, observed: Sequence[Observed]) -> list[int] | None:
    """Return the statements' numbers, one for each step, in an order that explains all of them.

    None where there is none.
    """
    before = [
        [
            j
            for j, other in enumerate(observed)
            if other.is_certain and other.ended_ns < one.begun_ns
        ]
        for one in observed
    ]
    none_taken = tuple(0 for _ in observed)
    stack: list[tuple[_Place, tuple[int, ...]]] = [
        ((none_taken, tuple(() for _ in observed), start), ())
    ]
    seen: set[_Place] = set()
    while stack:
        place, order = stack.pop()
        taken, memories, database = place
        done = [taken[i] == len(one.steps) for i, one in enumerate(observed)]
        if all(done[i] or not one.is_certain for i, one in enumerate(observed)):
            return list(order)
        for i, one in enumerate(observed):
            if done[i] or not all(done[j] for j in before[i]):
                continue
            after = one.steps[taken[i]](database, memories[i])
            if after is None:
                continue
            following = (
                (*taken[:i], taken[i] + 1, *taken[i + 1 :]),
                (*memories[:i], after[1], *memories[i + 1 :]),
                after[0],
            )
            if following not in seen:
                seen.add(following)
                stack.append((following, (*order, i)))
    return None
