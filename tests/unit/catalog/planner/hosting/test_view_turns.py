"""Goal: a scheduled view comes when it should, and not for ever at once after failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.hosting.view_turns import (
    PAUSE_MS_MAX,
    ScheduledView,
    begun,
    ended,
    is_due,
    pause_ms,
)
from table_store.catalog.planner.protocol.hosting import RefreshedView, ViewTurn
from table_store.storage.file_store.model.upkeep import Schedule, TimeUnit
from tests.fakes.written_topology import WrittenTopology

HOURLY = Schedule(every=1, unit=TimeUnit.HOUR)
ON_UPDATE = Schedule(is_on_update=True)
AT_MOST = Schedule(is_on_update=True, every=10, unit=TimeUnit.SECOND)
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("schedule", "seen", "heads", "since_ms", "expected"),
    [
        (HOURLY, {}, {}, HOUR_MS - 1, False),
        (HOURLY, {}, {}, HOUR_MS, True),
        (ON_UPDATE, {"/a": 1}, {"/a": 1}, HOUR_MS, False),
        (ON_UPDATE, {"/a": 1}, {"/a": 2}, 0, True),
        (ON_UPDATE, {"/a": 1}, {"/a": 1, "/b": 0}, 0, True),
        (AT_MOST, {"/a": 1}, {"/a": 2}, 9_999, False),
        (AT_MOST, {"/a": 1}, {"/a": 2}, 10_000, True),
    ],
)
def test_turn(
    schedule: Schedule, seen: dict[str, int], heads: dict[str, int], since_ms: int, expected: bool
) -> None:
    turn = ViewTurn(attempted_ms=1_000_000, seen=seen)
    assert is_due(schedule, turn, heads, 1_000_000 + since_ms) is expected


def test_after_failures() -> None:
    """Also where nothing has changed; the waits double up to a bound."""
    at_ms = 50
    turns = {"/v": ViewTurn(attempted_ms=at_ms, seen={"/a": 1}, is_running=True)}
    for count in range(1, 12):
        turns = dict(ended(turns, [RefreshedView(path="/v", error="division by zero")]))
        turn = turns["/v"]
        assert turn.failures == count
        assert not turn.is_running
        wait_ms = pause_ms(count)
        assert wait_ms == min(5_000 * 2 ** (count - 1), PAUSE_MS_MAX)
        assert not is_due(ON_UPDATE, turn, {"/a": 1}, at_ms + wait_ms - 1)
        assert is_due(ON_UPDATE, turn, {"/a": 1}, at_ms + wait_ms)
    good = ended(turns, [RefreshedView(path="/v")])["/v"]
    assert good.failures == 0
    assert not is_due(ON_UPDATE, good, {"/a": 1}, at_ms + HOUR_MS)


def test_a_table_that_another_one_replaces_has_changed(warehouse: Warehouse) -> None:
    """Once: what the new one is then is known."""
    topology = WrittenTopology(warehouse)
    path = topology.table("r").path
    job = topology.register("v", "r")
    view = ObservedJob(replace(job, commit_user=JOB_OF_VIEW), topology.table("v"), None)
    scheduled = [ScheduledView(view, ON_UPDATE, {path: topology.name("r")})]
    turns: Mapping[str, ViewTurn] = {view.job.sink: ViewTurn(seen={path: 0})}
    turns, due = begun(turns, scheduled, 1_000)
    assert not due
    new = topology.replace("r")
    turns, due = begun(turns, scheduled, 2_000)
    assert due == scheduled
    turns = ended(turns, [RefreshedView(path=view.job.sink)])
    assert turns[view.job.sink].seen == {new.path: 0}
    assert not begun(turns, scheduled, 3_000)[1]
