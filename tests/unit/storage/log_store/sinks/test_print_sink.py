"""Goal: lines are those of Flink's print connector; values are shown without quotes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

from table_store.storage.log_store.sinks.print_sink import change_lines

KINDS = ["insert", "update_preimage", "update_postimage", "delete"]


def test_each_kind_has_its_sign() -> None:
    changes = pa.record_batch({"id": [1, 2, 2, 3], "v": ["a", "b", None, "c, d"], "kind": KINDS})
    assert change_lines(changes, "it> ").to_pylist() == [
        "it> +I[1, a]\n",
        "it> -U[2, b]\n",
        "it> +U[2, null]\n",
        "it> -D[3, c, d]\n",
    ]


def test_values_of_every_kind() -> None:
    second_us = int(datetime(2026, 1, 2, 3, 4, 50, tzinfo=UTC).timestamp()) * 1_000_000
    row = {
        "t": pa.array([second_us + 120_000], pa.timestamp("us")),
        "z": pa.array([second_us], pa.timestamp("us", "UTC")),
        "d": [date(2026, 1, 31)],
        "n": [Decimal("1.50")],
        "f": [0.25],
        "b": [True],
        "x": [b"\x00\xff"],
        "s": [{"a": 1, "b": ["x"]}],
        "kind": ["insert"],
    }
    (line,) = change_lines(pa.record_batch(row), "").to_pylist()
    assert line == (
        "+I[2026-01-02 03:04:50.12, 2026-01-02 03:04:50, 2026-01-31, 1.50, 0.25, true, AP8=, "
        '{"a":1,"b":["x"]}]\n'
    )
