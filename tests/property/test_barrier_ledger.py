"""Goal: drivers that cut barriers at once agree about all of them, and nothing goes back.

Method: hypothesis chooses which driver does its next step: a commit to a root, a look at a root, or
an operation on the ledger's files. Each driver runs the real code in a thread of its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.catalog.jobs.ledger import Barrier, Head, Ledger
from tests.fakes.counting_ids import CountingIds
from tests.fakes.stepped_files import SteppedFiles, Steps

DRIVERS = 3
CUTS = 4
ROOTS = ("/w/a", "/w/b")


@settings(max_examples=300)
@given(
    order=st.lists(st.integers(0, DRIVERS - 1), max_size=150),
    clocks=st.lists(st.integers(1, 20), min_size=DRIVERS * CUTS, max_size=DRIVERS * CUTS),
    read=st.lists(st.sets(st.sampled_from(ROOTS), min_size=1), min_size=DRIVERS, max_size=DRIVERS),
    kept=st.sampled_from([1, 2, 3, 500]),
)
def test_all_drivers_agree(
    order: list[int], clocks: list[int], read: list[set[str]], kept: int
) -> None:
    files: dict[str, bytes] = {}
    steps = Steps(DRIVERS)
    commits = dict.fromkeys(ROOTS, 0)
    cuts: list[Barrier] = []
    broken: list[str] = []

    def drive(driver: int) -> None:
        file_io: Any = SteppedFiles(files, steps, driver)
        ledger = Ledger(file_io, "/w", CountingIds(str(driver)), records_kept=kept)

        def heads() -> dict[str, Head]:
            found: dict[str, Head] = {}
            for root in sorted(read[driver]):
                steps.wait(driver)
                found[root] = Head(snapshot=commits[root], created_ms=1)
            return found

        for cut in range(CUTS):
            for root in read[driver]:
                commits[root] += 1
            begun, known = list(cuts), dict(commits)
            barrier = ledger.cut(clocks[driver * CUTS + cut], heads)
            if any(barrier.number <= before.number for before in begun):
                broken.append(f"{barrier} was cut after {begun}")
            if any(barrier.snapshots[root] < known[root] for root in read[driver]):
                broken.append(f"{barrier} is older than {known}")
            cuts.append(barrier)
            found = ledger.get(barrier.number)
            if found not in (barrier, None) or (found is None and kept == 500):
                broken.append(f"{found} is not {barrier}")

    steps.run([drive] * DRIVERS, order)
    assert broken == []
    assert len(cuts) == DRIVERS * CUTS
    in_order = sorted(cuts, key=lambda barrier: barrier.position)
    for before, after in pairwise(in_order):
        assert before.position < after.position
        assert before.number < after.number
        # A root that is not cut for long is forgotten, and begins again as it is then.
        assert all(after.snapshots.get(root, at) >= at for root, at in before.snapshots.items())
        if before.position + 1 == after.position:
            assert after.previous == before.id
    if kept == 500:
        assert len(files) == in_order[-1].position


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(ROOTS)), min_size=1, max_size=30))
def test_barriers_are_found_and_forgotten(cuts: list[tuple[int, str]]) -> None:
    """Alone: the last five are found by their numbers, all others are gone."""
    files: dict[str, bytes] = {}
    steps = Steps(1)
    done: list[Barrier] = []

    def drive(_: int) -> None:
        file_io: Any = SteppedFiles(files, steps, 0)
        ledger = Ledger(file_io, "/w", CountingIds(), records_kept=5)
        assert ledger.latest() is None
        assert ledger.get(1) is None
        for now_ms, root in cuts:
            head = Head(snapshot=len(done), created_ms=1)
            done.append(ledger.cut(now_ms, lambda root=root, head=head: {root: head}))  # type: ignore[misc]
            assert ledger.latest() == done[-1]
        for barrier in done:
            assert ledger.get(barrier.number) == (barrier if barrier in done[-5:] else None)
            assert ledger.get(barrier.number + 1) in (None, *done)

    steps.run([drive], [])
    assert len(done) == len(cuts)
    last = {root: number for number, (_, root) in enumerate(cuts) if number >= len(cuts) - 5}
    assert done[-1].snapshots == last
    assert len(files) == min(len(cuts), 5)
