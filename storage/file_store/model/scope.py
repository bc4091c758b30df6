"""A part of a table: the partitions and buckets a statement reads or replaces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.arrays import Mask
from table_store.storage.kernel.types import to_arrow
from table_store.storage.kernel.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Files for which every given condition holds; without conditions the whole table.

    `spec` fixes partition columns by name (`PARTITION (dt = '…')`, some or all of them);
    `partitions` lists full partitions (dynamic overwrite); `buckets` lists buckets.
    """

    spec: Mapping[str, Value] | None = None
    partitions: tuple[tuple[Value, ...], ...] | None = None
    buckets: tuple[int, ...] | None = None

    def mask(self, entries: pa.Table, schema: TableSchema) -> Mask:
        """Return for each entry whether it lies in the scope.

        Raises:
            InvalidSchemaError: `spec` names a column that is no partition column.
        """
        inside = np.ones(entries.num_rows, dtype=np.bool_)
        if self.spec is not None:
            for name, value in self.spec.items():
                inside &= _equal(entries, schema, _partition_index(schema, name), value)
        if self.partitions is not None:
            inside &= self._in_partitions(entries, schema)
        if self.buckets is not None:
            inside &= np.isin(entries["bucket"].to_numpy(), self.buckets)
        return inside

    def _in_partitions(self, entries: pa.Table, schema: TableSchema) -> Mask:
        inside = np.zeros(entries.num_rows, dtype=np.bool_)
        for partition in self.partitions or ():
            one = np.ones(entries.num_rows, dtype=np.bool_)
            for i, value in enumerate(partition):
                one &= _equal(entries, schema, i, value)
            inside |= one
        return inside


WHOLE_TABLE = Scope()


def partitions_of(partitions: Sequence[tuple[Value, ...]]) -> Scope:
    """Return the scope of exactly these partitions."""
    return Scope(partitions=tuple(dict.fromkeys(partitions)))


def _partition_index(schema: TableSchema, name: str) -> int:
    return schema.partition_keys.index(schema.field_named(name).name)


def _equal(entries: pa.Table, schema: TableSchema, index: int, value: Value) -> Mask:
    column = entries[f"partition_{index}"]
    if value is None:
        return _as_mask(column.is_null())
    if isinstance(value, float) and math.isnan(value):
        same = pc.is_nan(column)
    else:
        same = pc.equal(column, pa.scalar(value, to_arrow(schema.partition_fields[index].type)))
    return _as_mask(pc.fill_null(same, False))


def _as_mask(column: pa.ChunkedArray) -> Mask:
    mask: Mask = column.to_numpy()
    return mask
