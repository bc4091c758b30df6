"""Wide rows into one bucket: an INT key and twenty strings of ten hexadecimal digits.

The table of Apache Paimon's micro-benchmarks for its writer (3 million rows) and its reader.
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

NAME = "wide rows"
_STRINGS = tuple(f"f{i}" for i in range(20))
_LAYOUT = TableLayout((("k", "INT"), *((name, "STRING") for name in _STRINGS)), buckets=1)
_DIGITS, _LETTERS = 10, 16
_ROWS_SHARE = 0.15


@dataclass(slots=True)
class WideRows:
    """Fifteen in a hundred of the run's rows, inserted in random order."""

    bench: Bench
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(13))

    def run(self) -> None:
        """All of it."""
        count = int(self.bench.rows * _ROWS_SHARE)
        ids = self._random.permutation(count)
        source = write_files(self.bench.folder / "wide-rows-source", ids, self._rows)
        change = Change(f"{NAME}: insert of {count:,}", "insert", source, count)
        Trial(self.bench, NAME, _LAYOUT).run([change])

    def _rows(self, ids: np.ndarray) -> pa.Table:
        lengths = np.full(len(ids), _DIGITS)
        strings = {name: texts(self._random, lengths, _LETTERS) for name in _STRINGS}
        return pa.table({"k": pa.array(ids, pa.int32()), **strings})
