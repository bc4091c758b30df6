"""Where to cut the runs of a bucket, so that several tasks share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.key_range import KeyRange, range_columns
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.values import Value, order_key

Runs: TypeAlias = tuple[tuple[DataFile, ...], ...]
KeyAt: TypeAlias = Callable[[DataFile, int], tuple[Value, ...]]
"""Returns the values of `range_columns` in one row of a file, given by its number."""

_LOOKS_PER_PIECE: Final = 4
_FILES_PER_PIECE: Final = 2


def key_ranges(
    runs: Runs, schema: TableSchema, target_bytes: int, key_at: KeyAt | None = None
) -> tuple[KeyRange, ...]:
    """Return ranges that cut the runs' keys into pieces of about `target_bytes`, at least one.

    With `key_at`, which is asked for a few rows for each range, all ranges have about the same
    number of rows, whatever the keys are. Without it, they follow from the first and last keys of
    the files: integers are taken to be spread evenly, other keys are cut between files only.
    """
    bounds: list[tuple[Value, ...]] = []
    pieces = _piece_count(runs, target_bytes)
    if pieces > 1 and (places := _range_places(schema)):
        if key_at is not None:
            bounds = _quantiles(runs, pieces, key_at)
        else:
            bounds = _even_integers(runs, places[0], pieces) or _starts(runs, places, pieces)
    return tuple(KeyRange(start, end) for start, end in pairwise([None, *bounds, None]))


def can_cut_unseen(runs: Runs, schema: TableSchema, target_bytes: int) -> bool:
    """Return whether `key_ranges` makes fairly even ranges without `key_at`."""
    pieces = _piece_count(runs, target_bytes)
    places = _range_places(schema)
    if pieces < 2 or not places:
        return True
    return bool(
        _even_integers(runs, places[0], pieces) or len(_largest(runs)) >= _FILES_PER_PIECE * pieces
    )


def meets(file: DataFile, keys: KeyRange, schema: TableSchema) -> bool:
    """Return whether the file can hold a key of the range."""
    return _overlaps(file, _range_places(schema), keys.start, keys.end)


def _piece_count(runs: Runs, target_bytes: int) -> int:
    return -(-sum(file.size_bytes for run in runs for file in run) // target_bytes)


def _largest(runs: Runs) -> Sequence[DataFile]:
    return max(runs, key=lambda run: sum(file.size_bytes for file in run))


def _range_places(schema: TableSchema) -> list[int]:
    return [schema.primary_key.index(name) for name in range_columns(schema)]


def _even_integers(runs: Runs, place: int, pieces: int) -> list[tuple[Value, ...]]:
    """Return bounds that cut the range of an integer column evenly; none for other types."""
    keys = [
        key[place] for run in runs for file in run for key in (file.key_min, file.key_max) if key
    ]
    integers = [key for key in keys if isinstance(key, int) and not isinstance(key, bool)]
    if len(integers) < len(keys) or not keys:
        return []
    low, high = min(integers), max(integers)
    if high - low < pieces:
        return []
    return [(low + (high - low) * i // pieces,) for i in range(1, pieces)]


def _starts(runs: Runs, places: Sequence[int], pieces: int) -> list[tuple[Value, ...]]:
    """Return bounds at the first keys of some `pieces` files of the largest run."""
    starts = [tuple(f.key_min[place] for place in places) for f in _largest(runs) if f.key_min]
    step = max(1, round(len(starts) / pieces))
    return starts[step::step]


def _quantiles(runs: Runs, pieces: int, key_at: KeyAt) -> list[tuple[Value, ...]]:
    """Return bounds at keys that stand at even distances in the runs, taken as one sequence."""
    files = [file for run in runs for file in run]
    ends = np.cumsum([file.row_count for file in files])
    count = pieces * _LOOKS_PER_PIECE
    numbers = np.arange(1, count) * int(ends[-1]) // count
    at = np.searchsorted(ends, numbers, side="right").tolist()
    keys = [
        key_at(files[i], n - int(ends[i]) + files[i].row_count)
        for i, n in zip(at, numbers.tolist(), strict=True)
    ]
    ordered = sorted(keys, key=order_key)
    bounds: list[tuple[Value, ...]] = []
    for key in ordered[_LOOKS_PER_PIECE - 1 :: _LOOKS_PER_PIECE]:
        if not bounds or order_key(key) > order_key(bounds[-1]):
            bounds.append(key)
    return bounds


def _overlaps(
    file: DataFile,
    places: Sequence[int],
    start: tuple[Value, ...] | None,
    end: tuple[Value, ...] | None,
) -> bool:
    if file.key_min is None or file.key_max is None:
        return True
    low = order_key(tuple(file.key_min[place] for place in places))
    high = order_key(tuple(file.key_max[place] for place in places))
    # A bound may have fewer columns than the key; then only these are compared.
    is_after = start is not None and high[: len(start)] < order_key(start)
    is_before = end is not None and low[: len(end)] >= order_key(end)
    return not (is_after or is_before)
