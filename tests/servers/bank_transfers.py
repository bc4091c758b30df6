"""The bank of Jamie Brandon's "Internal consistency in streaming systems" (2021).

Money moves between ten accounts, one unit at a time; whoever sees all transfers up to a moment
finds that the balances sum to zero.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

ACCOUNTS: Final = 10
_SECONDS: Final = 60
_DELAY_S_MAX: Final = 10

VIEWS: Final = {
    "credits": "SELECT to_account AS account, sum(amount) AS credits FROM transactions "
    "GROUP BY to_account",
    "debits": "SELECT from_account AS account, sum(amount) AS debits FROM transactions "
    "GROUP BY from_account",
    "balance": "SELECT credits.account AS account, credits - debits AS balance "
    "FROM credits, debits WHERE credits.account = debits.account",
    "total": "SELECT sum(balance) AS total FROM balance",
}
"""The article's views, each over those before it."""

SCHEMA: Final = pa.schema(
    {
        "id": pa.int64(),
        "from_account": pa.int32(),
        "to_account": pa.int32(),
        "amount": pa.int64(),
        "ts": pa.timestamp("us"),
    }
)
BALANCES: Final = {
    60_000: (6, 15, 20, -20, 142, 118, -98, 42, -352, 127),
    1_000_000: (-279, -581, 471, 499, 1, -246, 159, 119, -374, 231),
}
"""The balances of accounts 0 to 9 after so many transfers of `transfers`."""


def transfers(count: int) -> pa.Table:
    """The article's transfers, with its seed, in the order in which they arrive."""
    dice = random.Random(42)
    rows = []
    for number in range(count):
        second = _SECONDS * number // count
        arrival = second + dice.uniform(0, _DELAY_S_MAX)
        accounts = dice.randint(0, ACCOUNTS - 1), dice.randint(0, ACCOUNTS - 1)
        rows.append((arrival, number, *accounts, second))
    rows.sort()
    columns = list(zip(*rows, strict=True))
    start = 1_609_459_200  # 2021-01-01
    return pa.table(
        {
            "id": pa.array(columns[1], pa.int64()),
            "from_account": pa.array(columns[2], pa.int32()),
            "to_account": pa.array(columns[3], pa.int32()),
            "amount": pa.array([1] * count, pa.int64()),
            "ts": pa.array(
                [(start + second) * 1_000_000 for second in columns[4]], pa.int64()
            ).cast(pa.timestamp("us")),
        },
        SCHEMA,
    )


def random_transfers(randomly: np.random.Generator, count: int) -> pa.Table:
    """Transfers of one unit between any accounts, without a time; the ids are random, too."""
    accounts = [randomly.integers(0, ACCOUNTS, count, np.int32) for _ in range(2)]
    return pa.table(
        {
            "id": randomly.integers(0, 1 << 60, count),
            "from_account": accounts[0],
            "to_account": accounts[1],
            "amount": np.ones(count, np.int64),
        }
    )


def in_parts(rows: pa.Table, first: int, more: int) -> Iterator[pa.Table]:
    """The first rows, then the others in about `more` equal parts."""
    yield rows.slice(0, first)
    size = -(-(rows.num_rows - first) // more)
    for at in range(first, rows.num_rows, size):
        yield rows.slice(at, size)
