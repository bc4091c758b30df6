"""The DataFrame of a write statement: rows with kind and order, at their bucket's writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from table_store.catalog.identifier import quoted
from table_store.catalog.planner.key_parts import KeyParts
from table_store.storage.file_store.bucket import HASH_OF_NOTHING, bucket_columns
from table_store.storage.file_store.schema import TableSchema

KIND, ORDER, BUCKET = "__kind", "__order", "__bucket"

_ADD, _DELETE = 0, 1
# The values of RowDeltaUtils in Spark 4.2's catalyst: what WriteDelta's first column says.
_OPERATION_DELETE, _OPERATION_UPDATE = 1, 2
# Deletes of a statement that moves keys come before all its inserts: `SET id = id + 1` deletes
# key 2 for one row and writes it for another, and the written row must win.
_DELETE_FIRST = -(1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaColumns:
    """Where a row-level statement's query has its columns, by position.

    `row` is None for a DELETE. `row_id` holds the key columns of a table with key; else one
    struct that is the whole row.
    """

    row: tuple[int, ...] | None
    row_id: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRows:
    """The table's columns of the rows that a statement writes, with `KIND` and `ORDER` if needed.

    `are_deletes`: there are key columns alone, of rows to be deleted. `keep_keys`: each has the
    key of a row that was read, and no other has.
    """

    frame: DataFrame
    are_deletes: bool = False
    keep_keys: bool = False


def inserted_rows(
    frame: DataFrame, schema: TableSchema, written: Sequence[str], kind: Column | None = None
) -> PlannedRows:
    """The rows of an INSERT's query, computed columns included.

    `KIND` comes with them where `kind` tells it (else all are adds), and `ORDER` where the table
    has a key: every further column costs a conversion per row on the way to the worker.
    `written` are the names of `frame`'s columns by position. Among them may be computed columns,
    whose values do not count, and columns that are not stored.
    """
    named = frame.toDF(*written)
    columns = [
        F.col(quoted(field.name))
        if field.generated is None
        else F.expr(field.generated).cast(_ddl(schema, field.name)).alias(field.name)
        for field in schema.fields
    ]
    if kind is not None:
        columns.append(kind.cast("tinyint").alias(KIND))
    if schema.primary_key:
        columns.append(F.monotonically_increasing_id().alias(ORDER))
    return PlannedRows(frame=named.select(*columns))


def delta_rows(
    frame: DataFrame, schema: TableSchema, delta: DeltaColumns, *, is_merge: bool
) -> PlannedRows:
    """What UPDATE, DELETE or MERGE writes.

    `frame` is the query of Spark's WriteDelta: an operation, then columns named by `delta`.
    """
    source = _by_position(frame)
    is_delete = F.col("_0") == _OPERATION_DELETE
    if schema.primary_key:
        old = {name: _at(i) for name, i in zip(schema.primary_key, delta.row_id, strict=True)}
        deleted = {f.name: old.get(f.name, F.lit(None)) for f in schema.fields}
    else:
        deleted = {f.name: _at(delta.row_id[0]).getField(f.name) for f in schema.fields}
    if delta.row is None:
        if schema.primary_key:
            keys = [old[name].alias(name) for name in schema.primary_key]
            return PlannedRows(frame=source.select(*keys), are_deletes=True, keep_keys=not is_merge)
        return PlannedRows(
            frame=source.select(*_version(schema, deleted, _DELETE, is_order_first=False))
        )
    row = _new_row(schema, delta.row)
    recomputed = _recomputed(source, schema, row)
    moved = _moved_key(schema, delta, row)
    if moved is None and schema.primary_key and not is_merge:
        return PlannedRows(frame=recomputed.select(*_columns(schema, row)), keep_keys=True)
    if moved is None:
        values = {name: F.when(is_delete, deleted[name]).otherwise(row[name]) for name in row}
        kind = F.when(is_delete, _DELETE).otherwise(_ADD)
        return PlannedRows(
            frame=recomputed.select(*_version(schema, values, kind, is_order_first=False))
        )
    before = F.struct(*_version(schema, deleted, _DELETE, is_order_first=True))
    after = F.struct(*_version(schema, row, _ADD, is_order_first=False))
    is_move = (F.col("_0") == _OPERATION_UPDATE) & moved
    versions = (F.when(is_delete, F.array(before)).when(is_move, F.array(before, after))).otherwise(
        F.array(after)
    )
    return PlannedRows(frame=recomputed.select(F.inline(versions)))


def upserted_rows(frame: DataFrame, schema: TableSchema, delta: DeltaColumns) -> PlannedRows:
    """What a MERGE writes of which every row is to be there afterwards, in place of any other."""
    assert delta.row is not None, "a MERGE that writes rows has them"
    row = _new_row(schema, delta.row)
    recomputed = _recomputed(_by_position(frame), schema, row)
    return PlannedRows(frame=recomputed.select(*_columns(schema, row)))


def at_writers(
    rows: DataFrame, schema: TableSchema, buckets: int, parallelism: int, parts: KeyParts
) -> DataFrame:
    """`rows` with `BUCKET`, shuffled so that each of the `parts` of a bucket has one writer.

    Without key or partitions nothing is shuffled: every task writes files of its own to every
    bucket, which is what a plain Parquet write does.
    """
    hashed = bucket_columns(schema)
    if buckets == 1:
        bucket = F.lit(0)
    elif not hashed:
        bucket = F.lit(HASH_OF_NOTHING % buckets)
    else:
        bucket = F.pmod(F.hash(*[F.col(quoted(n)) for n in hashed]), F.lit(buckets)).cast("int")
    placed = rows.withColumn(BUCKET, bucket)
    if schema.partition_keys:
        keys = [F.col(quoted(name)) for name in schema.partition_keys]
        return placed.repartition(parallelism, *keys, F.col(BUCKET))
    if schema.primary_key:
        writer = F.col(BUCKET)
        if parts.count > 1:
            types = {field.name: field.type for field in schema.fields}
            writer = writer * parts.count + parts.number(types)
        return placed.repartitionById(buckets * parts.count, writer)
    return placed


def _by_position(frame: DataFrame) -> DataFrame:
    return frame.toDF(*[f"_{i}" for i in range(len(frame.columns))])


def _new_row(schema: TableSchema, positions: Sequence[int]) -> dict[str, Column]:
    return {f.name: _at(i) for f, i in zip(schema.fields, positions, strict=True)}


def _moved_key(schema: TableSchema, delta: DeltaColumns, row: dict[str, Column]) -> Column | None:
    """Whether an updated row leaves its key; None where the statement assigns no key column.

    A computed key column follows what it is computed from.
    """
    if delta.row is None or not schema.primary_key:
        return None
    position = {field.name: i for field, i in zip(schema.fields, delta.row, strict=True)}
    moved: Column | None = None
    for name, old in zip(schema.primary_key, delta.row_id, strict=True):
        if position[name] != old or schema.field_named(name).generated is not None:
            differs = ~row[name].eqNullSafe(_at(old))
            moved = differs if moved is None else moved | differs
    return moved


def _recomputed(source: DataFrame, schema: TableSchema, row: dict[str, Column]) -> DataFrame:
    """`source` with the computed columns of its new row versions; `row` is told of them."""
    generated = [field for field in schema.fields if field.generated is not None]
    if not generated:
        return source
    # The expressions name the table's columns, so they see the new row under those names.
    shown = source.select("*", *[row[f.name].alias(f.name) for f in schema.fields])
    for number, field in enumerate(generated):
        value = F.expr(str(field.generated)).cast(_ddl(schema, field.name))
        shown = shown.withColumn(f"__computed_{number}", value)
        row[field.name] = F.col(f"__computed_{number}")
    return shown


def _version(
    schema: TableSchema, values: dict[str, Column], kind: Column | int, *, is_order_first: bool
) -> Sequence[Column]:
    order = F.monotonically_increasing_id()
    return [
        *_columns(schema, values),
        (F.lit(kind) if isinstance(kind, int) else kind).cast("tinyint").alias(KIND),
        (order + F.lit(_DELETE_FIRST) if is_order_first else order).alias(ORDER),
    ]


def _columns(schema: TableSchema, values: dict[str, Column]) -> list[Column]:
    return [values[f.name].cast(_ddl(schema, f.name)).alias(f.name) for f in schema.fields]


def _at(position: int) -> Column:
    return F.col(f"_{position}")


def _ddl(schema: TableSchema, name: str) -> str:
    return next(field.type.sql_name() for field in schema.fields if field.name == name)
