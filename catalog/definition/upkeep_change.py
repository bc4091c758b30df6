"""What ALTER MATERIALIZED VIEW changes in how a view is kept up to date."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from table_store.storage.file_store.model.upkeep import RefreshPolicy, Schedule, Upkeep
from table_store.storage.kernel.errors import InvalidSchemaError


class ScheduleChange(Enum):
    """What is done with the SCHEDULE or TRIGGER of a view."""

    ADD = "ADD"
    ALTER = "ALTER"
    DROP = "DROP"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepChange:
    """A change; what is None stays as it is.

    Attributes:
        is_suspended: whether the view is to be left alone.
        policy: the new policy.
        schedule_change: what is done with the schedule.
        schedule: the new one of ADD and ALTER.
    """

    is_suspended: bool | None = None
    policy: RefreshPolicy | None = None
    schedule_change: ScheduleChange | None = None
    schedule: Schedule | None = None

    def applied(self, upkeep: Upkeep) -> Upkeep:
        """Return the upkeep after the change.

        Raises:
            InvalidSchemaError: ADD, and there is a schedule; ALTER or DROP, and there is none.
        """
        changed = upkeep
        if self.is_suspended is not None:
            changed = replace(changed, is_suspended=self.is_suspended, suspended_because=None)
        if self.policy is not None:
            changed = replace(changed, policy=self.policy)
        if self.schedule_change is not None:
            if self.schedule_change is ScheduleChange.ADD and upkeep.schedule is not None:
                raise InvalidSchemaError(
                    reason=f"the view has {upkeep.schedule.sql} already; use ALTER in place of ADD"
                )
            if self.schedule_change is not ScheduleChange.ADD and upkeep.schedule is None:
                raise InvalidSchemaError(
                    reason=f"the view has no SCHEDULE or TRIGGER to {self.schedule_change.value}"
                )
            changed = replace(changed, schedule=self.schedule)
        return changed
