"""What a table must hold, told from what its users were told.

Every step that publishes a snapshot was acknowledged with an id, refused, or is in doubt. Ids order
the steps; from that the rows of each snapshot follow, in as many ways as doubts leave open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import TypeAlias

Row: TypeAlias = tuple[int, int]
"""Key and value."""

Rows: TypeAlias = Counter[Row]

States: TypeAlias = dict[int, Rows]
"""Rows by snapshot id; 0 is the table before its first snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one user does once.

    `rows` are written, taken away, or take the place of all. `target` is the snapshot to roll back
    to, the one at which an overwrite began, or how many snapshots an expiry keeps.
    """

    kind: str
    user: str
    rows: tuple[Row, ...] = ()
    target: int = 0

    def after(self, states: States, latest: int, *, has_key: bool) -> Rows:
        """Return the rows that a table of these states holds once the step is published."""
        rows = states[latest]
        match self.kind:
            case "append" if has_key:
                keys = {key for key, _ in self.rows}
                kept = Counter({row: n for row, n in rows.items() if row[0] not in keys})
                return kept + Counter(self.rows)
            case "append":
                return rows + Counter(self.rows)
            case "delete":
                return rows - Counter(self.rows)
            case "overwrite":
                return Counter(self.rows)
            case "rollback":
                return states[self.target]
        return rows


class WrongRowsError(AssertionError):
    """The table is not what its users were told."""


@dataclass(slots=True)
class History:
    """Who was told what, since a beginning whose states are known."""

    has_key: bool
    beginning: States
    acknowledged: dict[int, Step] = field(default_factory=dict)
    doubtful: list[Step] = field(default_factory=list)

    def copy(self) -> History:
        """Return a history that goes on by itself."""
        return replace(self, acknowledged=dict(self.acknowledged), doubtful=list(self.doubtful))

    def acknowledge(self, step: Step, snapshot_id: int | None) -> None:
        """Note a step that has succeeded, with its snapshot if it has published one."""
        if snapshot_id is None:
            return
        other = self.acknowledged.setdefault(snapshot_id, step)
        if other != step or snapshot_id in self.beginning:
            raise WrongRowsError(f"{step} and {other} were both acknowledged as {snapshot_id}")

    def doubt(self, step: Step) -> None:
        """Note a step whose outcome nobody knows."""
        self.doubtful.append(step)

    def possible_states(self, latest: int) -> Iterator[States]:
        """Yield what may be the rows of each snapshot up to `latest`.

        A step in doubt may have any id that was not acknowledged, or none, also one that was
        acknowledged when it was repeated: the first try may have taken effect before. What is left
        of the ids is of compactions.
        """
        last = max([*self.beginning, *self.acknowledged])
        if latest < last:
            raise WrongRowsError(f"snapshot {last} was acknowledged, the newest is {latest}")
        free = [i for i in range(max(self.beginning) + 1, latest + 1) if i not in self.acknowledged]
        for placed in set(permutations([*self.doubtful, *[None] * len(free)], len(free))):
            chosen = {i: step for i, step in zip(free, placed, strict=True) if step is not None}
            if all(i > step.target for i, step in chosen.items() if step.kind == "rollback"):
                yield self._states(self.acknowledged | chosen, latest)

    def _states(self, steps: dict[int, Step], latest: int) -> States:
        states = dict(self.beginning)
        for snapshot_id in range(max(states) + 1, latest + 1):
            step = steps.get(snapshot_id)
            before = states[snapshot_id - 1]
            states[snapshot_id] = (
                before
                if step is None
                else step.after(states, snapshot_id - 1, has_key=self.has_key)
            )
        return states

    def check(self, seen: States) -> None:
        """Compare with the snapshots that are there, the newest among them.

        Raises:
            WrongRowsError: no outcome of the doubts explains them.
        """
        latest = max(seen, default=0)
        possible = list(self.possible_states(latest))
        if not any(all(states[i] == rows for i, rows in seen.items()) for states in possible):
            raise WrongRowsError(
                f"seen {_told(seen)}\npossible:\n" + "\n".join(_told(states) for states in possible)
            )


def _told(states: States) -> str:
    return "; ".join(f"{i}: {dict(sorted(rows.items()))}" for i, rows in sorted(states.items()))
