"""What a table must hold after changes, worked out by DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import duckdb

ChangeKind = Literal["insert", "upsert", "merge", "insert new", "delete"]
"""What becomes of the rows of a source: all are added; or those with a known key replaced and the
others added (`merge` in so many words); or only the others added; or the known ones deleted."""


class Truth:
    """The rows of a table by key. Its database file is in `folder`."""

    def __init__(self, folder: Path, key: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._database = duckdb.connect(str(folder / "truth.duckdb"))
        self._database.execute("SET TimeZone = 'UTC'; SET memory_limit = '3GB'; SET threads = 2")
        self._key = key
        self._is_empty = True

    def apply(self, kind: ChangeKind, source: Path) -> None:
        """Change the rows as the files of a source say."""
        rows = f"read_parquet('{source}/*.parquet')"
        known = f"{self._key} IN (SELECT {self._key} FROM {{}})"
        if self._is_empty:
            self._database.execute(f"CREATE TABLE truth AS FROM {rows} WHERE false")
            self._is_empty = False
        if kind in {"upsert", "merge", "delete"}:
            self._database.execute(f"DELETE FROM truth WHERE {known.format(rows)}")
        if kind == "insert new":
            new = f"NOT ({known.format('truth')})"
            self._database.execute(f"INSERT INTO truth FROM {rows} WHERE {new}")
        elif kind != "delete":
            self._database.execute(f"INSERT INTO truth FROM {rows}")

    def save(self, folder: Path) -> Path:
        """Write the rows, in no order, and forget them; return `folder`."""
        folder.mkdir(parents=True)
        self._database.execute(f"COPY truth TO '{folder}/rows.parquet' (FORMAT parquet)")
        self._database.close()
        return folder
