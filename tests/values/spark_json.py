"""The JSON by which Spark names a type."""

from __future__ import annotations

from typing import Any, Final

from tests.values.kinds import Array, Kind, Map, Struct, digits, is_text, time_digits

_NAMES: Final = {"TINYINT": "byte", "SMALLINT": "short", "INT": "integer", "BIGINT": "long"}


def spark_json(kind: Kind) -> Any:
    """Spark's JSON of a type; a text has no length and no collation there."""
    match kind:
        case Struct(fields, required):
            return {
                "type": "struct",
                "fields": [
                    {
                        "name": name,
                        "type": spark_json(inner),
                        "nullable": name not in required,
                        "metadata": {},
                    }
                    for name, inner in fields
                ],
            }
        case Array(element):
            return {"type": "array", "elementType": spark_json(element), "containsNull": True}
        case Map(value, key):
            return {
                "type": "map",
                "keyType": spark_json(key),
                "valueType": spark_json(value),
                "valueContainsNull": True,
            }
    if is_text(kind):
        return "string"
    if digits(kind) is not None or time_digits(kind) is not None:
        return kind.lower()
    return _NAMES.get(kind, kind.lower())
