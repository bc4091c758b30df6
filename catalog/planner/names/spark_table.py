"""Conversion between Spark's description of a table and the catalog's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from table_store.catalog.bridge.shared_text import shared_name
from table_store.catalog.definition.rule_change import unsupported_constraint
from table_store.catalog.definition.table_definition import (
    OPTION_PREFIX,
    WATERMARK_COLUMN,
    WATERMARK_EXPRESSION,
    TableDefinition,
    definition_from_spark,
)
from table_store.catalog.planner.protocol.tables import (
    DeclaredConstraint,
    DeclaredTable,
    LikeSource,
    PartitionTransform,
)
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError
from table_store.storage.kernel.secrets import shown_value
from table_store.storage.options.log_options import LOG_KAFKA_TOPIC
from table_store.storage.options.table_options import BUCKET

TEMPORARY: Final = shared_name("temporary-table")
"""Property by which CREATE TEMPORARY TABLE reaches the catalog."""

PROVIDER: Final = "table_store"
"""What USING may say, and DESCRIBE shows, of managed tables."""

# Properties of the source that CREATE TABLE LIKE does not copy.
_OF_THE_SOURCE = frozenset(
    (
        "comment",
        "location",
        "provider",
        "owner",
        "external",
        "is_managed_location",
        "table_type",
        LOG_KAFKA_TOPIC.key,
    )
)


def definition_of(
    declared: DeclaredTable,
    like: LikeSource | None = None,
    source_options: Mapping[str, str] | None = None,
) -> TableDefinition:
    """The definition in a CREATE or REPLACE TABLE; with LIKE, merged with the source's.

    `source_options` are the options of a managed source with the secrets, which Spark's
    properties redact.

    Raises:
        InvalidSchemaError: a partition transform or constraint that is not supported.
        InvalidOptionError: a property that a managed table cannot have, such as LOCATION.
    """
    given = dict(declared.properties)
    if {"external", "provider", "location", "path"} <= given.keys():
        # So `spark.catalog.createTable` gives its path; in SQL nothing is left of `path`.
        for repeated in ("external", "path", OPTION_PREFIX + "path"):
            given.pop(repeated, None)
    for own in (TEMPORARY, "provider"):  # not stored: they say that it is temporary, and managed
        given.pop(own, None)
    source: Mapping[str, str] = {
        **(like.properties if like else {}),
        **(source_options or {}),
    }
    inherited = {key: value for key, value in source.items() if key not in _OF_THE_SOURCE}
    constraints = declared.constraints or (like.constraints if like else ())
    key = _primary_key(constraints)
    primary_key = [".".join(path) for path in key.columns] if key else []
    clustered = [t for t in declared.partitions if t.buckets is not None]
    for transform in clustered:
        count = _bucket_count(transform, primary_key)
        if given.setdefault(BUCKET.key, count) != count:
            reason = f"CLUSTERED BY says {count} buckets"
            raise InvalidOptionError(key=BUCKET.key, value=given[BUCKET.key], reason=reason)
    return definition_from_spark(
        columns=declared.columns,
        partition_columns=[_partition_key(t) for t in declared.partitions if t not in clustered],
        properties={**inherited, **given},
        primary_key=primary_key,
        constraint_name=key.name if key else None,
        checks=_checks(constraints),
    )


def properties_of(schema: TableSchema, location: str) -> dict[str, str]:
    """A table's properties as Spark shows them, without secrets."""
    properties = {key: str(shown_value(key, value)) for key, value in schema.options.items()}
    if schema.comment is not None:
        properties["comment"] = schema.comment
    if schema.watermark is not None:
        column, expression = schema.watermark
        properties[WATERMARK_COLUMN], properties[WATERMARK_EXPRESSION] = column, expression.text
    properties["provider"] = PROVIDER
    properties["location"] = location
    properties["is_managed_location"] = "true"
    return properties


def _primary_key(constraints: Sequence[DeclaredConstraint]) -> DeclaredConstraint | None:
    keys = [c for c in constraints if c.kind == "primary key"]
    other = [c for c in constraints if c.kind not in ("primary key", "check")]
    if other:
        raise unsupported_constraint(other[0].name, other[0].kind)
    if len(keys) > 1:
        raise InvalidSchemaError(reason="a table has one primary key")
    return keys[0] if keys else None


def _checks(constraints: Sequence[DeclaredConstraint]) -> tuple[Check, ...]:
    return tuple(
        Check(name=c.name, condition=StoredExpression(c.condition or ""))
        for c in constraints
        if c.kind == "check"
    )


def _bucket_count(transform: PartitionTransform, primary_key: Sequence[str]) -> str:
    """Return what CLUSTERED BY (…) INTO n BUCKETS says with our option."""
    columns = [".".join(path) for path in transform.columns]
    named = [column.lower() for column in columns]
    if transform.name != "bucket" or named != [column.lower() for column in primary_key]:
        by = ", ".join(primary_key) or "the whole row, where there is none"
        raise InvalidSchemaError(
            reason=f"CLUSTERED BY ({', '.join(columns)}) is not supported: rows are spread by the "
            f"primary key ({by}), and files are sorted by it; name the columns of the key without "
            f"SORTED BY, or set the option '{BUCKET.key}' = '{transform.buckets}' alone"
        )
    return str(transform.buckets)


def _partition_key(transform: PartitionTransform) -> str:
    if transform.name != "identity" or len(transform.columns) != 1:
        raise InvalidSchemaError(
            reason=f"PARTITIONED BY {transform.name}(…) is not supported; name a column, which "
            "may be a computed one"
        )
    return ".".join(transform.columns[0])
