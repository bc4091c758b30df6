"""Goal: one program at a time hosts the jobs of a warehouse, and none is waited for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.catalog.meta_service.runner_lease import (
    RENEWAL_MS,
    TERM_MS,
    RunnerLease,
    Sight,
    Tenure,
)
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import CorruptFileError
from tests.fakes.manual_clock import ManualClock

HERE = identity_of()
NEIGHBOUR = identity_of(1)
ELSEWHERE = ProcessIdentity(host="another", pid=1, start="x")
DEAD = replace(HERE, start="long ago")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def lease(tmp_path: Path, clock: ManualClock) -> RunnerLease:
    return RunnerLease(Claim(LocalFileIO(str(tmp_path)), str(tmp_path / "lease")), clock)


def looks(
    lease: RunnerLease, who: ProcessIdentity, *at_ms: int, first: Sight | None = None
) -> Iterator[Tenure]:
    sight = first or Sight()
    for now_ms in at_ms:
        tenure = lease.take(who, sight, now_ms)
        sight = tenure.sight
        yield tenure


def test_the_first_has_it(lease: RunnerLease) -> None:
    assert lease.holder() is None
    first, second = looks(lease, HERE, 0, 1_000)
    assert first.is_held
    assert second.is_held
    assert first.deposed is None
    assert lease.holder() == HERE
    assert first.sight == second.sight, "it is not renewed before it must be"
    (renewed,) = looks(lease, HERE, RENEWAL_MS, first=second.sight)
    assert renewed.sight.number == second.sight.number + 1


def test_the_other_waits_for_a_silent_one(lease: RunnerLease) -> None:
    """By its own clock, from when it has seen the entry first; and says whom it deposed."""
    list(looks(lease, NEIGHBOUR, 0))
    before, still, after = looks(lease, HERE, 70_000, 70_000 + TERM_MS - 1, 70_000 + TERM_MS)
    assert [one.is_held for one in (before, still, after)] == [False, False, True]
    assert after.deposed == NEIGHBOUR
    woken, later = looks(lease, NEIGHBOUR, 10 * TERM_MS, 10 * TERM_MS + 1_000)
    assert [woken.is_held, later.is_held] == [False, False]


def test_a_renewed_lease_is_not_taken(lease: RunnerLease) -> None:
    held = Sight()
    seen = Sight()
    for now_ms in range(0, 5 * TERM_MS, 500):
        mine = lease.take(NEIGHBOUR, held, now_ms)
        other = lease.take(HERE, seen, now_ms)
        held, seen = mine.sight, other.sight
        assert [mine.is_held, other.is_held] == [True, False]


def test_a_dead_one_and_one_that_leaves_are_not_waited_for(lease: RunnerLease) -> None:
    list(looks(lease, DEAD, 0))
    assert lease.holder() is None
    (taken,) = looks(lease, HERE, 1)
    assert taken.is_held
    assert taken.deposed == DEAD
    lease.give_back(NEIGHBOUR)
    assert lease.holder() == HERE, "only its holder can give it back"
    lease.give_back(HERE)
    assert lease.holder() is None
    (next_one,) = looks(lease, NEIGHBOUR, 2)
    assert next_one.is_held
    assert next_one.deposed is None


def test_whoever_asks_once_trusts_the_clock(lease: RunnerLease, clock: ManualClock) -> None:
    """For a holder of another machine, about which nobody can ask."""
    list(looks(lease, ELSEWHERE, 0))
    assert lease.holder() == ELSEWHERE
    clock.time_ms += 61_000
    assert lease.holder() is None


def test_a_damaged_entry(lease: RunnerLease, tmp_path: Path) -> None:
    list(looks(lease, HERE, 0))
    (entry,) = (tmp_path / "lease").iterdir()
    entry.write_bytes(entry.read_bytes().replace(b"holder", b"holdes"))
    with pytest.raises(CorruptFileError, match=entry.name):
        lease.holder()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9_000)), max_size=40))
def test_nobody_has_it_twice(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """Whoever looks, stands still and looks again: an entry has one writer, and numbers rise."""
    folder = str(tmp_path_factory.mktemp("lease"))
    lease = RunnerLease(Claim(LocalFileIO(folder), folder), ManualClock())
    who = {name: replace(NEIGHBOUR, host=name) for name in "abc"}
    sights = dict.fromkeys("abc", Sight())
    now_ms = 0
    writers: dict[int, str] = {}
    taken: list[int] = []
    for name, wait_ms in steps:
        now_ms += wait_ms
        tenure = lease.take(who[name], sights[name], now_ms)
        sights[name] = tenure.sight
        if tenure.is_held:
            number = tenure.sight.number
            assert writers.setdefault(number, name) == name
            taken.append(number)
            assert lease.claim.latest() is not None
    assert all(one <= other for one, other in pairwise(taken))
