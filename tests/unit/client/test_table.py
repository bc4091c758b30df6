"""Goal: a table takes what the libraries of its users have, and gives them what they take."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store import TableDescriptor, connect, open_table
from table_store.catalog.errors import InvalidIdentifierError, NamespaceNotEmptyError
from table_store.catalog.names.identifier import Identifier
from table_store.client.errors import (
    CheckViolationError,
    ColumnRuleError,
    InvalidExpressionError,
    InvalidRowsError,
    OpenedByPathError,
    UnsupportedExpressionError,
)
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse
from table_store.storage.file_store.commit.commit import TableCommit
from table_store.storage.file_store.model.errors import (
    CommitConflictError,
    DuplicateKeyError,
    NaiveTimestampError,
    NullKeyError,
    TableMovedError,
)
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    LibraryNotInstalledError,
    NotFoundError,
)
from table_store.storage.kernel.types import (
    DOUBLE,
    FLOAT,
    INTEGER,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from tests.unit.client.conftest import ITEMS

COLUMNS: dict[str, list[Any]] = {"id": [1, 2, 3], "name": ["a", "b", None], "n": [10, 20, None]}
FRAMES: dict[str, Callable[[], Any]] = {
    "pyarrow table": lambda: pa.table(COLUMNS),
    "pyarrow batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "pyarrow reader": lambda: pa.table(COLUMNS).to_reader(),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categories": lambda: pl.DataFrame(COLUMNS).with_columns(
        pl.col("name").cast(pl.Categorical)
    ),
    "pandas": lambda: pd.DataFrame(COLUMNS).astype({"n": "Int64"}),
    "pandas, floats": lambda: pd.DataFrame(COLUMNS),
    "pandas, key as index": lambda: pd.DataFrame(COLUMNS).set_index("id"),
    "pandas, other index": lambda: pd.DataFrame(COLUMNS, index=[9, 8, 7]),
    "duckdb": lambda: duckdb.from_arrow(pa.table(COLUMNS)),
}


def rows(table: Table, *columns: str, **options: Any) -> list[tuple[Any, ...]]:
    found = table.scan(columns or None, **options).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.mark.parametrize("kind", FRAMES)
def test_takes_rows_of(kind: str, items: Table) -> None:
    items.append(FRAMES[kind]())
    assert rows(items, "id", "name", "n", "twice") == [
        (1, "a", 10, 20),
        (2, "b", 20, 40),
        (3, None, None, None),
    ]


def test_gives_rows_to(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    scan = items.scan(["id", "n"], where="n > 10")
    assert scan.to_pandas().to_dict("list") == {"id": [2], "n": [20]}
    assert scan.to_polars().rows() == [(2, 20)]
    assert scan.to_duckdb().fetchall() == [(2, 20)]
    assert scan.to_duckdb(duckdb.connect()).fetchall() == [(2, 20)]
    assert duckdb.execute("FROM scan").fetchall() == [(2, 20)]
    assert pl.DataFrame(scan).rows() == pl.DataFrame(scan).rows() == [(2, 20)]
    assert pa.table(scan) == scan.to_arrow()
    assert scan.to_reader().read_all() == scan.to_arrow()


def test_a_library_that_is_absent_is_named(items: Table) -> None:
    with (
        mock.patch.dict(sys.modules, {"polars": None}),
        pytest.raises(LibraryNotInstalledError, match=r"spark-table-store\[polars\]"),
    ):
        items.scan().to_polars()


def test_what_is_no_table_is_refused(items: Table) -> None:
    column = {"id": [1]}
    no_tables = ([column], "rows", None, pl.LazyFrame(column), pd.Series([1]), pl.Series([1]))
    for wrong in no_tables:
        with pytest.raises(InvalidRowsError, match="__arrow_c_stream__"):
            items.append(wrong)


def test_limit_and_count(items: Table) -> None:
    items.append(pa.table({"id": range(100), "n": pa.array(range(100), pa.int32())}))
    assert items.scan(limit=7).to_arrow().num_rows == 7
    assert items.scan(limit=0).to_arrow().num_rows == 0
    assert items.scan(where="n % 10 = 3").count() == 10
    assert items.scan(where="n % 10 = 3", limit=4).count() == 4
    assert items.scan().count() == 100
    few: Any = np.int64(2)
    assert items.scan(limit=few).count() == 2
    with pytest.raises(InvalidSchemaError):
        items.scan([])
    with pytest.raises(InvalidSchemaError, match=r"list of names; say \['id'\]"):
        items.scan("id")
    for wrong in ({"limit": -5}, {"limit": 1.5}, {"version": "x"}, {"timestamp_ms": "x"}):
        with pytest.raises(InvalidOptionError, match="whole number, 0 or more"):
            items.scan(**wrong)


@pytest.mark.parametrize(
    "where",
    [
        "n >= 20 OR id = 1",
        [[("n", ">=", 20)], [("ID", "==", 1)]],
        (pc.field("n") >= 20) | (pc.field("id") == 1),
        "id IN (1, 2)",
        [("id", "in", {1, 2})],
        [("id", "not in", np.array([3])), ("id", "<", 9)],
        [("n", "<>", 5)],
    ],
)
def test_filters(where: Any, items: Table) -> None:
    items.append(pa.table(COLUMNS))
    assert rows(items, "id", where=where) == [(1,), (2,)]


@pytest.mark.parametrize(
    "where",
    [
        "nothing = 1",
        "id +",
        "id + 1",
        [("id", "=", None)],
        [("id", "like", "x")],
        [("nothing", "=", 1)],
        [("id", "=")],
        [],
        [[]],
        [("id", "in", "12")],
        [("id", "=", object())],
        5,
        [5],
        [[("id", "=", 1)], 5],
        {"id": 1},
        "id IN ()",
        pc.field("nothing") == 1,
        pc.field("name") == 1,
    ],
)
def test_what_is_no_filter(where: Any, items: Table) -> None:
    with pytest.raises(InvalidExpressionError):
        items.scan(where=where)


def test_a_char_is_compared_with_its_blanks(items: Table) -> None:
    items.append(pa.table({"id": [1, 2], "code": ["a", "abc"]}))
    assert rows(items, "code") == [("a  ",), ("abc",)]
    assert rows(items, "id", where="code = 'a'") == [(1,)]
    assert rows(items, "id", where="code = 'a '") == [(1,)]
    assert rows(items, "id", where=[("code", "in", ["a", "abc"])]) == [(1,), (2,)]
    assert rows(items, "id", where="code = 'abc  '") == [(2,)]


def test_declared_rules(items: Table) -> None:
    items.append(pa.table({"ID": [1], "Name": ["abcde   "]}))
    assert rows(items, "id", "name", "n", "price", "day", "twice") == [
        (1, "abcde", 7, Decimal("1.50"), dt.date(2020, 1, 31), 14)
    ]
    items.append(pa.table({"id": [2], "n": [4], "twice": [8]}))
    for wrong, error in (
        ({"name": ["abcdef"]}, ColumnRuleError),
        ({"code": ["abcd"]}, ColumnRuleError),
        ({"n": [4], "twice": [9]}, ColumnRuleError),
        ({"twice": [None]}, ColumnRuleError),
        ({"nothing": [1]}, InvalidSchemaError),
        ({"n": ["4"]}, InvalidSchemaError),
        ({"n": [4.5]}, InvalidSchemaError),
        ({"n": [2**31]}, InvalidSchemaError),
        ({"price": [Decimal("1.005")]}, InvalidSchemaError),
        ({"N": [1], "n": [1]}, InvalidSchemaError),
        ({"day": ["2020-01-31"]}, InvalidSchemaError),
    ):
        with pytest.raises(error):
            items.append(pa.table({"id": pa.array([3]), **wrong}))
    with pytest.raises(NullKeyError):
        items.append(pa.table({"id": pa.array([None], pa.int64())}))
    with pytest.raises(InvalidSchemaError, match="NOT NULL"):
        items.append(pa.table({"n": [1]}))
    assert rows(items, "id") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        (FLOAT, 0.1, float(np.float32(0.1))),
        (FLOAT, 1e300, None),
        (FLOAT, -1e-300, None),
        (FLOAT, Decimal("1e39"), None),
        (FLOAT, float("-inf"), float("-inf")),
        (FLOAT, 0.0, 0.0),
        (FLOAT, 2**24 + 1, 2.0**24),
        (FLOAT, Decimal("16777217.000"), 2.0**24),
        (DOUBLE, Decimal("0.1"), 0.1),
        (DOUBLE, Decimal("0.000049"), 0.000049),
        (DOUBLE, Decimal("99999999999.123456789"), 99999999999.123456789),
        (DOUBLE, 2**53 + 1, 2.0**53),
        (DOUBLE, np.uint64(2**64 - 1), 2.0**64),
        (DecimalType(10, 2), 0.1, Decimal("0.10")),
        (DecimalType(10, 2), np.float32(0.1), Decimal("0.10")),
        (DecimalType(10, 2), 0.125, None),
        (DecimalType(10, 2), 1e9, None),
        (DecimalType(10, 2), 7, Decimal("7.00")),
        (DecimalType(10, 2), np.uint64(7), Decimal("7.00")),
        (INTEGER, "7", None),
    ],
)
def test_numbers_keep_their_meaning(
    kind: DataType, value: Any, stored: Any, warehouse: Warehouse
) -> None:
    described = TableDescriptor.for_managed().column("plain", kind)
    inner = StructType((StructField(name="a", type=kind),))
    table = warehouse.create("n", described.column("nested", ArrayType(inner)))
    column = pa.array([value, None])
    nested = pa.StructArray.from_arrays([column], names=["a"])
    in_lists = pa.ListArray.from_arrays([0, 2], nested)
    if stored is None:
        of_polars = in_lists.cast(pa.large_list(nested.type))
        for wrong in ({"plain": column}, {"nested": in_lists}, {"nested": of_polars}):
            with pytest.raises(InvalidSchemaError, match="do not fit"):
                table.append(pa.table(wrong))
        return
    table.append(pa.table({"plain": column}))
    table.append(pa.table({"nested": in_lists}))
    found = table.scan().to_arrow().to_pylist()
    assert {"plain": stored, "nested": None} in found
    assert {"plain": None, "nested": [{"a": stored}, {"a": None}]} in found


def test_what_only_spark_computes_is_refused(warehouse: Warehouse) -> None:
    described = TableDescriptor.for_managed().column("a", "INT")
    computed = warehouse.create("c", described.computed_column("h", "INT", "hash(a)"))
    with pytest.raises(UnsupportedExpressionError, match=r"'h'.*without Spark.*through Spark"):
        computed.append(pa.table({"a": pa.array([1], pa.int32())}))
    random = warehouse.create("d", described.column("r", "DOUBLE", default="rand()"))
    with pytest.raises(UnsupportedExpressionError, match="'r'"):
        random.append(pa.table({"a": pa.array([1], pa.int32())}))
    random.append(pa.table({"a": pa.array([1], pa.int32()), "r": [0.5]}))
    assert random.scan().count() == 1


def test_timestamps_need_a_zone(items: Table) -> None:
    naive = dt.datetime.fromisoformat("2020-07-01 12:00")
    aware = naive.replace(tzinfo=ZoneInfo("Europe/Berlin"))
    for column, wrong in (("at", naive), ("clock", aware)):
        with pytest.raises(NaiveTimestampError):
            items.append(pl.DataFrame({"id": [1], column: [wrong]}))
    with pytest.raises(UnsupportedExpressionError, match="time_zone"):
        items.scan(where="at > '2020-07-01 12:00:00'")
    berlin = open_table(items.path, time_zone="Europe/Berlin")
    berlin.append(pa.table({"id": [1], "at": [naive], "clock": pa.array([aware])}))
    ((at, clock),) = rows(berlin, "at", "clock")
    assert (at, clock) == (aware, naive)
    assert berlin.scan(where="at = '2020-07-01 12:00:00'").count() == 1
    assert berlin.scan(where="at = '2020-07-01 12:00:00Z'").count() == 0
    items.append(pa.table({"id": [1], "at": [aware], "clock": [naive]}))
    assert rows(items, "at", "clock") == [(aware, naive)]


def test_nested_timestamps_need_a_zone(warehouse: Warehouse) -> None:
    naive = dt.datetime.fromisoformat("2020-07-01 12:00")
    aware = naive.replace(tzinfo=ZoneInfo("Europe/Berlin"))
    described = TableDescriptor.for_managed().column("a", ArrayType(TIMESTAMP))
    clock = StructType((StructField(name="c", type=TIMESTAMP_NTZ),))
    table = warehouse.create("t", described.column("s", clock))
    with pytest.raises(NaiveTimestampError, match=r"'a\.element'"):
        table.append(pa.table({"a": [[naive]]}))
    with pytest.raises(NaiveTimestampError, match=r"'s\.c'"):
        table.append(pa.table({"s": [{"c": aware}]}))
    berlin = open_table(table.path, time_zone="Europe/Berlin")
    berlin.append(pa.table({"a": [[naive, None], None], "s": [{"c": aware}, None]}))
    assert berlin.scan().to_arrow().to_pylist() == [
        {"a": [aware, None], "s": {"c": naive}},
        {"a": None, "s": None},
    ]


def test_one_way_to_name_a_version(items: Table) -> None:
    items.append(pa.table({"id": [1]}))
    items.create_tag("first")
    for ways in ({"version": 1, "tag": "first"}, {"version": 1, "timestamp_ms": 1}):
        with pytest.raises(InvalidOptionError, match="version"):
            items.scan(**ways)


def test_update(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    items.update({"n": "n + 1", "name": pa.scalar("new"), "day": dt.date(2021, 1, 1)}, "id < 3")
    assert rows(items, "id", "name", "n", "twice", "day", where="id < 3") == [
        (1, "new", 11, 22, dt.date(2021, 1, 1)),
        (2, "new", 21, 42, dt.date(2021, 1, 1)),
    ]
    items.update({"price": None})
    assert (
        rows(items, "price") == [(None,)] * 3
        or items.scan(["price"]).to_arrow()["price"].null_count == 3
    )
    for wrong, error in (
        ({"id": 5}, DuplicateKeyError),
        ({"id": None}, NullKeyError),
        ({"twice": 5}, InvalidSchemaError),
        ({"name": "'too long'"}, ColumnRuleError),
        ({"n": "name"}, UnsupportedExpressionError),
        ({}, InvalidExpressionError),
    ):
        with pytest.raises(error):
            items.update(wrong)
    assert items.latest_snapshot().id == 3  # type: ignore[union-attr]


def test_upsert_of_some_columns(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    items.upsert(pl.DataFrame({"id": [2, 5, 2], "n": [21, 50, 22]}))
    assert rows(items, "id", "name", "n", "twice", "price", where="id IN (2, 5)") == [
        (2, "b", 22, 44, Decimal("1.50")),
        (5, None, 50, 100, Decimal("1.50")),
    ]
    with pytest.raises(InvalidSchemaError, match="key"):
        items.upsert(pa.table({"n": [1]}))
    assert items.upsert(pa.table({"id": pa.array([], pa.int64())})).snapshot is not None


def test_upsert_of_many_rows(items: Table) -> None:
    count = 5000
    items.append(pa.table({"id": range(count), "name": [str(i) for i in range(count)]}))
    items.upsert(pa.table({"id": range(1, count + 1), "n": pa.array(range(count), pa.int32())}))
    found = items.scan(["id", "name", "n"]).to_polars().sort("id")
    assert found["name"].to_list() == [*map(str, range(count)), None]
    assert found["n"].to_list() == [7, *range(count)]


def test_delete(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    items.delete("n / 2 > 5")
    assert rows(items, "id") == [(1,), (3,)]
    items.delete_rows(pl.DataFrame({"id": [3]}))
    assert rows(items, "id") == [(1,)]
    items.overwrite(pa.table({"id": [8, 9]}))
    assert rows(items, "id") == [(8,), (9,)]
    items.delete()
    assert items.scan().count() == 0
    assert items.history()["operation"].to_pylist()[1:] == [
        "DELETE",
        "WRITE",
        "OVERWRITE",
        "DELETE",
    ]


def test_a_table_without_key(warehouse: Warehouse) -> None:
    bag = warehouse.create(
        "bag", TableDescriptor.for_managed().column("a", "INT").column("b", "STRING")
    )
    bag.append(pl.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"]}))
    bag.update({"a": "a * 10"}, "b = 'x'")
    bag.delete_rows(pa.table({"a": [10], "b": ["x"]}))
    assert rows(bag) == [(2, "y"), (10, "x")]
    bag.delete("a = 2")
    assert rows(bag) == [(10, "x")]
    with pytest.raises(InvalidSchemaError, match="primary key"):
        bag.upsert(pa.table({"a": [1]}))


def test_a_statement_that_loses_the_race_is_repeated(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    commit, others = TableCommit.commit, [3, 2, 1]

    def late(self: TableCommit, *args: Any, **options: Any) -> Any:
        if options.get("operation") == "UPDATE" and others:
            n = pa.array([others.pop()], pa.int32())
            items.storage.append(_whole(items, pa.table({"id": [1], "n": n})))
        return commit(self, *args, **options)

    with mock.patch.object(TableCommit, "commit", late):
        items.update({"n": "n + 100"}, "id = 1")
    assert rows(items, "n", where="id = 1") == [(103,)]  # the last one that was faster wrote 3
    others[:] = [*range(1, 1000)]
    with (
        mock.patch.object(TableCommit, "commit", late),
        mock.patch.object(type(items.storage.clock), "sleep_ms"),
        pytest.raises(CommitConflictError),
    ):
        items.update({"n": "n + 100"}, "id = 1")


def replace_items(warehouse: Warehouse) -> None:
    """Do what CREATE OR REPLACE TABLE does, with the same columns and no rows."""
    items = Identifier("default", "items")
    warehouse.lifecycle.replace(items, ITEMS.definition, or_create=True)


def test_a_table_that_was_replaced_takes_no_rows(warehouse: Warehouse, items: Table) -> None:
    rows_given = pa.table(COLUMNS)
    items.append(rows_given)
    with items.writer() as writer:
        writer.write(rows_given)
        messages = writer.prepare_commit()
    replace_items(warehouse)
    writes: list[Callable[[], Any]] = [
        lambda: items.append(rows_given),
        lambda: items.overwrite(rows_given),
        lambda: items.upsert(pa.table({"id": [1], "n": [1]})),
        lambda: items.delete(),
        lambda: items.delete_rows(pa.table({"id": [1]})),
        lambda: items.update({"n": 1}),
        lambda: items.commit(messages),
        lambda: open_table(items.path).append(rows_given),
    ]
    for write in writes:
        with pytest.raises(TableMovedError, match="Open the table by its name again"):
            write()
    assert items.scan().count() == items.scan(version=1).count() == 3
    again = warehouse.open("items")
    assert again.scan().count() == 0
    again.append(rows_given)
    assert again.scan().count() == 3


def test_a_statement_that_a_replacement_overtakes_came_first(
    warehouse: Warehouse, items: Table
) -> None:
    items.append(pa.table(COLUMNS))
    commit = TableCommit.commit

    def late(self: TableCommit, *args: Any, **options: Any) -> Any:
        replace_items(warehouse)
        return commit(self, *args, **options)

    with mock.patch.object(TableCommit, "commit", late):
        items.update({"n": "n + 100"}, "id = 1")
    assert rows(items, "n", where="id = 1") == [(110,)]
    assert warehouse.open("items").scan().count() == 0


def _whole(table: Table, some: pa.Table) -> pa.Table:
    nulls = {
        f.name: pa.nulls(1, f.type) for f in table.scan().schema if f.name not in some.column_names
    }
    return pa.table({**{name: some[name] for name in some.column_names}, **nulls})


def test_threads_share_a_table(items: Table) -> None:
    def work(number: int) -> int:
        items.append(pa.table({"id": [number], "n": pa.array([number], pa.int32())}))
        items.update({"n": "n + 1"}, f"id = {number}")
        return items.scan(where=[("id", "=", number)]).count()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(24))) == [1] * 24
    assert rows(items, "id", "n") == [(i, i + 1) for i in range(24)]


def test_tags(items: Table) -> None:
    with pytest.raises(NotFoundError):
        items.create_tag("empty")
    items.append(pa.table(COLUMNS))
    items.create_tag("first")
    items.delete()
    assert items.tags() == {"first": 1}
    assert rows(items, "id", tag="first") == [(1,), (2,), (3,)]
    items.delete_tag("first")
    with pytest.raises(NotFoundError, match="first"):
        items.scan(tag="first")


def test_a_table_that_was_dropped(warehouse: Warehouse, items: Table) -> None:
    items.append(pa.table(COLUMNS))
    warehouse.drop("items")
    for use in (
        items.scan,
        items.history,
        items.latest_snapshot,
        items.tags,
        partial(items.delete_tag, "first"),
        partial(items.create_tag, "first"),
        partial(items.create_tag, "first", version=1),
    ):
        with pytest.raises(NotFoundError, match=re.escape(f"table {items.path!r} does not exist")):
            use()


def test_a_warehouse(warehouse: Warehouse, tmp_path: Path) -> None:
    described = TableDescriptor.for_managed().column("a", "INT")
    warehouse.create_namespace("sales")
    warehouse.create("sales.b", described)
    made = warehouse.create("`a.b`", described)
    assert (warehouse.namespaces(), warehouse.tables("sales")) == (("default", "sales"), ("b",))
    assert warehouse.tables() == ("a.b",)
    with pytest.raises(InvalidIdentifierError, match=r"say table or namespace\.table"):
        warehouse.create("a.b.c", described)
    assert warehouse.open("SALES.B").path == connect(tmp_path.as_uri()).open("sales.b").path
    assert repr(warehouse) == f"<Warehouse {tmp_path}>"
    assert repr(made) == "<Table default.a.b (a INT)>"
    assert repr(made.scan(limit=2)) == "<Scan of default.a.b: a limit 2>"
    assert warehouse.rename("sales.b", "c").name == "default.c"
    with pytest.raises(NotFoundError):
        warehouse.open("sales.b")
    with pytest.raises(NotFoundError):
        warehouse.drop("sales.b")
    warehouse.drop("sales.b", if_exists=True)
    warehouse.drop("c")
    warehouse.create("sales.d", described)
    with pytest.raises(NamespaceNotEmptyError):
        warehouse.drop_namespace("sales")
    warehouse.drop_namespace("sales", cascade=True)
    assert warehouse.namespaces() == ("default",)


def test_the_definition_changes(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    definition = items.definition
    definition.add_column("note", "VARCHAR(3)", default="'abc'", comment="of us", first=True)
    definition.rename_column("name", "label")
    definition.alter_column("n", nullable=True, comment="how many", default=None)
    definition.alter_column("label", data_type="VARCHAR(9)")
    definition.move_column("note", after="label")
    definition.drop_column("day")
    definition.drop_column("day", if_exists=True)
    definition.set_comment("all")
    definition.set_options({"write-buffer-size": "8 mb"})
    definition.set_options({"write-buffer-size": None})
    schema = items.schema
    assert schema.column_names[:3] == ("id", "label", "note")
    assert (schema.comment, schema.field_named("n").comment) == ("all", "how many")
    items.append(pa.table({"id": [4], "label": ["123456789"]}))
    assert rows(items, "id", "label", "note", "n", where="id IN (1, 4)") == [
        (1, "a", "abc", 10),
        (4, "123456789", "abc", None),
    ]
    with pytest.raises(InvalidSchemaError):
        definition.drop_column("n")  # a computed column uses it
    with pytest.raises(OpenedByPathError):
        _ = open_table(items.path).definition


def test_writing_in_steps(items: Table) -> None:
    with items.writer() as writer:
        writer.write(pl.DataFrame({"id": [1, 2]}))
        writer.write(pd.DataFrame({"id": [3]}))
        writer.delete(pa.table({"id": [2]}))
        messages = writer.prepare_commit()
    assert items.latest_snapshot() is None
    items.commit(messages)
    assert rows(items, "id", "n") == [(1, 7), (3, 7)]


def test_changes(items: Table) -> None:
    items.append(pa.table(COLUMNS))
    items.delete("id = 2")
    changes = items.changes(columns=["id", "_change_type"], where="n % 20 = 0")
    assert sorted(changes.to_polars().rows()) == [(2, "delete"), (2, "insert")]


def test_checks_hold_for_each_way_to_write(warehouse: Warehouse) -> None:
    """A condition may name computed columns; NULL passes; what nobody can evaluate lets none in."""
    made = (
        TableDescriptor.for_managed()
        .column("id", "BIGINT")
        .column("n", "INT")
        .computed_column("twice", "INT", "n * 2")
        .check("small", "twice < 20 AND id > 0")
        .primary_key("id")
    )
    assert "CONSTRAINT `small` CHECK (twice < 20 AND id > 0)" in made.to_sql("t")
    table = warehouse.create("checked", made)
    table.append(pa.table({"id": [1, 2], "n": [9, None]}))
    broken: list[Callable[[], object]] = [
        lambda: table.append(pa.table({"id": [3, 4], "n": [3, 10]})),
        lambda: table.append(pa.table({"id": [0], "n": [1]})),
        lambda: table.overwrite(pa.table({"id": [3], "n": [10]})),
        lambda: table.upsert(pa.table({"id": [1], "n": [10]})),
        lambda: table.update({"n": "n + 1"}, "id = 1"),
    ]
    for write in broken:
        with pytest.raises(CheckViolationError, match="'small' demands twice < 20 AND id > 0"):
            write()
    with pytest.raises(CheckViolationError, match="id = 4, twice = 20"):
        broken[0]()
    assert rows(table, "id", "n") == [(1, 9), (2, None)]
    table.delete("id = 1")
    other = TableDescriptor.for_managed().column("n", "INT").check("c", "n > pi()")
    with pytest.raises(UnsupportedExpressionError, match="of constraint 'c'"):
        warehouse.create("unknown", other).append(pa.table({"n": [4]}))
