"""Goal: texts come back exactly, and what is no UTF-8 is refused by name, before Spark as well.

Rows go through a table without Spark; the storage below is the same for Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store import TableDescriptor, connect
from table_store.client.errors import InvalidExpressionError
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse
from table_store.storage.file_store.model.errors import InvalidTagError
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.errors import InvalidSchemaError, InvalidTextError, TableStoreError
from table_store.storage.kernel.types import (
    STRING,
    ArrayType,
    MapType,
    StructField,
    StructType,
)

BAD = pa.array([b"a\xffb"]).view(pa.string())
HALF = "a\ud800"
ODD = ["x\0", "\0", "\ufeff", "\ufeffa", "e\u0301", "\u0301", "\u202eabc", "שלום", "🦀", ""]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return connect(str(tmp_path))


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    described = TableDescriptor.for_managed().column("k", "STRING").column("p", "STRING")
    described = described.column("v", "STRING").column("c", "VARCHAR(9)").column("f", "CHAR(9)")
    described = described.column("a", ArrayType(STRING))
    described = described.column("m", MapType(key=STRING, value=STRING))
    described = described.column("s", StructType((StructField(name="x", type=STRING),)))
    described = described.computed_column("u", "STRING", "concat(v, v)")
    described = described.check("long", "length(v) < 99")
    return warehouse.create("t", described.primary_key("k", "p").partitioned_by("p"))


BAD_COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "key": ({"k": BAD}, "k"),
    "partition": ({"p": BAD}, "p"),
    "value": ({"v": BAD}, "v"),
    "varchar": ({"c": BAD}, "c"),
    "char": ({"f": BAD}, "f"),
    "array": ({"a": pa.ListArray.from_arrays([0, 1], BAD)}, "a.element"),
    "map key": ({"m": pa.MapArray.from_arrays([0, 1], BAD, pa.array(["x"]))}, "m.key"),
    "map value": ({"m": pa.MapArray.from_arrays([0, 1], pa.array(["x"]), BAD)}, "m.value"),
    "struct": ({"s": pa.StructArray.from_arrays([BAD], ["x"])}, "s.x"),
    "dictionary": ({"v": pa.DictionaryArray.from_arrays([0], BAD)}, "v"),
    "large": ({"v": pa.array([b"\xff"], pa.large_binary()).view(pa.large_string())}, "v"),
    "view": ({"v": pa.array([b"\xff"], pa.binary_view()).view(pa.string_view())}, "v"),
}


@pytest.mark.parametrize("place", BAD_COLUMNS)
def test_what_is_no_utf8_is_refused_wherever_it_is(place: str, table: Table) -> None:
    given, path = BAD_COLUMNS[place]
    rows = pa.table({"k": ["k"], "p": ["p"], **given})
    for write in (table.append, table.overwrite, table.upsert):
        with pytest.raises(InvalidTextError, match="make_valid_utf8") as raised:
            write(rows)
        assert raised.value.column == path
    assert table.latest_snapshot() is None


def test_workers_refuse_it_too_but_take_deletions_of_nested_texts(table: Table) -> None:
    """A table may hold nested ones that an older release has written."""
    storage = table.storage
    lists = pa.ListArray.from_arrays([0, 1], BAD)
    names = storage.schema.column_names
    nulls = {name: pa.nulls(1) for name in names}
    rows = pa.table({**nulls, "k": ["k"], "p": ["p"], "a": lists})
    with TableWriter(storage.writer_context()) as writer:
        with pytest.raises(InvalidTextError):
            writer.write(rows)
        writer.delete(rows)
        with pytest.raises(InvalidTextError):
            writer.delete(pa.table({"k": BAD, "p": ["p"]}))


def test_odd_texts_come_back_exactly(table: Table) -> None:
    table.append(pa.table({"k": ODD, "p": ODD, "v": ODD, "c": ODD, "a": [[t] for t in ODD]}))
    table.compact()
    found = table.scan(["k", "p", "v", "c", "a"]).to_arrow().to_pylist()
    expected = [{"k": t, "p": t, "v": t, "c": t, "a": [t]} for t in ODD]
    assert sorted(found, key=str) == sorted(expected, key=str)
    for text in ODD:
        for name in ("k", "p", "v"):
            same = table.scan([name], where=[(name, "=", text)]).to_arrow()
            assert same[name].to_pylist() == [text]


@pytest.mark.parametrize(
    "where",
    [
        f"v = '{HALF}'",
        [("v", "=", HALF)],
        [("k", "<", HALF)],
        [("p", "in", ["a", HALF])],
        [("v", "=", BAD[0])],
    ],
    ids=["sql", "equal", "less", "in", "scalar"],
)
def test_a_filter_by_what_is_no_text_is_refused(where: Any, table: Table) -> None:
    table.append(pa.table({"k": ["k"], "p": ["p"], "v": ["v"]}))
    for use in (lambda: table.scan(where=where), lambda: table.delete(where)):
        with pytest.raises(InvalidExpressionError, match="not UTF-8"):
            use()
    assert table.scan(where=pc.field("v") == BAD[0]).count() == 0


def test_assigned_texts_and_names_are_checked(warehouse: Warehouse, table: Table) -> None:
    described = TableDescriptor.for_managed().column("v", "STRING")
    table.append(pa.table({"k": ["k"], "p": ["p"]}))
    refused: list[tuple[Callable[[], object], type[TableStoreError]]] = [
        (lambda: table.update({"v": f"'{HALF}'"}), InvalidExpressionError),
        (lambda: table.update({"v": BAD[0]}), InvalidExpressionError),
        (lambda: table.create_tag(HALF), InvalidTagError),
        (lambda: warehouse.create("x", described.column(HALF, "STRING")), InvalidSchemaError),
        (lambda: table.definition.add_column(HALF, "STRING"), InvalidSchemaError),
        (lambda: warehouse.create(HALF, described), TableStoreError),
        (lambda: warehouse.open(HALF), TableStoreError),
        (lambda: warehouse.create_namespace(HALF), TableStoreError),
    ]
    for action, error in refused:
        with pytest.raises(error):
            action()
