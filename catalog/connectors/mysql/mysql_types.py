"""The values of a database's columns in the types that a table declares.

A value comes in two forms: as text, from a SELECT, and as what the binlog's client makes of it.
Both become the same array, so that a row that is taken back is equal to the one that came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.connectors.mysql.mysql_json import json_text
from table_store.storage.kernel.time_zone import clock_times, instants_of
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
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

CHARACTER_SETS: Final = ("utf8mb4", "utf8mb3", "utf8", "ascii", "latin1")
"""Those whose texts the binlog's client reads as the database does."""

_BITS: Final = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_TARGET_BITS: Final[Mapping[DataType, int]] = {BYTE: 8, SHORT: 16, INTEGER: 32, LONG: 64}
_LARGE: Final = ("json", "longblob", "longtext", "mediumblob", "mediumtext")
_DECIMAL_DIGITS: Final = 38
_NO_DATE: Final = r"^0000|-00"
_ZERO_TIME: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - the client gives times without zone
_YEAR_ZERO: Final = 1900


class Family(Enum):
    """What values of a column are."""

    WHOLE = "whole number"
    BIT = "bits"
    YEAR = "year"
    DECIMAL = "decimal"
    REAL = "floating-point number"
    TEXT = "text"
    JSON = "JSON"
    ENUM = "enum"
    SET = "set"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"


_FAMILIES: Final[Mapping[str, Family]] = {
    **dict.fromkeys(_BITS, Family.WHOLE),
    "bit": Family.BIT,
    "year": Family.YEAR,
    "decimal": Family.DECIMAL,
    **dict.fromkeys(("float", "double"), Family.REAL),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), Family.TEXT),
    "json": Family.JSON,
    "enum": Family.ENUM,
    "set": Family.SET,
    **dict.fromkeys(
        ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), Family.BYTES
    ),
    "date": Family.DATE,
    "time": Family.TIME,
    "datetime": Family.DATETIME,
    "timestamp": Family.TIMESTAMP,
}

_NATURAL: Final[Mapping[Family, pa.DataType]] = {
    Family.WHOLE: pa.int64(),
    Family.BIT: pa.uint64(),
    Family.YEAR: pa.int64(),
    Family.DECIMAL: pa.string(),
    Family.REAL: pa.float64(),
    Family.TEXT: pa.string(),
    Family.JSON: pa.string(),
    Family.ENUM: pa.string(),
    Family.SET: pa.string(),
    Family.BYTES: pa.binary(),
    Family.DATE: pa.date32(),
    Family.TIME: pa.string(),
    Family.DATETIME: pa.timestamp("us"),
    Family.TIMESTAMP: pa.timestamp("us"),
}

_TEXTS: Final = (STRING,)
_TARGETS: Final[Mapping[Family, tuple[DataType, ...]]] = {
    Family.REAL: (FLOAT, DOUBLE),
    Family.TEXT: _TEXTS,
    Family.JSON: _TEXTS,
    Family.ENUM: _TEXTS,
    Family.SET: _TEXTS,
    Family.TIME: _TEXTS,
    Family.BYTES: (BINARY,),
    Family.DATE: (DATE,),
    Family.DATETIME: (TIMESTAMP_NTZ, TIMESTAMP),
    Family.TIMESTAMP: (TIMESTAMP, TIMESTAMP_NTZ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseColumn:
    """A column as the database describes it.

    Attributes:
        name: as the database writes it.
        type: its name, such as `int`.
        full_type: with all that belongs to it, such as `int(10) unsigned`.
        precision: of a decimal, or the bits of BIT.
        scale: of a decimal.
        length: of BINARY, in bytes.
        charset: of texts.
    """

    name: str
    type: str
    full_type: str
    precision: int | None
    scale: int | None
    length: int | None
    charset: str | None

    @property
    def family(self) -> Family | None:
        """What its values are; None: they are none that can be read."""
        return _FAMILIES.get(self.type)

    @property
    def is_large(self) -> bool:
        """Whether a value may have more than 64 KiB."""
        return self.type in _LARGE

    @property
    def has_labels(self) -> bool:
        """Whether it is an ENUM or a SET."""
        return self.family in (Family.ENUM, Family.SET)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of an ENUM or SET in their order."""
        found = re.findall(r"'((?:[^']|'')*)'", self.full_type)
        return tuple(text.replace("''", "'") for text in found)

    def why_not(self, declared: DataType) -> str | None:
        """Return why values do not all have a place in a declared type; None if they have."""
        family, shown = self.family, declared.sql_name()
        if family is None:
            return f"columns of the type {self.full_type} are not read"
        if self.charset is not None and self.charset not in CHARACTER_SETS:
            return f"texts in the character set {self.charset} are not read"
        wanted = _TARGETS.get(family)
        if wanted is not None:
            names = " or ".join(kind.sql_name() for kind in wanted)
            return None if declared in wanted else f"{self.full_type} is {names}, not {shown}"
        if declared == STRING or (declared == BOOLEAN and self._is_truth_value):
            return None
        whole, fraction = self._digits
        if isinstance(declared, DecimalType):
            is_wide = declared.scale >= fraction and declared.precision - declared.scale >= whole
            return None if is_wide else f"{shown} has no place for {self.full_type}"
        bits = _TARGET_BITS.get(declared)
        if bits is None or family is Family.DECIMAL:
            return f"{self.full_type} is a number, and {shown} is no type for it"
        return None if self._signed_bits <= bits else f"{shown} has no place for {self.full_type}"

    @property
    def suggested(self) -> DataType | None:
        """The type in which all its values have a place; None: there is none."""
        family = self.family
        if family is None or family in _TARGETS:
            wanted = () if family is None else _TARGETS[family]
            is_double = self.type == "double"
            return wanted[-1 if is_double else 0] if wanted else None
        if family is Family.DECIMAL:
            is_wide = (self.precision or 0) > _DECIMAL_DIGITS
            return STRING if is_wide else DecimalType(self.precision or 0, self.scale or 0)
        if family is Family.BIT and self.precision == 1:
            return BOOLEAN
        fitting = [kind for kind, bits in _TARGET_BITS.items() if bits >= self._signed_bits]
        return fitting[0] if fitting else DecimalType(self._digits[0], 0)

    @property
    def _is_truth_value(self) -> bool:
        return self.type == "tinyint" or (self.type == "bit" and self.precision == 1)

    @property
    def _is_unsigned(self) -> bool:
        return "unsigned" in self.full_type

    @property
    def _signed_bits(self) -> int:
        if self.family is Family.YEAR:
            return 16
        if self.family is Family.BIT:
            return (self.precision or 1) + 1
        return _BITS[self.type] + self._is_unsigned

    @property
    def _digits(self) -> tuple[int, int]:
        """How many digits it has before the point and behind it."""
        if self.family is Family.DECIMAL:
            precision, scale = self.precision or 0, self.scale or 0
            return precision - scale, scale
        return len(str(2 ** (self._signed_bits - 1))), 0

    @property
    def natural(self) -> pa.DataType:
        """The Arrow type of its values before they get the declared one."""
        family = self.family
        assert family is not None, "it was checked"
        is_wide = self.type == "bigint" and self._is_unsigned
        return pa.uint64() if is_wide else _NATURAL[family]


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column of the database as one of a table.

    Attributes:
        name: the table's name for it.
        type: the declared one, for which `DatabaseColumn.why_not` has no reason.
        is_nullable: whether NULL is allowed.
        column: what the database has.
        zone: in which local times are.
    """

    name: str
    type: DataType
    is_nullable: bool
    column: DatabaseColumn
    zone: str

    @property
    def selected(self) -> str:
        """SQL for its value as text; the session's time zone is UTC."""
        quoted = quoted_name(self.column.name)
        # A FLOAT is shown with six digits, and BIT as bytes.
        is_computed = self.column.family in (Family.REAL, Family.BIT)
        return (
            f"{quoted} + 0e0"
            if self.column.type == "float"
            else (f"{quoted} + 0" if is_computed else quoted)
        )

    def of_texts(self, values: Sequence[bytes | None]) -> pa.Array:
        """Return what `selected` has given, in the declared type."""
        found = pa.array(values, pa.binary())
        family = self.column.family
        if family is not Family.BYTES:
            found = found.cast(pa.string())
        if family in (Family.DATE, Family.DATETIME, Family.TIMESTAMP):
            is_none = pc.match_substring_regex(found, _NO_DATE)
            found = pc.if_else(is_none, pa.scalar(None, pa.string()), found)
        if family is Family.TIME:
            found = pc.replace_substring_regex(found, r"(\.\d*?)0+$", r"\1")
            found = pc.replace_substring_regex(found, r"\.$", "")
        return self._declared(found.cast(self.column.natural))

    def of_logged(self, values: Sequence[Any], empty_sets: Sequence[bool]) -> pa.Array:
        """Return values of the binlog in the declared type.

        Args:
            values: as the client makes them.
            empty_sets: where its NULL is a SET without elements.
        """
        match self.column.family:
            case Family.BIT:
                values = [None if value is None else int(value, 2) for value in values]
            case Family.YEAR:
                values = [0 if value == _YEAR_ZERO else value for value in values]
            case Family.DECIMAL:
                values = [None if value is None else format(value, "f") for value in values]
            case Family.JSON:
                values = [None if value is None else json_text(value) for value in values]
            case Family.SET:
                labels = self.column.labels
                values = [
                    "" if is_empty else None if value is None else _joined(value, labels)
                    for value, is_empty in zip(values, empty_sets, strict=True)
                ]
            case Family.BYTES if self.column.type == "binary":
                length = self.column.length or 0
                # The database leaves out zeros at the end.
                values = [None if v is None else v.ljust(length, b"\0") for v in values]
            case Family.TIME:
                values = [None if value is None else _time_text(value) for value in values]
            case Family.TIMESTAMP:
                values = [None if value == _ZERO_TIME else value for value in values]
        return self._declared(pa.array(values, self.column.natural))

    def _declared(self, found: pa.Array) -> pa.Array:
        wanted, family = to_arrow(self.type), self.column.family
        if self.type == BOOLEAN:
            return pc.not_equal(found, pa.scalar(0, found.type))
        if isinstance(self.type, DecimalType):
            return found.cast(pa.string()).cast(wanted)
        if family is Family.DATETIME and self.type == TIMESTAMP:
            return instants_of(found, self.zone).cast(wanted)
        if family is Family.TIMESTAMP and self.type == TIMESTAMP_NTZ:
            return clock_times(found, self.zone).cast(wanted)
        return found.cast(wanted)


def key_value(column: DatabaseColumn, text: bytes) -> Any:
    """Return what stands for a key's value, as a SELECT gives it, in a statement's place."""
    return text if column.family is Family.BYTES else text.decode()


def quoted_name(name: str) -> str:
    """Return a name as the database's SQL has it, in a statement with places for values."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _joined(elements: set[str], labels: Sequence[str]) -> str:
    """The elements of a SET as the database shows them: in the order of its definition."""
    return ",".join(label for label in labels if label in elements)


def _time_text(value: timedelta) -> str:
    sign, span = ("-", -value) if value < timedelta(0) else ("", value)
    minutes, seconds = divmod(span.days * 86_400 + span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{sign}{hours:02d}:{minutes:02d}:{seconds:02d}"
    return f"{text}.{span.microseconds:06d}".rstrip("0") if span.microseconds else text
