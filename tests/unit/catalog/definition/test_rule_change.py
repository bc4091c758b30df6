"""Goal: constraints come, follow renamed columns, hold dropped ones, and go."""

from __future__ import annotations

import pytest

from table_store.catalog.definition.rule_change import (
    AddCheck,
    AddPrimaryKey,
    DropConstraint,
    KeepCheck,
    RequireColumn,
    pending_check,
)
from table_store.catalog.definition.table_change import (
    DropColumn,
    RenameColumn,
    TableChange,
    changed_schema,
)
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import AlreadyExistsError, InvalidSchemaError
from table_store.storage.kernel.types import INTEGER, StructField, StructType

POINT = StructType((StructField(name="x", type=INTEGER), StructField(name="v", type=INTEGER)))


@pytest.fixture
def schema() -> TableSchema:
    return new_schema(
        fields=[
            Field(id=0, name="k", type=INTEGER),
            Field(id=0, name="v", type=INTEGER),
            Field(id=0, name="s", type=POINT),
        ],
        primary_key=["k"],
        constraint_name="pk",
        time_ms=1,
    )


def altered(schema: TableSchema, *changes: TableChange) -> TableSchema:
    return changed_schema(schema, changes, time_ms=2)


def test_a_constraint_is_verified_in_a_second_change(schema: TableSchema) -> None:
    added = altered(schema, AddCheck("c", StoredExpression("v > 0")))
    assert added.checks == (
        Check(name="c", condition=StoredExpression("v > 0"), since=1, is_verified=False),
    )
    kept = altered(added, KeepCheck("C"))
    assert kept.checks == (
        Check(name="c", condition=StoredExpression("v > 0"), since=1, is_verified=True),
    )
    assert altered(kept, DropConstraint("C")).checks == ()
    assert altered(kept, DropConstraint("x", if_exists=True)) == kept
    for name in ("C", "PK"):
        with pytest.raises(AlreadyExistsError):
            altered(kept, AddCheck(name, StoredExpression("v > 1")))


@pytest.mark.parametrize(
    ("condition", "renamed"),
    [
        ("v > 0", "`new v` > 0"),
        ("V>0 AND s.v = 'v' -- v\n", "`new v`>0 AND s.v = 'v' -- v\n"),
        ("length('v') > `v`", "length('v') > `new v`"),
        ("exists(array(v), v -> v > 1)", None),
        ("v IN (1, 2) OR v IS NULL", "`new v` IN (1, 2) OR `new v` IS NULL"),
        ("k > 0", "k > 0"),
    ],
)
def test_conditions_follow_a_renamed_column(
    schema: TableSchema, condition: str, renamed: str | None
) -> None:
    checked = altered(schema, AddCheck("c", StoredExpression(condition)))
    if renamed is None:
        with pytest.raises(InvalidSchemaError, match="may use it"):
            altered(checked, RenameColumn(("v",), "new v"))
        return
    assert altered(checked, RenameColumn(("V",), "new v")).checks[0].condition == StoredExpression(
        renamed
    )


def test_a_column_in_use_stays(schema: TableSchema) -> None:
    checked = altered(schema, AddCheck("c", StoredExpression("s.x > 0")))
    for change in (DropColumn(("s",)), DropColumn(("s", "x")), RenameColumn(("s", "x"), "y")):
        with pytest.raises(InvalidSchemaError, match="constraint 'c' uses it"):
            altered(checked, change)
    assert altered(checked, DropColumn(("v",))).column_names == ("k", "s")


def test_a_check_stands_in_for_not_null(schema: TableSchema) -> None:
    """One of the name that says something else is left alone; one that was left is taken up."""
    stand_in = AddCheck("v_not_null", StoredExpression("`v` IS NOT NULL"))
    assert pending_check(schema, RequireColumn("V")) == stand_in
    assert pending_check(altered(schema, stand_in), RequireColumn("v")) == stand_in
    other = altered(schema, AddCheck("V_NOT_NULL", StoredExpression("k > 0")))
    assert pending_check(other, RequireColumn("v")) == AddCheck(
        "v_not_null_", StoredExpression("`v` IS NOT NULL")
    )
    required = altered(schema, RequireColumn("v"))
    assert not required.field_named("v").nullable
    assert pending_check(required, RequireColumn("v")) is None


def test_the_primary_key_changes_alone(schema: TableSchema) -> None:
    for change in (DropConstraint("PK"), AddPrimaryKey("other", ("v",))):
        with pytest.raises(InvalidSchemaError, match="ALTER TABLE of its own"):
            altered(schema, change)
