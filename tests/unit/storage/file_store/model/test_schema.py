"""Goal: table definitions keep their rules, survive JSON, and change only in ways that are safe."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model import schema_evolution as evolution
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.schema_evolution import FIRST, NewColumn
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.kernel.errors import (
    CorruptFileError,
    InvalidSchemaError,
    MissingFileError,
    NotFoundError,
)
from table_store.storage.kernel.types import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
)

POINT = StructType((StructField(name="x", type=INTEGER), StructField(name="y", type=INTEGER)))


def column(name: str, data_type: DataType = LONG, **rest: object) -> Field:
    return Field(id=0, name=name, type=data_type, **rest)  # type: ignore[arg-type]


def table(*columns: Field, **rest: object) -> TableSchema:
    return new_schema(fields=columns, time_ms=1, **rest)  # type: ignore[arg-type]


def rich() -> TableSchema:
    return table(
        column("dt", DATE, comment="day"),
        column("Id", LONG, metadata=(("__CHAR_VARCHAR_TYPE_STRING", '"x"'),)),
        column("point", POINT, default=StoredExpression("NULL")),
        column("points", ArrayType(POINT)),
        column("by_name", MapType(key=STRING, value=POINT)),
        column("total", LONG, generated=StoredExpression("id * 2"), initial_default="7"),
        primary_key=["DT", "id"],
        partition_keys=["dt"],
        options={"bucket": "3", 'odd "key"\'': "é\n🦊"},
        comment="a table",
        constraint_name="pk",
        watermark=("dt", StoredExpression("dt - INTERVAL 1 DAY")),
    )


def test_a_new_schema_has_ids_key_rules_and_the_columns_spelling() -> None:
    schema = rich()
    assert [f.id for f in schema.fields] == [1, 2, 3, 4, 5, 6]
    assert schema.highest_field_id == 12
    assert schema.primary_key == ("dt", "Id")
    assert [f.nullable for f in schema.fields] == [False, False, True, True, True, True]
    assert schema.field_named("POINT").id == 3


def test_json_and_pickle_keep_everything() -> None:
    schema = rich()
    assert TableSchema.from_bytes(schema.to_bytes()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert TableSchema.from_bytes(schema.to_bytes()).to_bytes() == schema.to_bytes()


@pytest.mark.parametrize(
    ("make", "named", "rule"),
    [
        (lambda: table(), None, "at least one"),
        (lambda: table(column("a"), column("A")), "a", "more than once"),
        (lambda: table(column("")), "", "empty"),
        (lambda: table(column("_value_kind")), "_value_kind", "reserved"),
        (lambda: table(column("__Table_store_x")), "__Table_store_x", "reserved"),
        (lambda: table(column("a"), primary_key=["b"]), "b", "no such column"),
        (lambda: table(column("a"), primary_key=["a", "A"]), "a", "twice"),
        (lambda: table(column("a", ArrayType(LONG)), primary_key=["a"]), "a", "order"),
        (lambda: table(column("a", VARIANT), primary_key=["a"]), "a", "order"),
        (lambda: table(column("m", POINT), partition_keys=["m"]), "m", "order"),
        (
            lambda: table(column("a"), column("p"), primary_key=["a"], partition_keys=["p"]),
            "p",
            "must contain all partition",
        ),
        (lambda: table(column("a"), watermark=("b", StoredExpression("b"))), "b", "no such column"),
        (
            lambda: table(column("s", StructType((POINT.fields[0], POINT.fields[0])))),
            "x",
            "more than once",
        ),
    ],
)
def test_broken_rules_name_the_column(
    make: Callable[[], TableSchema], named: str | None, rule: str
) -> None:
    with pytest.raises(InvalidSchemaError, match=rule) as caught:
        make()
    assert caught.value.column == named


def test_every_change_takes_the_next_id_and_keeps_the_others() -> None:
    base = rich()
    added = evolution.add_column(base, NewColumn(name="n", type=POINT), time_ms=2, after="Id")
    assert added.id == 1
    assert [f.name for f in added.fields][:4] == ["dt", "Id", "n", "point"]
    assert (added.field_named("n").id, added.highest_field_id) == (13, 15)
    dropped = evolution.drop_column(added, ("n",), time_ms=3)
    again = evolution.add_column(dropped, NewColumn(name="n", type=LONG), time_ms=4, after=FIRST)
    assert again.fields[0].id == 16, "the id of a dropped column is not used again"
    renamed = evolution.rename_column(again, ("ID",), "key", time_ms=5)
    assert renamed.primary_key == ("dt", "key")
    assert renamed.field_named("key").id == 2
    moved = evolution.move_column(renamed, ("n",), after="total", time_ms=6)
    assert moved.column_names[-1] == "n"
    assert moved.id == 5


def test_nested_fields_change_like_columns() -> None:
    schema = evolution.add_column(
        rich(), NewColumn(name="z", type=LONG), parent=("points", "element"), time_ms=2, after="x"
    )
    element = schema.field_named("points").type
    assert isinstance(element, ArrayType)
    assert isinstance(element.element, StructType)
    assert [(f.name, f.id) for f in element.element.fields] == [("x", 9), ("z", 13), ("y", 10)]
    schema = evolution.rename_column(schema, ("by_name", "value", "y"), "w", time_ms=3)
    schema = evolution.widen_column(schema, ("by_name", "value", "x"), LONG, time_ms=4)
    by_name = schema.field_named("by_name").type
    assert isinstance(by_name, MapType)
    assert by_name.value.sql_name() == "STRUCT<x: BIGINT, w: INT>"
    schema = evolution.drop_column(schema, ("point", "x"), time_ms=5)
    schema = evolution.set_column_comment(schema, ("point", "y"), "height", time_ms=6)
    point = schema.field_named("point").type
    assert isinstance(point, StructType)
    assert [(f.name, f.comment) for f in point.fields] == [("y", "height")]


def test_widening_a_whole_struct_keeps_the_ids_inside() -> None:
    wide = StructType((StructField(name="x", type=LONG), StructField(name="y", type=INTEGER)))
    schema = evolution.widen_column(rich(), ("point",), wide, time_ms=2)
    point = schema.field_named("point").type
    assert isinstance(point, StructType)
    assert [(f.id, f.type) for f in point.fields] == [(7, LONG), (8, INTEGER)]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: evolution.drop_column(s, ("dt",), time_ms=2),
        lambda s: evolution.drop_column(s, ("id",), time_ms=2),
        lambda s: evolution.drop_column(s, ("nothing",), time_ms=2),
        lambda s: evolution.rename_column(s, ("dt",), "day", time_ms=2),
        lambda s: evolution.rename_column(s, ("total",), "POINT", time_ms=2),
        lambda s: evolution.add_column(s, NewColumn(name="ID", type=LONG), time_ms=2),
        lambda s: evolution.add_column(
            s, NewColumn(name="n", type=LONG, nullable=False), time_ms=2
        ),
        lambda s: evolution.add_column(
            s, NewColumn(name="n", type=LONG), parent=("total",), time_ms=2
        ),
        lambda s: evolution.add_column(
            s,
            NewColumn(name="n", type=LONG, default=StoredExpression("1")),
            parent=("point",),
            time_ms=2,
        ),
        lambda s: evolution.widen_column(s, ("id",), DecimalType(20, 0), time_ms=2),
        lambda s: evolution.widen_column(s, ("total",), INTEGER, time_ms=2),
        lambda s: evolution.drop_not_null(s, ("id",), time_ms=2),
        lambda s: evolution.rename_column(s, ("points", "x"), "w", time_ms=2),
        lambda s: evolution.move_column(s, ("total",), after="nothing", time_ms=2),
    ],
)
def test_unsafe_changes_are_refused(change: Callable[[TableSchema], TableSchema]) -> None:
    with pytest.raises(InvalidSchemaError):
        change(rich())


@pytest.mark.parametrize(
    ("old", "new", "possible"),
    [
        (BYTE, SHORT, True),
        (INTEGER, LONG, True),
        (INTEGER, DOUBLE, True),
        (LONG, DOUBLE, False),
        (LONG, INTEGER, False),
        (FLOAT, DOUBLE, True),
        (DATE, TIMESTAMP_NTZ, True),
        (DATE, TIMESTAMP, False),
        (INTEGER, DecimalType(10, 0), True),
        (INTEGER, DecimalType(11, 2), False),
        (LONG, DecimalType(20, 1), True),
        (DecimalType(5, 2), DecimalType(7, 4), True),
        (DecimalType(5, 2), DecimalType(6, 4), False),
        (TimeType(3), TimeType(6), True),
        (STRING, LONG, False),
        (ArrayType(INTEGER), ArrayType(LONG), True),
        (ArrayType(INTEGER), ArrayType(INTEGER, False), False),
        (MapType(key=INTEGER, value=INTEGER), MapType(key=LONG, value=LONG), True),
    ],
)
def test_widening_keeps_every_value(old: DataType, new: DataType, possible: bool) -> None:
    schema = table(column("k"), column("c", old))
    if possible:
        assert evolution.widen_column(schema, ("c",), new, time_ms=2).field_named("c").type == new
    else:
        with pytest.raises(InvalidSchemaError, match="cannot become"):
            evolution.widen_column(schema, ("c",), new, time_ms=2)


def test_options_and_comments_change() -> None:
    schema = evolution.change_options(rich(), set_to={"a": "b"}, unset=["bucket"], time_ms=2)
    assert schema.options["a"] == "b"
    assert "bucket" not in schema.options
    assert evolution.set_table_comment(schema, None, time_ms=3).comment is None
    default = evolution.set_column_default(schema, "total", StoredExpression("1 + 1"), time_ms=3)
    assert default.field_named("total").default == StoredExpression("1 + 1")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', "nonsense"])
def test_a_damaged_schema_file_is_named(tmp_path: Path, text: str) -> None:
    store = SchemaStore(LocalFileIO(str(tmp_path)), str(tmp_path))
    assert store.publish(rich())
    (tmp_path / "schema" / "schema-0").write_text(text)
    with pytest.raises(CorruptFileError, match="schema-0"):
        SchemaStore(LocalFileIO(str(tmp_path)), str(tmp_path)).latest()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_schema_file_is_named(tmp_path: Path, lost: int) -> None:
    """Never an older definition, nor a table that is not there."""
    io = LocalFileIO(str(tmp_path))
    store = SchemaStore(io, str(tmp_path))
    assert store.publish(rich())
    for value in "ab":
        change = partial(evolution.change_options, set_to={"option": value}, time_ms=1)
        store.evolve(change)
    (tmp_path / "schema" / f"schema-{lost}").unlink()
    again = SchemaStore(io, str(tmp_path))
    with pytest.raises(MissingFileError, match=f"schema-{lost}.*definition"):
        again.latest(at_least=2)


def test_two_changes_at_once_both_happen(tmp_path: Path) -> None:
    io = LocalFileIO(str(tmp_path))
    first, second = SchemaStore(io, str(tmp_path)), SchemaStore(io, str(tmp_path))
    with pytest.raises(NotFoundError):
        first.latest()
    assert first.publish(rich())
    assert not second.publish(rich())
    met = False

    def change(schema: TableSchema) -> TableSchema:
        nonlocal met
        if not met:
            met = True
            second.evolve(lambda s: evolution.change_options(s, set_to={"b": "2"}, time_ms=2))
        return evolution.change_options(schema, set_to={"a": "1"}, time_ms=3)

    result = first.evolve(change)
    assert (result.id, result.options["a"], result.options["b"]) == (2, "1", "2")
    assert [s.id for s in second.all()] == [0, 1, 2]


def test_checks_are_stored_and_older_releases_refuse_them() -> None:
    """A release that does not know constraints must not write to a table that has them."""
    plain = rich()
    assert b'"version": 2' in plain.to_bytes()
    checks = [
        Check(name="c", condition=StoredExpression("total > 0")),
        Check(name="d", condition=StoredExpression("`Id` < 9")),
    ]
    schema = table(*plain.fields, checks=checks)
    assert b'"version": 4' in schema.to_bytes()
    assert TableSchema.from_bytes(schema.to_bytes()) == schema
    required = evolution.set_not_null(plain, "TOTAL", time_ms=2)
    assert b'"version": 4' in required.to_bytes()
    assert TableSchema.from_bytes(required.to_bytes()) == required
    assert required.field_named("total").had_null
    with pytest.raises(InvalidSchemaError, match="two constraints have the name 'c'"):
        table(column("a"), checks=[checks[0], replace(checks[1], name="C")])
    moved = replace(plain, successor=Successor(location="/w/t-1", snapshot_id=3, claim="{}"))
    assert b'"version": 5' in moved.to_bytes()
    assert TableSchema.from_bytes(moved.to_bytes()) == moved
    replaced = replace(plain, successor=Successor(location="/w/t-1"))
    assert TableSchema.from_bytes(replaced.to_bytes()) == replaced


def test_settings_of_expressions_come_back() -> None:
    zone, flag = {"zone": "Asia/Kolkata"}, {"ansi": "false"}
    schema = table(
        column("a", default=StoredExpression("1", zone)),
        column("b", generated=StoredExpression("a", flag)),
        column("c"),
        watermark=("c", StoredExpression("c", zone)),
        checks=[Check(name="c", condition=StoredExpression("a > 0", zone | flag))],
    )
    assert b'"version": 6' in schema.to_bytes()
    read = TableSchema.from_bytes(schema.to_bytes())
    assert read == schema
    assert [dict(e.settings) for e in read.expressions] == [zone, flag, zone | flag, zone]
    plain = table(column("a", default=StoredExpression("1")))
    assert b"ettings" not in plain.to_bytes()  # a release that evaluates as ever reads it
    assert b'"version": 2' in plain.to_bytes()
