"""Values as JSON, and the schema of that JSON, both from the fields of their dataclasses."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

JSON = dict[str, Any]

_PLAIN: Final = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def to_bytes(value: object) -> bytes:
    """Return a dataclass as a JSON object, with its fields' names in camel case."""
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def schemas_of(kind: type) -> dict[str, JSON]:
    """Return the schemas of a dataclass and of those in it, by name."""
    return {one.__name__: _schema(one) for one in _with_parts(kind)}


def reference(kind: type) -> JSON:
    """Return what names the schema of a dataclass in an OpenAPI document."""
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _plain(value: object) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    names = _names(type(value))
    if names is None:
        return value
    return {shown: _plain(getattr(value, name)) for name, shown in names}


def _names(kind: type) -> tuple[tuple[str, str], ...] | None:
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple((field.name, _camel(field.name)) for field in dataclasses.fields(kind))


@cache
def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _with_parts(kind: type) -> Iterator[type]:
    yield kind
    for hint in typing.get_type_hints(kind).values():
        for part in _classes(hint):
            yield from _with_parts(part)


def _classes(hint: Any) -> Iterator[type]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for argument in typing.get_args(hint):
        yield from _classes(argument)


def _schema(kind: type) -> JSON:
    hints = typing.get_type_hints(kind)
    names = _names(kind) or ()
    return {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").partition("\n\n")[0].split()),
        "properties": {shown: _of_hint(hints[name]) for name, shown in names},
        "required": [shown for _, shown in names],
        "additionalProperties": False,
    }


def _of_hint(hint: Any) -> JSON:
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return {"type": "array", "items": _of_hint(arguments[0])}
    if origin is types.UnionType:
        return {"anyOf": [_of_hint(argument) for argument in arguments]}
    return reference(hint)
