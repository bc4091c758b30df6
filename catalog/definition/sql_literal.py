"""SQL literals of Spark: those for a column's existing default, and strings in both directions.

Spark sends `ADD COLUMN … DEFAULT expression` with the expression already computed, as the
text of a literal (`Literal.sql` of Catalyst: `5L`, `1.5BD`, `DATE '2020-01-01'`,
`CAST('NaN' AS DOUBLE)`, …). Rows written before the column read as that value.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Context, Decimal, InvalidOperation
from typing import Final

from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.kernel.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    TimeType,
)
from table_store.storage.kernel.values import EPOCH, EPOCH_UTC, Value, binary32

_CAST = re.compile(r"CAST\s*\((?P<inner>.*)\s+AS\s+[^)]*(\([^)]*\))?\s*\)", re.I | re.S)
_TYPED = re.compile(
    r"(?P<word>DATE|TIMESTAMP_NTZ|TIMESTAMP_LTZ|TIMESTAMP|TIME|X)\s*(?P<text>'.*')",
    re.I | re.S,
)
_STRING = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.S)
_NUMBER = re.compile(
    r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+)(E[+-]?\d+)?)(?P<suffix>[YSLDF]|BD)?", re.I
)
_INTEGRAL: Final = ("byte", "short", "integer", "long")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_NAMED_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_LIKE_WILDCARDS = "%_"
_CODE_POINT_MAX = 0x10FFFF
_DECIMALS: Final = Context(prec=38)  # the digits of Spark's longest decimal; Python's default is 28
_YEAR: Final = re.compile(r"[+-]?\d{4,}(?=-)")
_CYCLE_YEARS, _CYCLE = 400, dt.timedelta(days=146_097)
# Every time zone has its last rule by then, and had not its first one.
_YEAR_AFTER_RULES, _YEAR_BEFORE_RULES = 2400, 400
_DOLLAR_TAG = re.compile(r"\$[A-Za-z]*\$")


def parse_literal(text: str, data_type: DataType, *, column: str, time_zone: str = "UTC") -> Value:
    """Return the value that a literal of Spark's means in a column of `data_type`.

    Args:
        text: a literal as `Literal.sql` prints it; a cast around it is removed.
        data_type: of the column, which decides what a number or a string becomes.
        column: name of the column, for errors.
        time_zone: of the session; it applies to `TIMESTAMP '…'` without a zone.

    Raises:
        InvalidSchemaError: the text is no literal (an expression, a nested value), or no
            value of the type.
    """
    literal = text.strip()
    while found := _CAST.fullmatch(literal):
        literal = found["inner"].strip()
    if literal.upper() == "NULL":
        return None
    if isinstance(data_type, ArrayType | MapType | StructType):
        raise InvalidSchemaError(
            reason=f"rows that exist cannot get a default of the nested type "
            f"{data_type.sql_name()}; add the column without one, and SET DEFAULT for later rows",
            column=column,
        )
    try:
        value = _raw_value(literal)
        return _converted(value, data_type, time_zone)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InvalidSchemaError(
            reason=f"the default {text} is not a single {data_type.sql_name()} value; give the "
            "rows that exist a plain literal, or add the column without a default",
            column=column,
        ) from error


def _raw_value(literal: str) -> Value:
    if literal.upper() in ("TRUE", "FALSE"):
        return literal.upper() == "TRUE"
    if _STRING.fullmatch(literal):
        return string_value(literal)
    if typed := _TYPED.fullmatch(literal):
        if not _STRING.fullmatch(typed["text"]):
            raise ValueError("not a string")
        text = string_value(typed["text"])
        return bytes.fromhex(text) if typed["word"].upper() == "X" else text
    if number := _NUMBER.fullmatch(literal):
        return Decimal(number["number"])
    raise ValueError("not a literal")


def _converted(value: Value, data_type: DataType, time_zone: str) -> Value:
    match data_type:
        case DecimalType(scale=scale):
            return _number(value).quantize(Decimal(1).scaleb(-scale), context=_DECIMALS)
        case TimeType():
            return dt.time.fromisoformat(_text(value))
        case PrimitiveType(name):
            return _primitive(value, name, time_zone)
    raise ValueError("another type")


def _primitive(value: Value, name: str, time_zone: str) -> Value:
    if name in _INTEGRAL:
        number = _number(value)
        if number != int(number):
            raise ValueError("a fraction")
        return int(number)
    match name:
        case "float":
            return binary32(str(value))
        case "double":
            return float(value) if isinstance(value, str) else float(_number(value))
        case "string":
            return _text(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "binary":
            return value if isinstance(value, bytes) else _text(value).encode()
        case "date" | "timestamp" | "timestamp_ntz":
            return _moment(_text(value), name, time_zone)
    raise ValueError("another type")


def _moment(text: str, name: str, time_zone: str) -> Value:
    """The date or timestamp of any year; an integer where Python has none, as in `values.py`.

    What has no near year is read 400 years, or a multiple, nearer: after so many, the calendar
    repeats, and with it the rules of time zones, in years before and after those of their history.
    """
    found = _YEAR.match(text)
    if found is None:
        raise ValueError("not a date")
    year = int(found[0])
    nearest = _YEAR_AFTER_RULES if year > 0 else _YEAR_BEFORE_RULES
    cycles = 0 if dt.MINYEAR <= year <= dt.MAXYEAR else (year - nearest) // _CYCLE_YEARS
    near = f"{year - cycles * _CYCLE_YEARS:04}{text[found.end() :]}"
    if name == "date":
        day = dt.date.fromisoformat(near)
        return (day - EPOCH.date() + cycles * _CYCLE).days if cycles else day
    moment, epoch = dt.datetime.fromisoformat(near), EPOCH
    if name == "timestamp":
        epoch = EPOCH_UTC
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=find_zone(time_zone))
    since = moment - epoch + cycles * _CYCLE
    try:
        return epoch + since
    except OverflowError:
        return since // dt.timedelta(microseconds=1)


def _number(value: Value) -> Decimal:
    if isinstance(value, str):
        return Decimal(value)
    if isinstance(value, Decimal):
        return value
    raise ValueError("not a number")


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("not a string")


def string_value(literal: str) -> str:
    """Return the value of one string token of Spark: quoted, raw (`r'…'`) or dollar-quoted.

    Source of the escapes: `SparkParserUtils.unescapeSQLString` of Spark 4.2.
    """
    tag = _DOLLAR_TAG.match(literal)
    if tag:
        return literal[tag.end() :].removesuffix(tag.group())
    if literal[0] in "rR":
        return literal[2:-1]
    quote = literal[0]
    body = literal[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)
    pieces = []
    position = 0
    for escape in _ESCAPE.finditer(body):
        pieces.append(body[position : escape.start()].replace(quote * 2, quote))
        pieces.append(_escaped_character(escape))
        position = escape.end()
    pieces.append(body[position:].replace(quote * 2, quote))
    return _without_surrogate_pairs("".join(pieces))


def _escaped_character(escape: re.Match[str]) -> str:
    four, eight, octal, other = escape.groups()
    if four is not None:
        return chr(int(four, 16))
    if eight is not None:
        code_point = int(eight, 16)
        return chr(code_point) if code_point <= _CODE_POINT_MAX else "U" + str(eight)
    if octal is not None:
        return chr(int(octal, 8))
    character = str(other)
    if character in _LIKE_WILDCARDS:
        return "\\" + character
    return _NAMED_ESCAPES.get(character, character)


def _without_surrogate_pairs(text: str) -> str:
    """Join pairs of escapes that spell one character outside of the basic plane, as in Java."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def string_literal(value: str) -> str:
    r"""A literal that Spark reads back as `value`, whatever it holds.

    A dollar before a brace is written as an escape, because Spark's parser would replace a
    variable reference inside a literal before it looks at the quotes.
    """
    escaped = (
        value.replace("\\", "\\\\")
        .replace("'", "\\'")
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\0", "\\u0000")
        .replace("${", "\\u0024{")
    )
    return f"'{escaped}'"
