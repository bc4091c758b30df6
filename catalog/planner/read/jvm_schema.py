"""Arrow schemas as the JVM expects them: for times and variants they differ from storage's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.nested_array import recast_column
from table_store.storage.kernel.types import (
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructType,
    TimeType,
    to_arrow,
)

# ArrowUtils of Spark 4.2 recognizes a variant by this metadata of the struct's second field.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)


def jvm_schema(columns: Sequence[Field]) -> pa.Schema:
    """The Arrow schema in which the JVM expects rows of these columns."""
    return pa.schema([pa.field(c.name, _jvm_type(c.type), nullable=c.nullable) for c in columns])


def jvm_rows(rows: pa.Table, columns: Sequence[Field]) -> pa.Table:
    """`columns` of storage's rows, cast to the schema that `jvm_schema` returns."""
    schema = jvm_schema(columns)
    arrays = [recast_column(rows[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _jvm_type(data_type: DataType) -> pa.DataType:
    """Times are in nanoseconds, the only unit that Spark accepts; variants carry their mark."""
    match data_type:
        case TimeType():
            return pa.time64("ns")
        case ArrayType(element, nullable):
            return pa.list_(pa.field("element", _jvm_type(element), nullable=nullable))
        case MapType(key=key, value=value, value_contains_null=nullable):
            return pa.map_(
                pa.field("key", _jvm_type(key), nullable=False),
                pa.field("value", _jvm_type(value), nullable=nullable),
            )
        case StructType(fields):
            return pa.struct(
                [pa.field(f.name, _jvm_type(f.type), nullable=f.nullable) for f in fields]
            )
    return _VARIANT if data_type == VARIANT else to_arrow(data_type)
