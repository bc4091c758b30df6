"""Goal: CREATE TABLE, also LIKE another table, means to the catalog what its user wrote."""

from __future__ import annotations

import json

import pytest

from table_store.catalog.planner.names.spark_table import TEMPORARY, definition_of, properties_of
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.protocol.tables import (
    DeclaredConstraint,
    DeclaredTable,
    LikeSource,
)
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import InvalidOptionError

COLUMNS = SparkColumns(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": False, "metadata": {}}
                for name, kind in (("id", "integer"), ("ts", "timestamp"))
            ],
        }
    )
)
KEY = DeclaredConstraint(kind="primary key", name="pk", columns=(("id",),))


def declared(properties: dict[str, str], *constraints: DeclaredConstraint) -> DeclaredTable:
    return DeclaredTable(
        columns=COLUMNS, partitions=(), constraints=constraints, properties=properties
    )


def test_options_may_be_said_by_any_clause_of_spark() -> None:
    """OPTIONS (…) comes twice; of the rest of what Spark adds the owner is kept."""
    given = {"option.bucket": "2", "bucket": "2", "owner": "me", TEMPORARY: "true"}
    definition = definition_of(declared({**given, "provider": "tablestore", "comment": "c"}))
    assert (definition.options, definition.comment) == ({"bucket": "2", "owner": "me"}, "c")


def test_what_a_managed_table_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="external"):
        definition_of(declared({"external": "true"}))


def test_a_location_is_of_one_table_alone() -> None:
    """It is no option, and LIKE does not take it over."""
    made = definition_of(declared({"location": "/w/own"}))
    assert (made.location, made.options) == ("/w/own", {})


def test_like_copies_the_table_but_not_what_is_its_own() -> None:
    """A topic belongs to one table; a comment says what one table is for."""
    own = {"comment": "c", "log.kafka.topic": "t"}
    copied = {"bucket": "2", "watermark.column": "ts", "watermark.expression": "ts"}
    source = definition_of(declared({**own, **copied}, KEY)).schema(time_ms=0)
    like = definition_of(
        declared({"bucket": "4"}),
        LikeSource(
            handle=TableHandle(path="/somewhere", schema_id=0, snapshot_id=None),
            properties=properties_of(source, "/somewhere"),
            constraints=(KEY,),
        ),
    )
    assert like.options == {"bucket": "4"}
    assert like.watermark == ("ts", StoredExpression("ts"))
    assert (like.primary_key, like.comment) == (("id",), None)
