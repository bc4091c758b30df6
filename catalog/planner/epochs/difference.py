"""Sums of bags of rows, as rows to insert and rows to delete."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from table_store.catalog.names.identifier import quoted

CHANGE_TYPE: Final = "__change_type"
WEIGHT: Final = "__weight"
_FORM: Final = "__form_of_"
_VARIANT_BYTES: Final = "__variant_bytes"  # a function of the bridge


def inserts(new: DataFrame, names: Sequence[str]) -> DataFrame:
    """All rows of `new` as rows to insert, its columns named anew."""
    return new.toDF(*names).withColumn(CHANGE_TYPE, F.lit("insert"))


def changes(parts: Sequence[tuple[DataFrame, int]], names: Sequence[str]) -> DataFrame:
    """The sum of bags, each of which adds its rows (1) or takes them away (-1).

    All frames have the same columns by position, which get new names; for weights of rows see
    `weighted`. The result has these and
    `CHANGE_TYPE`, ``insert`` or ``delete``; rows that cancel out are not in it. It costs one
    shuffle of all frames.
    """
    fields = parts[0][0].schema.fields[: len(names)]
    forms = {}
    for name, field in zip(names, fields, strict=True):
        form = form_of(quoted(name), field.dataType)
        # Spark knows by metadata which columns are sessions, and would merge those that meet.
        forms[name] = f"struct({form})" if field.metadata else form
    formed = [name for name in names if forms[name] != quoted(name)]
    groups = [quoted(_FORM + name if name in formed else name) for name in names]
    counted = (
        weighted(parts, names)
        .selectExpr("*", *[f"{forms[n]} AS {quoted(_FORM + n)}" for n in formed])
        .groupBy(*groups)
        .agg(F.sum(WEIGHT).alias(WEIGHT), *[F.first(quoted(n)).alias(n) for n in formed])
        .where(f"{WEIGHT} <> 0")
    )
    return counted.selectExpr(
        *map(quoted, names),
        f"IF({WEIGHT} > 0, 'insert', 'delete') AS {CHANGE_TYPE}",
        f"explode(array_repeat(0, CAST(abs({WEIGHT}) AS INT))) AS {WEIGHT}",
    ).drop(WEIGHT)


def weighted(parts: Sequence[tuple[DataFrame, int]], names: Sequence[str]) -> DataFrame:
    """The rows of all bags, each with its sign as `WEIGHT`.

    Where a frame has one more column, it is 1 for rows that come and -1 for rows that go.
    """

    def signed(frame: DataFrame, sign: int) -> DataFrame:
        if len(frame.columns) == len(names):
            return frame.toDF(*names).withColumn(WEIGHT, F.lit(sign))
        return frame.toDF(*names, WEIGHT).withColumn(WEIGHT, F.col(WEIGHT) * sign)

    return reduce(DataFrame.unionAll, [signed(frame, sign) for frame, sign in parts])


def form_of(value: str, data_type: DataType, depth: int = 0) -> str:
    """SQL for what a value is grouped by: equal if and only if the values are the same.

    Groups do not tell 0.0 from -0.0, but texts do; nor texts that a collation calls equal, but
    their bytes do. Maps are compared by their entries in their order, as `bag.py` compares them:
    a group of maps sorts them, and Spark 4.2 then puts 0 in the place of NULL numbers. Variants
    cannot be grouped, and as texts 1 and "1" are alike.
    """
    item = f"x{depth}"
    match data_type:
        case DoubleType() | FloatType():
            return f"CAST({value} AS STRING)"
        case VariantType():
            return f"{_VARIANT_BYTES}({value})"
        case StringType() if data_type.collation != "UTF8_BINARY":
            return f"CAST({value} AS BINARY)"
        case ArrayType():
            form = form_of(item, data_type.elementType, depth + 1)
            return value if form == item else f"transform({value}, {item} -> {form})"
        case MapType():
            parts = (("key", data_type.keyType), ("value", data_type.valueType))
            forms = ", ".join(form_of(f"{item}.{name}", t, depth + 1) for name, t in parts)
            return f"transform(map_entries({value}), {item} -> struct({forms}))"
        case StructType():
            held = [(f"{value}.{quoted(field.name)}", field.dataType) for field in data_type.fields]
            held_forms = [form_of(name, t, depth) for name, t in held]
            if held_forms == [name for name, _ in held]:
                return value
            return f"IF({value} IS NULL, NULL, struct({', '.join(held_forms)}))"
    return value
