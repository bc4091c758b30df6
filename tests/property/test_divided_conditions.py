"""Goal: what storage evaluates of a condition never leaves out a row for which all of it is true.

Oracle: the undivided condition, evaluated on every row. Files, row groups and rows are left out by
bounds and page statistics here as in any scan.
"""

from __future__ import annotations

import random
import tempfile
from functools import lru_cache
from typing import Final

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store import TableDescriptor, connect
from table_store.client.errors import ExpressionFailedError, UnsupportedExpressionError
from table_store.client.expressions.evaluation import holding
from table_store.client.expressions.sql_reader import as_condition
from table_store.client.expressions.sql_text import read_expression
from table_store.client.filters import names_of
from table_store.client.table import Table
from tests.values.arrow_values import arrow_table
from tests.values.envelope import Envelope
from tests.values.expressions import COLUMNS, Expressions
from tests.values.kinds import sql

_ROWS: Final = 48
_IN_FILE: Final = 6
_FOLDER: Final = tempfile.TemporaryDirectory()


@lru_cache(maxsize=1)
def _table() -> Table:
    """Rows from the whole envelope in eight files, of which few values lie in more than one."""
    envelope = Envelope(random.Random(7), longest=4_096)
    values = [envelope.values(kind, _ROWS) for kind in list(COLUMNS.values())[1:]]
    plain = [(at, *(column[at] for column in values)) for at in range(_ROWS)]
    described = TableDescriptor.for_managed()
    for name, kind in COLUMNS.items():
        described = described.column(name, sql(kind))
    table = connect(_FOLDER.name, time_zone="Europe/Berlin").create("t", described)
    rows = arrow_table(plain, COLUMNS)
    for first in range(0, _ROWS, _IN_FILE):
        table.append(rows.slice(first, _IN_FILE))
    return table


@lru_cache(maxsize=1)
def _rows() -> pa.RecordBatch:
    return _table().scan().to_arrow().sort_by("id").combine_chunks().to_batches()[0]


@settings(max_examples=200)
@given(st.integers(0, 2**32))
def test_a_scan_has_the_rows_of_the_whole_condition(seed: int) -> None:
    expressions = Expressions(random.Random(seed))
    text = " AND ".join(
        f"({expressions.boolean(1)})" for _ in range(expressions.dice.randint(1, 3))
    )
    table = _table()
    try:
        whole = as_condition(text, read_expression(text, names_of(table.schema, table.time_zone)))
        wanted = holding(whole, _rows(), sql=text)["id"].to_pylist()
    except (UnsupportedExpressionError, ExpressionFailedError):
        return
    try:
        found = table.scan(["id"], text).to_arrow()["id"].to_pylist()
    except ExpressionFailedError:
        # The terms that only Python evaluates come before those of storage in the whole condition.
        return
    assert sorted(found) == wanted, text
