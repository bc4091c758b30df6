"""How late barriers came to tables, as the service tells it."""

from __future__ import annotations

from table_store.catalog.meta_service.arrivals import WINDOWS_MS, Distribution, within
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.service.models import JobShare, TableDelay, WindowDelay, WindowShare
from table_store.catalog.service.observation import Observation


def table_delay(seen: Observation, one: ObservedJob) -> TableDelay:
    """Return how late the table of a job is now, and how late barriers came to it."""
    arrived = seen.arrivals[one.job.sink]
    windows = (
        WindowDelay(
            window=name,
            delay_ms=Distribution.of(
                a.delay_ms for a in within(arrived, seen.observed_ms, window_ms)
            ),
        )
        for name, window_ms in WINDOWS_MS.items()
    )
    return TableDelay(
        table=seen.topology.name_of(one.job.sink),
        job=one.job.id,
        delay_ms=seen.delays[one.job.sink].delay_ms,
        known_since_ms=arrived[0].arrived_ms if arrived else None,
        windows=tuple(windows),
    )


def job_share(seen: Observation, one: ObservedJob) -> JobShare:
    """Return what a job added to the delay of its table."""
    windows = []
    for name, window_ms in WINDOWS_MS.items():
        arrived = within(seen.arrivals[one.job.sink], seen.observed_ms, window_ms)
        share = WindowShare(
            window=name,
            waiting_ms=Distribution.of(a.waiting_ms for a in arrived),
            working_ms=Distribution.of(a.working_ms for a in arrived),
        )
        windows.append(share)
    return JobShare(
        job=one.job.id, table=seen.topology.name_of(one.job.sink), windows=tuple(windows)
    )
