"""Types of columns, and the plain form of their values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import pyarrow as pa

Value: TypeAlias = Any
"""A value that equals only itself, or None.

BOOLEAN, numbers and DECIMAL are Python's, but FLOAT and DOUBLE are their `repr`, in which NaN is
equal to itself and 0.0 differs from -0.0. Texts and BINARY are bytes. DATE is days, and TIMESTAMP,
TIMESTAMP_NTZ and TIME are microseconds, for Python knows no year 0. A VARIANT is JSON. An ARRAY is
a tuple; a STRUCT is a tuple in the order of its fields; a MAP is a tuple of pairs.
"""


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields by name, in their order; those in `required` are never NULL."""

    fields: tuple[tuple[str, Kind], ...]
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one kind."""

    element: Kind


@dataclass(frozen=True, slots=True)
class Map:
    """Values of one kind by keys of a scalar kind."""

    value: Kind
    key: str = "STRING"


Kind: TypeAlias = str | Struct | Array | Map
"""A text is the SQL name of a scalar type."""

INTEGERS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
"""Bits by the name of a type."""

FLOATS: Final = ("FLOAT", "DOUBLE")
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_LENGTH: Final = re.compile(r"(VAR)?CHAR\((\d+)\)")
_TIME: Final = re.compile(r"TIME\((\d)\)")

_DIGITS: Final = (
    *((1, 0), (1, 1), (9, 2), (10, 10), (18, 0), (18, 6)),
    *((19, 4), (38, 0), (38, 10), (38, 38)),
)
DECIMALS: Final = tuple(f"DECIMAL({precision},{scale})" for precision, scale in _DIGITS)
TEXTS: Final = (
    *("STRING", "VARCHAR(9)", "VARCHAR(65535)", "CHAR(5)"),
    *("STRING COLLATE UTF8_LCASE", "STRING COLLATE UNICODE_CI"),
)
TIMES: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME(6)", "TIME(0)")
SCALARS: Final = ("BOOLEAN", *INTEGERS, *FLOATS, *DECIMALS, *TEXTS, "BINARY", *TIMES)
"""All that can be compared."""


@lru_cache(maxsize=256)
def digits(kind: Kind) -> tuple[int, int] | None:
    """Precision and scale of a DECIMAL."""
    found = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    return None if found is None else (int(found[1]), int(found[2]))


@lru_cache(maxsize=256)
def length_of(kind: Kind) -> int | None:
    """Length of a CHAR or VARCHAR, in characters."""
    found = _LENGTH.fullmatch(kind) if isinstance(kind, str) else None
    return None if found is None else int(found[2])


def is_char(kind: Kind) -> bool:
    """Whether it is a CHAR, whose values are padded with blanks."""
    return isinstance(kind, str) and kind.startswith("CHAR")


def is_text(kind: Kind) -> bool:
    """Whether its values are texts."""
    return isinstance(kind, str) and (kind.startswith("STRING") or length_of(kind) is not None)


def time_digits(kind: Kind) -> int | None:
    """Decimals of a second of a TIME."""
    found = _TIME.fullmatch(kind) if isinstance(kind, str) else None
    return None if found is None else int(found[1])


def sql(kind: Kind, *, is_strict: bool = True) -> str:
    """The type's name in SQL; without `is_strict` no field is required, as in a CAST."""
    match kind:
        case Struct(fields, required):
            named = (
                f"{quoted(name)}: {sql(inner, is_strict=is_strict)}"
                f"{' NOT NULL' * (is_strict and name in required)}"
                for name, inner in fields
            )
            return f"STRUCT<{', '.join(named)}>"
        case Array(element):
            return f"ARRAY<{sql(element, is_strict=is_strict)}>"
        case Map(value, key):
            return f"MAP<{key}, {sql(value, is_strict=is_strict)}>"
    return kind


def quoted(name: str) -> str:
    """A name as SQL reads it."""
    return name if name.isalnum() and name.isascii() else f"`{name.replace('`', '``')}`"


def is_comparable(kind: Kind) -> bool:
    """Whether values can be compared, grouped and joined: no map and no VARIANT can."""
    match kind:
        case Struct(fields):
            return all(is_comparable(inner) for _, inner in fields)
        case Array(element):
            return is_comparable(element)
    return not isinstance(kind, Map) and kind != "VARIANT"


def inner_kinds(kind: Kind) -> Iterator[Kind]:
    """The kind and all that are inside of it."""
    yield kind
    match kind:
        case Struct(fields):
            for _, inner in fields:
                yield from inner_kinds(inner)
        case Array(element):
            yield from inner_kinds(element)
        case Map(value, key):
            yield key
            yield from inner_kinds(value)


_ARROW: Final = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "VARIANT": pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False),
        ]
    ),
}


def arrow_type(kind: Kind) -> pa.DataType:
    """The type of Arrow in which Python has such values."""
    match kind:
        case Struct(fields, required):
            return pa.struct([pa.field(n, arrow_type(k), n not in required) for n, k in fields])
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(value, key):
            return pa.map_(arrow_type(key), arrow_type(value))
    found = digits(kind)
    if found is not None:
        return pa.decimal128(*found)
    if time_digits(kind) is not None:
        return pa.time64("us")
    return pa.string() if is_text(kind) else _ARROW[kind]
