"""The type a column was declared with: CHAR and VARCHAR, which are stored as STRING, and the rest.

Spark notes the text of a column's whole type in the metadata of the column (`CharVarcharUtils` of
Spark 4.2). An ALTER of a field inside would make that text wrong. So in our schemas every field of
the table or of a struct notes the text of its own type alone, in which a struct is `struct<>`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from table_store.catalog.definition.sql_literal import string_literal
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import (
    STRING,
    ArrayType,
    DataType,
    Json,
    MapType,
    StructField,
    StructType,
    quote_if_needed,
)

CHAR_VARCHAR: Final = "__CHAR_VARCHAR_TYPE_STRING"
COLLATIONS: Final = "__COLLATIONS"
"""Metadata of the field nearest to a string; its keys are `field`, `field.element` and so on."""

_CHAR_OR_VARCHAR = re.compile(r"(?:var)?char\(\s*\d+\s*\)", re.I)
_STRING_OR_ELSE = re.compile(
    rf"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`|\w+\s*:|\b({_CHAR_OR_VARCHAR.pattern}|string\b)", re.I
)
"""Matches in the text of a type: a comment, a field's name, or (as the group) a string's type."""


def stored_type(type_json: Json, declared: str | None = None) -> tuple[Json, str | None]:
    """Return a field's type as it is stored, and the text that the field notes of it.

    Args:
        type_json: Spark's JSON, which has CHAR and VARCHAR, or STRING in their place.
        declared: if it has STRING, the text that Spark noted of the whole type.
    """
    if declared is not None:
        type_json = _respelled(type_json, _strings(declared))
    text = _own_text(type_json)
    return _stored(type_json), text if _CHAR_OR_VARCHAR.search(text) else None


def declared_sql(field: Field | StructField) -> str:
    """Return a field's type as CREATE TABLE takes it, complete at any depth.

    It has the lengths and collations of strings, and the comments of fields inside.
    """
    metadata = {key: json.loads(text) for key, text in field.metadata}
    strings = _strings(str(metadata.get(CHAR_VARCHAR, "")))
    return _type_sql(field.type, field.name, metadata.get(COLLATIONS, {}), strings, _nested_sql)


def compared_sql(field: Field | StructField) -> str:
    """Return the SQL of a type whose values compare as the field's: its collations, no lengths."""
    metadata = {key: json.loads(text) for key, text in field.metadata}
    collations = metadata.get(COLLATIONS, {})
    return _type_sql(field.type, field.name, collations, iter(()), _compared_inside)


def has_length(field: Field | StructField) -> bool:
    """Whether the field's type has CHAR or VARCHAR anywhere in it."""
    return any(key == CHAR_VARCHAR for key, _ in field.metadata) or _has_length(field.type)


def with_name(name: str, field: Field | StructField) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a renamed field: Spark finds its collations by the name."""

    def renamed(collations: dict[str, str]) -> str:
        start = len(field.name)
        return json.dumps({name + place[start:]: c for place, c in collations.items()})

    return tuple(
        (key, renamed(json.loads(text)) if key == COLLATIONS else text)
        for key, text in field.metadata
    )


# -- details -------------------------------------------------------------------------------------


def _strings(declared: str) -> Iterator[str]:
    """Yield the declared types of the strings in the text of a type, in their order."""
    return (word.lower() for word in _STRING_OR_ELSE.findall(declared) if word)


def _respelled(type_json: Json, strings: Iterator[str]) -> Json:
    """Return the type with CHAR and VARCHAR in the places where Spark wrote STRING."""
    if type_json == "string":
        return next(strings, "string")
    return _mapped(type_json, lambda inner: _respelled(inner, strings))


def _stored(type_json: Json) -> Json:
    """Return the type with STRING for CHAR and VARCHAR; fields of structs note their own text."""
    if isinstance(type_json, str):
        return "string" if _CHAR_OR_VARCHAR.fullmatch(type_json) else type_json
    if not isinstance(type_json, Mapping) or type_json.get("type") != "struct":
        return _mapped(type_json, _stored)
    fields = type_json["fields"]
    return {"type": "struct", "fields": [_stored_field(f) for f in _items(fields)]}


def _stored_field(field: Json) -> Json:
    if not isinstance(field, Mapping):
        return field
    stored, text = stored_type(field.get("type"))
    metadata = field.get("metadata")
    noted: dict[str, Json] = dict(metadata) if isinstance(metadata, Mapping) else {}
    noted.pop(CHAR_VARCHAR, None)
    if text is not None:
        noted[CHAR_VARCHAR] = text
    return {**field, "type": stored, "metadata": noted}


def _mapped(type_json: Json, change: Any) -> Json:
    """Return the type with each of its inner types changed, in the order of Spark's text."""
    if not isinstance(type_json, Mapping):
        return type_json
    if type_json.get("type") == "struct":
        fields = [
            {**field, "type": change(field.get("type"))} if isinstance(field, Mapping) else field
            for field in _items(type_json.get("fields"))
        ]
        return {**type_json, "fields": fields}
    nested = ("elementType", "keyType", "valueType")
    return {**type_json, **{key: change(type_json[key]) for key in nested if key in type_json}}


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _own_text(type_json: Json) -> str:
    if not isinstance(type_json, Mapping):
        return str(type_json)
    match type_json.get("type"):
        case "array":
            return f"array<{_own_text(type_json.get('elementType'))}>"
        case "map":
            key, value = type_json.get("keyType"), type_json.get("valueType")
            return f"map<{_own_text(key)},{_own_text(value)}>"
    return "struct<>"


def _has_length(data_type: DataType) -> bool:
    match data_type:
        case ArrayType(element):
            return _has_length(element)
        case MapType(key=key, value=value):
            return _has_length(key) or _has_length(value)
        case StructType(fields):
            return any(has_length(field) for field in fields)
    return False


def _type_sql(
    data_type: DataType,
    place: str,
    collations: Mapping[str, str],
    strings: Iterator[str],
    of_nested: Callable[[StructField], str],
) -> str:
    """Return the SQL of a type inside a field.

    `place` is its key in `collations`; `strings` yields the declared types of its strings;
    `of_nested` gives the text of a field inside, name and type.
    """

    def inner(inside: DataType, part: str) -> str:
        return _type_sql(inside, f"{place}.{part}", collations, strings, of_nested)

    match data_type:
        case ArrayType(element):
            return f"ARRAY<{inner(element, 'element')}>"
        case MapType(key=key, value=value):
            key_sql = inner(key, "key")  # whose strings come first
            return f"MAP<{key_sql}, {inner(value, 'value')}>"
        case StructType(fields):
            return f"STRUCT<{', '.join(map(of_nested, fields))}>"
    if data_type != STRING:
        return data_type.sql_name()
    declared = next(strings, "string")
    if declared != "string":
        return declared
    if place in collations:
        return f"STRING COLLATE {collations[place].rpartition('.')[2]}"
    return data_type.sql_name()


def _nested_sql(field: StructField) -> str:
    words = [f"{quote_if_needed(field.name)}:", declared_sql(field)]
    if not field.nullable:
        words.append("NOT NULL")
    if field.comment is not None:
        words.append(f"COMMENT {string_literal(field.comment)}")
    return " ".join(words)


def _compared_inside(field: StructField) -> str:
    null = "" if field.nullable else " NOT NULL"
    return f"{quote_if_needed(field.name)}: {compared_sql(field)}{null}"
