"""Goal: what Spark refuses to write is refused by each way to write from Python, and by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect, open_table
from table_store.client.errors import InvalidRowsError
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse
from table_store.storage.file_store.model.errors import NullKeyError
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import (
    LONG,
    STRING,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)

AB = StructType(
    (StructField(name="a", type=LONG, nullable=False), StructField(name="b", type=LONG))
)
AB_ARROW = pa.struct([("a", pa.int64()), ("b", pa.int64())])
MAP_ARROW = pa.map_(pa.string(), pa.int64())
VARIANT_ARROW = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
REQUIRED = MapType(key=STRING, value=LONG, value_contains_null=False)

MISSING: list[tuple[DataType, pa.Array, str]] = [
    (AB, pa.array([{"a": None, "b": 1}], AB_ARROW), "x.a"),
    (ArrayType(LONG, False), pa.array([[1, None]]), "x.element"),
    (ArrayType(LONG, False), pa.array([[None]], pa.large_list(pa.null())), "x.element"),
    (REQUIRED, pa.array([[("k", None)]], MAP_ARROW), "x.value"),
    (
        MapType(key=AB, value=LONG),
        pa.array([[({"a": None, "b": 1}, 1)]], pa.map_(AB_ARROW, pa.int64())),
        "x.key.a",
    ),
    (ArrayType(AB), pa.array([[{"a": None, "b": 1}]], pa.list_(AB_ARROW)), "x.element.a"),
    (VARIANT, pa.array([{"value": b"", "metadata": None}], VARIANT_ARROW), "x"),
]
WAYS: dict[str, Callable[[Table, pa.Table], Any]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "upsert": lambda table, rows: table.upsert(rows),
    "upsert of some columns": lambda table, rows: table.upsert(rows.drop_columns(["n"])),
    "writer": lambda table, rows: table.writer().write(rows),
    "storage": lambda table, rows: table.storage.append(rows),
}


def table_of(warehouse: Warehouse, kind: DataType) -> Table:
    described = TableDescriptor.for_managed().column("id", "BIGINT").column("n", "BIGINT")
    table = warehouse.create("t", described.column("x", kind).primary_key("id"))
    table.append(pa.table({"id": [1]}))
    return table


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "values", "path"), MISSING)
def test_null_in_a_required_part(
    way: str, kind: DataType, values: pa.Array, path: str, warehouse: Warehouse
) -> None:
    if way == "storage" and values.type == pa.large_list(pa.null()):
        values = values.cast(pa.list_(pa.int64()))
    table = table_of(warehouse, kind)
    rows = pa.table({"id": [2], "n": [1], "x": values})
    with pytest.raises(NullKeyError) as raised:
        WAYS[way](table, rows)
    assert raised.value.column == path
    assert [row["id"] for row in table.scan().to_arrow().to_pylist()] == [1]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (AB, pa.array([None, {"a": 1, "b": None}], AB_ARROW)),
        (ArrayType(LONG, False), pa.array([[], None], pa.list_(pa.int64()))),
        (ArrayType(AB), pa.array([[None], [{"a": 1, "b": 2}]], pa.list_(AB_ARROW))),
        (REQUIRED, pa.array([[], [("k", 1)]], MAP_ARROW)),
        (VARIANT, pa.array([None, {"value": b"\0", "metadata": b"\1\0\0"}], VARIANT_ARROW)),
    ],
)
def test_null_where_it_may_be(kind: DataType, values: pa.Array, warehouse: Warehouse) -> None:
    table = table_of(warehouse, kind)
    table.append(pa.table({"id": [1, 2], "x": values}))
    table.append(pa.table({"id": [3, 4, 5], "x": pa.concat_arrays([values, values[:1]])}).slice(1))
    table.delete_rows(pa.table({"id": [2]}))
    table.update({"n": 7})
    found = table.scan().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == [1, 4, 5]
    first, second = values.to_pylist()
    assert found["x"].to_pylist() == [first, second, first]


def test_a_row_to_delete_may_lack_a_required_part(warehouse: Warehouse) -> None:
    """Rows that an older version has written can be deleted."""
    described = TableDescriptor.for_managed().column("id", "BIGINT")
    table = warehouse.create("t", described.column("x", ArrayType(LONG, False)))
    table.append(pa.table({"id": [2], "x": [[1]]}))
    table.delete_rows(pa.table({"id": [1, 2], "x": [[None], [1]]}))
    assert table.scan().count() == 0


def test_rows_to_delete_without_key_have_all_columns(warehouse: Warehouse) -> None:
    described = TableDescriptor.for_managed().column("a", "INT").column("b", "INT")
    table = warehouse.create("t", described)
    table.append(pa.table({"a": [1, 2], "b": [None, 2]}))
    for rows, column in (({"a": [1]}, "b"), ({"B": [2]}, "a")):
        with pytest.raises(InvalidSchemaError) as raised:
            table.delete_rows(pa.table(rows))
        assert raised.value.column == column
    table.delete_rows(pa.table({"b": pa.nulls(1), "A": [1]}))
    assert table.scan().to_arrow().to_pylist() == [{"a": 2, "b": 2}]


def test_a_column_named_twice(items: Table) -> None:
    twice = pa.Table.from_arrays([pa.array([1])] * 3, names=["id", "n", "N"])
    some = items.append(pa.table({"id": [1]})).snapshot
    for use in (
        lambda: items.update({"n": 1, "N": 2}),
        lambda: items.update({"price": 1, "n": 1, "Price": 1}),
        lambda: items.scan(["n", "id", "N"]),
        lambda: items.scan(["n", "n"]),
        lambda: items.changes(columns=["n", "N"]),
        lambda: items.append(twice),
        lambda: items.overwrite(twice),
        lambda: items.upsert(twice),
        lambda: items.delete_rows(twice),
    ):
        with pytest.raises(InvalidSchemaError, match=r"(?i)'(n|price)'.*(twice|once)"):
            use()
    assert items.latest_snapshot() == some


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pd.DataFrame({"id": [1]}).set_index("id", drop=False), "'?id"),
        (pd.DataFrame({"name": ["a", 5]}), "column name"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "'id'"),
        (pd.DataFrame({"id": pd.arrays.SparseArray([5])}), "column id"),
        (pl.DataFrame({"id": pl.Series([1], dtype=pl.Int128)}), "_pli128"),
        (pl.DataFrame({"id": pl.Series([object()], dtype=pl.Object)}), "'id' holds objects"),
        (pl.Series([1]), "Cannot import schema"),
    ],
)
def test_a_frame_that_arrow_cannot_hold(frame: Any, reason: str, items: Table) -> None:
    with pytest.raises(InvalidRowsError, match=f"from a (DataFrame|Series): .*{reason}.*Give a"):
        items.append(frame)


def test_frames_that_happen_to_hold_nothing(warehouse: Warehouse) -> None:
    described = TableDescriptor.for_managed().column("l", ArrayType(STRING)).column("t", "TINYINT")
    struct = StructType((StructField(name="a", type=LONG), StructField(name="b", type=STRING)))
    table = warehouse.create("t", described.column("s", struct))
    few = pd.Categorical([5, None], categories=[1000, 5])
    empty = pd.DataFrame({"l": [[], []], "s": [{"a": 1, "b": None}, None], "t": few})
    table.append(empty)
    assert table.scan().to_arrow().to_pylist() == [
        {"l": [], "t": 5, "s": {"a": 1, "b": None}},
        {"l": [], "t": None, "s": None},
    ]


def test_paths_and_types_of_python(tmp_path: Path) -> None:
    table = connect(tmp_path).create("t", TableDescriptor.for_managed().column("id", "INT"))
    assert open_table(Path(table.path)).schema == table.schema
    arrow: Any = pa.int64()
    with pytest.raises(InvalidSchemaError, match=re.escape("'id': DataType(int64) is no type")):
        TableDescriptor.for_managed().column("id", arrow)
