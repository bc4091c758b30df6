"""Goal: a statement that gives rows other keys keeps one row of each key, or writes nothing.

The oracle is a dict of the rows by key. Keys are of every class of types, with values at the edges.
"""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.model.data_file import KIND_ADD
from table_store.storage.file_store.model.errors import DuplicateKeyError
from table_store.storage.file_store.model.schema import Field, TableSchema, arrow_types, new_schema
from table_store.storage.file_store.scan import stored_keys
from table_store.storage.file_store.scan.stored_keys import StoredKeys
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.key_check import KIND_CLAIM, KeyCheck
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
)

_LONG_TEXT: Final = "z" * 5000
_POOLS: Final[Mapping[DataType, Sequence[Any]]] = {
    LONG: (-(1 << 63), -1, 0, 1, 2, 3, (1 << 63) - 1),
    STRING: ("", "a", "ab", "a\0", "\U0001f600", _LONG_TEXT, _LONG_TEXT + "a"),
    BINARY: (b"", b"\0", b"\0\0", b"\xff", b"a" * 40, b"a" * 40 + b"b"),
    BOOLEAN: (False, True),
    DOUBLE: (-math.inf, -1.5, -0.0, 0.0, 5e-324, math.inf, math.nan),
    DATE: (dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1970, 1, 1), dt.date(9999, 12, 31)),
    TIMESTAMP: tuple(
        dt.datetime(year, 1, 1, microsecond=1, tzinfo=dt.UTC) for year in (1, 1969, 2040, 9999)
    ),
    DecimalType(20, 2): (Decimal("-999999999999999999.99"), Decimal("0.00"), Decimal("0.01")),
}


@dataclass(frozen=True, slots=True)
class _Case:
    """A table's rows, and a statement: which rows get which keys, and which rows are new."""

    types: tuple[DataType, ...]
    buckets: int
    is_partitioned: bool
    rows: tuple[tuple[Any, ...], ...]
    moved: Mapping[int, tuple[Any, ...]]
    deleted: frozenset[int]
    inserted: tuple[tuple[Any, ...], ...]
    buffer_bytes: int
    listed_max: int


@st.composite
def _cases(draw: st.DrawFn) -> _Case:
    types = tuple(draw(st.lists(st.sampled_from([*_POOLS]), min_size=1, max_size=2)))
    keys = st.tuples(*(st.sampled_from(_POOLS[kind]) for kind in types))
    rows = tuple({_as_stored(key): key for key in draw(st.lists(keys, max_size=8))}.values())
    places = st.integers(0, 7)
    drawn = draw(st.dictionaries(places, keys, max_size=8))
    moved = {place: key for place, key in drawn.items() if place < len(rows)}
    deleted = draw(st.frozensets(places, max_size=3)) & {*range(len(rows))} - moved.keys()
    return _Case(
        types,
        draw(st.integers(1, 3)),
        len(types) > 1 and types[0] != STRING and draw(st.booleans()),
        rows,
        moved,
        deleted,
        tuple(draw(st.lists(keys, max_size=2))),
        draw(st.sampled_from([1, 1 << 20])),
        draw(st.sampled_from([0, 1000])),
    )


def _as_stored(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key so that equal keys are equal to Python: there is one zero and one NaN."""
    return tuple(
        ("NaN" if part != part else part + 0.0) if isinstance(part, float) else part for part in key
    )


def _schema(case: _Case) -> TableSchema:
    names = [f"k{i}" for i in range(len(case.types))]
    keys = [
        Field(id=i, name=name, type=kind, nullable=False)
        for i, (name, kind) in enumerate(zip(names, case.types, strict=True))
    ]
    return new_schema(
        fields=[*keys, Field(id=9, name="v", type=INTEGER)],
        primary_key=names,
        partition_keys=names[:1] if case.is_partitioned else [],
        options={"bucket": str(case.buckets)},
        time_ms=0,
    )


def _arrow(schema: TableSchema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    types = arrow_types(schema.fields)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema.fields]
    return pa.table(
        {
            name: pa.array(list(column), types[name])
            for name, column in zip(schema.column_names, columns, strict=True)
        }
    )


def _run(table: FileStoreTable, case: _Case) -> None:
    """Move, delete and insert the rows, as UPDATE and MERGE do; a moved row of place 0 stays."""
    schema, snapshot = table.schema, table.latest_snapshot()
    stored = StoredKeys.of(table.file_io, table.path, schema, snapshot)
    context = replace(
        table.writer_context(schema),
        write_buffer_bytes=case.buffer_bytes,
        key_check=KeyCheck(table="t", stored=stored),
    )
    with TableWriter(context) as writer:
        for place, key in case.moved.items():
            old = case.rows[place]
            is_kept = _as_stored(old) == _as_stored(key)
            kind = KIND_ADD if is_kept else KIND_CLAIM
            _write(writer, schema, (*key, 100 + place), kind)
            if not is_kept:
                _delete(writer, schema, old)
        for number, key in enumerate(case.inserted):
            _write(writer, schema, (*key, 200 + number), KIND_CLAIM)
        for place in case.deleted:
            _delete(writer, schema, case.rows[place])
        table.commit(writer.prepare_commit())


def _write(writer: TableWriter, schema: TableSchema, row: tuple[Any, ...], kind: int) -> None:
    writer.write(_arrow(schema, [row]), kinds=np.array([kind], np.int8), order=np.zeros(1, int))


def _delete(writer: TableWriter, schema: TableSchema, key: tuple[Any, ...]) -> None:
    writer.delete(_arrow(schema, [(*key, None)]), order=np.full(1, -1))


@settings(max_examples=80, deadline=None)
@given(_cases())
def test_each_key_keeps_one_row(case: _Case) -> None:
    rows = {_as_stored(key): i for i, key in enumerate(case.rows)}
    gone = {_as_stored(case.rows[i]) for i in (*case.moved, *case.deleted)}
    written = [(_as_stored(key), 100 + i) for i, key in case.moved.items()]
    written += [(_as_stored(key), 200 + i) for i, key in enumerate(case.inserted)]
    counts = Counter(key for key, _ in written) + Counter(rows.keys() - gone)
    refused = {key for key, count in counts.items() if count > 1}
    kept = {key: value for key, value in rows.items() if key not in gone}
    with tempfile.TemporaryDirectory() as folder:
        table = FileStoreTable.create(f"{folder}/t", _schema(case))
        for part in np.array_split(np.arange(len(case.rows)), 2):
            table.append(_arrow(table.schema, [(*case.rows[i], int(i)) for i in part]))
        with patch.object(stored_keys, "_LISTED_KEYS_MAX", case.listed_max):
            if refused:
                with pytest.raises(DuplicateKeyError) as error:
                    _run(table, case)
                assert _as_stored(tuple(error.value.key.values())) in refused
                expected = rows
            else:
                _run(table, case)
                expected = {**kept, **dict(written)}
        found = table.scan().to_arrow()
        keys = [tuple(row) for row in zip(*(c.to_pylist() for c in found.columns), strict=True)]
        assert {_as_stored(row[:-1]): row[-1] for row in keys} == expected
        assert found.num_rows == len(expected)


@pytest.mark.parametrize("count", [10, 3000])
def test_many_keys_among_many_files(count: int) -> None:
    """Few keys are looked up one by one, many by a merge; deleted rows do not count."""
    fields = [Field(id=0, name="k", type=LONG, nullable=False)]
    schema = new_schema(fields=fields, primary_key=["k"], time_ms=0)
    with tempfile.TemporaryDirectory() as folder:
        table = FileStoreTable.create(f"{folder}/t", schema)
        for part in np.array_split(np.random.default_rng(1).permutation(20_000), 4):
            table.append(pa.table({"k": part * 2}))
        table.delete(pa.table({"k": [1000]}))
        stored = StoredKeys.of(table.file_io, table.path, schema, table.latest_snapshot())
        assert stored is not None
        odd = np.arange(count) * 12 + 1
        assert stored.first_among(pa.table({"k": odd}), partition=(), bucket=0) is None
        with_deleted = pa.table({"k": [1000, *odd]})
        assert stored.first_among(with_deleted, partition=(), bucket=0) is None
        with_one = pa.table({"k": [*odd, 2000]})
        assert stored.first_among(with_one, partition=(), bucket=0) == (2000,)
