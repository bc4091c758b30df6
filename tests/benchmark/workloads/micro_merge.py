"""MERGE of very few rows into a large table, each followed by a query.

After the micro-benchmark of LHBench: four columns, updates of 0.0001 to 0.1 % of the rows.
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

NAME = "micro merge"
_LAYOUT = TableLayout((("id", "BIGINT"), ("a", "BIGINT"), ("b", "INT"), ("c", "STRING")))
_SHARES = (0.000_001, 0.000_01, 0.000_1, 0.001)
_QUERY = "SELECT b, count(*), sum(a), max(c) FROM {} GROUP BY b"
_GROUPS = 100
_TEXT_LENGTH = 20


@dataclass(slots=True)
class MicroMerge:
    """As many rows as the run has, then a MERGE for each share."""

    bench: Bench
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(17))

    def run(self) -> None:
        """All of it."""
        rows = self.bench.rows
        base = write_files(self.bench.folder / "micro-base", np.arange(rows), self._rows)
        changes = [Change(f"{NAME}: insert of {rows:,}", "insert", base, rows)]
        for share in dict.fromkeys(max(1, int(rows * share)) for share in _SHARES):
            ids = self._random.choice(rows, share, replace=False)
            source = write_files(self.bench.folder / f"micro-{share}", ids, self._rows, files=1)
            work = f"{NAME}: MERGE of {share:,}"
            changes.append(Change(work, "merge", source, share, query=_QUERY))
        Trial(self.bench, NAME, _LAYOUT).run(changes)

    def _rows(self, ids: np.ndarray) -> pa.Table:
        draw, count = self._random, len(ids)
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "a": draw.integers(0, 10**12, count),
                "b": draw.integers(0, _GROUPS, count, np.int32),
                "c": texts(draw, np.full(count, _TEXT_LENGTH)),
            }
        )
