"""Files of which a table's data files are only names: plans of many files open none of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from table_store.storage.file_io.local_file_io import LocalFileIO


@dataclass(frozen=True, slots=True)
class MetadataOnlyFileIO(LocalFileIO):
    """Says of every data file that it is there, so that a commit takes it."""

    def missing(self, paths: Collection[str]) -> tuple[str, ...]:
        return ()
