"""The ledger's barriers in memory, for who looks at them again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from table_store.catalog.jobs.ledger import RECORDS_KEPT, Barrier, Ledger


@dataclass(frozen=True, slots=True)
class KeptBarriers:
    """Barriers as they once were, the last one first."""

    barriers: tuple[Barrier, ...] = ()

    def renewed(self, ledger: Ledger) -> KeptBarriers:
        """Return the barriers of now; costs a list, and a read for each one that is new.

        Raises:
            CorruptFileError: a record is damaged.
            FormatVersionError: a newer version of the table store wrote one.
        """
        last = self.barriers[0].id if self.barriers else None
        new: list[Barrier] = []
        for barrier in ledger.newest_first():
            if barrier.id == last:
                return KeptBarriers((*new, *self.barriers)[:RECORDS_KEPT])
            new.append(barrier)
        return KeptBarriers(tuple(new))

    def newest_first(self) -> Iterator[Barrier]:
        """Yield all of them."""
        return iter(self.barriers)

    def get(self, number: int) -> Barrier | None:
        """Return the barrier of a number; None if it is not kept."""
        return next((one for one in self.barriers if one.number == number), None)
