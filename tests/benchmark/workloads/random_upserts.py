"""Upserts of random keys, five for each key in the end, of rows of about 150 bytes.

The rows are those of the first query of Apache Paimon's cluster benchmark: a key, a name of 64 to
95 characters, eight counters and a time. There, a stream brings them and each key may come twice
in a commit; here a commit has each of its keys once, as MERGE of other formats needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tests.benchmark.bench import Bench
from tests.benchmark.random_columns import texts
from tests.benchmark.source_files import write_files
from tests.benchmark.table_layout import TableLayout
from tests.benchmark.trial import Change, Trial

NAME = "random upserts"
_COUNTERS = tuple(f"counter_{i}" for i in range(8))
_LAYOUT = TableLayout(
    (
        ("item_id", "BIGINT"),
        ("item_name", "STRING"),
        *((name, "BIGINT") for name in _COUNTERS),
        ("ts", "TIMESTAMP"),
    )
)
_ROWS_PER_KEY = 50
_UPSERTS_PER_KEY = 5
_NAME_MIN, _NAME_STEPS = 64, 32
_COUNTER_END = 10**9
_START_US = 1_700_000_000_000_000


@dataclass(slots=True)
class RandomUpserts:
    """One key for each 50 rows of the run's size; `commits` of equally many rows."""

    bench: Bench
    commits: int = 10
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(11))

    def run(self) -> None:
        """All of it."""
        keys = max(100, self.bench.rows // _ROWS_PER_KEY)
        count = min(keys, keys * _UPSERTS_PER_KEY // self.commits)
        changes = []
        for number in range(self.commits):
            ids = self._random.choice(keys, count, replace=False)
            folder = self.bench.folder / f"random-upserts-{number}"
            source = write_files(folder, ids, self._rows)
            changes.append(Change(f"{NAME}: upsert of {count:,}", "upsert", source, count))
        Trial(self.bench, NAME, _LAYOUT).run(changes)

    def _rows(self, ids: np.ndarray) -> pa.Table:
        draw, count = self._random, len(ids)
        times = pa.array(_START_US + draw.integers(0, 10**12, count))
        return pa.table(
            {
                "item_id": pa.array(ids, pa.int64()),
                "item_name": texts(draw, _NAME_MIN + ids % _NAME_STEPS),
                **{name: draw.integers(0, _COUNTER_END, count) for name in _COUNTERS},
                "ts": times.cast(pa.timestamp("us", "UTC")),
            }
        )
