"""Rows for which a condition is true; they are not copied if they are neighbours."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc

from table_store.storage.kernel.arrays import IntArray


def matching(rows: pa.Table, where: pc.Expression) -> pa.Table:
    """Return the rows for which `where` is true (NULL is not), in their order.

    A range of keys in sorted rows is a slice, so nothing is copied then.
    """
    mask = verdicts(rows, where)
    count = pc.sum(mask, min_count=0).as_py()
    if count == rows.num_rows:
        return rows
    start = pc.index(mask, pa.scalar(True)).as_py() if count else 0
    if pc.sum(mask.slice(start, count), min_count=0).as_py() == count:
        return rows.slice(start, count)
    return rows.filter(mask)


def matching_places(rows: pa.Table, where: pc.Expression) -> IntArray:
    """Return the places of the rows for which `where` is true, ascending."""
    places: IntArray = pc.indices_nonzero(verdicts(rows, where)).to_numpy().astype(np.int64)
    return places


def can_evaluate(schema: pa.Schema, where: pc.Expression) -> bool:
    """Return whether `where` names columns of `schema` only."""
    try:
        verdicts(schema.empty_table(), where)
    except pa.ArrowInvalid:
        return False
    return True


def verdicts(rows: pa.Table, where: pc.Expression) -> pa.ChunkedArray:
    """Return the value of `where` for each row; a position in it counts the columns of `rows`."""
    if not rows.num_columns:
        # A condition without columns is a constant, but Arrow's plans need a column.
        verdict = verdicts(pa.table({"": pa.nulls(1)}), where)[0]
        return pa.chunked_array([pa.repeat(verdict, rows.num_rows)])
    plan = acero.Declaration.from_sequence(
        [
            acero.Declaration("table_source", acero.TableSourceNodeOptions(rows)),
            acero.Declaration("project", acero.ProjectNodeOptions([where], ["where"])),
        ]
    )
    return plan.to_table(use_threads=False).column(0)
