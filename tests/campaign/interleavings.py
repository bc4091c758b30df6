"""Every interleaving of processes that commit, expire, roll back and read, in a model of them."""

from __future__ import annotations

from typing import Final

from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.commit_model import Model, Process, explore

_TWICE: Final = Process("c1", "find", left=2)
_ONCE: Final = Process("c2", "find", left=1)
_THIRD: Final = Process("c4", "find", left=1)
_BACK: Final = Process("b3", "pin", left=1)
_EXPIRY: Final = Process("e", "find", left=1)
_EXPIRIES: Final = Process("e", "find", left=2)
_READER: Final = Process("r", "find")

CASTS: Final[tuple[tuple[Process, ...], ...]] = (
    (_TWICE, _BACK, _EXPIRY, _READER),
    (_TWICE, _ONCE, _EXPIRY, _READER),
    (_TWICE, _ONCE, _EXPIRY, _BACK),
    (_TWICE, _EXPIRIES, _EXPIRY, _BACK),
    (_TWICE, _ONCE, _EXPIRY, _BACK, _READER),
    (_TWICE, _ONCE, _THIRD, _EXPIRY),
)
"""Who takes part; the first two take seconds, the last two many minutes and gigabytes.

A process that reads is part of each committer, expiry and rollback, too: all of them look for the
latest snapshot by the same steps.
"""


def _run_case(case: Case) -> Counts:
    states, _ = explore(Model(), CASTS[case.number % len(CASTS)])
    return {"states": states}


INTERLEAVINGS: Final = Technique(
    name="interleavings",
    goal="no interleaving of pauses and deaths loses a commit, a file, or a reader",
    suite_cases=1,
    release_cases=len(CASTS),
    run_case=_run_case,
)
"""tests/property/test_commit_protocol.py has three processes each, and weaker protocols."""
