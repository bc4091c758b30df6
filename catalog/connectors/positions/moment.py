"""One look at a system outside for all of its tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from table_store.catalog.connectors.positions.stream_range import StreamLooks

T = TypeVar("T")


@dataclass(slots=True)
class Moment:
    """What systems outside said when they were first looked at for a barrier.

    All tables of one are taken as they were then, so that the barrier has a transaction of several
    tables in all of them, or in none.

    Attributes:
        looks: what each system said.
        is_one: whether none had to be looked at again.
        spark: asks Spark how far streams are that it reads by itself; None: nobody can.
    """

    looks: dict[Hashable, Any] = field(default_factory=dict)
    is_one: bool = True
    spark: StreamLooks | None = None

    def looked(self, system: Hashable, look: Callable[[], T], is_behind: Callable[[T], bool]) -> T:
        """Return what a system said first; what it says now if that `is_behind`.

        It is if another program, with a barrier of its own, has gone on with one of the tables.
        """
        if system in self.looks:
            found: T = self.looks[system]
            if not is_behind(found):
                return found
            self.is_one = False
        self.looks[system] = found = look()
        return found
