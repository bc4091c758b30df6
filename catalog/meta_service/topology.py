"""What a barrier is in each table: pure functions over jobs, barriers and what jobs have taken.

Of a root, a table that no job writes, the ledger says which snapshot belongs to a barrier. A job's
table is *valid* at a barrier if it has the result of what its sources are there: at a barrier that
the job has taken, and at all later ones at which its sources are still the same. So quiet tables
need no snapshot of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

from table_store.catalog.jobs.ledger import Barrier
from table_store.catalog.jobs.progress import Track
from table_store.storage.kernel.frozen_map import FrozenMap

IsSame: TypeAlias = Callable[[str, int, int], bool]
"""Whether a table, by its directory, has the same rows in two snapshots."""


@dataclass(frozen=True)
class Topology:
    """Tables, by their directories, and the jobs between them.

    Attributes:
        sources: of each table that a job writes those that the job reads.
    """

    sources: Mapping[str, frozenset[str]]

    @cached_property
    def components(self) -> Mapping[str, frozenset[str]]:
        """By table all tables that hang together with it; tables of no job are absent."""
        known: dict[str, set[str]] = {}
        for sink, sources in self.sources.items():
            merged = {sink, *sources}
            for table in tuple(merged):
                merged |= known.get(table, set())
            for table in merged:
                known[table] = merged
        return FrozenMap({table: frozenset(tables) for table, tables in known.items()})

    def below(self, tables: Iterable[str]) -> frozenset[str]:
        """Return tables with all that they are results of."""
        found: set[str] = set()
        left = list(tables)
        while left:
            table = left.pop()
            if table not in found:
                found.add(table)
                left += self.sources.get(table, ())
        return frozenset(found)

    def above(self, table: str) -> tuple[str, ...]:
        """Return all tables that are results of one, each behind those of them that it reads."""
        found: list[str] = []

        def is_above(sink: str) -> bool:
            # No `any`: whatever is above comes before.
            is_read = [source == table or visit(source) for source in sorted(self.sources[sink])]
            return True in is_read

        @cache
        def visit(sink: str) -> bool:
            if sink not in self.sources or not is_above(sink):
                return False
            found.append(sink)
            return True

        for sink in sorted(self.sources.keys() - {table}):
            visit(sink)
        return tuple(found)


def snapshots_at(
    barrier: Barrier, tables: Iterable[str], tracks: Mapping[str, Track], is_same: IsSame
) -> dict[str, int]:
    """Return the snapshot of each table at a barrier; those that are not valid there are absent.

    Args:
        barrier: of the ledger.
        tables: directories of tables.
        tracks: what jobs have taken, by their tables; a table without one is a root.
        is_same: asked where a job has followed another snapshot than that of the barrier.
    """
    found: dict[str, int | None] = {}

    def snapshot_of(table: str) -> int | None:
        if table not in found:
            found[table] = None  # a table that is above itself is at no barrier
            found[table] = _of_root(table) if table not in tracks else _of_sink(table)
        return found[table]

    def _of_root(table: str) -> int | None:
        root = barrier.roots.get(table)
        return None if root is None else root.head.snapshot

    def _of_sink(table: str) -> int | None:
        taken = tracks[table].last_until(barrier.number)
        if taken is None:
            return None
        for source, followed in taken.sources.items():
            at = snapshot_of(source)
            if at is None or not (at == followed or is_same(source, at, followed)):
                return None
        # Others may have written it since, and a job that reads it has seen that.
        return max(taken.snapshot, _of_root(table) or 0)

    for table in tables:
        snapshot_of(table)
    return {table: at for table in tables if (at := found[table]) is not None}
