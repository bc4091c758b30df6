"""Goal: replaying the changes from a to b onto the table at a gives exactly the table at b.

Random writes (adds, deletes, also of rows that are not there), overwrites, truncations, rollbacks,
compactions and schema changes are applied to a table; the oracle is the table itself, read at each
version as a multiset of rows. Each commit's changes without carry-overs must be the difference of
two multisets, net changes the difference over the whole range.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.changes import (
    bag_change_reader,
    change_planner,
    keyed_change_reader,
)
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS, LABELS, ROW_KIND
from table_store.storage.file_store.changes.change_range import ChangeBound, ChangeRange
from table_store.storage.file_store.changes.change_split import (
    ChangeMode,
    ChangeSplit,
    Deduplication,
)
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
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
from table_store.storage.file_store.model.scope import WHOLE_TABLE, Scope
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.predicate import And, Comparison, IsNull, Predicate
from table_store.storage.kernel.types import DOUBLE, INTEGER, LONG, STRING, to_arrow
from table_store.storage.log_store.logged_table import open_logged
from tests.fakes.manual_clock import ManualClock
from tests.values.strategies import floats, values

Row = tuple[Any, ...]

KEYS = st.integers(0, 12)
ROW = st.tuples(
    KEYS,
    st.sampled_from("pq"),
    st.none() | values("INT"),
    st.none() | floats(),
    st.booleans(),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(ROW, min_size=1, max_size=25)),
        st.tuples(st.just("write"), st.lists(ROW, min_size=1, max_size=4)),
        st.tuples(st.just("write"), st.lists(ROW, min_size=1, max_size=4)),
        st.tuples(st.just("overwrite"), st.lists(ROW, max_size=8)),
        st.tuples(st.just("truncate"), st.sampled_from(["p", "q", None])),
        st.tuples(st.just("rollback"), st.integers(1, 9)),
        st.tuples(st.just("compact"), st.booleans()),
        st.tuples(st.sampled_from(["add", "add", "drop", "rename", "widen", "move"]), st.none()),
    ),
    min_size=2,
    max_size=14,
)
MODES = st.builds(
    ChangeMode, deduplication=st.sampled_from(Deduplication), computes_updates=st.booleans()
)
PREDICATES: list[tuple[Predicate, Any]] = [
    (Comparison("k", "<=", 5), lambda row: row["k"] <= 5),
    (Comparison("p", "=", "q"), lambda row: row["p"] == "q"),
    (IsNull("v"), lambda row: row["v"] is None),
    (
        And(Comparison("_change_type", "=", "insert"), Comparison("k", ">", 3)),
        lambda row: row["_change_type"] == "insert" and row["k"] > 3,
    ),
]


def _plain(row: dict[str, Any]) -> Row:
    """Values in a form in which those that are equal for Spark are equal."""
    return tuple(
        "NaN" if value != value else 0.0 if value == 0.0 and isinstance(value, float) else value
        for value in row.values()
    )


class History:
    """The table under test, and how to read it."""

    def __init__(self, path: str, schema: TableSchema, *, write_buffer_bytes: int) -> None:
        self.write_buffer_bytes = write_buffer_bytes
        self.table = FileStoreTable.create(path, schema)
        self.added: list[str] = []

    def write(self, rows: list[Row], *, replaces: bool = False) -> None:
        chosen = [(*row[:-1], *([5 + 2 * (row[0] % 2)] * len(self.added)), row[-1]) for row in rows]
        schema = self.table.schema
        names = ["k", "p", "v", "d", *self.added]
        columns = {
            name: pa.array([row[i] for row in chosen], to_arrow(schema.field_named(name).type))
            for i, name in enumerate(names)
        }
        batch = pa.table(columns).select(list(schema.column_names))
        if replaces:
            self.table.overwrite(batch)
            return
        context = replace(self.table.writer_context(), write_buffer_bytes=self.write_buffer_bytes)
        writer = TableWriter(context)
        writer.write(batch, kinds=np.array([row[-1] for row in chosen], np.int8))
        self.table.commit(writer.prepare_commit())

    def truncate(self, partition: str | None) -> None:
        is_partitioned = bool(self.table.schema.partition_keys)
        scope = Scope(spec={"p": partition}) if is_partitioned and partition else WHOLE_TABLE
        self.table.committer().commit(
            (),
            kind=CommitKind.OVERWRITE,
            commit_user=self.table.ids.unique(),
            overwrite=scope,
            operation="TRUNCATE",
        )

    def rollback(self, back: int) -> None:
        latest = self.table.snapshot_store.latest_id() or 0
        if latest > back:
            self.table.committer().rollback(latest - back, commit_user=self.table.ids.unique())

    def alter(self, action: str) -> None:
        schema = self.table.schema
        if action == "add" and len(self.added) < 3:
            name = f"c{schema.id}"
            changed = add_column(
                schema, NewColumn(name=name, type=LONG, initial_default="5"), time_ms=0
            )
            self.added.append(name)
        elif action == "drop" and self.added:
            changed = drop_column(schema, (self.added.pop(),), time_ms=0)
        elif action == "move":
            changed = move_column(schema, (schema.column_names[-1],), after=FIRST, time_ms=0)
        elif action == "rename" and self.added:
            name = f"r{schema.id}"
            changed = rename_column(schema, (self.added[-1],), name, time_ms=0)
            self.added[-1] = name
        elif action == "widen" and schema.field_named("v").type == INTEGER:
            changed = widen_column(schema, ("v",), LONG, time_ms=0)
        else:
            return
        assert self.table.schema_store.publish(changed)

    def do(self, action: str, argument: Any) -> None:
        if action in ("write", "overwrite"):
            self.write(argument, replaces=action == "overwrite")
        elif action == "truncate":
            self.truncate(argument)
        elif action == "rollback":
            self.rollback(argument)
        elif action == "compact":
            self.table.compact(full=argument)
        else:
            self.alter(action)

    def state(self, version: int, schema: TableSchema) -> Counter[Row]:
        if version == 0:
            return Counter()
        rows = self.table.scan(version=version, schema=schema).to_arrow().to_pylist()
        return Counter(_plain(row) for row in rows)

    def changes(
        self, first: int, last: int, mode: ChangeMode, predicate: Predicate | None = None
    ) -> list[dict[str, Any]]:
        scan = self.table.changes(
            ChangeBound(version=first, is_inclusive=False), last, mode=mode, predicate=predicate
        )
        scan = replace(scan, target_bytes=1)
        reader = scan.reader()
        tables = [
            pa.Table.from_batches([batch])
            for split in scan.splits()
            for batch in reader.read(
                ChangeSplit.from_bytes(split.to_bytes()), scan.columns, predicate
            )
        ]
        rows = scan.arrow_schema.empty_table() if not tables else pa.concat_tables(tables)
        found: list[dict[str, Any]] = rows.to_pylist()
        return found


def _difference(changes: list[dict[str, Any]]) -> Counter[Row]:
    total: Counter[Row] = Counter()
    for change in changes:
        row = _plain({k: v for k, v in change.items() if k not in LABELS})
        total[row] += 1 if change["_change_type"] in ("insert", "update_postimage") else -1
    return Counter({row: count for row, count in total.items() if count})


def _minus(after: Counter[Row], before: Counter[Row]) -> Counter[Row]:
    return Counter({r: after[r] - before[r] for r in {*after, *before} if after[r] != before[r]})


def _check_range(history: History, first: int, last: int, mode: ChangeMode, predicate: int) -> None:
    snapshots = history.table.snapshot_store
    schema = history.table.schema_store.get(snapshots.get(last).schema_id)
    states = {v: history.state(v, schema) for v in range(first, last + 1)}
    net = _minus(states[last], states[first])
    changes = history.changes(first, last, mode)
    assert _difference(changes) == net
    assert all(first < change["_commit_version"] <= last for change in changes)
    _check_times(history, changes)
    _check_updates(changes, schema.primary_key, mode.computes_updates)
    if mode.deduplication is Deduplication.NET_CHANGES:
        assert len(changes) == sum(map(abs, net.values()))
    else:
        for v in range(first + 1, last + 1):
            own = [c for c in changes if c["_commit_version"] == v]
            expected = _minus(states[v], states[v - 1])
            assert _difference(own) == expected, v
            if mode.deduplication is Deduplication.DROP_CARRYOVERS:
                assert len(own) == sum(map(abs, expected.values()))
    if first:
        whole = replace(
            history.table.changes(last, last, mode=mode),
            range=ChangeRange(first_id=first, last_id=last),
            begins_with_snapshot=True,
        )
        assert _difference(whole.to_arrow().to_pylist()) == states[last]
    condition, test = PREDICATES[predicate]
    found = history.changes(first, last, mode, condition)
    matching = [change for change in changes if test(change)]
    if mode.deduplication is Deduplication.NONE:
        # Which rows are deleted and inserted again depends on the files that are read.
        carried = _carried_over(changes)
        found = [change for change in found if _of_commit(change) not in carried]
        matching = [change for change in matching if _of_commit(change) not in carried]
    assert Counter(map(_plain, found)) == Counter(map(_plain, matching))


def _carried_over(changes: list[dict[str, Any]]) -> set[Row]:
    """Rows with their versions that one commit both deletes and inserts."""
    deletes = {_of_commit(c) for c in changes if c["_change_type"] == "delete"}
    return {_of_commit(c) for c in changes if c["_change_type"] == "insert"} & deletes


def _of_commit(change: dict[str, Any]) -> Row:
    return _plain({key: value for key, value in change.items() if key != "_change_type"})


def _check_times(history: History, changes: list[dict[str, Any]]) -> None:
    for change in changes:
        snapshot = history.table.snapshot_store.get(change["_commit_version"])
        assert round(change["_commit_timestamp"].timestamp() * 1000) == snapshot.time_ms


def _check_updates(
    changes: list[dict[str, Any]], key: tuple[str, ...], computes_updates: bool
) -> None:
    """With key an update is a neighbouring pair; a delete and an insert of one key are none."""
    kinds = [change["_change_type"] for change in changes]
    if not computes_updates or not key:
        assert {*kinds} <= {"insert", "delete"}
        return
    for i, kind in enumerate(kinds):
        if kind == "update_preimage":
            assert kinds[i + 1] == "update_postimage"
            assert [changes[i][k] for k in key] == [changes[i + 1][k] for k in key]
    assert kinds.count("update_preimage") == kinds.count("update_postimage")


def schema_of(has_key: bool, is_partitioned: bool, buckets: int) -> TableSchema:
    return new_schema(
        fields=[
            Field(id=0, name="k", type=INTEGER),
            Field(id=0, name="p", type=STRING),
            Field(id=0, name="v", type=INTEGER),
            Field(id=0, name="d", type=DOUBLE),
        ],
        primary_key=["p", "k"] if has_key else [],
        partition_keys=["p"] if is_partitioned else [],
        options={"bucket": str(buckets)},
        time_ms=0,
    )


# A rollback that takes away a file in the middle of a section, which the others make up.
@example(
    steps=[
        ("write", [(k, "p", 1, None, False) for k in range(6)]),
        ("write", [(k, "p", 0, None, False) for k in range(5, 9)]),
        ("rollback", 1),
    ],
    has_key=True,
    is_partitioned=False,
    buckets=1,
    does_spill=False,
    ends=(2, 3),
    mode=ChangeMode(),
    predicate=0,
)
# Equal rows of two commits, of which only one replaces files: which commit is each row's?
@example(
    steps=[
        ("write", [(6, "p", -1, 0.0, False)] * 2),
        ("overwrite", [(0, "p", -1, 0.0, False)]),
        ("write", [(0, "p", -1, 0.0, False)]),
    ],
    has_key=False,
    is_partitioned=False,
    buckets=1,
    does_spill=False,
    ends=(0, 0),
    mode=ChangeMode(deduplication=Deduplication.NET_CHANGES),
    predicate=0,
)
@settings(max_examples=80)
@given(
    steps=STEPS,
    has_key=st.booleans(),
    is_partitioned=st.booleans(),
    buckets=st.integers(1, 2),
    does_spill=st.booleans(),
    ends=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    mode=MODES,
    predicate=st.integers(0, len(PREDICATES) - 1),
)
def test_replayed_changes_are_the_table(
    steps: list[tuple[str, Any]],
    has_key: bool,
    is_partitioned: bool,
    buckets: int,
    does_spill: bool,
    ends: tuple[int, int],
    mode: ChangeMode,
    predicate: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        schema = schema_of(has_key, is_partitioned, buckets)
        history = History(
            str(Path(folder) / "t"), schema, write_buffer_bytes=300 if does_spill else 1 << 20
        )
        for action, argument in steps:
            history.do(action, argument)
        latest = history.table.snapshot_store.latest_id()
        if latest is None:
            return
        first, last = sorted(end % (latest + 1) for end in ends)
        for start, end in {(0, latest), (first, max(last, first, 1))}:
            _check_range(history, start, end, mode, predicate)


# Rows that a rollback carries over, which a condition need not read before they are kept.
@example(
    steps=[
        ("write", [(0, "p", -1, 0.0, False), (4, "p", -1, 0.0, False)]),
        ("write", [(0, "p", -1, 0.0, False)]),
        ("rollback", 1),
    ],
    has_key=True,
    is_partitioned=False,
    buckets=1,
    retained=(1, 1),
    ends=(0, 0),
    mode=ChangeMode(deduplication=Deduplication.NONE),
    predicate=3,
)
@example(
    steps=[
        ("write", [(0, "p", -1, 0.0, False), (11, "p", -1, 0.0, False)]),
        ("write", [(6, "p", -1, 0.0, False)]),
        ("rollback", 1),
    ],
    has_key=True,
    is_partitioned=False,
    buckets=1,
    retained=(1, 1),
    ends=(0, 0),
    mode=ChangeMode(deduplication=Deduplication.NONE),
    predicate=0,
)
# Kept changes that later ones take back, where a deletion has met no row.
@example(
    steps=[
        ("write", [(0, "p", -1, 0.0, False)]),
        ("write", [(0, "p", -1, 0.0, False), (0, "p", -1, 0.0, True), (4, "p", -1, 0.0, False)]),
        ("overwrite", []),
    ],
    has_key=False,
    is_partitioned=False,
    buckets=1,
    retained=(1, 2),
    ends=(0, 0),
    mode=ChangeMode(deduplication=Deduplication.NET_CHANGES),
    predicate=3,
)
@settings(max_examples=40)
@given(
    steps=STEPS,
    has_key=st.booleans(),
    is_partitioned=st.booleans(),
    buckets=st.integers(1, 2),
    retained=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    ends=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    mode=MODES,
    predicate=st.integers(0, len(PREDICATES) - 1),
)
def test_a_log_tells_the_changes_of_expired_snapshots(
    steps: list[tuple[str, Any]],
    has_key: bool,
    is_partitioned: bool,
    buckets: int,
    retained: tuple[int, int],
    ends: tuple[int, int],
    mode: ChangeMode,
    predicate: int,
) -> None:
    """All answers are those of before the snapshots expired."""
    with tempfile.TemporaryDirectory() as folder:
        schema = schema_of(has_key, is_partitioned, buckets)
        schema = replace(schema, options={**schema.options, "log.retention": "1 d"})
        history = History(str(Path(folder) / "t"), schema, write_buffer_bytes=1 << 20)
        # The expiry waits half a second for readers.
        clock = ManualClock(SystemClock().now_ms())
        history.table = replace(open_logged(history.table.path), clock=clock)
        for action, argument in steps:
            history.do(action, argument)
        latest = history.table.snapshot_store.latest_id()
        if latest is None:
            return
        first, last = sorted(end % (latest + 1) for end in ends)
        asked = [(0, latest), (first, max(last, first, 1))]
        condition, _ = PREDICATES[predicate]

        def answers() -> list[Counter[Any]]:
            found = []
            for ends in asked:
                every = history.changes(*ends, mode, None)
                some = history.changes(*ends, mode, condition)
                if mode.deduplication is Deduplication.NONE:
                    # Which rows are deleted and inserted again depends on the files that are read.
                    carried = _carried_over(every)
                    some = [change for change in some if _of_commit(change) not in carried]
                found += [Counter(map(_plain, every)), Counter(map(_plain, some))]
            return found

        before = answers()
        for count in sorted(retained, reverse=True):
            history.table.expire_snapshots(
                ExpireOptions(older_than_ms=1 << 50, retain_min=count, retain_max=count)
            )
            assert answers() == before
        remove_orphan_files(
            history.table.file_io,
            history.table.path,
            history.table.schema_store,
            older_than_ms=1 << 50,
        )
        assert answers() == before


@pytest.mark.parametrize("has_key", [True, False])
def test_bounds_of_memory_change_nothing(
    has_key: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains cut after two files, no look-up of single keys, counting in parts of the hashes."""
    monkeypatch.setattr(change_planner, "CHAIN_FILES_MAX", 2)
    monkeypatch.setattr(keyed_change_reader, "LOOKUP_ROWS_MAX", 0)
    monkeypatch.setattr(bag_change_reader, "DELETED_ROWS_MAX", 3)
    history = History(str(tmp_path / "t"), schema_of(has_key, False, 2), write_buffer_bytes=300)
    generator = np.random.default_rng(7)
    for _ in range(9):
        keys, is_deleted = generator.integers(0, 9, 12), generator.random(12) < 0.4
        history.do(
            "write",
            [
                (int(k), "p", int(k) % 2, None, bool(d))
                for k, d in zip(keys, is_deleted, strict=True)
            ],
        )
    latest = history.table.snapshot_store.latest_id()
    assert latest is not None
    for deduplication in Deduplication:
        for first in (0, 3):
            mode = ChangeMode(deduplication=deduplication, computes_updates=True)
            _check_range(history, first, latest, mode, 0)


def test_labels_of_an_audit_log(tmp_path: Path) -> None:
    """Row kinds as Paimon writes them."""
    history = History(str(tmp_path / "t"), schema_of(True, False, 1), write_buffer_bytes=1 << 20)
    history.write([(1, "p", 1, None, False), (2, "p", 1, None, False)])
    history.write([(1, "p", 2, None, False), (2, "p", None, None, True)])
    mode = ChangeMode(computes_updates=True)
    scan = history.table.changes(labels=(ROW_KIND,), columns=["rowkind", "k", "v"], mode=mode)
    assert [tuple(row.values()) for row in scan.to_arrow().to_pylist()] == [
        ("+I", 1, 1),
        ("-U", 1, 1),
        ("+U", 1, 2),
        ("+I", 2, 1),
        ("-D", 2, 1),
    ]
    assert history.table.changes(2, 2).to_arrow().column_names[-3:] == list(CHANGE_LABELS)
