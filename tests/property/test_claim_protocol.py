"""Goal: a claim has one holder at a time, in whatever order the steps of its takers come.

Method: hypothesis chooses which taker does its next file operation. Each taker runs the real code
in a thread of its own, which waits for its turn before every operation.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_io.claim import Claim
from tests.fakes.stepped_files import SteppedFiles, Steps

FOLDER = "/claim"
TAKERS = 3
TRIES = 3


@settings(max_examples=300)
@given(st.lists(st.integers(0, TAKERS - 1), max_size=120))
def test_only_one_holds_a_claim(order: list[int]) -> None:
    files: dict[str, bytes] = {}
    steps = Steps(TAKERS)
    holders: list[int] = []
    held: list[int] = []
    broken: list[str] = []

    def take_and_give_back(taker: int) -> None:
        file_io: Any = SteppedFiles(files, steps, taker)
        claim = Claim(file_io, FOLDER)
        for _ in range(TRIES):
            latest = claim.latest()
            number = 1 if latest is None else latest.number + 1
            if latest is not None and latest.content.startswith(b"held"):
                continue
            if not claim.add(number, b"held by %d" % taker):
                continue
            holders.append(taker)
            held.append(number)
            if len(holders) > 1:
                broken.append(f"{holders} hold it at once")
            steps.wait(taker)
            holders.remove(taker)
            # Not even this if another one has taken the claim since the file was there.
            claim.add(number + 1, b"free")

    steps.run([take_and_give_back] * TAKERS, order)
    assert broken == []
    assert held
    assert held == sorted(set(held))
