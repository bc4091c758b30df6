"""Files of a bucket as sections that share no key, each with the fewest runs its ages allow.

Source: Paimon's IntervalPartition, which packs files into runs by key only, because its merge
compares sequence numbers row by row. Here a merge takes the last of equal keys over runs
concatenated from old to new, so a file must come in a later run than every older file it overlaps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from table_store.storage.file_store.data_file import DataFile
from table_store.storage.file_store.sorted_run import SortedRun, age, key_max, key_min


def interval_partition(files: Sequence[DataFile]) -> tuple[tuple[SortedRun, ...], ...]:
    """Return the sections in ascending key order, the runs of each from old to new.

    No key occurs in two sections. For a file and a newer one with overlapping ranges in one
    section, the newer is in a later run. O(n * runs * log n); files must have key ranges.
    """
    return tuple(_runs(section) for section in _sections(files))


def _sections(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    section: list[DataFile] = []
    greatest: tuple[object, ...] = ()
    for file in sorted(files, key=key_min):
        if section and key_min(file) > greatest:
            yield section
            section, greatest = [], ()
        section.append(file)
        greatest = max(greatest, key_max(file)) if greatest else key_max(file)
    if section:
        yield section


def _runs(section: Sequence[DataFile]) -> tuple[SortedRun, ...]:
    runs: list[list[DataFile]] = []
    starts: list[list[tuple[object, ...]]] = []  # key_min of each file of each run, ascending
    for file in sorted(section, key=age):
        low, high = key_min(file), key_max(file)
        # The newest run that holds an overlapping (older) file; this file goes just above it.
        number = len(runs)
        while number > 0 and not _overlaps(runs[number - 1], starts[number - 1], low, high):
            number -= 1
        if number == len(runs):
            runs.append([])
            starts.append([])
        position = bisect_left(starts[number], low)
        runs[number].insert(position, file)
        starts[number].insert(position, low)
    return tuple(SortedRun(tuple(run)) for run in runs)


def _overlaps(
    run: Sequence[DataFile],
    starts: Sequence[tuple[object, ...]],
    low: tuple[object, ...],
    high: tuple[object, ...],
) -> bool:
    """Return whether [low, high] meets a file of the run; its files are disjoint and ascending."""
    position = bisect_left(starts, low)
    if position < len(run) and key_min(run[position]) <= high:
        return True
    return position > 0 and key_max(run[position - 1]) >= low
