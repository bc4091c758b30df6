"""How and when a materialized view is brought up to date, as its schema file has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from table_store.storage.kernel.types import Json


class RefreshPolicy(Enum):
    """Which way of refreshing a view is taken; the value is the SQL of the clause."""

    AUTO = "AUTO"
    INCREMENTAL = "INCREMENTAL"
    INCREMENTAL_STRICT = "INCREMENTAL STRICT"
    FULL = "FULL"


class TimeUnit(Enum):
    """A unit of schedules; the value is the SQL of one of them."""

    SECOND = "SECOND"
    MINUTE = "MINUTE"
    HOUR = "HOUR"
    DAY = "DAY"
    WEEK = "WEEK"

    @property
    def milliseconds(self) -> int:
        """How long it is."""
        return _MILLISECONDS[self]


_MILLISECONDS: Final = {
    TimeUnit.SECOND: 1_000,
    TimeUnit.MINUTE: 60_000,
    TimeUnit.HOUR: 3_600_000,
    TimeUnit.DAY: 86_400_000,
    TimeUnit.WEEK: 604_800_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a job runner refreshes a view.

    Attributes:
        is_on_update: whether it follows each change of what the view reads; else the clock.
        every: units from one refresh to the next; on update the least distance, None for none.
        unit: of `every`.
    """

    is_on_update: bool = False
    every: int | None = None
    unit: TimeUnit = TimeUnit.SECOND

    @property
    def distance_ms(self) -> int:
        """The least time from one refresh to the next."""
        return (self.every or 0) * self.unit.milliseconds

    @property
    def sql(self) -> str:
        """The clause of CREATE MATERIALIZED VIEW."""
        interval = f"{self.every} {self.unit.value}{'' if self.every == 1 else 'S'}"
        if not self.is_on_update:
            return f"SCHEDULE EVERY {interval}"
        least = "" if self.every is None else f" AT MOST EVERY INTERVAL {interval}"
        return f"TRIGGER ON UPDATE{least}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How a view is refreshed, when a job runner does it, and whether it is not to be.

    Attributes:
        policy: which way of refreshing is taken.
        schedule: when a job runner does it.
        is_suspended: whether REFRESH is refused.
        suspended_because: what has suspended it; None if the user has.
    """

    policy: RefreshPolicy = RefreshPolicy.AUTO
    schedule: Schedule | None = None
    is_suspended: bool = False
    suspended_because: str | None = None

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses of CREATE MATERIALIZED VIEW that say the same, without the defaults."""
        found = []
        if self.policy is not RefreshPolicy.AUTO:
            found.append(f"REFRESH POLICY {self.policy.value}")
        if self.schedule is not None:
            found.append(self.schedule.sql)
        return tuple(found)

    def to_json(self) -> dict[str, Json]:
        """Return the object of the schema file; `from_json` is the inverse."""
        schedule = self.schedule
        return {
            "policy": self.policy.value,
            "schedule": None
            if schedule is None
            else {
                "onUpdate": schedule.is_on_update,
                "every": schedule.every,
                "unit": schedule.unit.value,
            },
            "suspended": self.is_suspended,
            "because": self.suspended_because,
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Upkeep:
        """Return what `to_json` wrote.

        Raises:
            ValueError, LookupError: it is something else.
        """
        schedule = item["schedule"]
        every = None if schedule is None else schedule["every"]
        return cls(
            policy=RefreshPolicy(item["policy"]),
            schedule=None
            if schedule is None
            else Schedule(
                is_on_update=bool(schedule["onUpdate"]),
                every=None if every is None else int(every),
                unit=TimeUnit(schedule["unit"]),
            ),
            is_suspended=bool(item["suspended"]),
            suspended_because=item.get("because"),
        )


DEFAULT_UPKEEP: Final = Upkeep()
