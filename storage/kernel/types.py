"""Logical column types, their JSON, and their Arrow form.

The JSON is that of Spark's `StructType.json`, as the Delta protocol publishes it ("Schema
Serialization Format"), so that a schema crosses to the JVM unchanged. Types which cannot be
stored (intervals, void, anything unknown) are refused by name.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from table_store.storage.kernel.errors import UnsupportedTypeError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

FIELD_ID_METADATA: Final = "parquet.field.id"
"""Metadata key under which Spark itself looks for the id of a struct's field."""

ARROW_FIELD_ID: Final = b"PARQUET:field_id"
"""Arrow field metadata key which pyarrow writes to, and reads from, Parquet's `field_id`."""

DECIMAL_PRECISION_MAX: Final = 38
TIME_PRECISION_MAX: Final = 6

_PLAIN_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(-?\d+)\s*\)")
_TIME = re.compile(r"time\(\s*(\d+)\s*\)")


@dataclass(frozen=True, slots=True)
class DataType(ABC):
    """A logical type; the concrete ones are the subclasses below."""

    @abstractmethod
    def to_json(self) -> Json:
        """Return Spark's JSON of this type: a string, or a mapping for nested types."""

    @abstractmethod
    def sql_name(self) -> str:
        """Return the type as Spark SQL prints it, e.g. `BIGINT` or `ARRAY<STRING>`."""


@dataclass(frozen=True, slots=True)
class PrimitiveType(DataType):
    """A type without parameters, named as in Spark's JSON (`long`, not `bigint`)."""

    name: str

    def to_json(self) -> Json:
        """See `DataType.to_json`."""
        return self.name

    def sql_name(self) -> str:
        """See `DataType.sql_name`."""
        return _SQL_NAMES[self.name]


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """Exact number. Invariant: 0 < precision <= 38 and 0 <= scale <= precision."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (0 < self.precision <= DECIMAL_PRECISION_MAX and 0 <= self.scale <= self.precision):
            raise UnsupportedTypeError(type_name=f"decimal({self.precision},{self.scale})")

    def to_json(self) -> Json:
        """See `DataType.to_json`."""
        return f"decimal({self.precision},{self.scale})"

    def sql_name(self) -> str:
        """See `DataType.sql_name`."""
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class TimeType(DataType):
    """Time of day with 0 to 6 decimals of a second, kept as microseconds."""

    precision: int = TIME_PRECISION_MAX

    def __post_init__(self) -> None:
        if not 0 <= self.precision <= TIME_PRECISION_MAX:
            raise UnsupportedTypeError(type_name=f"time({self.precision})")

    def to_json(self) -> Json:
        """See `DataType.to_json`."""
        return f"time({self.precision})"

    def sql_name(self) -> str:
        """See `DataType.sql_name`."""
        return f"TIME({self.precision})"


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    """List of one element type."""

    element: DataType
    contains_null: bool = True

    def to_json(self) -> Json:
        """See `DataType.to_json`."""
        return {
            "type": "array",
            "elementType": self.element.to_json(),
            "containsNull": self.contains_null,
        }

    def sql_name(self) -> str:
        """See `DataType.sql_name`."""
        return f"ARRAY<{self.element.sql_name()}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapType(DataType):
    """Pairs of key and value; keys are unique and never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True

    def to_json(self) -> Json:
        """See `DataType.to_json`."""
        return {
            "type": "map",
            "keyType": self.key.to_json(),
            "valueType": self.value.to_json(),
            "valueContainsNull": self.value_contains_null,
        }

    def sql_name(self) -> str:
        """See `DataType.sql_name`."""
        return f"MAP<{self.key.sql_name()}, {self.value.sql_name()}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class StructField:
    """One field of a nested struct.

    `id` is unique within the table and survives renames; None until the table assigns it.
    `metadata` holds further Spark metadata as (key, JSON text), sorted by key.
    """

    name: str
    type: DataType
    nullable: bool = True
    id: int | None = None
    comment: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> Json:
        """Return the field as Spark writes it: name, type, nullable, metadata."""
        metadata: dict[str, Json] = {key: json.loads(text) for key, text in self.metadata}
        if self.comment is not None:
            metadata["comment"] = self.comment
        if self.id is not None:
            metadata[FIELD_ID_METADATA] = self.id
        return {
            "name": self.name,
            "type": self.type.to_json(),
            "nullable": self.nullable,
            "metadata": metadata,
        }


@dataclass(frozen=True, slots=True)
class StructType(DataType):
    """Named fields in order."""

    fields: tuple[StructField, ...]

    def to_json(self) -> Json:
        """See `DataType.to_json`."""
        return {"type": "struct", "fields": [field.to_json() for field in self.fields]}

    def sql_name(self) -> str:
        """See `DataType.sql_name`."""
        inner = ", ".join(
            f"{quote_if_needed(f.name)}: {f.type.sql_name()}{'' if f.nullable else ' NOT NULL'}"
            for f in self.fields
        )
        return f"STRUCT<{inner}>"


_SQL_NAMES: Final[Mapping[str, str]] = {
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "binary": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
    "variant": "VARIANT",
}

BOOLEAN: Final = PrimitiveType("boolean")
BYTE: Final = PrimitiveType("byte")
SHORT: Final = PrimitiveType("short")
INTEGER: Final = PrimitiveType("integer")
LONG: Final = PrimitiveType("long")
FLOAT: Final = PrimitiveType("float")
DOUBLE: Final = PrimitiveType("double")
STRING: Final = PrimitiveType("string")
BINARY: Final = PrimitiveType("binary")
DATE: Final = PrimitiveType("date")
TIMESTAMP: Final = PrimitiveType("timestamp")
TIMESTAMP_NTZ: Final = PrimitiveType("timestamp_ntz")
VARIANT: Final = PrimitiveType("variant")

ARROW_PRIMITIVES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "variant": pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False),
        ]
    ),
}


def quote_if_needed(name: str) -> str:
    """Return `name`, in back-ticks (doubled inside) when Spark could not read it bare."""
    if _PLAIN_IDENTIFIER.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`"


def parse_type(value: Json) -> DataType:
    """Return the type that Spark's JSON (string or mapping) describes.

    `char(n)` and `varchar(n)` are refused: Spark keeps them as `string` plus field metadata,
    and that is the form which is stored.

    Raises:
        UnsupportedTypeError: an interval, void, or a type this version does not know.
    """
    if isinstance(value, str):
        return _parse_atomic(value.strip())
    if not isinstance(value, Mapping):
        raise UnsupportedTypeError(type_name=json.dumps(value))
    match value.get("type"):
        case "array":
            return ArrayType(
                parse_type(value["elementType"]), bool(value.get("containsNull", True))
            )
        case "map":
            return MapType(
                key=parse_type(value["keyType"]),
                value=parse_type(value["valueType"]),
                value_contains_null=bool(value.get("valueContainsNull", True)),
            )
        case "struct":
            return _parse_struct(value)
        case other:
            raise UnsupportedTypeError(type_name=str(other))


def _parse_atomic(text: str) -> DataType:
    if text in _SQL_NAMES:
        return PrimitiveType(text)
    if text == "string collate UTF8_BINARY":
        return STRING  # Spark writes a default collation out like this in SHOW CREATE TABLE
    if text == "decimal":
        return DecimalType(10, 0)
    if found := _DECIMAL.fullmatch(text):
        return DecimalType(int(found[1]), int(found[2]))
    if found := _TIME.fullmatch(text):
        return TimeType(int(found[1]))
    raise UnsupportedTypeError(type_name=text)


def _parse_struct(value: Mapping[str, Json]) -> StructType:
    fields = value.get("fields")
    if not isinstance(fields, Sequence) or isinstance(fields, str):
        raise UnsupportedTypeError(type_name="struct without fields")
    return StructType(tuple(_parse_field(field) for field in fields))


def _parse_field(value: Json) -> StructField:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise UnsupportedTypeError(type_name="struct field without name")
    metadata = value.get("metadata")
    extra: dict[str, Json] = dict(metadata) if isinstance(metadata, Mapping) else {}
    comment = extra.pop("comment", None)
    field_id = extra.pop(FIELD_ID_METADATA, None)
    return StructField(
        name=str(value["name"]),
        type=parse_type(value["type"]),
        nullable=bool(value.get("nullable", True)),
        id=field_id if isinstance(field_id, int) else None,
        comment=None if comment is None else str(comment),
        metadata=tuple(sorted((key, json.dumps(item)) for key, item in extra.items())),
    )


def to_arrow(data_type: DataType) -> pa.DataType:
    """Return the Arrow type in which values of `data_type` are read and written.

    Timestamps are microseconds (UTC, or without a zone for `timestamp_ntz`), a variant is
    `struct<value: binary, metadata: binary>`. Fields of nested structs carry their id in the
    Arrow metadata, so Parquet files do too.
    """
    match data_type:
        case PrimitiveType(name):
            return ARROW_PRIMITIVES[name]
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case TimeType():
            return pa.time64("us")
        case ArrayType(element, contains_null):
            return pa.list_(pa.field("element", to_arrow(element), nullable=contains_null))
        case MapType(key=key, value=value, value_contains_null=nullable):
            return pa.map_(
                pa.field("key", to_arrow(key), nullable=False),
                pa.field("value", to_arrow(value), nullable=nullable),
            )
        case StructType(fields):
            return pa.struct(
                [arrow_field(f.name, f.type, nullable=f.nullable, field_id=f.id) for f in fields]
            )
    raise UnsupportedTypeError(type_name=data_type.sql_name())


def arrow_field(
    name: str, data_type: DataType, *, nullable: bool = True, field_id: int | None = None
) -> pa.Field:
    """Return the Arrow field, with `field_id` in the metadata from which Parquet takes it."""
    metadata = None if field_id is None else {ARROW_FIELD_ID: str(field_id).encode()}
    return pa.field(name, to_arrow(data_type), nullable=nullable, metadata=metadata)


def is_orderable(data_type: DataType) -> bool:
    """Whether values can be sorted, and so be a primary key: not nested types, not variant."""
    if isinstance(data_type, PrimitiveType):
        return data_type != VARIANT
    return isinstance(data_type, DecimalType | TimeType)


def holds_variant(kind: DataType) -> bool:
    """Whether a type is VARIANT, or has one inside of it."""
    match kind:
        case ArrayType(element):
            return holds_variant(element)
        case MapType(key=key, value=value):
            return holds_variant(key) or holds_variant(value)
        case StructType(fields):
            return any(holds_variant(field.type) for field in fields)
    return kind == VARIANT
