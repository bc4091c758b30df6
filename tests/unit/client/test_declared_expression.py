"""Expressions that a table declares mean what they meant in the zone of their declaration."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect

_NOON: Final = 1_719_835_200_000_000
"""2024-07-01 12:00:00Z, in microseconds since 1970."""


@pytest.mark.parametrize(
    ("zone", "day", "moment"),
    [
        ("UTC", 1, dt.datetime(2024, 7, 1, tzinfo=dt.UTC)),
        ("+13:00", 2, dt.datetime(2024, 6, 30, 11, tzinfo=dt.UTC)),
        ("-05:30", 1, dt.datetime(2024, 7, 1, 5, 30, tzinfo=dt.UTC)),
        ("Pacific/Kiritimati", 2, dt.datetime(2024, 6, 30, 10, tzinfo=dt.UTC)),
    ],
)
def test_a_computed_date_and_a_default_keep_their_zone(
    tmp_path: Path, zone: str, day: int, moment: dt.datetime
) -> None:
    declared = (
        TableDescriptor.for_managed()
        .column("at", "TIMESTAMP")
        .column("since", "TIMESTAMP", default="TIMESTAMP '2024-07-01 00:00:00'")
        .computed_column("day", "DATE", "CAST(at AS DATE)")
    )
    connect(str(tmp_path), time_zone=zone).create("t", declared)
    table = connect(str(tmp_path), time_zone="Europe/Berlin").open("t")
    table.append(pa.table({"at": pa.array([_NOON], pa.timestamp("us", "UTC"))}))
    row = table.scan().to_arrow().to_pylist()[0]
    assert (row["day"], row["since"]) == (dt.date(2024, 7, day), moment)
