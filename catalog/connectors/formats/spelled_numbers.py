"""Numbers that JSON has no other form for than text: `"NaN"`, `"Infinity"` and `"-Infinity"`.

Arrow takes them for numbers only without quotes. Which texts are to be numbers depends on where
they are, so the objects that have such a text are looked at one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import (
    DOUBLE,
    FLOAT,
    ArrayType,
    DataType,
    StructField,
    StructType,
)

_SPELLED: Final = r'"(NaN|-?Infinity)"'
_TOKEN: Final = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<colon>\s*:)?|[\[\]{}]', re.S)


def without_quotes(text: pa.LargeStringArray, columns: Sequence[Field]) -> pa.LargeStringArray:
    """Return JSON objects in which such texts have no quotes where a FLOAT or DOUBLE belongs.

    Args:
        text: the objects.
        columns: those that are read.
    """
    if not any(_holds_floats(column.type) for column in columns):
        return text
    spelled = pc.match_substring_regex(text, _SPELLED)
    if not pc.any(spelled).as_py():
        return text
    row = StructType(tuple(StructField(name=one.name, type=one.type) for one in columns))
    changed = [_changed(one, row) for one in text.filter(spelled).to_pylist()]
    return pc.replace_with_mask(text, spelled, pa.array(changed, pa.large_string()))


def _holds_floats(kind: DataType) -> bool:
    match kind:
        case ArrayType(element):
            return _holds_floats(element)
        case StructType(fields):
            return any(_holds_floats(field.type) for field in fields)
    return kind in (FLOAT, DOUBLE)


def _changed(text: str, row: StructType) -> str:
    parts, end = [], 0
    around: list[DataType | None] = []  # the types of the values that have begun
    kind: DataType | None = row  # of the value that comes; None: nobody asks for it
    for token in _TOKEN.finditer(text):
        match token[0][0]:
            case "[" | "{":
                around.append(kind)
                kind = _element(kind)
            case "]" | "}":
                if not around:
                    return text
                around.pop()
                kind = _element(around[-1]) if around else None
            case _ if token["colon"] is not None:
                kind = _field(around[-1] if around else None, token["text"])
            case _ if kind in (FLOAT, DOUBLE) and re.fullmatch(_SPELLED, token[0]):
                parts += [text[end : token.start()], token["text"]]
                end = token.end()
    return "".join([*parts, text[end:]])


def _element(kind: DataType | None) -> DataType | None:
    return kind.element if isinstance(kind, ArrayType) else None


def _field(kind: DataType | None, name: str) -> DataType | None:
    if not isinstance(kind, StructType):
        return None
    if "\\" in name:
        try:
            name = json.loads(f'"{name}"', strict=False)
        except ValueError:  # Arrow says why it is no JSON
            return None
    return next((field.type for field in kind.fields if field.name == name), None)
