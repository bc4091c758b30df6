"""Goal: the protocol of commits, expiry and rollbacks is right in every interleaving.

The model leaves out one part of the protocol at a time as well: it notices each of them. More
processes at once are a technique of the campaign.
"""

from __future__ import annotations

import pytest

from tests.fakes.commit_model import BrokenError, Model, Process, Weakness, explore

TWICE = Process("c1", "find", left=2)
ONCE = Process("c2", "find", left=1)
BACK = Process("b3", "pin", left=1)
EXPIRY = Process("e", "find", left=1)


def test_writers_beside_an_expiry() -> None:
    _, outcomes = explore(Model(), (TWICE, ONCE, EXPIRY))
    assert {(first, second) for first, second, _ in outcomes} == {
        ("committed", "committed"),
        ("committed", "unknown"),
        ("unknown", "committed"),
    }


def test_a_rollback_beside_an_expiry() -> None:
    _, outcomes = explore(Model(), (TWICE, EXPIRY, BACK))
    assert {back for _, _, back in outcomes} == {"committed", "expired", "unknown"}


def test_a_reader_beside_an_expiry() -> None:
    _, outcomes = explore(Model(), (TWICE, EXPIRY, Process("r", "find")))
    assert outcomes == {("committed", "", "read")}


@pytest.mark.parametrize(
    ("weakness", "cast"),
    [
        (Weakness.WRITERS_IGNORE_FLOOR, (TWICE, ONCE, EXPIRY)),
        (Weakness.READERS_IGNORE_FLOOR, (TWICE, ONCE, EXPIRY)),
        (Weakness.FLOOR_SINKS, (TWICE, ONCE, EXPIRY, EXPIRY)),
        (Weakness.NO_PIN, (TWICE, EXPIRY, BACK)),
        (Weakness.PIN_AFTER_LOOK, (TWICE, EXPIRY, BACK)),
        (Weakness.PINS_READ_FIRST, (TWICE, EXPIRY, BACK)),
        (Weakness.FILES_FIRST, (TWICE, EXPIRY, BACK)),
    ],
    ids=lambda value: value.name if isinstance(value, Weakness) else "",
)
def test_each_part_of_it_is_needed(weakness: Weakness, cast: tuple[Process, ...]) -> None:
    with pytest.raises(BrokenError):
        explore(Model(weakness), cast)
