"""Managed tables beside copies of them in DuckDB, which is the oracle of views over them."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Final

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from table_store import TableDescriptor, connect, open_table

_TYPES: Final = {
    pa.int64(): "BIGINT",
    pa.int32(): "INT",
    pa.date32(): "DATE",
    pa.string(): "STRING",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
}


class TwinTables:
    """Tables of the namespace `default`; what is done to them is done to both.

    Attributes:
        duck: the connection that has the copies.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.duck = duckdb.connect()
        self._spark = spark
        self._warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))

    def create(self, name: str, rows: pa.Table, *key: str) -> None:
        """Make a table with these rows, its primary key being `key`, if any."""
        descriptor = TableDescriptor.for_managed()
        for field in rows.schema:
            is_decimal = pa.types.is_decimal(field.type)
            spelled = str(field.type).replace("128", "") if is_decimal else _TYPES[field.type]
            descriptor = descriptor.column(field.name, spelled)
        if key:
            descriptor = descriptor.primary_key(*key)
        connect(self._warehouse).create(name, descriptor)
        self.duck.execute(f"CREATE TABLE {name} AS FROM rows LIMIT 0")
        self.insert(name, rows)

    def insert(self, name: str, rows: pa.Table) -> None:
        """Insert rows, without a key that is there."""
        stored = open_table(self._path(name)).storage
        if stored.schema.primary_key:
            stored.upsert(rows)
        else:
            stored.append(rows)
        self.duck.execute(f"INSERT INTO {name} FROM rows")

    def run(self, statement: str) -> None:
        """Run a statement in Spark and in DuckDB."""
        self._spark.sql(statement)
        self.duck.execute(statement)

    def assert_view_is(self, view: str, query: str) -> None:
        """Fail unless a view has the rows that DuckDB's query gives."""
        found = open_table(self._path(view)).storage.scan().to_arrow().to_pylist()
        ours = _numbers([tuple(row.values()) for row in found])
        theirs = _numbers(self.duck.execute(query).fetchall())
        if Counter(ours) == Counter(theirs):
            return
        # The engines divide differently.
        assert len(ours) == len(theirs), view
        for our_row, their_row in zip(
            sorted(ours, key=_place), sorted(theirs, key=_place), strict=True
        ):
            assert all(map(_is_same, our_row, their_row)), (view, our_row, their_row)

    def _path(self, name: str) -> str:
        return f"{self._warehouse}/default.db/{name}"


def _numbers(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [tuple(float(v) if isinstance(v, Decimal) else v for v in row) for row in rows]


def _place(row: tuple[object, ...]) -> tuple[str, ...]:
    """Where a row stands among others, in either engine."""
    return tuple(f"{v:.6e}" if isinstance(v, float) else str(v) for v in row)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return one == other
