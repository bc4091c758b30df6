"""The DataFrame of a write statement: rows with kind and order, at their bucket's writer.

Columns are SQL: as a text they go to the JVM in one call, where each step of a `Column` is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.write.key_parts import KeyParts
from table_store.storage.file_store.model.bucket import HASH_OF_NOTHING, bucket_columns
from table_store.storage.file_store.model.schema import Field, TableSchema

KIND, ORDER, BUCKET = "__kind", "__order", "__bucket"

_ADD, _DELETE = 0, 1
# The values of RowDeltaUtils in Spark 4.2's catalyst: what WriteDelta's first column says.
_OPERATION_DELETE, _OPERATION_UPDATE = 1, 2
# Deletes of a statement that moves keys come before all its inserts: `SET id = id + 1` deletes
# key 2 for one row and writes it for another, and the written row must win.
_DELETE_FIRST = -(1 << 62)
_ARRIVAL = "monotonically_increasing_id()"


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
    frame: DataFrame, schema: TableSchema, written: Sequence[str], kind: str | None = None
) -> PlannedRows:
    """The rows of an INSERT's query, computed columns included.

    `KIND` comes with them where `kind` tells it (else all are adds), and `ORDER` where the table
    has a key: every further column costs a conversion per row on the way to the worker.
    `written` are the names of `frame`'s columns by position. Among them may be computed columns,
    whose values do not count, and columns that are not stored.
    """
    columns = [
        quoted(f.name) if f.generated is None else _named(_computed(f), f.name)
        for f in schema.fields
    ]
    if kind is not None:
        columns.append(_named(f"CAST({kind} AS TINYINT)", KIND))
    if schema.primary_key:
        columns.append(_named(_ARRIVAL, ORDER))
    return PlannedRows(frame=frame.toDF(*written).selectExpr(*columns))


def delta_rows(
    frame: DataFrame, schema: TableSchema, delta: DeltaColumns, *, is_merge: bool
) -> PlannedRows:
    """What UPDATE, DELETE or MERGE writes.

    `frame` is the query of Spark's WriteDelta: an operation, then columns named by `delta`.
    """
    source = _by_position(frame)
    is_delete = f"{_at(0)} = {_OPERATION_DELETE}"
    if schema.primary_key:
        old = {name: _at(i) for name, i in zip(schema.primary_key, delta.row_id, strict=True)}
        deleted = {f.name: old.get(f.name, "NULL") for f in schema.fields}
    else:
        deleted = {f.name: f"{_at(delta.row_id[0])}.{quoted(f.name)}" for f in schema.fields}
    if delta.row is None:
        if schema.primary_key:
            keys = [_named(old[name], name) for name in schema.primary_key]
            rows = source.selectExpr(*keys)
            return PlannedRows(frame=rows, are_deletes=True, keep_keys=not is_merge)
        version = _version(schema, deleted, str(_DELETE), is_order_first=False)
        return PlannedRows(frame=source.selectExpr(*version))
    row = _new_row(schema, delta.row)
    recomputed = _recomputed(source, schema, row)
    moved = _moved_key(schema, delta, row)
    if moved is None and schema.primary_key and not is_merge:
        return PlannedRows(frame=recomputed.selectExpr(*_columns(schema, row)), keep_keys=True)
    if moved is None:
        values = {
            name: f"CASE WHEN {is_delete} THEN {deleted[name]} ELSE {row[name]} END" for name in row
        }
        kind = f"CASE WHEN {is_delete} THEN {_DELETE} ELSE {_ADD} END"
        version = _version(schema, values, kind, is_order_first=False)
        return PlannedRows(frame=recomputed.selectExpr(*version))
    before = _struct(_version(schema, deleted, str(_DELETE), is_order_first=True))
    after = _struct(_version(schema, row, str(_ADD), is_order_first=False))
    versions = (
        f"CASE WHEN {is_delete} THEN array({before}) "
        f"WHEN {_at(0)} = {_OPERATION_UPDATE} AND ({moved}) THEN array({before}, {after}) "
        f"ELSE array({after}) END"
    )
    return PlannedRows(frame=recomputed.selectExpr(f"inline({versions})"))


def upserted_rows(frame: DataFrame, schema: TableSchema, positions: Sequence[int]) -> PlannedRows:
    """What a MERGE writes of which every row is to be there afterwards, in place of any other.

    `positions` are those of the table's columns in `frame`.
    """
    row = _new_row(schema, positions)
    recomputed = _recomputed(_by_position(frame), schema, row)
    return PlannedRows(frame=recomputed.selectExpr(*_columns(schema, row)))


def at_writers(
    rows: DataFrame, schema: TableSchema, buckets: int, parallelism: int, parts: KeyParts
) -> DataFrame:
    """`rows` with `BUCKET`, shuffled so that each of the `parts` of a bucket has one writer.

    Without key or partitions nothing is shuffled: every task writes files of its own to every
    bucket, which is what a plain Parquet write does.
    """
    hashed = ", ".join(quoted(name) for name in bucket_columns(schema))
    bucket = (
        f"pmod(hash({hashed}), {buckets})"
        if hashed and buckets > 1
        else str(HASH_OF_NOTHING % buckets)
    )
    placed = rows.selectExpr("*", _named(f"CAST({bucket} AS INT)", BUCKET))
    if schema.partition_keys:
        return placed.repartition(parallelism, *map(quoted, schema.partition_keys), quoted(BUCKET))
    if schema.primary_key:
        writer = F.col(BUCKET)
        if parts.count > 1:
            types = {field.name: field.type for field in schema.fields}
            writer = writer * parts.count + parts.number(types)
        return placed.repartitionById(buckets * parts.count, writer)
    return placed


def _by_position(frame: DataFrame) -> DataFrame:
    return frame.toDF(*[f"_{i}" for i in range(len(frame.columns))])


def _new_row(schema: TableSchema, positions: Sequence[int]) -> dict[str, str]:
    return {f.name: _at(i) for f, i in zip(schema.fields, positions, strict=True)}


def _moved_key(schema: TableSchema, delta: DeltaColumns, row: dict[str, str]) -> str | None:
    """Whether an updated row leaves its key; None where the statement assigns no key column.

    A computed key column follows what it is computed from.
    """
    if delta.row is None or not schema.primary_key:
        return None
    position = {field.name: i for field, i in zip(schema.fields, delta.row, strict=True)}
    moved = [
        f"NOT ({row[name]} <=> {_at(old)})"
        for name, old in zip(schema.primary_key, delta.row_id, strict=True)
        if position[name] != old or schema.field_named(name).generated is not None
    ]
    return " OR ".join(moved) or None


def _recomputed(source: DataFrame, schema: TableSchema, row: dict[str, str]) -> DataFrame:
    """`source` with the computed columns of its new row versions; `row` is told of them."""
    generated = [field for field in schema.fields if field.generated is not None]
    if not generated:
        return source
    # The expressions name the table's columns, so they see the new row under those names.
    shown = source.selectExpr("*", *[_named(row[f.name], f.name) for f in schema.fields])
    for number, field in enumerate(generated):
        column = f"__computed_{number}"
        shown = shown.selectExpr("*", _named(_computed(field), column))
        row[field.name] = quoted(column)
    return shown


def _version(
    schema: TableSchema, values: dict[str, str], kind: str, *, is_order_first: bool
) -> list[str]:
    order = f"{_ARRIVAL} + {_DELETE_FIRST}L" if is_order_first else _ARRIVAL
    return [
        *_columns(schema, values),
        _named(f"CAST({kind} AS TINYINT)", KIND),
        _named(order, ORDER),
    ]


def _columns(schema: TableSchema, values: dict[str, str]) -> list[str]:
    return [_named(_cast(values[f.name], f), f.name) for f in schema.fields]


def _computed(field: Field) -> str:
    # The line ends in case the expression does with a comment.
    return _cast(f"({field.generated}\n)", field)


def _cast(value: str, field: Field) -> str:
    return f"CAST({value} AS {field.type.sql_name()})"


def _named(value: str, name: str) -> str:
    return f"{value} AS {quoted(name)}"


def _struct(columns: Sequence[str]) -> str:
    return f"struct({', '.join(columns)})"


def _at(position: int) -> str:
    return quoted(f"_{position}")
