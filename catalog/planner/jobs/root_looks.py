"""Looks at tables for a barrier, and the jobs that wait for what is under way in them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.stream_range import StreamLooks
from table_store.catalog.connectors.source import Source, source_of
from table_store.catalog.jobs.job_errors import TransactionOpenError
from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.jobs.ledger import Head
from table_store.catalog.meta_service.event_time import EventTime
from table_store.catalog.meta_service.one_moment import HangingTables, is_still
from table_store.catalog.meta_service.producer_transactions import (
    OpenTransactions,
    ProducerTransactions,
)
from table_store.catalog.meta_service.revision import Revision, RevisionClaim
from table_store.catalog.names.name_looks import NameLooks
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.epochs.consumers import committed_rows
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FormatVersionError,
    MissingFileError,
    NotFoundError,
    TableStoreError,
)
from table_store.storage.log_store.logged_table import open_logged

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RootLooks:
    """Tables of a warehouse as they were at the first look; None where there is no table.

    What the names of sources stand for is looked up once, too.

    The rows of a source that a connector makes are out up to `now_ms` then, so that the barrier
    says which they are before anybody reads them. Jobs look at least every `interval_ms`. Where
    that fails, `failures` say why, and the source is as it was. Sources in one system are as they
    were at one `moment`. `spark` asks Spark how far streams are that it reads by itself.
    """

    warehouse: Warehouse
    now_ms: int
    interval_ms: int
    spark: StreamLooks | None = None
    heads: dict[str, Head | None] = field(default_factory=dict)
    tables: dict[str, FileStoreTable] = field(default_factory=dict)
    failures: dict[str, TableStoreError] = field(default_factory=dict)
    moment: Moment = field(init=False)
    taken: dict[str, Head] = field(default_factory=dict)
    names: NameLooks = field(default_factory=NameLooks)
    event_time: EventTime = field(init=False)

    def __post_init__(self) -> None:
        self.moment = Moment(spark=self.spark)
        self.event_time = EventTime(self.warehouse, self.now_ms, self._look)

    def head(self, path: str) -> Head | None:
        """Return what a barrier takes of a table."""
        if path not in self.taken:
            seen = self._look(path)
            if seen is None:
                return None
            self.taken[path] = self.event_time.taken(*seen)
        return self.taken[path]

    def sources(self, status: JobStatus) -> tuple[str, ...]:
        """Return the directories of a job's sources as their names stand now.

        A table that was replaced has another one. Where something else has the name of a source,
        that is left out.
        """
        paths, names = status.sources or (), status.names
        found = (self.names.location(path, names.get(path)) for path in paths)
        return tuple(place for place in found if place is not None)

    def has_moved(self, path: str, followed: Head) -> bool:
        """Whether a barrier takes something else of a table than what a job has followed.

        What is as it was costs no question about event time: a barrier has taken it already.
        """
        seen = self._look(path)
        return (seen is None or seen[1] != followed) and self.head(path) != followed

    def _look(self, path: str) -> tuple[FileStoreTable, Head] | None:
        if path not in self.heads:
            try:
                self.tables[path] = open_logged(path)
                self.heads[path] = self._head(self.tables[path])
            except (MissingFileError, NotFoundError):
                self.heads[path] = None
        head = self.heads[path]
        return None if head is None else (self.tables[path], head)

    def failure(self, sources: Iterable[str]) -> TableStoreError | None:
        """Return why one of the sources of a job cannot be looked at; None if all can."""
        for path in sources:
            self._look(path)
            if path in self.failures:
                return self.failures[path]
        return None

    def are_still_so(self) -> bool:
        """Whether nothing has been committed to the tables since they were looked at."""
        return self.moment.is_one and all(
            head is None or is_still(self.tables[path], head) for path, head in self.heads.items()
        )

    def _head(self, table: FileStoreTable) -> Head:
        if table.latest_snapshot() is None:
            source = source_of(table)
            try:
                if source is not None:
                    source.advance(self.now_ms, self.interval_ms, self.moment)
                    if source.is_kept_for_jobs:
                        _release(source, table, self.moment)
            except TableStoreError as error:
                self.failures[table.path] = error
        return Head.of(table)


def _release(source: Source, table: FileStoreTable, moment: Moment) -> None:
    """Let a source forget what all jobs have committed; where nobody can tell, it keeps it."""
    try:
        rows = committed_rows(table)
    except (CorruptFileError, FormatVersionError) as error:
        _log.warning("%s keeps all of its changes: %s", table.path, error)
        return
    if rows is not None:
        source.release(rows, moment)


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What is under way in a warehouse: a revision, and transactions of producers.

    Attributes:
        revision: the one that is open.
        transactions: those that are open.
        hanging: which tables hang together; None where there are no transactions.
    """

    revision: Revision | None
    transactions: OpenTransactions
    hanging: HangingTables | None

    @classmethod
    def of(cls, warehouse: Warehouse) -> UnderWay:
        """Look at a warehouse, between the end of the ledger and the tables.

        Raises:
            CorruptFileError: a file that tells of it is damaged.
        """
        transactions = ProducerTransactions.of(warehouse).look()
        return cls(
            revision=RevisionClaim.of(warehouse).current(),
            transactions=transactions,
            hanging=HangingTables.of(warehouse) if transactions.is_used else None,
        )

    def reason_to_wait(self, sink: str, sources: Iterable[str]) -> TableStoreError | None:
        """Return why a job takes no barrier, by the directories of its tables; None if it may."""
        read = frozenset(sources)
        if self.revision is not None and self.revision.holds(sink, read):
            return self.revision.error()
        found = self.transactions.of_tables(self._with_those({sink, *read}))
        return None if found is None else found.error()

    def roots_with(self, tables: Iterable[str]) -> frozenset[str]:
        """Return roots that are to be looked at together with tables; none without transactions."""
        return frozenset() if self.hanging is None else self.hanging.roots_with(tables)

    def is_moment(self, warehouse: Warehouse, looks: RootLooks) -> bool:
        """Whether the looks, all of them after this one, saw one moment between transactions."""
        if ProducerTransactions.of(warehouse).look() != self.transactions:
            return False
        is_one = len(looks.heads) < 2 and not self.transactions.is_used
        return is_one or looks.are_still_so()

    def tell_producers(self, warehouse: Warehouse, *, is_cut: bool) -> None:
        """Ask producers for a pause, or let them go on when a barrier has been cut."""
        notes = ProducerTransactions.of(warehouse)
        if not is_cut and self.transactions.transactions:
            notes.want_pause()
        elif is_cut and self.transactions.is_pause_wanted:
            notes.end_pause()

    def unsettled(self) -> TransactionOpenError | None:
        """Why a barrier waits whose tables never were at rest; None if it need not."""
        if not self.transactions.is_used:
            return None
        return TransactionOpenError(reason="its tables are written all the while")

    def _with_those(self, tables: Iterable[str]) -> frozenset[str]:
        return frozenset(tables) if self.hanging is None else self.hanging.with_those(tables)


def waiting(
    under_way: UnderWay,
    looks: RootLooks,
    jobs: Sequence[tuple[str, str, Sequence[str], Iterable[str]]],
) -> Mapping[str, TableStoreError]:
    """Return why jobs wait, by their ids.

    A job waits for what is under way, for a source that does not answer, or for one below it that
    waits.

    Args:
        under_way: in the warehouse of the jobs.
        looks: at the sources of the others.
        jobs: id, sink, sources, and the ids of those below; each after those below it.
    """
    found: dict[str, TableStoreError] = {}
    for job, sink, sources, below in jobs:
        held = next((found[other] for other in below if other in found), None)
        reason = held or under_way.reason_to_wait(sink, sources)
        if reason is None:
            failure = looks.failure(sources)
            reason = failure if failure is not None and failure.retriable else None
        if reason is not None:
            found[job] = reason
    return found
