"""Rows for the tables of Nexmark, the benchmark of streams: persons, their auctions, the bids.

As the public generator does it, every fiftieth event is a person, the next three are auctions, and
all others are bids, most of them on recent auctions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PERIOD: Final = 50
_AUCTIONS: Final = 3
_FIRST_ID: Final = 1000
_START_US: Final = 1_767_225_600_000_000
"""2026-01-01, in microseconds since 1970."""
_STEP_US: Final = 60_000_000
"""Between two events: two thousand of them take more than a day."""
_RECENT: Final = 40
"""Bids and auctions are of so many auctions and persons before them."""

_STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES: Final = ("Phoenix", "Los Angeles", "Boise", "Portland", "Bend", "Seattle", "Cheyenne")
_FIRST: Final = ("Peter", "Paul", "Luke", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST: Final = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones")
_CHANNELS: Final = ("Google", "Facebook", "Baidu", "Apple", "channel-7", "channel-41")
_EXTRAS: Final = ("", "cc", "abacus", "no such letter", "cccccccc")

KEYS: Final[dict[str, tuple[str, ...]]] = {"person": ("id",), "auction": ("id",), "bid": ()}
"""The tables, each with its primary key; bids have none."""


@dataclass(frozen=True, slots=True)
class NexmarkData:
    """Events in the order of their numbers; the same number is always the same event."""

    seed: int = 1

    def events(self, first: int, count: int) -> dict[str, pa.Table]:
        """The events `first` to `first + count - 1` by table; `first` begins a period of fifty."""
        dice = np.random.default_rng((self.seed, first))
        numbers = np.arange(first, first + count)
        place = numbers % _PERIOD
        is_bid = place > _AUCTIONS
        return {
            "person": _persons(dice, numbers[place == 0]),
            "auction": _auctions(dice, numbers[(place > 0) & ~is_bid]),
            "bid": _bids(dice, numbers[is_bid]),
        }


def _persons(dice: np.random.Generator, numbers: np.ndarray[Any, Any]) -> pa.Table:
    count = len(numbers)
    first, last = _any_of(dice, _FIRST, count), _any_of(dice, _LAST, count)
    cards = pa.array(dice.integers(10**15, 10**16, count)).cast(pa.string())
    return pa.table(
        {
            "id": pa.array(_FIRST_ID + numbers // _PERIOD, pa.int64()),
            "name": pc.binary_join_element_wise(first, last, " "),
            "emailAddress": pc.binary_join_element_wise(first, last, "@"),
            "creditCard": cards,
            "city": _any_of(dice, _CITIES, count),
            "state": _any_of(dice, _STATES, count),
            "dateTime": _times(numbers),
            "extra": _any_of(dice, _EXTRAS, count),
        }
    )


def _auctions(dice: np.random.Generator, numbers: np.ndarray[Any, Any]) -> pa.Table:
    count = len(numbers)
    ids = _newest_auction(numbers)
    first_bids = _prices(dice, count)
    lifetimes = dice.integers(1, 5 * _PERIOD, count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "itemName": _numbered("item ", ids % 17),
            "description": _any_of(dice, ("as new", "used", "signed copy"), count),
            "initialBid": pa.array(first_bids, pa.int64()),
            "reserve": pa.array(first_bids + _prices(dice, count), pa.int64()),
            "dateTime": _times(numbers),
            "expires": _times(numbers + lifetimes),
            "seller": pa.array(_recent_person(dice, numbers), pa.int64()),
            "category": pa.array(dice.integers(10, 15, count), pa.int64()),
            "extra": _any_of(dice, _EXTRAS, count),
        }
    )


def _bids(dice: np.random.Generator, numbers: np.ndarray[Any, Any]) -> pa.Table:
    count = len(numbers)
    newest = _newest_auction(numbers)
    recent = np.maximum(newest - dice.integers(0, _RECENT, count), _FIRST_ID)
    # Every second bid is on one of few hot auctions.
    auctions = np.where(dice.random(count) < 0.5, newest // 20 * 20, recent)
    channels = dice.integers(0, len(_CHANNELS), count)
    names = pa.array(_CHANNELS).take(pa.array(channels))
    pages = _numbered("https://www.nexmark.com/", auctions % 7)
    pages = pc.binary_join_element_wise(pages, _any_of(dice, ("books", "music"), count), "/")
    # Only small channels have an id, and not on every page.
    has_id = pa.array((channels >= 4) & (dice.random(count) < 0.7))
    tails = pc.if_else(has_id, _numbered("item.htm?query=1&channel_id=", channels * 10), "item.htm")
    return pa.table(
        {
            "auction": pa.array(np.maximum(auctions, _FIRST_ID), pa.int64()),
            "bidder": pa.array(_recent_person(dice, numbers), pa.int64()),
            "price": pa.array(_prices(dice, count), pa.int64()),
            "channel": names,
            "url": pc.binary_join_element_wise(pages, tails, "/"),
            "dateTime": _times(numbers),
            "extra": _any_of(dice, _EXTRAS, count),
        }
    )


def _newest_auction(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The id of the last auction up to each event."""
    place = np.clip(numbers % _PERIOD, 0, _AUCTIONS)
    ids: np.ndarray[Any, Any] = _FIRST_ID + numbers // _PERIOD * _AUCTIONS + place - 1
    return ids


def _recent_person(
    dice: np.random.Generator, numbers: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    newest = _FIRST_ID + numbers // _PERIOD
    ids = newest - dice.integers(0, _RECENT, len(numbers))
    known: np.ndarray[Any, Any] = np.maximum(ids, _FIRST_ID)
    return known


def _prices(dice: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """From a hundred to a hundred million; as many of each magnitude."""
    prices: np.ndarray[Any, Any] = np.rint(10 ** (dice.random(count) * 6) * 100)
    return prices


def _times(numbers: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array(_START_US + numbers * _STEP_US, pa.int64()).cast(pa.timestamp("us"))


def _any_of(dice: np.random.Generator, words: Sequence[str], count: int) -> pa.Array:
    return pa.array(words).take(pa.array(dice.integers(0, len(words), count)))


def _numbered(name: str, numbers: np.ndarray[Any, Any]) -> pa.Array:
    return pc.binary_join_element_wise(name, pa.array(numbers).cast(pa.string()), "")
