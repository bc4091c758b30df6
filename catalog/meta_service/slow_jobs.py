"""Which barriers slow jobs take, so that barriers exist at which the tables of all are valid.

A job whose epochs outlast its interval lets barriers pass. Of two such jobs over sources that
change all the time, each would take other barriers than the other one, and a reader of both tables
would wait for a chance. So where several slow jobs hang together, each of them takes only every
2^k-th of the times at which its interval begins, with the least k for which its epochs fit in
between: the slower one takes no barrier that the faster one does not take, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from table_store.catalog.meta_service.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedJob:
    """A job that runs: what it reads, and its `JobStatus.pace`."""

    sources: Collection[str]
    pace: int


def doublings(jobs: Mapping[str, PacedJob]) -> Mapping[str, int]:
    """Return k for each job, by the directory of its table; 0: it comes as soon as it can.

    Args:
        jobs: by the directories of their tables.
    """
    components = Topology({sink: frozenset(one.sources) for sink, one in jobs.items()}).components
    slow = Counter(components[sink] for sink, one in jobs.items() if one.pace)
    return {sink: one.pace if slow[components[sink]] > 1 else 0 for sink, one in jobs.items()}
