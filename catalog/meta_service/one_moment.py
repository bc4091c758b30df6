"""What several tables are at one moment, at which no producer is within a transaction.

Who cuts a barrier looks at the tables, then at the notes of transactions, and then at the tables
again. If these are what they were, they were that when the notes were looked at; and if no
transaction was open then, each has all of its commits in what was seen, or none.
tests/property/test_producer_transactions.py is the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from table_store.catalog.jobs.job_errors import TransactionOpenError
from table_store.catalog.jobs.ledger import Head
from table_store.catalog.meta_service.producer_transactions import (
    OpenTransactions,
    ProducerTransactions,
)
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.meta_service.topology import Topology
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged

LOOKS_MAX: Final = 20
"""So often tables are looked at that are written all the while."""

Heads: TypeAlias = dict[str, Head]
"""What tables are, by their directories; those that are gone are absent."""


@dataclass(frozen=True, slots=True)
class HangingTables:
    """Which tables hang together, by the registry, with what its jobs write and read."""

    topology: Topology

    @classmethod
    def of(cls, warehouse: Warehouse) -> HangingTables:
        """Look at the registry; costs a list, and a read for each job; fails as its `all`."""
        jobs = JobRegistry.of(warehouse).all()
        return cls(Topology({job.sink: job.sources for job in jobs}))

    def with_those(self, tables: Iterable[str]) -> frozenset[str]:
        """Return tables with all that hang together with them."""
        found = set(tables)
        for table in tuple(found):
            found |= self.topology.components.get(table, frozenset())
        return frozenset(found)

    def roots_with(self, tables: Iterable[str]) -> frozenset[str]:
        """Return those of `with_those` that no job writes."""
        return frozenset(self.with_those(tables) - self.topology.sources.keys())


@dataclass(frozen=True, slots=True)
class TableLooks:
    """Looks at the tables in directories, again and again."""

    paths: frozenset[str]
    tables: dict[str, FileStoreTable] = field(default_factory=dict)

    def heads(self) -> Heads:
        """Return what the tables are now, one after the other."""
        found: Heads = {}
        for path in sorted(self.paths):
            with suppress(MissingFileError, NotFoundError):
                self.tables[path] = open_logged(path)
                found[path] = Head.of(self.tables[path])
        return found

    def are_still(self, heads: Heads) -> bool:
        """Whether the tables of the last look are what they were."""
        return all(is_still(self.tables[path], head) for path, head in heads.items())


def is_still(table: FileStoreTable, head: Head) -> bool:
    """Whether nothing has been committed to a table since it was looked at; a cheaper look."""
    latest = table.snapshot_store.latest_id()
    return Head.of(table) == head if latest is None else latest == head.snapshot


def seen_at_once(
    transactions: Callable[[], OpenTransactions],
    tables: Callable[[], frozenset[str]],
    look: Callable[[], Heads],
    are_still: Callable[[Heads], bool],
) -> Heads:
    """Return what tables are, all at one moment at which no transaction of them was open.

    Without any transaction in the warehouse it may be several moments, where the tables are written
    all the while.

    Args:
        transactions: looks at the notes.
        tables: which tables hang together with those that are looked at; asked where
            transactions are open.
        look: at the tables.
        are_still: whether tables are what they were; not asked of one table alone where there has
            never been a transaction.

    Raises:
        TransactionOpenError: one is open, or the tables are written all the while.
    """
    for _ in range(LOOKS_MAX):
        heads, noted = look(), transactions()
        open_one = noted.of_tables(tables()) if noted.transactions else None
        if open_one is not None:
            raise open_one.error()
        if (len(heads) < 2 and not noted.is_used) or are_still(heads):
            return heads
    if noted.is_used:
        raise TransactionOpenError(reason="its tables are written all the while")
    return heads


def roots_at_once(warehouse: Warehouse, paths: Iterable[str]) -> Heads:
    """Return what roots are, as `seen_at_once`; with transactions, all that hang together.

    Where one is open, it asks producers for a pause.

    Raises:
        TransactionOpenError: as there.
        CorruptFileError: the registry or a note is damaged.
    """
    notes = ProducerTransactions.of(warehouse)
    wanted, noted = frozenset(paths), notes.look()
    hanging = HangingTables.of(warehouse) if noted.is_used else None
    together = wanted if hanging is None else hanging.with_those(wanted)
    roots = wanted if hanging is None else wanted | hanging.roots_with(wanted)
    try:
        looks = TableLooks(roots)
        found = seen_at_once(notes.look, lambda: together, looks.heads, looks.are_still)
    except TransactionOpenError:
        notes.want_pause()
        raise
    if noted.is_pause_wanted:
        notes.end_pause()
    return found
