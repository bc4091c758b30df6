"""Goal: how many rows of a table lie in ranges of its key is about what counting them gives."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.key_spans import LEAST_ROWS, KeySpans
from table_store.storage.kernel.values import Value

ROWS = 200_000
DAY = dt.date(2020, 1, 1)
VALUES: dict[str, Callable[[int], Value]] = {
    "BIGINT": lambda n: n,
    "INT": lambda n: n - ROWS // 2,
    "DECIMAL(9, 2)": Decimal,
    "DOUBLE": float,
    "DATE": lambda n: DAY + dt.timedelta(n),
    "STRING": lambda n: f"{n:09}",
}


def files(folder: Path, kind: str, *parts: range, partitioned: bool = False) -> LiveFiles:
    """A table with the values of some numbers as keys, a file for each part."""
    descriptor = TableDescriptor.for_managed().column("k", kind, nullable=False).column("v", "INT")
    key: tuple[str, ...] = ("k",)
    if partitioned:
        descriptor = descriptor.column("p", "INT", nullable=False).partitioned_by("p")
        key = ("p", "k")
    descriptor = descriptor.primary_key(*key).option("write-only", "true")
    table = connect(str(folder)).create("t", descriptor).storage
    for part in parts:
        columns = {"k": [VALUES[kind](n) for n in part], "v": [0] * len(part)}
        if partitioned:
            columns["p"] = [7] * len(part)
        rows = pa.table(columns)
        if kind.startswith("DECIMAL"):
            rows = rows.set_column(0, "k", rows["k"].cast(pa.decimal128(9, 2)))
        if kind == "INT":
            rows = rows.set_column(0, "k", rows["k"].cast(pa.int32()))
        table.upsert(rows.set_column(1, "v", rows["v"].cast(pa.int32())))
    return table.live_files(table.latest_snapshot(), table.schema)


@pytest.mark.parametrize("kind", VALUES)
def test_rows_in_ranges(tmp_path: Path, kind: str) -> None:
    def value(number: int) -> Value:
        return VALUES[kind](number)

    live = files(tmp_path, kind, range(ROWS // 2), range(ROWS // 2, ROWS))
    spans = KeySpans(((value(1000), value(51_000)),))
    found = spans.row_count(live.entries, 0)
    # Of text it is known alone that the other file has none of them.
    wanted = ROWS // 2 if kind == "STRING" else 50_000
    assert wanted - 2 <= found <= wanted + LEAST_ROWS + 2
    assert KeySpans(((value(ROWS), value(2 * ROWS)),)).row_count(live.entries, 0) == 0
    both = KeySpans(((value(10), value(10)), (value(ROWS - 10), value(ROWS - 10))))
    assert both.row_count(live.entries, 0) <= 2 * (
        ROWS // 2 if kind == "STRING" else LEAST_ROWS + 1
    )
    assert KeySpans(((value(0), value(ROWS)),)).row_count(live.entries, 0) == ROWS


def test_ranges_of_files(tmp_path: Path) -> None:
    parts = (range(100), range(50, 150), range(300, 310))
    live = files(tmp_path, "BIGINT", *parts, partitioned=True)
    spans = KeySpans.of(live.files(), 1)
    assert spans.spans == ((0, 149), (300, 309))
    assert spans.value_count == 160
    assert (spans | KeySpans(((300, 309), (400, 400)))).value_count == 161
    assert KeySpans.of(live.files() * 99, 1) == spans
    assert KeySpans((("a", "b"),)).value_count == math.inf
    assert KeySpans.of((), 0).value_count == 0
    assert spans.row_count(live.entries.slice(0, 0), 1) == 0
