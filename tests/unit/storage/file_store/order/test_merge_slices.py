"""Goal: sorted runs are cut into ascending, disjoint key ranges, no larger than told."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.order.merge import newest_per_key
from table_store.storage.file_store.order.merge_slices import (
    SLICE_BYTES_MAX,
    RunRows,
    merge_slices,
)

KEY = ("s", "i")
SCHEMA = pa.schema([("s", pa.string()), ("i", pa.int64()), ("run", pa.int64())])
ROW_BYTES = 40
"""At most, with the last offset of a batch."""

RUN = st.lists(st.tuples(st.sampled_from("abü"), st.integers(-9, 9)), unique=True, max_size=30).map(
    lambda keys: sorted(keys, key=lambda key: (key[0].encode(), key[1]))
)


def run_rows(run: list[tuple[str, int]], number: int, batch_rows: int) -> RunRows:
    def batches() -> Iterator[pa.RecordBatch]:
        for at in range(0, len(run), batch_rows):
            rows = [{"s": s, "i": i, "run": number} for s, i in run[at : at + batch_rows]]
            yield pa.RecordBatch.from_pylist(rows, SCHEMA)

    return RunRows(len(run), batches())


@given(st.lists(RUN, max_size=5), st.integers(1, 4), st.integers(1, 60), st.integers(1, 900))
def test_slices_hold_every_key_once_and_runs_in_order(
    runs: list[list[tuple[str, int]]], batch_rows: int, rows_max: int, bytes_max: int
) -> None:
    given_runs = [run_rows(run, number, batch_rows) for number, run in enumerate(runs)]
    newest: list[tuple[Any, ...]] = []
    for rows in merge_slices(given_runs, KEY, rows_max=rows_max, bytes_max=bytes_max):
        assert 0 < rows.num_rows <= rows_max + len(runs) * batch_rows
        assert rows.nbytes <= bytes_max + len(runs) * batch_rows * ROW_BYTES
        numbers = rows["run"].to_pylist()
        assert numbers == sorted(numbers)
        chosen = rows.take(pa.array(newest_per_key([rows[name] for name in KEY])))
        newest.extend(tuple(row.values()) for row in chosen.to_pylist())
    expected = {key: number for number, run in enumerate(runs) for key in run}
    in_order = sorted(expected, key=lambda key: (key[0].encode(), key[1]))
    assert newest == [(*key, expected[key]) for key in in_order]


def test_without_a_limit_small_runs_are_one_slice() -> None:
    runs = [run_rows([("a", 1), ("b", 1)], 0, 2), run_rows([("b", 1)], 1, 1)]
    first, *others = merge_slices(runs, KEY)
    assert others == [] or first.num_rows + sum(t.num_rows for t in others) == 3


def test_long_values_make_small_slices() -> None:
    """Behind short ones, too, and though a slice then has few rows."""
    text = pa.array(["z" * (1 << 20)])

    def batches(run: int) -> Iterator[pa.RecordBatch]:
        for i in range(300):
            values = text if i > 5 else pa.array(["short"])
            yield pa.RecordBatch.from_arrays([pa.array([i * 3 + run]), values], ["i", "text"])

    runs = [RunRows(300, batches(run)) for run in range(3)]
    slices = list(merge_slices(runs, ["i"]))
    assert max(rows.nbytes for rows in slices) <= SLICE_BYTES_MAX + 3 * text.nbytes + 100
    found = [number for rows in slices for number in sorted(rows["i"].to_pylist())]
    assert found == list(range(900))
