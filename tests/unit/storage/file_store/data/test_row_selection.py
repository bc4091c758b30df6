"""Which rows of a data file are read, for wanted ones among them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.data.row_selection import RowSelection, stretches_with
from table_store.storage.formats.parquet_format import PAGE_ROWS_MAX
from table_store.storage.formats.row_stretch import RowStretch


@given(places=st.sets(st.integers(0, 262_143), max_size=40), row_count=st.just(262_144))
def test_stretches_have_the_wanted_rows(places: set[int], row_count: int) -> None:
    """In order, apart from each other by more than a page, with wanted rows at both ends."""
    wanted = sorted(places)
    stretches = stretches_with(np.array(wanted, np.int64), 3, row_count)
    if stretches == (RowStretch(3, 0, row_count),):
        return
    inside = [p for s in stretches for p in wanted if s.first_row <= p < s.end]
    assert inside == wanted
    assert {s.first_row for s in stretches} | {s.end - 1 for s in stretches} <= places
    gaps = [b.first_row - a.end for a, b in pairwise(stretches)]
    assert all(gap >= PAGE_ROWS_MAX for gap in gaps)
    assert 2 * sum(s.row_count for s in stretches) <= row_count


def test_much_of_a_row_group_is_read_as_a_whole() -> None:
    every = np.arange(0, 100_000, 9_000)
    assert stretches_with(every, 0, 100_000) == (RowStretch(0, 0, 100_000),)
    assert stretches_with(every[:3], 0, 100_000) == (RowStretch(0, 0, 18_001),)
    assert stretches_with(every[:0], 0, 100_000) == ()


@given(data=st.data())
def test_row_numbers(data: st.DataObject) -> None:
    """They are those of a model that numbers all rows of the file and picks the selected."""
    rows = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    stretches: list[RowStretch] = []
    numbers: list[int] = []
    start = 0
    for group, count in enumerate(rows):
        edges = sorted(data.draw(st.sets(st.integers(0, count), max_size=4)))
        for low, high in zip(edges[::2], edges[1::2], strict=False):
            stretches.append(RowStretch(group, low, high - low))
            numbers.extend(range(start + low, start + high))
        start += count
    selection = RowSelection(rows, tuple(stretches))
    assert selection.row_count == len(numbers)
    first = data.draw(st.integers(0, len(numbers)))
    count = data.draw(st.integers(0, len(numbers) - first))
    assert selection.row_numbers(first, count).tolist() == numbers[first : first + count]
