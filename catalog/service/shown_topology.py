"""Tables and jobs as the service tells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from table_store.catalog.jobs.history import EpochRecord
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.service.models import Job, Table
from table_store.catalog.service.observation import Observation


def shown_tables(seen: Observation) -> Iterator[Table]:
    """Yield all tables that jobs connect, roots first, each part by name."""
    readers: dict[str, list[str]] = {}
    for one in seen.jobs:
        for path in one.job.sources:
            readers.setdefault(path, []).append(one.job.id)
    sinks = {one.job.sink for one in seen.jobs}
    for path in sorted(readers.keys() - sinks, key=seen.topology.name_of):
        yield _root(seen, path, tuple(readers[path]))
    for one in seen.jobs:
        yield _sink(seen, one, tuple(readers.get(one.job.sink, ())))


def shown_job(seen: Observation, one: ObservedJob) -> Job:
    """Return a job with what its last epochs did."""
    epochs = seen.epochs[one.job.sink]
    good = [epoch for epoch in epochs if epoch.error is None]
    failed = [epoch for epoch in epochs if epoch.error is not None]
    last, last_good = epochs[-1] if epochs else None, good[-1] if good else None
    taken = one.track.taken[-1] if one.track.taken else None
    return Job(
        id=one.job.id,
        name=one.job.name,
        kind="materialized view" if one.is_view else "streaming INSERT",
        table=seen.topology.name_of(one.job.sink),
        sources=tuple(sorted(map(seen.topology.name_of, one.job.sources))),
        state=seen.states[one.job.sink].value,
        barrier=None if taken is None else taken.barrier,
        snapshot=None if taken is None else taken.snapshot,
        rule=None if last_good is None else last_good.rule,
        reason=None if last_good is None else last_good.reason,
        error=None if last is None else last.error,
        last_error=failed[-1].error if failed else None,
        failures=failures_in_a_row(epochs),
        epochs=len(epochs),
        ended_ms=None if last is None else last.ended_ms,
        milliseconds=None if last_good is None else last_good.milliseconds,
        rows_changed=None if last_good is None else last_good.rows_changed,
        rows_per_second=_rows_per_second(good),
        delay_ms=seen.delays[one.job.sink].delay_ms,
        is_submitted=one.job.sink in seen.submitted,
    )


def failures_in_a_row(epochs: Sequence[EpochRecord]) -> int:
    """Return how many epochs have failed since the last good one."""
    count = 0
    for epoch in reversed(epochs):
        if epoch.error is None:
            break
        count += 1
    return count


def _rows_per_second(good: Sequence[EpochRecord]) -> int | None:
    busy_ms = sum(epoch.milliseconds for epoch in good)
    return sum(epoch.rows_read for epoch in good) * 1000 // max(1, busy_ms) if good else None


def _root(seen: Observation, path: str, readers: tuple[str, ...]) -> Table:
    last = next(seen.barriers.newest_first(), None)
    known = None if last is None else last.roots.get(path)
    head = seen.roots.get(path)
    return Table(
        name=seen.topology.name_of(path),
        kind="Root",
        job=None,
        readers=readers,
        barrier=None if last is None or known is None else last.number,
        snapshot=None if known is None else known.head.snapshot,
        newest_snapshot=None if head is None else head.snapshot,
        delay_ms=None,
        bottlenecks=(),
    )


def _sink(seen: Observation, one: ObservedJob, readers: tuple[str, ...]) -> Table:
    delay = seen.delays[one.job.sink]
    taken = one.track.taken[-1] if one.track.taken else None
    return Table(
        name=seen.topology.name_of(one.job.sink),
        kind="Intermediate",
        job=one.job.id,
        readers=readers,
        barrier=delay.barrier,
        snapshot=None if taken is None else taken.snapshot,
        newest_snapshot=seen.newest.get(one.job.sink),
        delay_ms=delay.delay_ms,
        bottlenecks=tuple(sorted(other.job.id for other in delay.bottlenecks)),
    )
