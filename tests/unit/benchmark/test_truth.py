"""Goal: what a table must hold after changes is worked out rightly, for each kind of change."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.benchmark.truth import ChangeKind, Truth


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("upsert", {1: "a", 2: "new", 3: "new"}),
        ("merge", {1: "a", 2: "new", 3: "new"}),
        ("insert new", {1: "a", 2: "b", 3: "new"}),
        ("delete", {1: "a"}),
    ],
)
def test_each_kind_of_change(tmp_path: Path, kind: ChangeKind, expected: dict[int, str]) -> None:
    truth = Truth(tmp_path / "truth", "id")
    truth.apply("insert", _source(tmp_path / "base", {1: "a", 2: "b"}))
    truth.apply(kind, _source(tmp_path / "change", {2: "new", 3: "new"}))
    rows = pq.read_table(truth.save(tmp_path / "rows")).to_pylist()
    assert {row["id"]: row["v"] for row in rows} == expected
    assert len(rows) == len(expected)


def _source(folder: Path, rows: dict[int, str]) -> Path:
    folder.mkdir()
    pq.write_table(pa.table({"id": list(rows), "v": list(rows.values())}), folder / "part.parquet")
    return folder
