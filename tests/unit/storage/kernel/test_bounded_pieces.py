"""Goal: rows are cut by the memory that they take in plain types, and taken from many chunks.

The oracle is a list of Python's values.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from table_store.storage.kernel.bounded_pieces import in_pieces, plain_bytes, take_values

BOUND = 2000
TEXTS = ["", "a", None, "x" * 100, "é" * 40, "y" * 3000] * 20


def column_of(kind: pa.DataType) -> pa.Array:
    """Return 120 values of a type, of very different sizes."""
    texts = pa.array(TEXTS)
    if pa.types.is_dictionary(kind):
        return texts.cast(pa.dictionary(pa.int32(), pa.string())).cast(kind)
    if pa.types.is_list(kind):
        return pa.array([None if t is None else [t, t] for t in TEXTS], kind)
    if pa.types.is_struct(kind):
        return pa.array([None if t is None else {"t": t, "n": 1} for t in TEXTS], kind)
    if pa.types.is_map(kind):
        return pa.array([None if t is None else [("k", t)] for t in TEXTS], kind)
    if pa.types.is_run_end_encoded(kind):
        return pa.compute.run_end_encode(texts)
    if pa.types.is_integer(kind):
        return pa.array([None if t is None else len(t) for t in TEXTS], kind)
    return texts.cast(kind)


KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.binary_view(),
    pa.int64(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
    pa.list_(pa.string()),
    pa.list_(pa.string_view()),
    pa.struct([("t", pa.string()), ("n", pa.int64())]),
    pa.map_(pa.string(), pa.string()),
    pa.run_end_encoded(pa.int32(), pa.string()),
]

PLAIN = [KINDS[i] for i in (0, 3, 5, 8, 10, 11)]
"""Those that columns of tables have."""


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_pieces_are_the_rows_in_order_and_below_the_bound(kind: pa.DataType) -> None:
    column = column_of(kind)
    expected = column.to_pylist()
    for start in (0, 7):
        batch = pa.record_batch({"c": column.slice(start), "n": pa.array(range(start, 120))})
        for rows in (batch, pa.Table.from_batches([batch.slice(0, 9), batch.slice(9)])):
            pieces = list(in_pieces(rows, BOUND))
            found = [value for piece in pieces for value in piece.column("c").to_pylist()]
            assert found == expected[start:]
            sizes = [(piece.num_rows, plain_bytes(piece)) for piece in pieces]
            assert all(count == 1 or size <= BOUND for count, size in sizes), sizes
    assert len(list(in_pieces(batch, 1 << 20))) == 1
    assert next(in_pieces(batch.slice(0, 0), 1)).num_rows == 0


@pytest.mark.parametrize("kind", [k for k in KINDS if not pa.types.is_dictionary(k)], ids=str)
def test_plain_bytes_are_those_of_the_plain_type(kind: pa.DataType) -> None:
    """Up to a factor for offsets; a run-end-encoded column counts with its longest value."""
    if pa.types.is_run_end_encoded(kind):
        return
    text_bytes = sum(len(t.encode()) for t in TEXTS if t is not None)
    found = plain_bytes(pa.record_batch({"c": column_of(kind)}))
    if pa.types.is_integer(kind):
        assert found <= 9 * len(TEXTS)
    else:
        assert text_bytes <= found <= 2 * text_bytes + 40 * len(TEXTS)


def test_a_dictionary_counts_with_its_values_written_out() -> None:
    values = pa.array(["x" * 1000, "y"])
    for distinct in (values, values.cast(pa.string_view()), values.cast(pa.large_string())):
        column = pa.DictionaryArray.from_arrays(pa.array([0] * 99 + [1, None]), distinct)
        assert 99_000 < plain_bytes(pa.record_batch({"c": column})) < 101_000
        assert plain_bytes(pa.record_batch({"c": column.slice(99)})) < 100


@pytest.mark.parametrize("kind", PLAIN, ids=str)
@pytest.mark.parametrize("bytes_max", [1, 500, BOUND, 1 << 30])
def test_values_are_taken_from_many_chunks(kind: pa.DataType, bytes_max: int) -> None:
    draw = random.Random(str(kind))
    column = column_of(kind)
    chunks = [column.slice(0, 50), column.slice(50, 0), column.slice(50, 1), column.slice(51)]
    values = pa.chunked_array(chunks)
    expected = values.to_pylist()
    for positions in (
        [],
        [119],
        [0, 0, 0],
        list(range(120)),
        [None, 5, None, 51],
        [draw.choice([None, *range(120)]) for _ in range(300)],
    ):
        taken = take_values(values, pa.array(positions, pa.int64()), bytes_max)
        wanted: list[Any] = [None if p is None else expected[p] for p in positions]
        assert taken.to_pylist() == wanted
        assert taken.type == values.type
    nothing = take_values(pa.chunked_array([], kind), pa.array([None], pa.int64()))
    assert nothing.to_pylist() == [None]
