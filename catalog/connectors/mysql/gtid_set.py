"""Sets of transactions that a database's binlog has, by their global identifiers.

MySQL names a transaction by the server's UUID and a number, and a set by ranges of numbers, which
may have holes: `3e11fa47-…:1-5:7,…`. MariaDB names it by domain, server and number; where a binlog
is, it says by the last transaction of each domain, `0-7-42`, as all before it are there. Sources:
MySQL's reference manual, "GTID Format and Storage"; MariaDB's documentation, "Global Transaction
ID".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from table_store.storage.kernel.frozen_map import FrozenMap

_MARIADB: Final = re.compile(r"(\d+)-\d+-(\d+)")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class GtidSet:
    """A set of transactions.

    Attributes:
        ranges: by source (a server's UUID, or a domain) the numbers, first and last of each range,
            which rise and do not touch each other.
        text: as the database writes it; empty for the difference of two sets.
    """

    ranges: Mapping[str, Ranges]
    text: str = field(default="", compare=False)

    @classmethod
    def of_text(cls, text: str) -> GtidSet:
        """Return the set that either database writes so.

        Raises:
            ValueError: neither does.
        """
        found = "".join(text.split())
        parts = found.split(",") if found else []
        if all(_MARIADB.fullmatch(part) for part in parts):
            pairs = [part.split("-") for part in parts]
            ranges = {domain: ((1, int(number)),) for domain, _, number in pairs if int(number)}
            return cls(FrozenMap(ranges), found)
        return cls(FrozenMap(dict(map(_of_part, parts))), found)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, gtid: tuple[str, int]) -> bool:
        """Return whether the transaction of a source and a number is in it."""
        source, number = gtid
        return any(first <= number <= last for first, last in self.ranges.get(source, ()))

    def __sub__(self, other: GtidSet) -> GtidSet:
        """Return those of this set that are not in the other one."""
        left = {
            source: _without(ranges, other.ranges.get(source, ()))
            for source, ranges in self.ranges.items()
        }
        return GtidSet(FrozenMap({source: ranges for source, ranges in left.items() if ranges}))

    def with_transactions(self, gtids: Iterable[tuple[str, int]]) -> GtidSet:
        """Return the set of MySQL that has others, too, each by its source and number."""
        found = {source: list(ranges) for source, ranges in self.ranges.items()}
        for source, number in gtids:
            found.setdefault(source, []).append((number, number))
        ranges = {source: tuple(_joined(sorted(pairs))) for source, pairs in found.items()}
        whole = GtidSet(FrozenMap(ranges))
        return GtidSet(whole.ranges, str(whole))

    def __str__(self) -> str:
        shown = (
            f"{source}:{':'.join(_shown(first, last) for first, last in ranges)}"
            for source, ranges in self.ranges.items()
        )
        return self.text or ",".join(shown)

    @property
    def count(self) -> int:
        """How many transactions it has."""
        return sum(last - first + 1 for ranges in self.ranges.values() for first, last in ranges)

    @property
    def lasts(self) -> Mapping[str, int]:
        """The greatest number of each source."""
        return {source: ranges[-1][1] for source, ranges in self.ranges.items()}


def _of_part(part: str) -> tuple[str, Ranges]:
    source, *texts = part.lower().split(":")
    found = [_RANGE.fullmatch(text) for text in texts]
    pairs = sorted((int(m[1]), int(m[2] or m[1])) for m in found if m is not None)
    if not texts or None in found or _UUID.fullmatch(source) is None:
        raise ValueError(f"{part!r} names no transactions")
    return source, tuple(_joined(pairs))


def _joined(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for first, last in pairs:
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _without(ranges: Ranges, others: Ranges) -> Ranges:
    left = list(ranges)
    for begin, end in others:
        left = [
            (first, last)
            for low, high in left
            for first, last in ((low, min(high, begin - 1)), (max(low, end + 1), high))
            if first <= last
        ]
    return tuple(left)


def _shown(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
