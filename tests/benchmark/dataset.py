"""The rows of the benchmark, and what a table must hold after any number of upserts.

`id BIGINT` (key, random order), `category INT` 0 to 99, `amount DECIMAL(12,2)`, `qty INT`,
`ts TIMESTAMP`, `name STRING` (about 20 characters, nearly all different), `note STRING` (about 40
characters, 1,000 values). A batch is a tenth of the base: nine in ten ids exist already, drawn
uniformly and without repetition, the others are new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmark.source_files import write_files
from tests.benchmark.table_layout import TableLayout

LAYOUT = TableLayout(
    (
        ("id", "BIGINT"),
        ("category", "INT"),
        ("amount", "DECIMAL(12,2)"),
        ("qty", "INT"),
        ("ts", "TIMESTAMP"),
        ("name", "STRING"),
        ("note", "STRING"),
    )
)
_BASE_FILES, _BATCH_FILES = 4, 2
_NOTES = 1000
_START_US = 1_700_000_000_000_000


@dataclass(slots=True)
class Dataset:
    """Source files of a base and of batches, made one after the other in `folder`.

    `newest` holds for each id the version that wins: 0 for the base, n for the n-th batch.
    """

    folder: Path
    rows: int
    seed: int = 7
    newest: np.ndarray = field(init=False)
    sources: list[Path] = field(default_factory=list)
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self.newest = np.zeros(0, np.int8)

    def write_base(self) -> Path:
        """Write the base; return its folder."""
        self.newest = np.zeros(self.rows, np.int8)
        return self._write(self._random.permutation(self.rows), _BASE_FILES)

    def write_batch(self) -> Path:
        """Write the next batch; return its folder."""
        count = self.rows // 10
        known = len(self.newest)
        added = count // 10
        old = self._random.choice(known, count - added, replace=False)
        ids = self._random.permutation(np.concatenate([old, np.arange(known, known + added)]))
        self.newest = np.concatenate([self.newest, np.zeros(added, np.int8)])
        self.newest[ids] = len(self.sources)
        return self._write(ids, _BATCH_FILES)

    def write_merged(self, folder: Path) -> Path:
        """Write the rows that a table with key holds now, in no order; return `folder`.

        Computed by numpy from what was drawn, by no engine that is measured.
        """
        folder.mkdir(parents=True)
        for version, source in enumerate(self.sources):
            for file in sorted(source.glob("*.parquet")):
                rows = pq.read_table(file)
                wins = self.newest[rows["id"].to_numpy()] == version
                pq.write_table(rows.filter(pa.array(wins)), folder / f"{version}-{file.name}")
        return folder

    def _write(self, ids: np.ndarray, file_count: int) -> Path:
        folder = self.folder / f"source-{len(self.sources)}"
        write_files(folder, ids, partial(sample_rows, self._random), file_count)
        self.sources.append(folder)
        return folder


def sample_rows(draw: np.random.Generator, ids: np.ndarray) -> pa.Table:
    """Return random rows with these ids, in their order."""
    count = len(ids)
    names = pa.array(draw.integers(10**17, 10**18, count)).cast(pa.string())
    return pa.Table.from_arrays(
        [
            pa.array(ids, pa.int64()),
            pa.array(draw.integers(0, 100, count, np.int32)),
            _decimals(draw.integers(100, 10_000_000, count)),
            pa.array(draw.integers(1, 1000, count, np.int32)),
            pa.array(_START_US + draw.integers(0, 31_536_000_000_000, count)).cast(_TIMESTAMP),
            pa.compute.binary_join_element_wise("n-", names, ""),
            _NOTE_VALUES.take(pa.array(draw.integers(0, _NOTES, count))),
        ],
        schema=_SCHEMA,
    )


def _decimals(cents: np.ndarray) -> pa.Array:
    words = np.stack([cents, cents >> 63], axis=1)
    return pa.Array.from_buffers(_AMOUNT, len(cents), [None, pa.py_buffer(words.tobytes())])


_AMOUNT = pa.decimal128(12, 2)
_TIMESTAMP = pa.timestamp("us", "UTC")
_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("category", pa.int32()),
        ("amount", _AMOUNT),
        ("qty", pa.int32()),
        ("ts", _TIMESTAMP),
        ("name", pa.string()),
        ("note", pa.string()),
    ]
)
_NOTE_VALUES = pa.array([f"{i:04d} a remark of about forty characters." for i in range(_NOTES)])
