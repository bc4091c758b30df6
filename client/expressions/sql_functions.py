"""Reads casts, choices and functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from table_store.client.expressions.coercion import NotKnownError, cast, retyped
from table_store.client.expressions.comparison import is_char
from table_store.client.expressions.expression import Call, Column, Expression, Literal
from table_store.client.expressions.sql_reader import Read, Reader, check_only, given
from table_store.storage.kernel.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    parse_type,
)

_INT_MAX: Final = 2**31 - 1
_TYPES: Final[Mapping[exp.DType, str]] = {
    exp.DType.BOOLEAN: "boolean",
    exp.DType.TINYINT: "byte",
    exp.DType.SMALLINT: "short",
    exp.DType.INT: "integer",
    exp.DType.BIGINT: "long",
    exp.DType.FLOAT: "float",
    exp.DType.DOUBLE: "double",
    exp.DType.TEXT: "string",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp_ntz",
}


def _cast(reader: Reader, node: exp.Expr) -> Expression:
    if node.args.get("safe"):
        raise NotKnownError("TRY_CAST")
    check_only(node, "this", "to")
    value, target = reader.read(node.this), _data_type(node.args["to"])
    if isinstance(value, Column) and value.length and target == STRING:
        return replace(value, length=None)  # what was cast is no CHAR, so Spark does not pad it
    return cast(value, target, reader.names.zone)


def _data_type(node: exp.DataType) -> DataType:
    if node.this == exp.DType.DECIMAL:
        digits = [int(item.name) for item in node.expressions] or [10]
        return DecimalType(digits[0], digits[1] if len(digits) > 1 else 0)
    if node.this not in _TYPES or node.expressions:
        raise NotKnownError(f"the type {node.sql(dialect='spark')}")
    return parse_type(_TYPES[node.this])


def _case(reader: Reader, node: exp.Expr) -> Expression:
    branches = node.args["ifs"]
    default = node.args.get("default") or exp.null()
    values = reader.all([*(branch.args["true"] for branch in branches), default])
    subject = None if node.this is None else reader.read(node.this)
    arguments: list[Expression] = []
    for branch, value in zip(branches, values, strict=False):
        if subject is None:
            condition = reader.condition(branch.this)
        else:
            condition = reader.compared("=", subject, reader.read(branch.this))
        arguments += [condition, value]
    return Call("case", (*arguments, values[-1]), values[-1].type or BOOLEAN)


def _if(reader: Reader, node: exp.Expr) -> Expression:
    values = reader.all([node.args["true"], node.args.get("false") or exp.null()])
    return Call("case", (reader.condition(node.this), *values), values[0].type or BOOLEAN)


def _coalesce(reader: Reader, node: exp.Expr) -> Expression:
    check_only(node, "this", "expressions")
    values = reader.all([node.this, *node.expressions])
    return Call("coalesce", tuple(values), values[0].type or BOOLEAN)


def _nullif(reader: Reader, node: exp.Expr) -> Expression:
    left, right = reader.read(node.this), reader.read(node.expression)
    if is_char(left) or is_char(right):
        raise NotKnownError("nullif of a CHAR, which Spark does not pad; write CASE WHEN")
    same = reader.compared("=", left, right)
    kind = left.type or BOOLEAN
    return Call("case", (same, Literal(None, kind), retyped(left, kind)), kind)


def _concat(reader: Reader, node: exp.Expr) -> Expression:
    if isinstance(node, exp.Concat) and "safe" not in node.args:
        raise NotKnownError(
            "two texts stand next to each other; put a text with an apostrophe into double quotes"
        )
    parts = node.expressions or [node.this, node.expression]
    return Call("concat", tuple(map(reader.text, parts)), STRING)


def _text_function(function: str, result: DataType = STRING) -> Read:
    def read(reader: Reader, node: exp.Expr) -> Expression:
        check_only(node, "this")
        return Call(function, (reader.text(node.this),), result)

    return read


def _trim(reader: Reader, node: exp.Expr) -> Expression:
    check_only(node, "this", "position")
    position = str(node.args.get("position") or "BOTH").upper()
    function = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}[position]
    return Call(function, (reader.text(node.this),), STRING)


def _substring(reader: Reader, node: exp.Expr) -> Expression:
    check_only(node, "this", "start", "length", "expression")
    is_left = isinstance(node, exp.Left)
    start = Literal(1, INTEGER) if is_left else reader.read(node.args["start"])
    length = node.args.get("expression" if is_left else "length")
    read = Literal(_INT_MAX, INTEGER) if length is None else reader.read(length)
    for number in (start, read):
        if not isinstance(number, Literal) or number.type != INTEGER or number.value is None:
            raise NotKnownError("a part of a text from or to a place that is no plain INT")
    return Call("substring", (reader.text(node.this), start, read), STRING)


def _pattern(function: str) -> Read:
    def read(reader: Reader, node: exp.Expr) -> Expression:
        check_only(node, "this", "expression", "negate")
        pattern = reader.read(node.expression)
        if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
            raise NotKnownError(f"{function} with a pattern that is no plain text")
        found = Call(function, (reader.text(node.this), pattern), BOOLEAN)
        return Call("not", (found,), BOOLEAN) if node.args.get("negate") else found

    return read


def _date_part(function: str) -> Read:
    def read(reader: Reader, node: exp.Expr) -> Expression:
        inner = node.this
        if isinstance(inner, exp.TsOrDsToDate) and set(given(inner)) == {"this"}:
            inner = inner.this
        date = reader.read(inner)
        if date.type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
            raise NotKnownError(f"{function} of another value than a date or timestamp")
        return Call(function, (cast(date, DATE, reader.names.zone),), INTEGER)

    return read


def _anonymous(reader: Reader, node: exp.Expr) -> Expression:
    name = node.name.lower()
    if name in ("isnull", "isnotnull") and len(node.expressions) == 1:
        found = Call("is null", (reader.read(node.expressions[0]),), BOOLEAN)
        return found if name == "isnull" else Call("not", (found,), BOOLEAN)
    raise NotKnownError(f"the function {node.name}")


FUNCTIONS: Final[Mapping[type[exp.Expr], Read]] = {
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Concat: _concat,
    exp.DPipe: _concat,
    exp.Upper: _text_function("upper"),
    exp.Lower: _text_function("lower"),
    exp.Length: _text_function("length", INTEGER),
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.Left: _substring,
    exp.Like: _pattern("like"),
    exp.StartsWith: _pattern("startswith"),
    exp.EndsWith: _pattern("endswith"),
    exp.Contains: _pattern("contains"),
    exp.Year: _date_part("year"),
    exp.Month: _date_part("month"),
    exp.Day: _date_part("day"),
    exp.DayOfMonth: _date_part("day"),
    exp.Anonymous: _anonymous,
}
"""What reads each of them."""
