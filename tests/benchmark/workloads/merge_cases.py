"""MERGE by what it meets: share of the files, share of their rows, and rows that are new.

After the merge test cases of Delta's own benchmarks: insert-only, delete-only and upserts. The
table is written in ranges of its key, so that few files hold a range of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from tests.benchmark.bench import Bench
from tests.benchmark.dataset import LAYOUT, sample_rows
from tests.benchmark.source_files import write_files
from tests.benchmark.trial import Change, Trial
from tests.benchmark.truth import ChangeKind

NAME = "merge cases"
_FILES = 20
_ROWS_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class _Case:
    kind: ChangeKind
    files: float
    matched: float
    added: float = 0.0

    @property
    def work(self) -> str:
        parts = [f"{NAME}: {_WORDS[self.kind]}, {self.files:.0%} of files"]
        parts += [f"{self.matched:.0%} of their rows"] if self.matched else []
        parts += [f"{self.added:.0%} new"] if self.added else []
        return ", ".join(parts)


_WORDS = {"merge": "upsert", "insert new": "insert-only", "delete": "delete-only"}
_CASES = (
    _Case("insert new", 0.05, 0, 0.05),
    _Case("insert new", 0.05, 0.5, 0.05),
    _Case("merge", 0.05, 0.01, 0.10),
    _Case("merge", 0.05, 0.10, 0.10),
    _Case("merge", 0.05, 0.50, 0.01),
    _Case("merge", 0.05, 1.00),
    _Case("merge", 0.50, 0.01),
    _Case("merge", 1.00, 0.01),
    _Case("delete", 0.05, 0.01),
    _Case("delete", 0.05, 0.50),
)


@dataclass(slots=True)
class MergeCases:
    """A fifth of the run's rows, with even keys; new rows have odd ones. Cases follow each other.

    A later case meets the rows that an earlier one has left: deletions come last.
    """

    bench: Bench
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(19))
    _odd: count[int] = field(default_factory=lambda: count(1, 2))

    def run(self) -> None:
        """All of it."""
        rows = int(self.bench.rows * _ROWS_SHARE)
        base = self._write("base", 2 * self._random.permutation(rows))
        work = f"{NAME}: insert of {rows:,}"
        changes = [Change(work, "insert", base, rows, files=_FILES)]
        for number, case in enumerate(_CASES):
            met = int(rows * case.files)
            old = 2 * self._random.choice(met, int(met * case.matched), replace=False)
            added = int(met * case.added)
            new = np.fromiter((next(self._odd) for _ in range(added)), np.int64, added)
            ids = self._random.permutation(np.concatenate([old, new]).astype(np.int64))
            source = self._write(f"case-{number}", ids)
            changes.append(Change(case.work, case.kind, source, len(ids)))
        Trial(self.bench, NAME, LAYOUT).run(changes)

    def _write(self, name: str, ids: np.ndarray) -> Path:
        folder = self.bench.folder / f"merge-{name}"
        return write_files(folder, ids, partial(sample_rows, self._random))
