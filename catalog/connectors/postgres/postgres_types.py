"""The values of a database's columns in the types that a table declares.

A value comes as the text that the database makes of it, from a COPY as from the log of changes. So
a row that is taken back is equal to the one that came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    to_arrow,
)

_DIGITS: Final[Mapping[str, int]] = {"int2": 5, "int4": 10, "int8": 19}
_BITS: Final[Mapping[str, int]] = {"int2": 16, "int4": 32, "int8": 64}
_TARGET_BITS: Final[Mapping[DataType, int]] = {SHORT: 16, INTEGER: 32, LONG: 64}
_HEX: Final = np.zeros(256, np.uint8)
_HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_NUMERIC_HEADER: Final = 4
_DECIMAL_DIGITS: Final = 38


class Family(Enum):
    """What values of a column are."""

    WHOLE = "whole number"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TZ = "timestamp with time zone"
    ARRAY = "array"


_TEXT_TYPES: Final = (
    *("text", "varchar", "bpchar", "name", "citext", "json", "jsonb", "xml", "uuid"),
    *("time", "timetz", "interval", "bit", "varbit", "inet", "cidr", "macaddr", "macaddr8"),
)
_FAMILIES: Final[Mapping[str, Family]] = {
    **dict.fromkeys(_BITS, Family.WHOLE),
    "numeric": Family.DECIMAL,
    "float4": Family.FLOAT,
    "float8": Family.DOUBLE,
    "bool": Family.BOOLEAN,
    **dict.fromkeys(_TEXT_TYPES, Family.TEXT),
    "bytea": Family.BYTES,
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMP_TZ,
}
_TARGETS: Final[Mapping[Family, tuple[DataType, ...]]] = {
    Family.FLOAT: (FLOAT, DOUBLE),
    Family.DOUBLE: (DOUBLE,),
    Family.BOOLEAN: (BOOLEAN,),
    Family.TEXT: (STRING,),
    Family.ARRAY: (STRING,),
    Family.BYTES: (BINARY,),
    Family.DATE: (DATE, STRING),
    Family.TIMESTAMP: (TIMESTAMP_NTZ, TIMESTAMP, STRING),
    Family.TIMESTAMP_TZ: (TIMESTAMP, TIMESTAMP_NTZ, STRING),
}
OF_OID: Final[Mapping[int, str]] = {
    16: "bool",
    17: "bytea",
    18: "char",
    19: "name",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    114: "json",
    142: "xml",
    650: "cidr",
    700: "float4",
    701: "float8",
    774: "macaddr8",
    829: "macaddr",
    869: "inet",
    1042: "bpchar",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1266: "timetz",
    1560: "bit",
    1562: "varbit",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
}
"""The types that each database has, by number, as its `pg_type.dat` gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseColumn:
    """A column as the database describes it.

    Attributes:
        name: as the database writes it.
        type: the name of its type, of the one below if it is a domain.
        full_type: with all that belongs to it, such as `numeric(9,2)`.
        oid: the number of its type.
        modifier: what belongs to the type, such as digits; -1 for nothing.
        is_enum: whether it is an enum.
        is_array: whether its values are arrays.
        may_be_apart: whether a long value may be stored apart from its row (TOAST).
        is_generated: whether the database computes it.
    """

    name: str
    type: str
    full_type: str
    oid: int
    modifier: int
    is_enum: bool = False
    is_array: bool = False
    may_be_apart: bool = False
    is_generated: bool = False

    @property
    def family(self) -> Family | None:
        """What its values are; None: they are none that can be read."""
        if self.is_array:
            return Family.ARRAY
        return Family.TEXT if self.is_enum else _FAMILIES.get(self.type)

    def as_logged(self, oid: int, modifier: int) -> DatabaseColumn | None:
        """Return the column as it was under another definition; None: that type is not known."""
        known = OF_OID.get(oid)
        if oid == self.oid:
            # The modifier of a domain is that of the type below, which the log does not tell.
            return self if known is None else replace(self, modifier=modifier)
        if known is None:
            return None
        plain = replace(self, is_enum=False, is_array=False)
        return replace(plain, type=known, full_type=known, oid=oid, modifier=modifier)

    def why_not(self, declared: DataType) -> str | None:
        """Return why values do not all have a place in a declared type; None if they have."""
        family, shown = self.family, declared.sql_name()
        if self.is_generated:
            return "the database computes it, and its changes are not told; compute it by AS, too"
        if family is None:
            return f"columns of the type {self.full_type} are not read"
        wanted = _TARGETS.get(family)
        if wanted is not None:
            names = " or ".join(kind.sql_name() for kind in wanted)
            return None if declared in wanted else f"{self.full_type} is {names}, not {shown}"
        if declared == STRING:
            return None
        if isinstance(declared, DecimalType):
            digits = self._digits
            if digits is None:
                return f"{self.full_type} has numbers of any length: declare STRING, not {shown}"
            whole, fraction = digits
            is_wide = declared.scale >= fraction and declared.precision - declared.scale >= whole
            return None if is_wide else f"{shown} has no place for {self.full_type}"
        bits = _TARGET_BITS.get(declared)
        if bits is None or family is Family.DECIMAL:
            return f"{self.full_type} is a number, and {shown} is no type for it"
        return None if _BITS[self.type] <= bits else f"{shown} has no place for {self.full_type}"

    @property
    def suggested(self) -> DataType | None:
        """The type in which all its values have a place; None: there is none."""
        family = self.family
        if family is None or family in _TARGETS:
            return None if family is None else _TARGETS[family][0]
        if family is Family.WHOLE:
            return next(kind for kind, bits in _TARGET_BITS.items() if bits == _BITS[self.type])
        whole, fraction = self._digits or (_DECIMAL_DIGITS + 1, 0)
        is_wide = whole + fraction > _DECIMAL_DIGITS
        return STRING if is_wide else DecimalType(whole + fraction, fraction)

    @property
    def is_short(self) -> bool:
        """Whether its values are never stored apart."""
        return not self.may_be_apart or (self.type == "numeric" and self._digits is not None)

    @property
    def _digits(self) -> tuple[int, int] | None:
        """How many digits it has before the point and behind it; None: any number."""
        if self.family is Family.WHOLE:
            return _DIGITS[self.type], 0
        if self.modifier < _NUMERIC_HEADER:
            return None
        bits = self.modifier - _NUMERIC_HEADER
        precision, scale = bits >> 16 & 0xFFFF, ((bits & 0x7FF) ^ 0x400) - 0x400
        return max(0, precision - scale), max(0, scale)


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column of the database as one of a table.

    Attributes:
        name: the table's name for it, and the database's.
        type: the declared one, for which `DatabaseColumn.why_not` has no reason.
        is_nullable: whether NULL is allowed.
        column: what the database has.
    """

    name: str
    type: DataType
    is_nullable: bool
    column: DatabaseColumn

    def of_texts(self, found: pa.BinaryArray) -> pa.Array:
        """Return values in the declared type, of the database's texts.

        Raises:
            pa.ArrowInvalid: one has no place in it, such as `infinity`.
        """
        wanted, family = to_arrow(self.type), self.column.family
        if family is Family.BYTES:
            return _bytes_of_hex(found).cast(wanted)
        if family is Family.BOOLEAN:
            return pc.equal(found, pa.scalar(b"t"))
        texts = found.cast(pa.string())
        if self.type == STRING:
            return texts
        match family:
            case Family.FLOAT:
                return texts.cast(pa.float32()).cast(wanted)
            case Family.TIMESTAMP:
                moments = texts.cast(pa.timestamp("us"))
            case Family.TIMESTAMP_TZ:
                # The session's zone is UTC, which stands at the end as +00.
                is_utc = pc.or_kleene(pc.ends_with(texts, "+00"), pc.is_null(texts))
                if not pc.all(is_utc).as_py() and len(texts):
                    bad = texts.filter(pc.invert(is_utc))[0]
                    raise pa.ArrowInvalid(f"{bad.as_py()!r} is no time that can be read")
                moments = pc.utf8_slice_codeunits(texts, 0, -3).cast(pa.timestamp("us"))
            case _:
                return texts.cast(wanted)
        is_zoned = self.type == TIMESTAMP
        return (pc.assume_timezone(moments, "UTC") if is_zoned else moments).cast(wanted)


def _bytes_of_hex(found: pa.BinaryArray) -> pa.BinaryArray:
    r"""Return the bytes of texts such as `\x00ff`, each in its place."""
    packed = pa.concat_arrays([found])  # offsets from 0 on
    ends = np.frombuffer(packed.buffers()[1], np.int32)[
        packed.offset : packed.offset + len(packed) + 1
    ]
    data = packed.buffers()[2]
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    lengths = np.diff(ends)
    is_kept = np.ones(len(text), np.bool_)
    begins = ends[:-1][lengths > 0]
    is_kept[begins] = is_kept[begins + 1] = False  # the two signs \x
    digits = _HEX[text[ends[0] : ends[-1]][is_kept[ends[0] : ends[-1]]]]
    values = digits[0::2] << 4 | digits[1::2]
    sizes = np.where(lengths > 0, (lengths - 2) // 2, 0)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    valid = None if not found.null_count else pc.is_valid(found).buffers()[1]
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), len(found), buffers)
