"""Goal: the universal picker acts on its three triggers, in their order, by their formulas.

Runs are written newest first as (level, size); expectations as (number of runs taken, level).
"""

from __future__ import annotations

import pytest

from table_store.storage.file_store.compaction_picker import (
    CompactionUnit,
    PickerOptions,
    pick_compaction,
    pick_full_compaction,
    pick_small_files,
)
from table_store.storage.file_store.levels import Levels, levels_of
from table_store.storage.kernel.errors import CorruptFileError
from tests.fakes.metadata_table import make_file

OPTIONS = PickerOptions()

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
            [(0, 40), (0, 50), (0, 50), (0, 50), (5, 100)], None, id="190 percent is allowed"
        ),
        pytest.param(
            [(0, 50), (0, 50), (0, 50), (0, 51), (5, 100)], (5, 5), id="201 percent is not"
        ),
    ],
)
def test_space_amplification_comes_first(runs: Runs, expected: tuple[int, int] | None) -> None:
    assert taken(pick_compaction(levels(runs), OPTIONS)) == expected


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            [(0, 1), (0, 1), (3, 50), (4, 60), (5, 1000)], (2, 2), id="below the next run's level"
        ),
        pytest.param(
            [(0, 100), (0, 101), (3, 204), (4, 9000), (5, 9999)], (2, 2), id="1 percent joins"
        ),
        pytest.param(
            [(0, 100), (0, 102), (3, 204), (4, 9000), (5, 9999)], None, id="2 percent does not"
        ),
        pytest.param(
            [(0, 1), (0, 1), (0, 99), (1, 500), (5, 9999)], (4, 4), id="level 0 is no output"
        ),
        pytest.param(
            [(0, 1), (0, 1), (0, 9), (0, 99), (0, 9999)], (2, 2), id="others of level 0 go up"
        ),
    ],
)
def test_size_ratio_comes_second(runs: Runs, expected: tuple[int, int] | None) -> None:
    assert taken(pick_compaction(levels(runs), OPTIONS)) == expected


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            [(0, 1), (0, 10), (0, 100), (2, 10**3), (3, 10**4), (4, 10**5), (5, 10**7)],
            (3, 1),
            id="two too many: three become one",
        ),
        pytest.param(
            [(0, 1), (0, 10), (0, 100), (1, 10**3), (3, 10**4), (4, 10**5), (5, 10**7)],
            (4, 2),
            id="with the run of level 1",
        ),
        pytest.param(
            [(0, 1), (0, 10), (2, 10**3), (3, 10**4), (5, 10**7)], None, id="at the trigger"
        ),
    ],
)
def test_run_count_comes_last(runs: Runs, expected: tuple[int, int] | None) -> None:
    assert taken(pick_compaction(levels(runs), OPTIONS)) == expected


@pytest.mark.parametrize(
    ("runs", "expected", "raised"),
    [
        pytest.param([*[(0, 1)] * 4, (0, 9999)], (4, 4), [(5, 9999)], id="small ones, a large one"),
        pytest.param(
            [(0, 1), (0, 1), (0, 9), (0, 99), (3, 500), (5, 9999)],
            (3, 1),
            [(2, 99)],
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
    part = pick_compaction(levels([(0, 1), (0, 1), (3, 50), (4, 60), (5, 1000)]), OPTIONS)
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
    assert made.top_level == 4
    assert levels_of([]).top_level == -1


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
