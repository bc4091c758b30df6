"""Divides files of a bucket into sections that share no key, each with as few runs as possible.

Source: Paimon's IntervalPartition, which packs files into runs by key only, because its merge
compares sequence numbers row by row. Here a merge takes the last of equal keys over runs
concatenated from old to new, so a file must come in a later run than every older file it overlaps.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.sorted_run import SortedRun, age, key_max, key_min


@dataclass(frozen=True, slots=True)
class _Ranged:
    """A file with its key range in a form that Python can compare, computed once."""

    low: tuple[Any, ...]
    high: tuple[Any, ...]
    file: DataFile


def interval_partition(files: Sequence[DataFile]) -> tuple[tuple[SortedRun, ...], ...]:
    """Return the sections in ascending key order, the runs of each from old to new.

    No key occurs in two sections. For a file and a newer one with overlapping ranges in one
    section, the newer is in a later run. O(n * runs * log n); files must have key ranges.
    """
    return tuple(_runs(section) for section in _sections(files))


def key_sections(files: Sequence[DataFile]) -> tuple[tuple[DataFile, ...], ...]:
    """Return the sections without runs; the files may be of different snapshots."""
    return tuple(tuple(item.file for item in section) for section in _sections(files))


def _sections(files: Sequence[DataFile]) -> Iterator[list[_Ranged]]:
    section: list[_Ranged] = []
    greatest: tuple[Any, ...] = ()
    ranged = [_Ranged(key_min(file), key_max(file), file) for file in files]
    for item in sorted(ranged, key=lambda r: r.low):
        if section and item.low > greatest:
            yield section
            section, greatest = [], ()
        section.append(item)
        greatest = max(greatest, item.high) if greatest else item.high
    if section:
        yield section


def _runs(section: Sequence[_Ranged]) -> tuple[SortedRun, ...]:
    if len(section) == 1:
        return (SortedRun((section[0].file,)),)
    runs: list[list[_Ranged]] = []
    for item in sorted(section, key=lambda r: age(r.file)):
        # Find the newest run with an overlapping (older) file; this file goes just above it.
        number = len(runs)
        while number > 0 and not _overlaps(runs[number - 1], item):
            number -= 1
        if number == len(runs):
            runs.append([])
        insort(runs[number], item, key=lambda r: r.low)
    return tuple(SortedRun(tuple(item.file for item in run)) for run in runs)


def _overlaps(run: Sequence[_Ranged], item: _Ranged) -> bool:
    """Return whether the item overlaps a file of the run; these are disjoint and ascending."""
    position = bisect_left(run, item.low, key=lambda r: r.low)
    if position < len(run) and run[position].low <= item.high:
        return True
    return position > 0 and run[position - 1].high >= item.low
