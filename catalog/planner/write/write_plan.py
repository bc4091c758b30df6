"""The DataFrame of a write statement: rows with kind and order, shuffled to their bucket's writer.

Columns are SQL texts: a text takes one call to the JVM, a `Column` takes one for every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from table_store.catalog.definition.declared_type import compared_sql
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.names.stored_expressions import with_columns
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.key_parts import KeyParts
from table_store.storage.file_store.model.bucket import HASH_OF_NOTHING, bucket_columns
from table_store.storage.file_store.model.column_names import RESERVED_PREFIX
from table_store.storage.file_store.model.data_file import KIND_ADD, KIND_DELETE
from table_store.storage.file_store.model.schema import Field, TableSchema

KIND, ORDER, BUCKET = (RESERVED_PREFIX + name for name in ("kind", "order", "bucket"))

_ADD, _DELETE = KIND_ADD, KIND_DELETE
# The values of WriteDelta's first column, as in RowDeltaUtils of Spark 4.2's catalyst.
_OPERATION_DELETE, _OPERATION_UPDATE, _OPERATION_INSERT = 1, 2, 3
# A statement's deletes come before all that it writes: `SET id = id + 1` deletes key 2 for one row
# and writes key 2 for another row, a MERGE may delete a matched row and insert one with its key
# that nothing matches, and the written row must win.
_DELETE_FIRST = -(1 << 62)
_ARRIVAL = "monotonically_increasing_id()"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaColumns:
    """Positions of columns in the query of a row-level statement.

    `row`: the table's columns; None for a DELETE. `row_id`: the key columns; in a table without
    key, one struct that is the whole row.
    """

    row: tuple[int, ...] | None
    row_id: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedKinds:
    """Kinds of rows with keys that the statement has not read.

    `moved`: rows that an update gives another key. `inserted`: rows that a MERGE inserts.
    """

    moved: int = KIND_ADD
    inserted: int = KIND_ADD


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRows:
    """The rows that a statement writes: the table's columns, with `KIND` and `ORDER` if needed.

    `are_deletes`: the frame has only the key columns, those of rows to be deleted. `keep_keys`:
    each row has the key of a row that was read, and no two rows have the same key.
    """

    frame: DataFrame
    are_deletes: bool = False
    keep_keys: bool = False


def inserted_rows(
    session: PlannerSession,
    frame: DataFrame,
    schema: TableSchema,
    written: Sequence[str],
    kind: str | None = None,
) -> PlannedRows:
    """The rows of an INSERT's query, computed columns included.

    `KIND` is added only if its SQL, `kind`, is given (else all rows are adds), and `ORDER` only if
    the table has a key: every column costs a conversion per row on the way to the worker.
    `written` are the names of `frame`'s columns by position. They may include computed columns,
    whose values are ignored, and columns that are not stored.
    """
    computed = _computed(schema)
    columns = [_named(quoted(computed.get(name, name)), name) for name in schema.column_names]
    if kind is not None:
        columns.append(_named(f"CAST({kind} AS TINYINT)", KIND))
    if schema.primary_key:
        columns.append(_named(_ARRIVAL, ORDER))
    rows = _with_computed(session, frame.toDF(*written), schema)
    return PlannedRows(frame=rows.selectExpr(*columns))


def moves_keys(schema: TableSchema, delta: DeltaColumns) -> bool:
    """Whether an update may change the key of a row."""
    if not schema.primary_key or delta.row is None:
        return False
    return _moved_key(schema, delta, _new_row(schema, delta.row)) is not None


def delta_rows(
    session: PlannerSession,
    frame: DataFrame,
    schema: TableSchema,
    delta: DeltaColumns,
    kinds: AddedKinds,
    *,
    is_merge: bool,
) -> PlannedRows:
    """The rows that UPDATE, DELETE or MERGE writes.

    `frame` is the query of Spark's WriteDelta: the operation, then columns located by `delta`.
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
        version = _version(schema, deleted, str(_DELETE))
        return PlannedRows(frame=source.selectExpr(*version))
    row = _new_row(schema, delta.row)
    recomputed = _recomputed(session, source, schema, row)
    moved = _moved_key(schema, delta, row)
    added = f"IF({_at(0)} = {_OPERATION_INSERT}, {kinds.inserted}, {_ADD})"
    if moved is None and not is_merge:
        return PlannedRows(frame=recomputed.selectExpr(*_columns(schema, row)), keep_keys=True)
    if moved is None:
        values = {
            name: f"CASE WHEN {is_delete} THEN {deleted[name]} ELSE {row[name]} END" for name in row
        }
        kind = f"CASE WHEN {is_delete} THEN {_DELETE} ELSE {added} END"
        version = _version(schema, values, kind, first=is_delete)
        return PlannedRows(frame=recomputed.selectExpr(*version))
    before = _struct(_version(schema, deleted, str(_DELETE), first="TRUE"))
    after = _struct(_version(schema, row, str(kinds.moved)))
    kept = _struct(_version(schema, row, added))
    versions = (
        f"CASE WHEN {is_delete} THEN array({before}) "
        f"WHEN {_at(0)} = {_OPERATION_UPDATE} AND ({moved}) THEN array({before}, {after}) "
        f"ELSE array({kept}) END"
    )
    return PlannedRows(frame=recomputed.selectExpr(f"inline({versions})"))


def upserted_rows(
    session: PlannerSession, frame: DataFrame, schema: TableSchema, positions: Sequence[int]
) -> PlannedRows:
    """The rows of a MERGE that only upserts: each one replaces any row with the same key.

    `positions` are those of the table's columns in `frame`.
    """
    row = _new_row(schema, positions)
    recomputed = _recomputed(session, _by_position(frame), schema, row)
    return PlannedRows(frame=recomputed.selectExpr(*_columns(schema, row)))


def at_writers(
    rows: DataFrame, schema: TableSchema, buckets: int, parallelism: int, parts: KeyParts
) -> DataFrame:
    """`rows` with `BUCKET`, shuffled so that each of the `parts` of a bucket has one writer.

    Without key and partitions nothing is shuffled: as in a plain Parquet write, every task writes
    files of its own, here to every bucket.
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
    """SQL condition that an update changes the row's key; None if it cannot change any key column.

    A computed key column changes with the columns from which it is computed. Without key, the key
    is the whole row, and the condition is always true.
    """
    if not schema.primary_key:
        return "TRUE"
    if delta.row is None:
        return None
    position = {field.name: i for field, i in zip(schema.fields, delta.row, strict=True)}
    moved = [
        f"NOT ({row[name]} <=> {_at(old)})"
        for name, old in zip(schema.primary_key, delta.row_id, strict=True)
        if position[name] != old or schema.field_named(name).generated is not None
    ]
    return " OR ".join(moved) or None


def _recomputed(
    session: PlannerSession, source: DataFrame, schema: TableSchema, row: dict[str, str]
) -> DataFrame:
    """`source` with the computed columns of the new rows; `row` is updated to refer to them."""
    computed = _computed(schema)
    if not computed:
        return source
    # The expressions name the table's columns, so they see the new row under those names.
    shown = source.selectExpr("*", *[_named(row[f.name], f.name) for f in schema.fields])
    row |= {name: quoted(column) for name, column in computed.items()}
    return _with_computed(session, shown, schema)


def _computed(schema: TableSchema) -> dict[str, str]:
    """Where the values of computed columns are, by the columns' names."""
    names = [field.name for field in schema.fields if field.generated is not None]
    return {name: f"{RESERVED_PREFIX}computed_{i}" for i, name in enumerate(names)}


def _with_computed(session: PlannerSession, rows: DataFrame, schema: TableSchema) -> DataFrame:
    # The newline ends a comment with which the expression may end.
    values = [
        field.generated.with_text(_cast(f"({field.generated.text}\n)", field))
        for field in schema.fields
        if field.generated is not None
    ]
    return with_columns(session, rows, dict(zip(_computed(schema).values(), values, strict=True)))


def _version(
    schema: TableSchema, values: dict[str, str], kind: str, *, first: str = "FALSE"
) -> list[str]:
    """The columns of a row with `KIND` and `ORDER`; rows with the condition `first` come first."""
    order = f"{_ARRIVAL} + IF({first}, {_DELETE_FIRST}L, 0L)"
    return [
        *_columns(schema, values),
        _named(f"CAST({kind} AS TINYINT)", KIND),
        _named(order, ORDER),
    ]


def _columns(schema: TableSchema, values: dict[str, str]) -> list[str]:
    return [_named(_cast(values[f.name], f), f.name) for f in schema.fields]


def _cast(value: str, field: Field) -> str:
    return f"CAST({value} AS {compared_sql(field)})"


def _named(value: str, name: str) -> str:
    return f"{value} AS {quoted(name)}"


def _struct(columns: Sequence[str]) -> str:
    return f"struct({', '.join(columns)})"


def _at(position: int) -> str:
    return quoted(f"_{position}")
