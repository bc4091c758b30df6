"""Writes values as Arrow, and brings back the plain form of values in Arrow, from any library."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.types import VariantVal
from pyspark.sql.variant_utils import VariantUtils

from tests.values.edges import json_value
from tests.values.kinds import FLOATS, Array, Kind, Map, Struct, Value, arrow_type, is_text
from tests.values.kinds import time_digits as time_digits_of

Row = tuple[Value, ...]


def arrow_array(values: Sequence[Value], kind: Kind) -> pa.Array:
    """The values in `arrow_type(kind)`; texts and required fields are not checked."""
    type_ = arrow_type(kind)
    nulls = pa.array([value is None for value in values], pa.bool_())
    match kind:
        case Struct(fields):
            children = [
                arrow_array([None if v is None else v[at] for v in values], inner)
                for at, (_, inner) in enumerate(fields)
            ]
            return pa.StructArray.from_arrays(children, fields=list(type_), mask=nulls)
        case Array(element):
            flat = [item for value in values for item in value or ()]
            return pa.ListArray.from_arrays(
                _offsets(values), arrow_array(flat, element), type_, mask=nulls
            )
        case Map(of, key):
            pairs = [pair for value in values for pair in value or ()]
            keys = arrow_array([k for k, _ in pairs], key)
            items = arrow_array([v for _, v in pairs], of)
            return pa.MapArray.from_arrays(_offsets(values), keys, items, type_, mask=nulls)
    if kind == "VARIANT":
        return _variants(values, type_, nulls)
    if is_text(kind):
        return pa.array(values, pa.binary()).view(pa.string())
    if kind == "DATE":
        return pa.array(values, pa.int32()).view(type_)
    if kind in ("TIMESTAMP", "TIMESTAMP_NTZ") or time_digits_of(kind) is not None:
        return pa.array(values, pa.int64()).view(type_)
    if kind in FLOATS:
        return pa.array([None if v is None else float(v) for v in values], type_)
    return pa.array(values, type_)


def arrow_table(rows: Sequence[Row], columns: dict[str, Kind]) -> pa.Table:
    """The rows, in one piece."""
    arrays = [
        arrow_array([row[at] for row in rows], kind) for at, kind in enumerate(columns.values())
    ]
    fields = [pa.field(n, a.type) for n, a in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _offsets(values: Sequence[Value]) -> pa.Array:
    ends, end = [0], 0
    for value in values:
        end += len(value or ())
        ends.append(end)
    return pa.array(ends, pa.int32())


def _variants(values: Sequence[Value], type_: pa.DataType, nulls: pa.Array) -> pa.Array:
    parsed = [VariantVal.parseJson("null" if value is None else value) for value in values]
    parts = [[bytes(v.value) for v in parsed], [bytes(v.metadata) for v in parsed]]
    children = [pa.array(part, pa.binary()) for part in parts]
    return pa.StructArray.from_arrays(children, fields=list(type_), mask=nulls)


def plain_rows(table: pa.Table, columns: dict[str, Kind]) -> list[Row]:
    """The rows of a table, whose columns are in this order, in plain form."""
    lists = [plain_values(table.column(at), kind) for at, kind in enumerate(columns.values())]
    return list(zip(*lists, strict=True)) if lists else []


def plain_values(values: pa.Array | pa.ChunkedArray, kind: Kind) -> list[Value]:
    """The plain form of each value, in whatever layout it is."""
    return [_plain(scalar, kind) for scalar in values]


def _plain(scalar: pa.Scalar, kind: Kind) -> Value:
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.DictionaryScalar):
        return _plain(scalar.value, kind)
    match kind:
        case Struct(fields):
            return tuple(_plain(scalar[at], inner) for at, (_, inner) in enumerate(fields))
        case Array(element):
            return tuple(plain_values(scalar.values, element))
        case Map(of, key):
            pairs = scalar.values
            return tuple(
                zip(
                    plain_values(pairs.field(0), key), plain_values(pairs.field(1), of), strict=True
                )
            )
    if kind == "VARIANT":
        found = {name: bytes(part.as_py()) for name, part in scalar.items()}
        text = VariantUtils.to_json(found["value"], found["metadata"], "UTC")
        return json_value(json.loads(text))
    if is_text(kind):
        return scalar.as_buffer().to_pybytes()
    if kind == "DATE":
        return scalar.value
    if kind in ("TIMESTAMP", "TIMESTAMP_NTZ") or time_digits_of(kind) is not None:
        return _micros(scalar)
    if kind in FLOATS:
        return repr(scalar.as_py())
    return scalar.as_py()


def _micros(scalar: pa.Scalar) -> int:
    of_unit = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[scalar.type.unit]
    micros, rest = divmod(int(scalar.value) * of_unit, 1000)
    assert rest == 0, scalar
    return micros


def plain_scalar(scalar: pa.Scalar) -> Value:
    """The plain form of a value, whatever type it has; a VARIANT is its two parts."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if pa.types.is_struct(kind):
        return tuple(plain_scalar(scalar[at]) for at in range(kind.num_fields))
    if pa.types.is_map(kind):
        return tuple(
            (plain_scalar(key), plain_scalar(item))
            for key, item in zip(scalar.values.field(0), scalar.values.field(1), strict=True)
        )
    if pa.types.is_list(kind):
        return tuple(plain_scalar(one) for one in scalar.values)
    if pa.types.is_floating(kind):
        return repr(scalar.as_py())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return scalar.as_buffer().to_pybytes()
    if pa.types.is_date(kind):
        return scalar.value
    return _micros(scalar) if pa.types.is_temporal(kind) else scalar.as_py()
