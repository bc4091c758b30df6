"""Epochs of ten rows, one after the other: what they take, and whether anything grows with them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from table_store import open_table
from tests.benchmark.bench import Bench
from tests.benchmark.held_resources import held_resources
from tests.benchmark.measurements import WrongResultError
from tests.servers.bank_transfers import VIEWS, random_transfers

_ROWS: Final = 10
_SLICE: Final = 100
_KEPT: Final = 50
"""Snapshots of each table: with few, files are as many after a hundred epochs as at the end."""
_UPKEEP_EVERY: Final = 25
"""Epochs after which the table below is compacted, and snapshots of it expire: at most 50 each time
(`snapshot.expire.limit`), so that they would pile up with one turn for each slice."""


@dataclass(slots=True)
class Epochs:
    """The bank's chain of four views, refreshed after each ten transfers.

    The first slice is the JVM's warm-up. All others are compared with the second one.
    """

    bench: Bench
    epochs: int
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(29))

    def run(self) -> None:
        """All epochs, in a namespace of its own."""
        self._say("CREATE NAMESPACE table_store.epochs")
        self._say("USE table_store.epochs")
        self._say(
            "CREATE TABLE transactions (id BIGINT, from_account INT, to_account INT, "
            f"amount BIGINT) WITH ('snapshot.num-retained.max' = '{_KEPT}')"
        )
        for name, query in VIEWS.items():
            self._say(
                f"CREATE MATERIALIZED VIEW {name} WITH ('snapshot.num-retained.max' = '{_KEPT}') "
                f"AS {query}"
            )
        table = open_table(self.bench.location("table_store.epochs.transactions")).storage
        folder = Path(self.bench.location("table_store.epochs.transactions")).parent
        slices: list[dict[str, float]] = []
        for first in range(0, self.epochs, _SLICE):
            taken = []
            for number in range(first, min(first + _SLICE, self.epochs)):
                table.append(random_transfers(self._random, _ROWS))
                begin = time.monotonic()
                self._say("REFRESH MATERIALIZED VIEW total")
                taken.append(time.monotonic() - begin)
                if not (number + 1) % _UPKEEP_EVERY:
                    # What a stream that feeds the table does after its commits.
                    table.compact()
                    table.expire_snapshots()
            slices.append({"p50, seconds": statistics.median(taken), **held_resources(folder)})
            shown = ", ".join(f"{name} {value:,.2f}" for name, value in slices[-1].items())
            self.bench.say(f"epochs: {first + len(taken):,}: {shown}")
        (total,) = self.bench.spark.sql("SELECT total FROM total").collect()
        if total[0] != 0:
            raise WrongResultError(f"the balances sum to {total[0]}")
        begun, last = slices[min(1, len(slices) - 1)], slices[-1]
        for name, value in last.items():
            self.bench.measured.figures[f"{self.epochs:,} epochs of {_ROWS} rows, {name}"] = {
                f"epochs {_SLICE} to {2 * _SLICE}": begun[name],
                f"last {_SLICE}": value,
                "last / first": value / begun[name],
            }
        self._say("DROP NAMESPACE table_store.epochs CASCADE")

    def _say(self, statement: str) -> None:
        self.bench.spark.sql(statement).collect()
