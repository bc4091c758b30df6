"""Goal: a small part of the campaign holds in every run of the suite; its totals can be trusted.

It goes on where it was stopped, adds up what held, and tells how to repeat what did not.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from table_store.storage.kernel.errors import TableStoreError
from tests.campaign import power_cut
from tests.campaign.history import WrongRowsError
from tests.campaign.run import Campaign, run_case
from tests.campaign.technique import Case, Counts, Technique
from tests.campaign.techniques import TECHNIQUES
from tests.campaign.totals import Totals
from tests.fakes.cut_disk import CutDisk, File, Folder

SEED = 1
PLAIN = [t for t in TECHNIQUES if t.suite_cases and not t.needs_spark]


@pytest.mark.crash
@pytest.mark.slow
# What is dead closes no file.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("technique", PLAIN, ids=lambda technique: technique.name)
def test_the_first_cases_hold(technique: Technique, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in range(technique.suite_cases):
        counts.update(run_case(technique, SEED, number, tmp_path))
    assert counts.total(), "something was tried"


class FoldersForgotten(CutDisk):
    """Folders are never synchronised."""

    def fsync(self, handle: int) -> None:
        if not isinstance(self._handles[handle], Folder):
            super().fsync(handle)


class FilesForgotten(CutDisk):
    """Files are never synchronised."""

    def fsync(self, handle: int) -> None:
        if not isinstance(self._handles[handle], File):
            super().fsync(handle)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("disk", [FoldersForgotten, FilesForgotten])
@pytest.mark.parametrize("first", [0, 1])
def test_a_power_cut_finds_what_was_not_synchronised(
    disk: type[CutDisk], first: int, tmp_path: Path
) -> None:
    with pytest.raises((WrongRowsError, TableStoreError)):
        cut_on(disk, range(first, first + 10, 2), tmp_path)


def cut_on(disk: type[CutDisk], numbers: range, parent: Path) -> None:
    for number in numbers:
        folder = parent / str(number)
        folder.mkdir()
        case = Case(technique="cut", campaign_seed=SEED, number=number, folder=folder)
        power_cut.run_case(case, disk)


class Trials:
    """A technique that notes what it is asked to try, and fails on command."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.tried: list[tuple[int, int]] = []

    def run_case(self, case: Case) -> Counts:
        self.tried.append((case.number, case.seed))
        if case.number == self.fails_at:
            raise AssertionError("two rows are lost")
        return {"things": 3}

    def technique(self, name: str = "toy") -> Technique:
        return Technique(
            name=name, goal="none", suite_cases=1, release_cases=5, run_case=self.run_case
        )


def campaign(folder: Path, *trials: Trials, cases: int | None = None, seed: int = 7) -> Campaign:
    return Campaign(
        techniques=[trial.technique(f"toy{i}") for i, trial in enumerate(trials)],
        seed=seed,
        totals=Totals.load(folder / "totals.json"),
        scripts=folder / "scripts",
        folder=folder,
        cases=cases,
        commit="abc",
        say=lambda text: None,
    )


def test_a_stopped_campaign_goes_on_with_the_next_case(tmp_path: Path) -> None:
    first, second = Trials(), Trials()
    campaign(tmp_path, first, cases=2).run()
    campaign(tmp_path, second).run()
    assert [number for number, _ in first.tried] == [0, 1]
    assert [number for number, _ in second.tried] == [2, 3, 4]
    (line,) = Totals.load(tmp_path / "totals.json").lines()
    assert line == "toy0: 5 cases of 1 seeds, 15 things; commits abc"


def test_another_seed_tries_other_cases_and_adds_to_the_totals(tmp_path: Path) -> None:
    first, second = Trials(), Trials()
    campaign(tmp_path, first).run()
    campaign(tmp_path, second, seed=8).run()
    assert not {seed for _, seed in first.tried} & {seed for _, seed in second.tried}
    (line,) = Totals.load(tmp_path / "totals.json").lines()
    assert line.startswith("toy0: 10 cases of 2 seeds, 30 things")


def test_a_failure_ends_a_technique_and_is_tried_again(tmp_path: Path) -> None:
    failing, other = Trials(fails_at=1), Trials()
    first = campaign(tmp_path, failing, other)
    first.run()
    assert [number for number, _ in failing.tried] == [0, 1]
    assert [number for number, _ in other.tried] == [0, 1, 2, 3, 4]
    (script,) = first.failures
    text = script.read_text()
    assert "python -m tests.campaign --only toy0 --seed 7 --case 1" in text
    assert "# AssertionError: two rows are lost" in text
    mended = Trials()
    campaign(tmp_path, mended).run()
    assert mended.tried[0] == failing.tried[1]


def test_no_case_begins_after_the_end(tmp_path: Path) -> None:
    trial = Trials()
    late = campaign(tmp_path, trial)
    late.stop_s = 0.0
    late.run()
    assert trial.tried == []


class Stopped(Trials):
    """A technique whose case is stopped, and then cannot clean up."""

    def run_case(self, case: Case) -> Counts:
        super().run_case(case)
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionError("the answer to another call")


def test_a_case_that_was_stopped_is_no_failure_and_ends_the_run(tmp_path: Path) -> None:
    stopped, other = Stopped(), Trials()
    run = campaign(tmp_path, stopped, other)
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert (len(stopped.tried), other.tried, run.failures) == (1, [], [])
    again = Trials()
    campaign(tmp_path, again).run()
    assert again.tried[0] == stopped.tried[0]
