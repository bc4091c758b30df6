"""Rows with some of a table's columns, completed by the rows that the table has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.client.declared_rules import DeclaredRules
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.bounded_pieces import take_values
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import DOUBLE, FLOAT

_GIVEN_AT: Final = "_GIVEN_AT"
_STORED_AT: Final = "_STORED_AT"


def check_key(schema: TableSchema, names: Sequence[str]) -> None:
    """Check that rows can be completed by their key.

    Raises:
        InvalidSchemaError: the table has no key, or the rows do not have it, or it is a
            floating-point number.
    """
    if not schema.primary_key:
        raise InvalidSchemaError(
            reason="only a table with a primary key has rows that an upsert can replace"
        )
    for column in schema.key_fields:
        if column.name not in names:
            raise InvalidSchemaError(reason="rows must have the key", column=column.name)
        if column.type in (FLOAT, DOUBLE):
            raise InvalidSchemaError(
                reason="some columns of a row cannot be written by a floating-point key; write "
                "whole rows",
                column=column.name,
            )


def with_stored(rules: DeclaredRules, rows: pa.Table, stored: pa.Table) -> pa.Table:
    """Return rows with all columns that are not computed, in their order.

    Args:
        rules: of the table.
        rows: the key and some columns, in the table's names and types.
        stored: rows of the table with at least the keys of `rows` that it has. The columns that
            `rows` lacks come from there; in rows that are new they have their defaults.

    Raises:
        InvalidSchemaError: a new row lacks a column that is NOT NULL and has no default.
    """
    schema = rules.schema
    positions = _positions(schema.primary_key, rows, stored)
    has_new = positions.null_count > 0
    # A new row gets what is behind the stored ones.
    positions = pc.fill_null(positions, stored.num_rows)
    columns = {}
    for field in schema.fields:
        if field.generated is not None:
            continue
        if field.name in rows.column_names:
            columns[field.name] = rows[field.name]
            continue
        known = stored[field.name]
        if has_new:
            known = pa.chunked_array([*known.chunks, rules.default(field, 1)], known.type)
        columns[field.name] = take_values(known, positions)
    return pa.table(columns)


def _positions(key: Sequence[str], rows: pa.Table, stored: pa.Table) -> pa.Array:
    """Return for each row where the row with its key is in `stored`; NULL if nowhere."""
    given = rows.select(list(key)).append_column(_GIVEN_AT, _numbers(rows.num_rows))
    known = stored.select(list(key)).append_column(_STORED_AT, _numbers(stored.num_rows))
    joined = given.join(known, keys=list(key), join_type="left outer")
    return joined.sort_by(_GIVEN_AT)[_STORED_AT].combine_chunks()


def _numbers(count: int) -> pa.Array:
    return pa.array(np.arange(count))
