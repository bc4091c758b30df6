"""Finds single keys in the data files of a table, whose key columns stay in memory.

Files never change, so what is known of them stays right. Sorted keys are small: those of a file
with a million BIGINT keys take 8 MB here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.model.data_file import KIND_ADD, KIND_COLUMN, DataFile
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.values import order_key

_KEYS_BYTES_MAX: Final = 96 << 20
_STARTS_MAX: Final = 1 << 16
"""Of how many row groups the first keys are remembered."""


@dataclass(frozen=True, slots=True)
class _GroupKeys:
    """Keys of one row group in ascending order, and their kinds if some rows are deletions."""

    columns: tuple[pa.Array, ...]
    kinds: pa.Array | None

    @property
    def size_bytes(self) -> int:
        return sum(int(column.nbytes) for column in (*self.columns, self.kinds) if column)


_KEYS: Final = BoundedCache[_GroupKeys](_KEYS_BYTES_MAX, lambda keys: keys.size_bytes)
_STARTS: Final = BoundedCache[tuple[Any, ...]](_STARTS_MAX, len)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """A stored row that has a key."""

    file: DataFile
    row_group: int
    row: int
    is_deletion: bool


class _Values(Sequence[Any]):
    """A column for Python's `bisect`: only values that it compares become Python objects."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: Any) -> Any:
        return self._column[place].as_py()


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """Finds keys in the files of one table with key."""

    files: DataFileReader
    schema: TableSchema
    snapshot_id: int | None

    def newest(self, newest_first: Sequence[DataFile], key: tuple[Any, ...]) -> KeyPlace | None:
        """Return the newest row with the key, which may be a deletion.

        Args:
            newest_first: files of the key's bucket.
            key: in the form of `order_key`.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        for file in newest_first:
            low, high = order_key(file.key_min or ()), order_key(file.key_max or ())
            if low <= key and (not high or key <= high):
                place = self._place(file, key)
                if place is not None:
                    return place
        return None

    def _place(self, file: DataFile, key: tuple[Any, ...]) -> KeyPlace | None:
        for row_group in self._possible_groups(file, key[0]):
            keys = self._keys(file, row_group)
            low, high = 0, len(keys.columns[0])
            for column, value in zip(keys.columns, key, strict=True):
                values = _Values(column)
                low, high = (
                    bisect_left(values, value, low, high),
                    bisect_right(values, value, low, high),
                )
            if low < high:
                kind = KIND_ADD if keys.kinds is None else keys.kinds[low].as_py()
                return KeyPlace(
                    file=file, row_group=row_group, row=low, is_deletion=kind != KIND_ADD
                )
        return None

    def _possible_groups(self, file: DataFile, first: Any) -> range:
        """Return the row groups that can hold keys which begin with the value `first`."""
        name = self.files.path_of(file)
        starts = _STARTS.get(name)
        if starts is None:
            found = self.files.row_group_starts(
                file, self.schema.primary_key[0], snapshot_id=self.snapshot_id
            )
            starts = tuple(None if start is None else order_key(start)[0] for start in found)
            _STARTS.put(name, starts)
        if None in starts:
            return range(len(starts))
        # The key may have more columns, so the group before may end with the same first value.
        return range(max(0, bisect_left(starts, first) - 1), bisect_right(starts, first))

    def _keys(self, file: DataFile, row_group: int) -> _GroupKeys:
        name = f"{self.files.path_of(file)}#{row_group}"
        keys = _KEYS.get(name)
        if keys is None:
            rows = self.files.read_table(
                file,
                self.schema.primary_key,
                with_kinds=True,
                row_groups=[row_group],
                snapshot_id=self.snapshot_id,
            ).combine_chunks()
            keys = _GroupKeys(
                tuple(_ordered(rows[column]) for column in self.schema.primary_key),
                _whole(rows[KIND_COLUMN]) if file.delete_count else None,
            )
            _KEYS.put(name, keys)
        return keys


def _ordered(column: pa.ChunkedArray) -> pa.Array:
    """Return the column with values that Python compares like those of `order_key`."""
    return _whole(pc.cast(column, pa.int32()) if pa.types.is_date32(column.type) else column)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
