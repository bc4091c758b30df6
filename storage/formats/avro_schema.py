"""Avro's schemas, as values.

Source: Apache Avro 1.11 specification, "Schema Declaration", "Names" and "Logical Types". What
does not change how values are stored is left out: documentation, aliases, defaults and orders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

PRIMITIVES: Final = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
)
_LOGICAL: Final = frozenset(
    (
        *("decimal", "big-decimal", "uuid", "date", "time-millis", "time-micros", "duration"),
        *(
            f"{zone}timestamp-{unit}"
            for zone in ("", "local-")
            for unit in ("millis", "micros", "nanos")
        ),
    )
)
"""Others are ignored, as the specification says."""

_FIXED_BYTES_MAX: Final = 1 << 24
_PARTS_MAX: Final = 100_000
"""So many fields, branches and items are there in all, where each type stands in full wherever it
is named. A few names can stand for more than any memory holds."""

AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What the name of a field may be."""


@dataclass(frozen=True, slots=True)
class AvroPrimitive:
    """A type without parts; `logical` is empty, or says what its values mean."""

    name: str
    logical: str = ""
    scale: int = 0

    def shown(self) -> str:
        """Return it as a message names it."""
        return self.logical or self.name


@dataclass(frozen=True, slots=True)
class AvroFixed:
    """So many bytes."""

    size: int
    logical: str = ""
    scale: int = 0

    def shown(self) -> str:
        """Return it as a message names it."""
        return self.logical or f"fixed({self.size})"


@dataclass(frozen=True, slots=True)
class AvroEnum:
    """The number of one of the symbols."""

    symbols: tuple[str, ...]

    def shown(self) -> str:
        """Return it as a message names it."""
        return "enum"


@dataclass(frozen=True, slots=True)
class AvroArray:
    """Items of one type."""

    items: AvroType

    def shown(self) -> str:
        """Return it as a message names it."""
        return f"array of {self.items.shown()}"


@dataclass(frozen=True, slots=True)
class AvroMap:
    """Values of one type, by text."""

    values: AvroType

    def shown(self) -> str:
        """Return it as a message names it."""
        return f"map of {self.values.shown()}"


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType


@dataclass(frozen=True, slots=True)
class AvroRecord:
    """Fields, one after the other."""

    fields: tuple[AvroField, ...]

    def shown(self) -> str:
        """Return it as a message names it."""
        return "record"


@dataclass(frozen=True, slots=True)
class AvroUnion:
    """The number of a branch, and a value of its type."""

    branches: tuple[AvroType, ...]

    def shown(self) -> str:
        """Return it as a message names it."""
        return "union of " + ", ".join(branch.shown() for branch in self.branches)


AvroType: TypeAlias = (
    AvroPrimitive | AvroFixed | AvroEnum | AvroArray | AvroMap | AvroRecord | AvroUnion
)
NULL: Final = AvroPrimitive("null")


def parse_avro_schema(text: str, named: Sequence[str] = ()) -> AvroType:
    """Return the type that a schema's JSON describes.

    Args:
        text: the schema.
        named: others before it, whose types it may name.

    Raises:
        ValueError: it describes none, or one that contains itself.
    """
    parser = _Parser({}, {})
    try:
        for other in named:
            parser.type_of(json.loads(other), "")
        return parser.type_of(json.loads(text), "")
    except json.JSONDecodeError as error:
        raise ValueError(f"its schema is no JSON ({error})") from error
    except RecursionError as error:
        raise ValueError("its schema is nested too deeply") from error


@dataclass(frozen=True, slots=True)
class _Parser:
    """Parses one schema.

    Attributes:
        named: its named types so far, None while one is not complete.
        parts: how many parts its records have, by `id`: the types live as long.
    """

    named: dict[str, AvroType | None]
    parts: dict[int, int]

    def type_of(self, described: Any, namespace: str) -> AvroType:
        if isinstance(described, str):
            return self._named(described, namespace)
        if isinstance(described, list):
            return AvroUnion(tuple(self.type_of(branch, namespace) for branch in described))
        if not isinstance(described, Mapping):
            raise ValueError(f"its schema has a type {described!r}")
        name = described.get("type")
        match name:
            case "record" | "error":
                return self._record(described, namespace)
            case "enum":
                symbols = _list(described, "symbols")
                return self._known(described, namespace, AvroEnum(tuple(map(str, symbols))))
            case "fixed":
                size = described.get("size")
                if not isinstance(size, int) or not 0 <= size <= _FIXED_BYTES_MAX:
                    raise ValueError(f"its schema has a fixed of size {size!r}")
                found = AvroFixed(size, *_logical(described))
                return self._known(described, namespace, found)
            case "array":
                return AvroArray(self.type_of(described.get("items"), namespace))
            case "map":
                return AvroMap(self.type_of(described.get("values"), namespace))
            case str() if name in PRIMITIVES:
                return AvroPrimitive(name, *_logical(described))
        return self.type_of(name, namespace)

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroPrimitive(name)
        full = _full_name(name, namespace)
        if full not in self.named:
            raise ValueError(f"its schema names a type {name!r} that it does not have")
        found = self.named[full]
        if found is None:
            raise ValueError(f"its type {name!r} contains itself")
        return found

    def _record(self, described: Mapping[str, Any], namespace: str) -> AvroRecord:
        full, inner = _names(described, namespace)
        self.named[full] = None
        fields = []
        for field in _list(described, "fields"):
            if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
                raise ValueError("its schema has a field without a name")
            fields.append(AvroField(field["name"], self.type_of(field.get("type"), inner)))
        found = AvroRecord(tuple(fields))
        self.parts[id(found)] = sum(self._parts(field.type) for field in fields)
        if self.parts[id(found)] > _PARTS_MAX:
            raise ValueError("its schema has too many parts")
        self.named[full] = found
        return found

    def _parts(self, part: AvroType) -> int:
        match part:
            case AvroRecord():
                return 1 + self.parts[id(part)]
            case AvroUnion(branches):
                return 1 + sum(map(self._parts, branches))
            case AvroArray(inner) | AvroMap(inner):
                return 1 + self._parts(inner)
        return 1

    def _known(
        self, described: Mapping[str, Any], namespace: str, found: AvroEnum | AvroFixed
    ) -> AvroType:
        self.named[_names(described, namespace)[0]] = found
        return found


def _names(described: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """Return a type's full name, and the namespace of what is inside of it."""
    name = described.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("its schema has a type without the name that it needs")
    full = _full_name(name, described.get("namespace") or namespace)
    return full, full.rpartition(".")[0]


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _list(described: Mapping[str, Any], key: str) -> list[Any]:
    found = described.get(key)
    if not isinstance(found, list):
        raise ValueError(f"its schema has a {described.get('type')} without {key}")
    return found


def _logical(described: Mapping[str, Any]) -> tuple[str, int]:
    logical, scale = described.get("logicalType"), described.get("scale", 0)
    known = logical if isinstance(logical, str) and logical in _LOGICAL else ""
    return (known, scale if isinstance(scale, int) else 0)
