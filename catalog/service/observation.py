"""One look at the topology of a warehouse, from which everything is told for a short time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from table_store.catalog.jobs.history import EpochRecord
from table_store.catalog.jobs.job_errors import NoCommonBarrierError
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.jobs.ledger import Head
from table_store.catalog.meta_service.arrivals import Arrival, arrivals
from table_store.catalog.meta_service.consistency import ConsistentReads
from table_store.catalog.meta_service.delay import Delay, delays, heads_of_roots
from table_store.catalog.meta_service.kept_barriers import KeptBarriers
from table_store.catalog.meta_service.observed_job import ObservedJob, kept_epochs
from table_store.catalog.meta_service.submitted_jobs import SubmittedJobs
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.shown.topology_tables import WarehouseTopology
from table_store.storage.kernel.errors import MissingFileError, NotFoundError

KEPT_SECONDS: Final = 0.5
"""So long everybody is told the same; at least as long as it took to look, so that the service
looks at most half of the time."""


@dataclass(frozen=True)
class Observation:
    """What storage said at `observed_ms`.

    Attributes:
        topology: names and jobs.
        observed_ms: when it was looked at, ms since 1970.
        barriers: the ledger.
        roots: what each table is that no job writes, by directory; those that are gone are absent.
        states: of each job, by the directory of its table.
        epochs: the kept epochs of each job, likewise.
        delays: of each table that a job writes, by directory.
        newest: its newest snapshot, by directory; those that are gone are absent.
        submitted: the directories of the tables whose jobs a job runner has, or is to have.
    """

    topology: WarehouseTopology
    observed_ms: int
    barriers: KeptBarriers
    roots: Mapping[str, Head]
    states: Mapping[str, JobState]
    epochs: Mapping[str, tuple[EpochRecord, ...]]
    delays: Mapping[str, Delay]
    newest: Mapping[str, int]
    submitted: frozenset[str]

    @classmethod
    def of(cls, warehouse: Warehouse, known: KeptBarriers) -> Observation:
        """Look at a warehouse; costs about nine reads for each job, and two for each root.

        Args:
            warehouse: to look at.
            known: its barriers as they were at the look before, so that these are not read again.

        Raises:
            CorruptFileError: the registry or the ledger is damaged.
            FormatVersionError: a newer version of the table store wrote a file.
        """
        now_ms = warehouse.clock.now_ms()
        # Full names everywhere: nobody who asks is in a namespace.
        topology = WarehouseTopology(warehouse, namespace="")
        jobs = topology.jobs
        barriers = known.renewed(topology.ledger)
        roots = heads_of_roots(jobs)
        found = delays(jobs, barriers, roots, now_ms)
        heads = {one.job.sink: _newest(one) for one in jobs}
        submitted = SubmittedJobs.of(warehouse)
        digests = submitted.numbers()
        return cls(
            topology=topology,
            observed_ms=now_ms,
            barriers=barriers,
            roots=roots,
            states={one.job.sink: one.state() for one in jobs},
            epochs={one.job.sink: kept_epochs(one) for one in jobs},
            delays={delay.job.job.sink: delay for delay in found},
            newest={path: at for path, at in heads.items() if at is not None},
            submitted=frozenset(
                one.job.sink for one in jobs if submitted.digest_of(one.job.sink) in digests
            ),
        )

    @property
    def jobs(self) -> list[ObservedJob]:
        """All jobs, by the names of their tables."""
        return self.topology.jobs

    @property
    def reads(self) -> ConsistentReads:
        """Finds barriers at which tables are read."""
        return ConsistentReads(self.barriers, self.jobs)

    @cached_property
    def readable_barrier(self) -> int | None:
        """The last barrier at which all tables of all jobs are valid."""
        try:
            return self.reads.last_barrier(None) if self.jobs else None
        except NoCommonBarrierError:
            return None

    @cached_property
    def arrivals(self) -> Mapping[str, tuple[Arrival, ...]]:
        """Which barriers have come to each table that a job writes, by directory."""
        return arrivals(self.epochs, {one.job.sink: one.job.sources for one in self.jobs})


class Observer:
    """Looks at a warehouse when the last look is too old; used by several threads.

    Attributes:
        last_look_seconds: how long the last look took.
        until: how long it counts, as `time.monotonic` tells it.
    """

    def __init__(self, warehouse: Warehouse, *, kept_seconds: float = KEPT_SECONDS) -> None:
        self.warehouse = warehouse
        self.last_look_seconds = 0.0
        self._kept_seconds = kept_seconds
        self._lock = threading.Lock()
        self._last: Observation | None = None
        self.until = 0.0

    def now(self) -> Observation:
        """Return a look that is not too old; one thread looks while the others wait for it."""
        with self._lock:
            begin = time.monotonic()
            if self._last is None or begin >= self.until:
                known = KeptBarriers() if self._last is None else self._last.barriers
                self._last = Observation.of(self.warehouse, known)
                end = time.monotonic()
                self.last_look_seconds = end - begin
                self.until = end + max(self._kept_seconds, end - begin)
            return self._last


def _newest(one: ObservedJob) -> int | None:
    try:
        return Head.of(one.table).snapshot
    except (MissingFileError, NotFoundError):
        return None
