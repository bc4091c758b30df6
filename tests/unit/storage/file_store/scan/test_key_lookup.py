"""Single keys are found by the keys alone: the rows are those of a read of everything."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.predicate import And, Comparison, Predicate
from table_store.storage.kernel.types import DATE, INTEGER, LONG, STRING, to_arrow

_FIRST_DAY = dt.date(2026, 1, 1)


_COLUMNS = {"day": DATE, "name": STRING, "id": LONG, "v": INTEGER}
_ARROW = pa.schema([(name, to_arrow(kind)) for name, kind in _COLUMNS.items()])


def _schema(key: tuple[str, ...], **options: str) -> TableSchema:
    return new_schema(
        fields=[Field(id=0, name=n, type=t, nullable=n not in key) for n, t in _COLUMNS.items()],
        primary_key=key,
        partition_keys=(),
        options=options,
        time_ms=0,
    )


def _row(number: int, v: int | None) -> dict[str, Any]:
    day = _FIRST_DAY + dt.timedelta(days=number % 3)
    return {"day": day, "name": f"n{number % 5}", "id": number // 4, "v": v}


def _names(row: dict[str, Any], key: tuple[str, ...]) -> Predicate:
    first, *rest = (Comparison(name, "=", row[name]) for name in key)
    predicate: Predicate = first
    for term in rest:
        predicate = And(predicate, term)
    return predicate


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("key", [("day", "name", "id"), ("name", "id", "day"), ("id",)])
def test_a_lookup_is_what_reading_everything_finds(
    tmp_path: Path, key: tuple[str, ...], file_format: str
) -> None:
    """After writes, deletions and compactions; of keys that are there and that are not."""
    choose = random.Random(1)
    options = {"bucket": "2", "file.format": file_format}
    table = FileStoreTable.create(str(tmp_path / "t"), _schema(key, **options))
    for step in range(8):
        rows = {tuple(r[k] for k in key): r for r in (_row(n, step) for n in _some(choose))}
        table.upsert(pa.Table.from_pylist(list(rows.values()), _ARROW))
        gone = {tuple(r[k] for k in key): r for r in (_row(n, None) for n in _some(choose))}
        if step % 2:
            table.delete(pa.Table.from_pylist(list(gone.values()), _ARROW))
        if step == 4:
            table.compact()
    known = {tuple(row[k] for k in key): row for row in table.scan().to_arrow().to_pylist()}
    for number in range(90):
        row = _row(number, 0)
        scan = table.scan(predicate=_names(row, key))
        assert scan.lookup() is not None
        expected = known.get(tuple(row[k] for k in key))
        assert scan.to_arrow().to_pylist() == ([] if expected is None else [expected])


def _some(choose: random.Random) -> list[int]:
    return choose.sample(range(80), 30)
