"""Parquet files of rows that are made piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_CHUNK_ROWS = 500_000


def write_files(
    folder: Path, ids: np.ndarray, rows: Callable[[np.ndarray], pa.Table], files: int = 2
) -> Path:
    """Write the rows of all ids in some files; return `folder`."""
    folder.mkdir(parents=True)
    for number, part in enumerate(np.array_split(ids, files)):
        chunks = [part[i : i + _CHUNK_ROWS] for i in range(0, len(part), _CHUNK_ROWS)]
        if not chunks:
            continue
        first = rows(chunks[0])
        path = folder / f"part-{number}.parquet"
        with pq.ParquetWriter(path, first.schema, compression="snappy") as writer:
            writer.write_table(first)
            for chunk in chunks[1:]:
                writer.write_table(rows(chunk))
    return folder
