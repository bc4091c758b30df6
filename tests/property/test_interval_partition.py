"""Goal: sections share no key, runs are sorted and disjoint, and no run is older than it looks.

Files are random key ranges with distinct ages; the oracle looks at every pair of files.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.metadata.manifest_entry import entries_from_files
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.interval_partition import interval_partition
from table_store.storage.file_store.model.key_sections import section_numbers
from tests.fakes.metadata_table import KEYED, make_file

ranges = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12), st.integers(0, 1), st.sampled_from("pq")),
    max_size=14,
)


def files_of(made: list[tuple[int, int, int, str]]) -> list[DataFile]:
    return [
        make_file(
            f"f{i}",
            partition=(partition,),
            keys=(low, low + width),
            bucket=bucket,
            sequence=(10 * i, 10 * i + 9),
        )
        for i, (low, width, bucket, partition) in enumerate(made)
    ]


def bounds(file: DataFile) -> tuple[int, int]:
    """Return the least and greatest `k`."""
    assert file.key_min is not None
    assert file.key_max is not None
    low, high = file.key_min[1], file.key_max[1]
    assert isinstance(low, int)
    assert isinstance(high, int)
    return low, high


def overlap(one: DataFile, other: DataFile) -> bool:
    return bounds(one)[0] <= bounds(other)[1] and bounds(other)[0] <= bounds(one)[1]


@given(ranges)
def test_sections_and_runs(made: list[tuple[int, int, int, str]]) -> None:
    files = [
        make_file(f.name, partition=("p",), keys=(low, low + width), sequence=(10 * i, 0))
        for i, (f, (low, width, _, _)) in enumerate(zip(files_of(made), made, strict=True))
    ]
    sections = interval_partition(files)
    place = {
        file.name: (s, r)
        for s, section in enumerate(sections)
        for r, run in enumerate(section)
        for file in run.files
    }
    assert sorted(place) == sorted(f.name for f in files)
    for older, newer in combinations(files, 2):
        if overlap(older, newer):
            assert place[older.name][0] == place[newer.name][0]
            assert place[older.name][1] < place[newer.name][1]
    highest = -1
    for section in sections:
        ranges_of_section = [bounds(f) for run in section for f in run.files]
        assert min(low for low, _ in ranges_of_section) > highest
        highest = max(high for _, high in ranges_of_section)


@given(ranges)
def test_the_vectorised_sections_are_the_same(made: list[tuple[int, int, int, str]]) -> None:
    files = files_of(made)
    entries = entries_from_files(KEYED, added=files)
    numbers = section_numbers(entries, KEYED)
    expected: dict[str, object] = {}
    for bucket in {(f.partition, f.bucket) for f in files}:
        inside = [f for f in files if (f.partition, f.bucket) == bucket]
        for number, section in enumerate(interval_partition(inside)):
            for run in section:
                expected |= {f.name: (bucket, number) for f in run.files}
    for (i, one), (j, other) in combinations(enumerate(files), 2):
        assert (numbers[i] == numbers[j]) == (expected[one.name] == expected[other.name])
    assert numbers.dtype == np.int64
