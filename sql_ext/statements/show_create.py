"""Writes the statement that SHOW CREATE TABLE prints; if it is run, it makes the same table."""

from __future__ import annotations

import re
from typing import Final

from table_store.catalog.definition.declared_type import declared_sql
from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.definition.table_definition import COLLATION, OWNER
from table_store.catalog.names.identifier import quoted
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.secrets import asked_for, is_secret, reference
from table_store.storage.options.kafka_source_options import METADATA

_BINARY: Final = "UTF8_BINARY"
_UNCOLLATED: Final = re.compile(r"\bSTRING\b(?! COLLATE|:)")
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def create_statement(
    schema: TableSchema, name: tuple[str, ...], *, is_temporary: bool = False
) -> str:
    """Return the CREATE [TEMPORARY] TABLE of a table called `name`, in our own form.

    Comments in front of it have the settings of expressions that differ from Spark's defaults.

    Computed columns, WATERMARK and WITH are written as users write them. In place of a secret
    stands a reference to an environment variable. Of a materialized view it is the statement that
    Spark's own parser reads, if it has no clauses that Spark does not know.
    """
    query = schema.query
    elements = [_column(field, schema) for field in schema.fields]
    if schema.watermark is not None:
        column, expression = schema.watermark
        column = column if _PLAIN.fullmatch(column) else quoted(column)
        elements.append(f"WATERMARK FOR {column} AS {expression}")
    if schema.primary_key:
        named = ""
        if schema.constraint_name is not None:
            named = f"CONSTRAINT {quoted(schema.constraint_name)} "
        elements.append(f"{named}PRIMARY KEY ({_names(schema.primary_key)}) NOT ENFORCED")
    elements += [
        f"CONSTRAINT {quoted(check.name)} CHECK ({check.condition})" for check in schema.checks
    ]
    shown = ".".join(_name(part) for part in name)
    kind = "TEMPORARY TABLE" if is_temporary else "TABLE" if query is None else "MATERIALIZED VIEW"
    lines = [f"CREATE {kind} {shown} (\n  " + ",\n  ".join(elements) + ")"]
    if schema.comment is not None:
        lines.append(f"COMMENT {string_literal(schema.comment)}")
    if COLLATION in schema.options:
        lines.append(f"DEFAULT COLLATION {schema.options[COLLATION]}")
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({_names(schema.partition_keys)})")
    pairs = [
        f"{string_literal(key)} = {_shown(key, value)}"
        for key, value in sorted(schema.options.items())
        if not key.startswith(METADATA.prefix) and key not in (COLLATION, OWNER)
    ]
    if pairs:
        clause = "WITH" if query is None else "TBLPROPERTIES"
        lines.append(f"{clause} (\n  " + ",\n  ".join(pairs) + ")")
    if query is not None:
        lines.extend(schema.upkeep.clauses)
        lines.append(f"AS {query.text}")
    return "\n".join([*_settings(schema), *lines])


def _settings(schema: TableSchema) -> list[str]:
    """Return comments with the settings under which expressions were declared, without defaults."""
    declared = [
        *((f.name, e) for f in schema.fields for e in (f.default, f.generated) if e is not None),
        *((check.name, check.condition) for check in schema.checks),
    ]
    if schema.watermark is not None:
        declared.append(schema.watermark)
    names: dict[str, list[str]] = {}
    for name, expression in declared:
        pairs = (f"{key} = {value}" for key, value in sorted(expression.settings.items()))
        names.setdefault(", ".join(pairs), []).append(_name(name))
    return [
        f"/* {', '.join(of)}: declared with {settings}".replace("*/", "* /") + " */"
        for settings, of in names.items()
        if settings
    ]


def _shown(key: str, value: str) -> str:
    if is_secret(key, value):
        value = asked_for(key)
    literal = string_literal(value)
    # Spark replaces `${env:…}` and the like, but not our references to secrets.
    return literal if reference(value) is None else literal.replace(r"\u0024", "$")


def _column(field: Field, schema: TableSchema) -> str:
    comment = "" if field.comment is None else f" COMMENT {string_literal(field.comment)}"
    if field.generated is not None:
        return f"{_name(field.name)} AS {field.generated}{comment}"
    declared = declared_sql(field)
    if COLLATION in schema.options:  # which those without one of their own would get
        declared = _UNCOLLATED.sub(f"STRING COLLATE {_BINARY}", declared)
    words = [_name(field.name), declared]
    metadata = schema.options.get(METADATA.prefix + field.name)
    if metadata is not None:
        words.append(f"METADATA FROM {string_literal(metadata)} VIRTUAL")
    if not field.nullable and schema.query is None:  # where PRIMARY KEY says it
        words.append("NOT NULL")
    if field.default is not None:
        words.append(f"DEFAULT {field.default}")
    return " ".join(words) + comment


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(_name(name) for name in names)


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and not _is_clause(name) else quoted(name)


def _is_clause(name: str) -> bool:
    """Whether the name, without back-ticks, could be read as the beginning of a clause."""
    return name.upper() in ("CHECK", "CONSTRAINT", "FOREIGN", "PRIMARY", "UNIQUE", "WATERMARK")
