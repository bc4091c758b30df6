"""Which scheduled views a job runner refreshes now.

A view with SCHEDULE comes when the time since its last refresh has passed, one with TRIGGER ON
UPDATE when something that it reads has changed, be it through other views. After a refresh that
has failed it comes again after a while, each time after a longer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from table_store.catalog.jobs.ledger import Head
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.names.found_name import FoundName
from table_store.catalog.names.name_looks import NameLooks
from table_store.catalog.planner.protocol.hosting import RefreshedView, ViewTurn
from table_store.storage.file_store.model.upkeep import Schedule
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.logged_table import open_logged

PAUSE_MS: Final = 5_000
PAUSE_MS_MAX: Final = 300_000


def pause_ms(failures: int) -> int:
    """How long to wait after so many failures in a row: twice as long after each."""
    return int(min(PAUSE_MS * 2 ** min(failures - 1, 16), PAUSE_MS_MAX)) if failures else 0


@dataclass(frozen=True, slots=True)
class ScheduledView:
    """A view, and the tables that it reads, which are no views that are refreshed with it.

    `roots` has these tables by directory, each with the name by which it was found, if it was.
    """

    view: ObservedJob
    schedule: Schedule
    roots: Mapping[str, FoundName | None]

    @property
    def path(self) -> str:
        """The directory of the view."""
        return self.view.job.sink


def scheduled_views(jobs: Sequence[ObservedJob]) -> list[ScheduledView]:
    """Return the views that have a schedule and are not suspended; costs a look at each view."""
    upkeeps = {one.job.sink: one.table.schema.upkeep for one in jobs if one.is_view}
    views = {one.job.sink: one for one in jobs if one.job.sink in upkeeps}
    views = {path: one for path, one in views.items() if not upkeeps[path].is_suspended}
    found = []
    for path, one in views.items():
        schedule = upkeeps[path].schedule
        if schedule is not None:
            found.append(ScheduledView(one, schedule, _roots(one, views)))
    return found


def _roots(view: ObservedJob, views: Mapping[str, ObservedJob]) -> Mapping[str, FoundName | None]:
    """The tables, by directory, each with the name by which the view found it that reads it."""
    found: dict[str, FoundName | None] = {}
    seen: set[str] = set()
    left = [view]
    while left:
        job = left.pop().job
        for path in job.sources - seen:
            seen.add(path)
            if path in views:
                left.append(views[path])
            else:
                found[path] = job.names.get(path)
    return found


def ended(
    turns: Mapping[str, ViewTurn], refreshed: Iterable[RefreshedView]
) -> Mapping[str, ViewTurn]:
    """Return the turns after refreshes have ended."""
    found = dict(turns)
    for one in refreshed:
        turn = found.get(one.path, ViewTurn())
        failures = 0 if one.error is None else turn.failures + 1
        found[one.path] = replace(turn, is_running=False, failures=failures)
    return FrozenMap(found)


def begun(
    turns: Mapping[str, ViewTurn], views: Iterable[ScheduledView], now_ms: int
) -> tuple[Mapping[str, ViewTurn], list[ScheduledView]]:
    """Return the turns with the views that are due now, and these.

    Costs a look at each table that a view with TRIGGER ON UPDATE reads, and at its name.
    """
    found: dict[str, ViewTurn] = {}
    due = []
    looks = _Looks()
    for view in views:
        turn = turns.get(view.path) or _first(view)
        seen = looks.heads(view.roots) if _is_open(view, turn) else {}
        if not turn.is_running and is_due(view.schedule, turn, seen, now_ms):
            turn = replace(turn, attempted_ms=now_ms, seen=FrozenMap(seen), is_running=True)
            due.append(view)
        found[view.path] = turn
    return FrozenMap(found), due


def is_due(schedule: Schedule, turn: ViewTurn, heads: Mapping[str, int], now_ms: int) -> bool:
    """Whether a view whose last refresh has ended comes now; `heads` are what it reads now."""
    since_ms = now_ms - turn.attempted_ms
    if turn.failures:
        return since_ms >= pause_ms(turn.failures)
    if since_ms < schedule.distance_ms:
        return False
    return not schedule.is_on_update or heads != turn.seen


def _is_open(view: ScheduledView, turn: ViewTurn) -> bool:
    return view.schedule.is_on_update and not turn.is_running


def _first(view: ScheduledView) -> ViewTurn:
    """The turn of a view that this runner has not refreshed yet: its last barrier is known."""
    taken = view.view.track.taken
    return ViewTurn(attempted_ms=taken[-1].barrier if taken else 0)


@dataclass(frozen=True, slots=True)
class _Looks:
    """What tables and names were at the first look."""

    _known: dict[str, int] = field(default_factory=dict)
    _names: NameLooks = field(default_factory=NameLooks)

    def heads(self, roots: Mapping[str, FoundName | None]) -> dict[str, int]:
        """The last snapshots of tables, by the directories that they have now."""
        return {
            place: self._head(place)
            for path, name in roots.items()
            if (place := self._names.location(path, name)) is not None
        }

    def _head(self, path: str) -> int:
        if path not in self._known:
            try:
                self._known[path] = Head.of(open_logged(path)).snapshot
            except (MissingFileError, NotFoundError):
                self._known[path] = 0
        return self._known[path]
