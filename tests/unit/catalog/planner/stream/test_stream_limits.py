"""Goal: a batch takes what fits, at least one piece, and asks for no more than it must."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from table_store.catalog.planner.stream.stream_limits import Amount, ReadLimits


def amounts(asked: list[int]) -> Iterator[Amount]:
    for number in range(1, 6):
        asked.append(number)
        yield Amount(files=1, rows=10 * number, size_bytes=100)


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (ReadLimits(), 5),
        (ReadLimits(files=3), 3),
        (ReadLimits(rows=30), 2),
        (ReadLimits(rows=29), 1),
        (ReadLimits(rows=1), 1),
        (ReadLimits(size_bytes=400), 4),
        (ReadLimits(files=4, rows=60), 3),
        (ReadLimits(files=100), 5),
    ],
)
def test_fitting(limits: ReadLimits, taken: int) -> None:
    asked: list[int] = []
    assert limits.fitting(amounts(asked)) == taken
    assert len(asked) == min(5, taken + 1)


def test_nothing_to_take() -> None:
    assert ReadLimits(files=1).fitting([]) == 0


@pytest.mark.parametrize(
    ("limits", "part_bytes"),
    [
        (ReadLimits(), 128),
        (ReadLimits(rows=5), 50),
        (ReadLimits(files=1), 100),
        (ReadLimits(size_bytes=7), 7),
        (ReadLimits(rows=1, size_bytes=7), 7),
        (ReadLimits(rows=0), 1),
    ],
)
def test_part_bytes(limits: ReadLimits, part_bytes: int) -> None:
    whole = Amount(files=10, rows=100, size_bytes=1000)
    assert limits.part_bytes(whole, 128) == part_bytes
