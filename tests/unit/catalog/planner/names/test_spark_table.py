"""Goal: CREATE TABLE, also LIKE another table, means to the catalog what its user wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from table_store.catalog.planner.names.spark_table import TEMPORARY, definition_of, properties_of
from table_store.storage.kernel.errors import InvalidOptionError

COLUMNS = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": False, "metadata": {}}
            for name, kind in (("id", "integer"), ("ts", "timestamp"))
        ],
    }
)
KEY = {"kind": "primary key", "name": "pk", "columns": [["id"]]}


def argument(properties: dict[str, str], **rest: Any) -> dict[str, Any]:
    said = {"columns": COLUMNS, "partitions": [], "constraints": [], "properties": properties}
    return {**said, **rest}


def test_options_may_be_said_by_any_clause_of_spark() -> None:
    """OPTIONS (…) comes twice; the rest of what Spark adds means nothing to us."""
    given = {"option.bucket": "2", "bucket": "2", "owner": "me", TEMPORARY: "true"}
    definition = definition_of(argument({**given, "provider": "tablestore", "comment": "c"}))
    assert (definition.options, definition.comment) == ({"bucket": "2"}, "c")


@pytest.mark.parametrize("key", ["location", "external", "collation"])
def test_what_a_managed_table_cannot_be_is_refused(key: str) -> None:
    with pytest.raises(InvalidOptionError, match=key):
        definition_of(argument({key: "true"}))


def test_like_copies_the_table_but_not_what_is_its_own() -> None:
    """A topic belongs to one table; a comment says what one table is for."""
    own = {"comment": "c", "log.kafka.topic": "t"}
    copied = {"bucket": "2", "watermark.column": "ts", "watermark.expression": "ts"}
    source = definition_of(argument({**own, **copied}, constraints=[KEY])).schema(time_ms=0)
    like = definition_of(
        argument(
            {"bucket": "4"},
            source_properties=properties_of(source, "/somewhere"),
            source_constraints=[KEY],
        )
    )
    assert like.options == {"bucket": "4"}
    assert like.watermark == ("ts", "ts")
    assert (like.primary_key, like.comment) == (("id",), None)
