"""What Prometheus is told: gauges of one look at the warehouse.

Nothing is counted here, for all that is told comes from storage: how many epochs there were is told
for a window of time, as far as the kept history of a job reaches. So the answer is the same after a
restart, and from each of several services.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from table_store.catalog.meta_service.arrivals import WINDOWS_MS, Distribution, within
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.service.observation import Observation, Observer
from table_store.catalog.service.shown_topology import failures_in_a_row, shown_tables
from table_store.catalog.service.table_sizes import TableSizes

METRICS_TYPE: Final = CONTENT_TYPE_LATEST

_JOB: Final = ("job_id", "job_name", "table")


class Metrics:
    """Makes the answer for Prometheus."""

    def __init__(self, observer: Observer) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._registry.register(_OfTopology(observer))

    def to_bytes(self) -> bytes:
        """Return the metrics of now, in the text format.

        Raises:
            CorruptFileError: the registry of jobs or the ledger is damaged.
        """
        return generate_latest(self._registry)


class _OfTopology(Collector):
    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._sizes = TableSizes()

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering must not look at storage."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of a look at the warehouse."""
        seen = self._observer.now()
        look = _gauge("service_look_seconds", "How long the last look at storage took.")
        look.add_metric((), self._observer.last_look_seconds)
        yield look
        yield from _of_barriers(seen)
        yield from _of_tables(seen)
        yield from _of_sizes(seen, self._sizes)
        yield from _of_jobs(seen)
        yield from _of_epochs(seen)


def _gauge(name: str, text: str, labels: Iterable[str] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"table_store_{name}", text, labels=list(labels))


def _of_barriers(seen: Observation) -> Iterator[Metric]:
    last = next(seen.barriers.newest_first(), None)
    gauge = _gauge("last_barrier_seconds", "The last barrier, as seconds since 1970.")
    if last is not None:
        gauge.add_metric((), last.number / 1000)
    yield gauge
    gauge = _gauge(
        "readable_barrier_seconds", "The last barrier at which all tables are valid, likewise."
    )
    if seen.readable_barrier is not None:
        gauge.add_metric((), seen.readable_barrier / 1000)
    yield gauge


def _of_tables(seen: Observation) -> Iterator[Metric]:
    labels = ("table", "kind")
    barrier = _gauge(
        "table_barrier_seconds", "The last barrier at which a table is valid, likewise.", labels
    )
    snapshot = _gauge("table_snapshot", "The newest snapshot of a table.", labels)
    delay = _gauge("table_delay_seconds", "The age of the oldest change it does not show.", labels)
    for table in shown_tables(seen):
        values = (table.name, table.kind)
        if table.barrier is not None:
            barrier.add_metric(values, table.barrier / 1000)
        if table.newest_snapshot is not None:
            snapshot.add_metric(values, table.newest_snapshot)
        if table.delay_ms is not None:
            delay.add_metric(values, table.delay_ms / 1000)
    yield from (barrier, snapshot, delay)


def _of_sizes(seen: Observation, sizes: TableSizes) -> Iterator[Metric]:
    gauges = {
        name: _gauge(f"table_{name}", text, ("table",))
        for name, text in (
            ("files", "Data files of a table."),
            ("size_bytes", "Bytes of these files."),
            ("rows", "Rows in these files, superseded ones included."),
            ("sorted_runs", "Sorted runs of the bucket that has most, which a read merges."),
            ("log_lag", "Snapshots that are not in the topic of the table yet."),
        )
    }
    for path in sorted(seen.roots.keys() | seen.newest.keys()):
        size = sizes.of(path)
        for name, gauge in gauges.items():
            value = None if size is None else getattr(size, name)
            if value is not None:
                gauge.add_metric((seen.topology.name_of(path),), value)
    yield from gauges.values()


def _of_jobs(seen: Observation) -> Iterator[Metric]:
    state = _gauge("job_state", "1 for the state that a job is in.", (*_JOB, "state"))
    barrier = _gauge("job_barrier_seconds", "The last barrier that a job has taken.", _JOB)
    failures = _gauge("job_failures", "Failed epochs since the last good one.", _JOB)
    history = _gauge("job_history_seconds", "How far the kept epochs of a job reach back.", _JOB)
    for one in seen.jobs:
        values = _labels(seen, one)
        epochs = seen.epochs[one.job.sink]
        state.add_metric((*values, seen.states[one.job.sink].value), 1)
        failures.add_metric(values, failures_in_a_row(epochs))
        if one.track.taken:
            barrier.add_metric(values, one.track.taken[-1].barrier / 1000)
        if epochs:
            history.add_metric(values, max(0, seen.observed_ms - epochs[0].ended_ms) / 1000)
    yield from (state, barrier, failures, history)


def _of_epochs(seen: Observation) -> Iterator[Metric]:
    by_rule = _gauge("job_epochs", "Good epochs within a window.", (*_JOB, "window", "rule"))
    failed = _gauge("job_failed_epochs", "Failed epochs within a window.", (*_JOB, "window"))
    read = _gauge("job_rows_read", "Rows that these epochs read.", (*_JOB, "window"))
    changed = _gauge("job_rows_changed", "Rows that they changed.", (*_JOB, "window"))
    shown = (*_JOB, "window", "statistic")
    delay = _gauge("arrival_delay_seconds", "How late barriers came to a table.", shown)
    waiting = _gauge("job_waiting_seconds", "How long a job let barriers wait.", shown)
    working = _gauge("job_working_seconds", "How long the epochs of a job took.", shown)
    for one in seen.jobs:
        for window, window_ms in WINDOWS_MS.items():
            values = (*_labels(seen, one), window)
            since = seen.observed_ms - window_ms
            epochs = [e for e in seen.epochs[one.job.sink] if e.ended_ms > since]
            good = [epoch for epoch in epochs if epoch.error is None]
            for rule, count in sorted(Counter(epoch.rule or "" for epoch in good).items()):
                by_rule.add_metric((*values, rule), count)
            failed.add_metric(values, len(epochs) - len(good))
            read.add_metric(values, sum(epoch.rows_read for epoch in good))
            changed.add_metric(values, sum(epoch.rows_changed for epoch in good))
            arrived = within(seen.arrivals[one.job.sink], seen.observed_ms, window_ms)
            _add(delay, values, (a.delay_ms for a in arrived))
            _add(waiting, values, (a.waiting_ms for a in arrived))
            _add(working, values, (a.working_ms for a in arrived))
    yield from (by_rule, failed, read, changed, delay, waiting, working)


def _add(gauge: GaugeMetricFamily, values: tuple[str, ...], milliseconds: Iterable[int]) -> None:
    found = Distribution.of(milliseconds)
    if found is not None:
        for name in ("p50", "p99", "max"):
            gauge.add_metric((*values, name), getattr(found, name) / 1000)


def _labels(seen: Observation, one: ObservedJob) -> tuple[str, str, str]:
    return one.job.id, one.job.name, seen.topology.name_of(one.job.sink)
