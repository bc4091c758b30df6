"""MERGE of a tenth of a table's rows, half of them new, with all columns: 1 into 10 million."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tests.benchmark.bench import Bench
from tests.benchmark.dataset import LAYOUT, sample_rows
from tests.benchmark.source_files import write_files
from tests.benchmark.trial import Change, Trial

NAME = "large merge"


@dataclass(slots=True)
class LargeMerge:
    """As many rows as the run has, then one MERGE."""

    bench: Bench
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(23))

    def run(self) -> None:
        """All of it."""
        rows, count = self.bench.rows, self.bench.rows // 10
        draw, folder = self._random, self.bench.folder
        sample = partial(sample_rows, draw)
        base = write_files(folder / "large-base", draw.permutation(rows), sample, files=4)
        old = draw.choice(rows, count - count // 2, replace=False)
        ids = draw.permutation(np.concatenate([old, np.arange(rows, rows + count // 2)]))
        source = write_files(folder / "large-source", ids, sample)
        changes = [
            Change(f"{NAME}: insert of {rows:,}", "insert", base, rows),
            Change(f"{NAME}: MERGE of {count:,}", "merge", source, count),
        ]
        Trial(self.bench, NAME, LAYOUT).run(changes)
