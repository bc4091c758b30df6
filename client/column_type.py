"""The type of a column as programs name it: by SQL's word for it, or as a type of storage."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from table_store.catalog.definition.declared_type import CHAR_VARCHAR
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import STRING, DataType, parse_type

_JSON_NAMES: Final = {
    "BOOLEAN": "boolean",
    "TINYINT": "byte",
    "BYTE": "byte",
    "SMALLINT": "short",
    "SHORT": "short",
    "INT": "integer",
    "INTEGER": "integer",
    "BIGINT": "long",
    "LONG": "long",
    "FLOAT": "float",
    "REAL": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_LTZ": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "VARIANT": "variant",
    "DECIMAL": "decimal(10,0)",
}
_TEXT: Final = re.compile(r"(VAR)?CHAR\s*\(\s*(\d+)\s*\)")
_DECIMAL: Final = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type, and the text of a CHAR or VARCHAR, which is stored as STRING."""

    type: DataType
    declared: str | None = None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What a column with this type notes of it."""
        return () if self.declared is None else ((CHAR_VARCHAR, json.dumps(self.declared)),)


def column_type(column: str, given: str | DataType) -> ColumnType:
    """Return the type that was given for a column.

    Raises:
        InvalidSchemaError: there is no such type, or it has parts and was given as a text.
    """
    if isinstance(given, DataType):
        return ColumnType(given)
    if not isinstance(given, str):
        raise _no_type(column, given)
    name = given.strip().upper()
    decimal, text = _DECIMAL.fullmatch(name), _TEXT.fullmatch(name)
    if decimal is not None:
        return ColumnType(parse_type(f"decimal({decimal[1]},{decimal[2] or 0})"))
    if text is not None:
        return ColumnType(STRING, f"{'varchar' if text[1] else 'char'}({text[2]})")
    if name not in _JSON_NAMES:
        raise _no_type(column, given)
    return ColumnType(parse_type(_JSON_NAMES[name]))


def _no_type(column: str, given: object) -> InvalidSchemaError:
    return InvalidSchemaError(
        reason=f"column {column!r}: {given!r} is no type that can be named here; give a type "
        "of table_store.storage.kernel.types for one with parts"
    )
