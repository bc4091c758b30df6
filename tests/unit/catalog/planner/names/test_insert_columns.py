"""Goal: what the bridge puts behind a name is read back; what a user writes there is a name."""

from __future__ import annotations

import json

import pytest

from table_store.catalog.planner.names.insert_columns import (
    CHANGE_TYPE_SEPARATOR,
    split_change_type,
)
from table_store.catalog.planner.protocol.relations import (
    CatalogReference,
    ChangeType,
    RelationReference,
)

CATALOG = CatalogReference(name="c", options={}, allowed_roots="")


def named(name: str) -> RelationReference:
    return RelationReference(catalog=CATALOG, namespace=("default",), name=name)


def test_the_bridges_own_is_taken_off() -> None:
    said = json.dumps({"column": "kind", "at": 1, "static": ["p"]})
    relation, change_type = split_change_type(named(f"t{CHANGE_TYPE_SEPARATOR}{said}"))
    assert relation == named("t")
    assert change_type == ChangeType(column="kind", at=1, static=("p",))


@pytest.mark.parametrize(
    "rest", ["", "x", "{}", "[]", "1", '{"column":', '{"column": 1}', '"column"']
)
def test_anything_else_is_a_name(rest: str) -> None:
    relation = named(f"t{CHANGE_TYPE_SEPARATOR}{rest}")
    assert split_change_type(relation) == (relation, None)
