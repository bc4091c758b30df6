"""Goal: the universal picker acts on its three triggers, in their order, by their formulas.

What small commits cost must not grow with their number. Runs are written newest first as
(level, size); expectations as (number of runs taken, level).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.compaction.compaction_picker import (
    CompactionUnit,
    pick_compaction,
    pick_full_compaction,
    pick_small_files,
)
from table_store.storage.file_store.model.levels import Levels, levels_of
from table_store.storage.file_store.model.storage_settings import PickerOptions
from table_store.storage.kernel.errors import CorruptFileError
from tests.fakes.metadata_table import make_file

OPTIONS = PickerOptions()
ROOMY = PickerOptions(run_count_trigger=7, level_count=8)

Runs = list[tuple[int, int]]


def levels(runs: Runs) -> Levels:
    """Make the runs real files; a run's place decides its age."""
    count = len(runs)
    return levels_of(
        [
            make_file(f"f{i}", keys=(0, 9), level=level, size=size, sequence=((count - i) * 10, 0))
            for i, (level, size) in enumerate(runs)
        ]
    )


def taken(unit: CompactionUnit | None) -> tuple[int, int] | None:
    return None if unit is None else (len(unit.runs), unit.output_level)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([(0, 1)] * 4, None, id="fewer runs than the trigger"),
        pytest.param([(0, 1)] * 5, (5, 5), id="amplified: four against one"),
        pytest.param(
            [(0, 10), (0, 30), (0, 70), (0, 80), (5, 100)], None, id="190 percent is allowed"
        ),
        pytest.param(
            [(0, 10), (0, 30), (0, 70), (0, 91), (5, 100)], (5, 5), id="201 percent is not"
        ),
    ],
)
def test_space_amplification_comes_first(runs: Runs, expected: tuple[int, int] | None) -> None:
    assert taken(pick_compaction(levels(runs), OPTIONS)) == expected


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            [*[(0, 1)] * 4, (3, 50), (4, 60), (7, 1000)], (4, 2), id="below the next run's level"
        ),
        pytest.param(
            [*[(0, 25)] * 4, (3, 101), (4, 9000), (5, 9999)], (5, 3), id="1 percent joins"
        ),
        pytest.param(
            [*[(0, 25)] * 4, (3, 102), (4, 9000), (5, 9999)], (4, 2), id="2 percent does not"
        ),
        pytest.param(
            [(0, 10), (0, 25), (0, 87), (0, 305), (3, 999), (4, 9000), (5, 9999)],
            (4, 2),
            id="new ones join up to 2.5 times the size",
        ),
        pytest.param(
            [(0, 10), (0, 26), (0, 9), (0, 9), (3, 999), (4, 9000), (5, 9999)],
            None,
            id="and no larger",
        ),
        pytest.param(
            [*[(0, 1)] * 3, (0, 99), (1, 500), (4, 9000), (5, 9999)],
            (5, 3),
            id="level 0 is no output",
        ),
        pytest.param(
            [(0, 1), (0, 1), (0, 9), (0, 99), (0, 10**3), (0, 10**4), (0, 10**5)],
            (2, 2),
            id="others of level 0 go up",
        ),
    ],
)
def test_size_ratio_comes_second(runs: Runs, expected: tuple[int, int] | None) -> None:
    assert taken(pick_compaction(levels(runs), ROOMY)) == expected


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            [(0, 1), (0, 10), (0, 100), (0, 10**3), (3, 10**4), (4, 10**5), (5, 10**7)],
            (4, 2),
            id="two too many, but all new ones become one",
        ),
        pytest.param(
            [(0, 1), (0, 10), (0, 100), (0, 10**3), (1, 10**4), (4, 10**5), (5, 10**7)],
            (5, 3),
            id="with the run of level 1",
        ),
        pytest.param(
            [*[(0, 1)] * 4, (1, 10), (2, 10**2), (3, 10**3), (4, 10**5), (5, 10**7)],
            (5, 1),
            id="no more than it must",
        ),
        pytest.param(
            [*[(0, 100)] * 4, (3, 1000), (4, 10**5), (5, 10**7)], (5, 3), id="2.5 times joins"
        ),
        pytest.param(
            [*[(0, 100)] * 4, (3, 1001), (4, 10**5), (5, 10**7)], (4, 2), id="a larger one does not"
        ),
        pytest.param(
            [(0, 1), (0, 10), (0, 100), (0, 10**3), (5, 10**7)], None, id="at the trigger"
        ),
    ],
)
def test_run_count_comes_last(runs: Runs, expected: tuple[int, int] | None) -> None:
    assert taken(pick_compaction(levels(runs), OPTIONS)) == expected


@pytest.mark.parametrize(
    ("trigger", "fresh_count", "is_due"),
    [
        (1, 1, True),
        (2, 1, True),
        (3, 1, False),
        (3, 2, True),
        (5, 3, False),
        (5, 4, True),
        (9, 3, False),
        (9, 4, True),
    ],
)
def test_new_runs_are_waited_for(trigger: int, fresh_count: int, is_due: bool) -> None:
    """So that a bucket at its trigger is not compacted after every commit."""
    older = [(level, 100**level) for level in range(1, 10)]
    options = PickerOptions(run_count_trigger=trigger, level_count=trigger + 1)
    unit = pick_compaction(levels([*[(0, 1)] * fresh_count, *older]), options)
    assert (unit is not None) is is_due


def test_superseded_rows_wait_for_nothing() -> None:
    runs = [(0, 300), (2, 1), (3, 1), (4, 1), (5, 100)]
    assert taken(pick_compaction(levels(runs), OPTIONS)) == (5, 5)


@dataclass
class Bucket:
    """A bucket's runs while one commit follows the other, and what compactions have rewritten."""

    options: PickerOptions
    runs: Runs
    rewritten: int = 0
    compactions: int = 0
    counts: list[int] = field(default_factory=list)

    def commit(self, size: int) -> None:
        self.runs.insert(0, (0, size))
        unit = pick_compaction(levels(self.runs), self.options)
        if unit is not None:
            merged = sum(run.size_bytes for run in unit.runs)
            self.rewritten += merged
            self.compactions += 1
            raised = [(run.level, run.size_bytes) for run in unit.raised]
            kept = self.runs[len(unit.runs) + len(raised) :]
            self.runs = [(unit.output_level, merged), *raised, *kept]
        self.counts.append(len(self.runs))


@pytest.mark.parametrize("base", [100, 20_000], ids=["small table", "large table"])
def test_a_thousand_commits_cost_the_same_each(base: int) -> None:
    """With RocksDB's formulas alone the last hundred cost ten times as much as the first."""
    bucket, rewritten = Bucket(OPTIONS, [(5, base * 100)]), [0]
    for number in range(1000):
        bucket.commit(95 + number * 7 % 11)
        rewritten.append(bucket.rewritten)
    assert bucket.compactions <= 1000 // 4
    assert sum(bucket.counts) / 1000 <= 5.5
    # Each row is rewritten a few times; that a large merge falls into one half is no growth.
    assert bucket.rewritten <= 7 * 1000 * 100
    assert rewritten[1000] - rewritten[500] <= 2 * rewritten[500]


@given(
    trigger=st.integers(1, 10),
    level_count=st.integers(2, 12),
    sizes=st.lists(st.integers(1, 10**6), max_size=60),
)
def test_runs_are_never_many_more_than_the_trigger(
    trigger: int, level_count: int, sizes: list[int]
) -> None:
    bucket = Bucket(PickerOptions(run_count_trigger=trigger, level_count=level_count), [])
    for size in sizes:
        bucket.commit(size)
        assert len(bucket.runs) <= trigger + 3


@pytest.mark.parametrize(
    ("runs", "expected", "raised"),
    [
        pytest.param([*[(0, 1)] * 4, (0, 9999)], (4, 4), [(5, 9999)], id="small ones, a large one"),
        pytest.param(
            [(0, 1), (0, 1), (0, 9), (0, 99), (0, 999), (0, 9999), (3, 10**5), (5, 10**7)],
            (5, 1),
            [(2, 9999)],
            id="not enough levels for two",
        ),
        pytest.param([(0, 1), (0, 1), (0, 9), (0, 99), (2, 500)], (4, 1), [], id="for none"),
    ],
)
def test_older_runs_of_level_zero_move_out_of_the_way(
    runs: Runs, expected: tuple[int, int], raised: Runs
) -> None:
    """A large first write is not rewritten with the first small ones after it."""
    unit = pick_compaction(levels(runs), OPTIONS)
    assert taken(unit) == expected
    assert unit is not None
    assert [(r.level, r.size_bytes) for r in unit.raised] == raised
    assert not unit.drop_deletes


def test_the_oldest_run_is_rewritten_where_it_has_deletions() -> None:
    """As the only run of the highest level it would keep them for good."""
    small = [make_file(f"f{i}", keys=(0, 9), size=1, sequence=(i * 10, 0)) for i in range(1, 5)]
    oldest = make_file("oldest", keys=(0, 9), size=9999, deletes=1, sequence=(0, 0))
    unit = pick_compaction(levels_of([*small, oldest]), OPTIONS)
    assert taken(unit) == (5, 5)
    assert unit is not None
    assert unit.drop_deletes


def test_deletions_are_dropped_only_when_nothing_older_remains() -> None:
    part = pick_compaction(levels([*[(0, 1)] * 4, (5, 1000)]), OPTIONS)
    whole = pick_compaction(levels([(0, 1)] * 5), OPTIONS)
    assert part is not None
    assert whole is not None
    assert (part.drop_deletes, whole.drop_deletes) == (False, True)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], None),
        ([(5, 10)], None),
        ([(0, 10)], (1, 5)),
        ([(3, 10)], (1, 5)),
        ([(0, 1), (5, 10)], (2, 5)),
    ],
)
def test_full_compaction_takes_all_unless_done(
    runs: Runs, expected: tuple[int, int] | None
) -> None:
    assert taken(pick_full_compaction(levels(runs), OPTIONS)) == expected


def test_level_zero_is_newest_first_and_before_the_levels() -> None:
    made = levels([(0, 1), (0, 2), (1, 3), (4, 4)])
    assert [(r.level, r.size_bytes) for r in made.runs] == [(0, 1), (0, 2), (1, 3), (4, 4)]


def test_files_that_were_written_side_by_side_are_one_run() -> None:
    """Else a statement that kept two cores busy would count as two."""
    files = [
        make_file("right", keys=(10, 19), sequence=(20, 29)),
        make_file("left", keys=(0, 9), sequence=(20, 25)),
        # Of another statement; and two whose keys meet.
        make_file("before", keys=(20, 29), sequence=(15, 19)),
        make_file("one", keys=(0, 5), sequence=(0, 9)),
        make_file("other", keys=(5, 9), sequence=(0, 8)),
    ]
    runs = [[file.name for file in run.run.files] for run in levels_of(files).runs]
    assert runs == [["left", "right"], ["before"], ["one"], ["other"]]


def test_overlap_on_a_level_is_corruption() -> None:
    files = [make_file(n, keys=(0, 9), level=2) for n in "ab"]
    with pytest.raises(CorruptFileError, match="'b'"):
        levels_of(files)


def test_small_files() -> None:
    """A bucket without key waits for four times as many files."""
    assert pick_small_files(levels([(0, 1)] * 19), OPTIONS) is None
    assert taken(pick_small_files(levels([(0, 1)] * 20), OPTIONS)) == (20, 5)
    assert taken(pick_small_files(levels([*[(0, 1)] * 20, (5, 1000)]), OPTIONS)) == (20, 4)


def test_small_files_with_deletes() -> None:
    """A read has to find the rows of each delete, so they are merged as early as with key."""
    made = [
        make_file(f"f{i}", keys=(0, 9), size=1, sequence=(50 - 10 * i, 0), deletes=int(i == 3))
        for i in range(5)
    ]
    assert taken(pick_small_files(levels_of(made), OPTIONS)) == (5, 5)
    assert pick_small_files(levels_of(made[1:]), OPTIONS) is None
