"""What Spark says of a table in CREATE and ALTER, as the catalog's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from table_store.catalog.planner.endpoint import Argument
from table_store.catalog.table_definition import TableDefinition, columns_from_spark
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError

TEMPORARY: Final = "table-store.temporary"
"""Property by which CREATE TEMPORARY TABLE reaches the catalog."""

_WATERMARK_COLUMN, _WATERMARK_EXPRESSION = "watermark.column", "watermark.expression"
# Spark's reserved table properties (TableCatalog.PROP_*), which are no options.
_RESERVED = frozenset(
    ("comment", "location", "provider", "owner", "external", "is_managed_location", "table_type")
)


def definition_of(argument: Argument) -> TableDefinition:
    """The definition in a CREATE or REPLACE TABLE.

    Raises:
        InvalidSchemaError: a partition transform or constraint that is not supported.
        InvalidOptionError: a LOCATION, which a managed table chooses itself.
    """
    properties: dict[str, str] = dict(argument["properties"])
    if "location" in properties:
        raise InvalidOptionError(
            key="LOCATION",
            value=properties["location"],
            reason="a managed table chooses its own folder; set the option 'file.path' to put it "
            "below another one, or name a format with USING",
        )
    watermark = properties.pop(_WATERMARK_COLUMN, None)
    expression = properties.pop(_WATERMARK_EXPRESSION, None)
    comment = properties.get("comment")
    inherited = {
        key: value
        for key, value in argument.get("source_properties", {}).items()
        if key not in _RESERVED and key not in (_WATERMARK_COLUMN, _WATERMARK_EXPRESSION)
    }
    own = {k: v for k, v in properties.items() if k not in _RESERVED and k != TEMPORARY}
    key = _primary_key(argument["constraints"] or argument.get("source_constraints", []))
    return TableDefinition(
        columns=columns_from_spark(argument["columns"]),
        primary_key=tuple(key["columns"]) if key else (),
        partition_keys=tuple(_partition_key(t) for t in argument["partitions"]),
        options={**inherited, **own},
        comment=comment,
        constraint_name=key["name"] if key else None,
        watermark=(watermark, expression) if watermark and expression else None,
    )


def properties_of(schema: TableSchema, location: str) -> dict[str, str]:
    """A table's properties as Spark shows them; what SHOW CREATE TABLE needs is among them."""
    properties = dict(schema.options)
    if schema.comment is not None:
        properties["comment"] = schema.comment
    if schema.watermark is not None:
        properties[_WATERMARK_COLUMN], properties[_WATERMARK_EXPRESSION] = schema.watermark
    properties["location"] = location
    properties["is_managed_location"] = "true"
    return properties


def _primary_key(constraints: list[dict[str, Any]]) -> dict[str, Any] | None:
    keys = [c for c in constraints if c["kind"] == "primary key"]
    other = [c for c in constraints if c["kind"] != "primary key"]
    if other:
        raise InvalidSchemaError(
            reason=f"constraint {other[0]['name']} ({other[0]['kind']}) is not supported; "
            "only PRIMARY KEY … NOT ENFORCED is"
        )
    if len(keys) > 1:
        raise InvalidSchemaError(reason="a table has one primary key")
    if not keys:
        return None
    columns = [".".join(path) for path in keys[0]["columns"]]
    return {"name": keys[0]["name"], "columns": columns}


def _partition_key(transform: Mapping[str, Any]) -> str:
    if transform["name"] != "identity" or len(transform["columns"]) != 1:
        raise InvalidSchemaError(
            reason=f"PARTITIONED BY {transform['name']}(…) is not supported; name a column, which "
            "may be a computed one"
        )
    return ".".join(transform["columns"][0])
