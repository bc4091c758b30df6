"""Goal: after any history a table reads as a dict (with key) or a multiset (without) does.

Random writes (adds and deletes, arriving in any order), overwrites, picked and full
compactions and schema changes are applied to a table and to a plain model; every retained
snapshot must still read as the model was when it was committed.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.compaction.compaction_picker import (
    pick_compaction,
    pick_full_compaction,
)
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.schema_evolution import (
    FIRST,
    NewColumn,
    add_column,
    drop_column,
    move_column,
    rename_column,
    widen_column,
)
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.predicate import Comparison, Predicate
from table_store.storage.kernel.types import INTEGER, LONG, STRING, to_arrow
from tests.values.strategies import values

KEYS = st.integers(0, 12)
ROW = st.tuples(KEYS, st.sampled_from("pq"), values("INT"), st.booleans())
ALTERS = st.sampled_from(["add", "drop", "rename", "widen", "move"])
STEPS: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(ROW, min_size=1, max_size=25), st.integers(0, 99)),
        st.tuples(st.just("write"), st.lists(ROW, min_size=1, max_size=5), st.integers(0, 99)),
        st.tuples(st.just("overwrite"), st.lists(ROW, max_size=5), st.just(0)),
        st.tuples(st.just("compact"), st.just([]), st.booleans()),
        st.tuples(ALTERS, st.just([]), st.just(0)),
    ),
    max_size=14,
)
FORMATS = st.sampled_from(["parquet", "parquet", "orc", "avro"])
Row = tuple[Any, ...]


@dataclass
class Model:
    """What the table holds; rows are (k, p, v, then one value per added column)."""

    has_key: bool
    rows: Counter[Row] = field(default_factory=Counter)

    def write(self, row: Row, is_delete: bool) -> None:
        if not self.has_key:
            self.rows[row] += -1 if is_delete else 1
            return
        for old in [r for r in self.rows if r[:2] == row[:2]]:
            del self.rows[old]
        if not is_delete:
            self.rows[row] = 1

    def alter(self, change: Any) -> None:
        changed: Counter[Row] = Counter()
        for row, count in self.rows.items():
            changed[change(row)] += count
        self.rows = changed

    def visible(self) -> list[Row]:
        return sorted((+self.rows).elements(), key=repr)


class History:
    """The table under test beside its model."""

    def __init__(self, path: str, schema: TableSchema, *, write_buffer_bytes: int) -> None:
        self.write_buffer_bytes = write_buffer_bytes
        self.table = FileStoreTable.create(path, schema)
        self.model = Model(bool(schema.primary_key))
        self.seen: dict[int, tuple[TableSchema, list[str], list[Row]]] = {}
        self.added: list[str] = []

    @property
    def names(self) -> list[str]:
        """The columns in the model's order, whatever the table's is."""
        return ["k", "p", "v", *self.added]

    def write(self, rows: list[Row], seed: int, *, replaces: bool = False) -> None:
        chosen = [(*row[:3], *([7] * len(self.added)), row[3]) for row in rows]
        if replaces:
            self.model.rows.clear()
            chosen = [(*row[:-1], False) for row in chosen]
        for row in chosen:
            self.model.write(row[:-1], row[-1])
        schema = self.table.schema
        batch = pa.table(
            {
                name: pa.array([row[i] for row in chosen], to_arrow(schema.field_named(name).type))
                for i, name in enumerate(self.names)
            }
        )
        kinds = np.array([row[-1] for row in chosen], np.int8)
        shuffled = np.random.default_rng(seed).permutation(len(chosen))
        if replaces:
            self._record(self.table.overwrite(batch))
            return
        context = self.table.writer_context()
        writer = TableWriter(replace(context, write_buffer_bytes=self.write_buffer_bytes))
        half = len(chosen) // 2
        for part in (shuffled[:half], shuffled[half:]):
            taken = batch.take(pa.array(part))
            writer.write(taken, kinds=kinds[part], order=part.astype(np.int64))
        self._record(self.table.commit(writer.prepare_commit()))

    def delete(self, rows: list[Row]) -> None:
        """Take rows away by their values, as `FileStoreTable.delete` does."""
        for row in rows:
            self.model.write(row, True)
        schema = self.table.schema
        columns = {
            name: pa.array([row[i] for row in rows], to_arrow(schema.field_named(name).type))
            for i, name in enumerate(self.names)
        }
        self._record(self.table.delete(pa.table(columns)))

    def compact(self, is_full: bool) -> None:
        """Also with each bucket cut by key, as several tasks do it side by side."""
        schema = self.table.schema
        live = self.table.live_files(self.table.latest_snapshot(), schema)
        pick = pick_full_compaction if is_full else pick_compaction
        whole = self.table.compaction_tasks(live, schema, pick)
        share = max(1, live.size_bytes // 3)
        tasks = [task for one in whole for task in one.split(share)]
        # The task that takes the old files away may as well be the first to end, or the last.
        self.table.commit_compaction([task.run() for task in reversed(tasks)], schema)
        snapshot = self.table.latest_snapshot()
        if snapshot is not None:
            self._remember(snapshot.id)

    def alter(self, action: str) -> None:
        schema = self.table.schema
        if action == "add" and len(self.added) < 3:
            name = f"c{schema.id}"
            changed = add_column(
                schema, NewColumn(name=name, type=LONG, initial_default="5"), time_ms=0
            )
            self.model.alter(lambda row: (*row, 5))
            self.added.append(name)
        elif action == "drop" and self.added:
            changed = drop_column(schema, (self.added.pop(),), time_ms=0)
            self.model.alter(lambda row: row[:-1])
        elif action == "rename" and self.added:
            name = f"r{schema.id}"
            changed = rename_column(schema, (self.added[-1],), name, time_ms=0)
            self.added[-1] = name
        elif action == "widen" and schema.field_named("v").type == INTEGER:
            changed = widen_column(schema, ("v",), LONG, time_ms=0)
        elif action == "move":
            last = schema.column_names[-1]
            changed = move_column(schema, (last,), after=FIRST, time_ms=0)
        else:
            return
        assert self.table.schema_store.publish(changed)

    def check(self) -> None:
        names = self.names
        assert self._rows(self.table.scan(names).to_batches()) == self.model.visible()
        assert self.table.scan().count() == sum((+self.model.rows).values())
        for predicate, test in PREDICATES:
            found = self.table.scan(names, predicate).to_batches()
            expected = [row for row in self.model.visible() if test(row)]
            assert self._rows(found) == expected, predicate
        for version, (schema, names_then, rows) in self.seen.items():
            scan = self.table.scan(names_then, version=version, schema=schema)
            assert self._rows(scan.to_batches()) == rows, version
        values = self.table.scan(columns=["v"]).to_arrow()["v"].to_pylist()
        assert sorted(values) == sorted(row[2] for row in self.model.visible())

    def _record(self, result: object) -> None:
        if isinstance(result, Committed):
            self._remember(result.snapshot.id)

    def _remember(self, version: int) -> None:
        self.seen[version] = (self.table.schema, self.names, self.model.visible())

    @staticmethod
    def _rows(batches: Iterator[pa.RecordBatch]) -> list[Row]:
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        return sorted(rows, key=repr)


PREDICATES: list[tuple[Predicate, Any]] = [
    (Comparison("v", ">", 0), lambda row: row[2] > 0),
    (Comparison("k", "<=", 5), lambda row: row[0] <= 5),
    (Comparison("p", "=", "q"), lambda row: row[1] == "q"),
]


def schema_of(has_key: bool, is_partitioned: bool, buckets: int, form: str) -> TableSchema:
    return new_schema(
        fields=[
            Field(id=0, name="k", type=INTEGER),
            Field(id=0, name="p", type=STRING),
            Field(id=0, name="v", type=INTEGER),
        ],
        primary_key=["p", "k"] if has_key else [],
        partition_keys=["p"] if is_partitioned else [],
        options={"bucket": str(buckets), "file.format": form},
        time_ms=0,
    )


@settings(max_examples=25)
@given(
    steps=STEPS,
    has_key=st.booleans(),
    is_partitioned=st.booleans(),
    buckets=st.integers(1, 3),
    form=FORMATS,
    does_spill=st.booleans(),
)
def test_reads_equal_the_model(
    steps: list[tuple[str, list[Row], int]],
    has_key: bool,
    is_partitioned: bool,
    buckets: int,
    form: str,
    does_spill: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "t")
        schema = schema_of(has_key, is_partitioned, buckets, form)
        history = History(path, schema, write_buffer_bytes=300 if does_spill else 1 << 20)
        for action, rows, argument in steps:
            if action == "write":
                history.write(rows, argument)
            elif action == "overwrite":
                history.write(rows, 0, replaces=True)
            elif action == "compact":
                history.compact(bool(argument))
            else:
                history.alter(action)
        history.check()


NARROW = st.tuples(st.integers(0, 2), st.just("p"), st.integers(0, 1), st.booleans())
BAG_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(NARROW, min_size=1, max_size=9), st.booleans()),
        st.tuples(st.just("delete"), st.lists(st.integers(0, 99), max_size=5), st.booleans()),
        st.tuples(st.just("compact"), st.just([]), st.booleans()),
        st.tuples(st.sampled_from(["add", "drop", "widen", "move"]), st.just([]), st.booleans()),
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=40)
@given(steps=BAG_STEPS, is_partitioned=st.booleans())
def test_a_bag_in_three_buckets_stays_exact(
    steps: list[tuple[str, list[Any], bool]], is_partitioned: bool
) -> None:
    """Few values, so that rows meet their deletions, also after their hash has changed."""
    with tempfile.TemporaryDirectory() as folder:
        schema = schema_of(False, is_partitioned, 3, "parquet")
        history = History(str(Path(folder) / "t"), schema, write_buffer_bytes=1 << 20)
        for action, rows, argument in steps:
            if action == "write":
                history.write(rows, 0)
            elif action == "delete":
                there = history.model.visible()
                gone = [there[i % len(there)] for i in rows] if there else []
                history.delete(gone)
            elif action == "compact":
                history.compact(argument)
            else:
                history.alter(action)
        history.check()
        history.compact(True)
        history.check()
        files = history.table.scan().live.files()
        assert sum((+history.model.rows).values()) == history.table.scan().count()
        if not any(file.delete_count for file in files):
            assert all(split.kind == "raw" for split in history.table.scan().splits())
