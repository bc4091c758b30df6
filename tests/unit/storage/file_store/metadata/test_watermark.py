"""Goal: a table's watermark is that of the greatest row ever written, and never goes back."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store import TableDescriptor, connect
from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.metadata.watermark import delay_us
from table_store.storage.file_store.model.scope import WHOLE_TABLE
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.table import FileStoreTable
from tests.fakes.pausing_file_io import PausingFileIO

SECOND = 1000
NOON = dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC)
NOON_MS = 1_704_196_800_000
DELAYS: dict[str, int | None] = {
    "ts": 0,
    " `TS` ": 0,
    "ts - INTERVAL '5' SECOND": 5_000_000,
    "ts-interval 5 seconds": 5_000_000,
    "`ts` - INTERVAL '0.001' SECOND": 1000,
    "ts - INTERVAL '5 minutes'": 300_000_000,
    "ts - INTERVAL 1 HOUR 30 MINUTES": 5_400_000_000,
    "ts - INTERVAL 2 DAYS": 172_800_000_000,
    "ts - INTERVAL '1' MONTH": None,
    "ts - INTERVAL '1:30' MINUTE TO SECOND": None,
    "ts - INTERVAL": None,
    "ts + INTERVAL 5 SECONDS": None,
    "other - INTERVAL 5 SECONDS": None,
    "greatest(ts, other)": None,
    "ts - INTERVAL 5 SECONDS - INTERVAL 1 DAY": None,
}


@pytest.mark.parametrize(("expression", "delay"), DELAYS.items())
def test_expressions_that_lie_behind_their_column(expression: str, delay: int | None) -> None:
    assert delay_us("ts", StoredExpression(expression)) == delay


def new_table(
    folder: Path,
    *,
    kind: str = "TIMESTAMP",
    expression: str = "ts - INTERVAL 5 SECONDS",
    keyed: bool = True,
) -> FileStoreTable:
    descriptor = (
        TableDescriptor.for_managed()
        .column("p", "STRING", nullable=False)
        .column("id", "BIGINT", nullable=False)
        .column("ts", kind)
        .partitioned_by("p")
        .watermark("ts", expression)
    )
    if keyed:
        descriptor = descriptor.primary_key("p", "id")
    return connect(str(folder)).create("t", descriptor).storage


def rows(*seconds: int | None, partition: str = "a") -> pa.Table:
    """Rows of these seconds after noon; ids count from 0."""
    times = [None if s is None else NOON + dt.timedelta(seconds=s) for s in seconds]
    return pa.table(
        {
            "p": [partition] * len(times),
            "id": list(range(len(times))),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def watermark(table: FileStoreTable) -> int | None:
    """In seconds after noon, as the column."""
    latest = table.latest_snapshot()
    assert latest is not None
    found = latest.watermark
    return None if found is None else (found - NOON_MS + 5 * SECOND) // SECOND


def by_partition(table: FileStoreTable) -> dict[object, int | None]:
    live = table.live_files(table.latest_snapshot(), table.schema)
    return {
        summary.partition[0]: None
        if summary.watermark is None
        else (summary.watermark - NOON_MS + 5 * SECOND) // SECOND
        for summary in live.partitions()
    }


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "bag"])
def test_it_follows_the_greatest_row_and_never_goes_back(tmp_path: Path, keyed: bool) -> None:
    table = new_table(tmp_path, keyed=keyed)
    table.append(rows(None))
    assert (watermark(table), by_partition(table)) == (None, {"a": None})
    table.append(rows(30, 10, None))
    assert watermark(table) == 30
    table.append(rows(20, partition="b"))
    assert (watermark(table), by_partition(table)) == (30, {"a": 30, "b": 20})
    table.compact()
    assert (watermark(table), by_partition(table)) == (30, {"a": 30, "b": 20})
    table.delete(rows(30))
    table.overwrite(rows(25))
    assert (watermark(table), by_partition(table)) == (30, {"a": 30})
    table.append(rows(22))
    table.compact()
    assert (watermark(table), by_partition(table)) == (30, {"a": 30})
    table.append(rows(40))
    assert (watermark(table), by_partition(table)) == (40, {"a": 40})
    table.committer().rollback(2, commit_user="back")
    assert watermark(table) == 40
    table.committer().commit(
        (), kind=CommitKind.OVERWRITE, commit_user="truncate", overwrite=WHOLE_TABLE
    )
    assert (watermark(table), by_partition(table)) == (40, {})
    table.append(rows(35))
    assert watermark(table) == 40
    table.append(rows(41))
    assert watermark(table) == 41


def test_a_commit_that_lost_a_race_does_not_take_it_back(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1))
    io = PausingFileIO(table.path, lambda: table.append(rows(50)), path_part="snapshot/snapshot-2")
    assert isinstance(replace(table, file_io=io).append(rows(20)), Committed)
    assert io.has_paused
    assert watermark(table) == 50


@settings(max_examples=30)
@given(st.lists(st.lists(st.none() | st.integers(-(10**9), 10**9), max_size=4), max_size=6))
def test_it_is_that_of_the_greatest_row(
    tmp_path_factory: pytest.TempPathFactory, commits: list[list[int | None]]
) -> None:
    table = new_table(tmp_path_factory.mktemp("w"))
    written: list[int] = []
    for seconds in commits:
        if not seconds:
            continue
        table.append(rows(*seconds))
        written += [s for s in seconds if s is not None]
        assert watermark(table) == max(written, default=None)


def test_every_type_of_time(tmp_path: Path) -> None:
    values = {
        "TIMESTAMP": pa.array([NOON], pa.timestamp("us", "UTC")),
        "TIMESTAMP_NTZ": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us")),
        "DATE": pa.array([dt.date(2024, 1, 2)]),
    }
    expected = {"TIMESTAMP": NOON_MS, "TIMESTAMP_NTZ": NOON_MS, "DATE": NOON_MS - 43_200 * SECOND}
    for kind, column in values.items():
        table = new_table(tmp_path / kind, kind=kind)
        table.append(pa.table({"p": ["a"], "id": [1], "ts": column}))
        latest = table.latest_snapshot()
        (summary,) = table.live_files(latest, table.schema).partitions()
        assert latest is not None
        assert latest.watermark == summary.watermark == expected[kind] - 5 * SECOND


def test_a_year_that_python_does_not_have(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    microseconds = 100_000 * 365 * 86_400_000_000
    column = pa.array([microseconds], pa.int64()).cast(pa.timestamp("us", "UTC"))
    table.append(pa.table({"p": ["a"], "id": [1], "ts": column}))
    latest = table.latest_snapshot()
    assert latest is not None
    assert latest.watermark == microseconds // 1000 - 5 * SECOND


def test_other_expressions_and_types_say_nothing(tmp_path: Path) -> None:
    odd = new_table(tmp_path / "odd", expression="greatest(ts, ts)")
    odd.append(rows(1))
    text = new_table(tmp_path / "text", kind="STRING", expression="ts")
    text.append(pa.table({"p": ["a"], "id": [1], "ts": ["2024-01-02"]}))
    for table in (odd, text):
        latest = table.latest_snapshot()
        assert latest is not None
        assert latest.watermark is None
        (summary,) = table.live_files(latest, table.schema).partitions()
        assert summary.watermark is None
