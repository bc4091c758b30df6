"""Goal: pruning never changes a result, and counts and bounds told from manifests are right.

Files with random rows (newer files win per key, deletions included) and random predicates. The
oracle merges and filters in plain Python with SQL's three-valued logic.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.metadata.manifest_entry import entries_from_files
from table_store.storage.file_store.model.data_file import ColumnStats, DataFile
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.scan.pruning import exact_bounds, exact_row_count, prune
from table_store.storage.kernel.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from table_store.storage.kernel.types import DOUBLE, LONG, STRING
from tests.fakes.metadata_table import make_file
from tests.values.strategies import floats, texts

NAN = float("nan")
Row = dict[str, object]

FIELDS = [
    Field(id=0, name="p", type=STRING),
    Field(id=0, name="k", type=LONG),
    Field(id=0, name="s", type=STRING),
    Field(id=0, name="d", type=DOUBLE),
]
KEYED = new_schema(fields=FIELDS, primary_key=["p", "k"], partition_keys=["p"], time_ms=0)
KEYLESS = new_schema(fields=FIELDS, partition_keys=["p"], time_ms=0)

strings = st.one_of(st.none(), texts(alphabet="abé"), texts())
doubles = st.one_of(st.none(), floats())
rows = st.fixed_dictionaries(
    {"k": st.integers(0, 12), "s": strings, "d": doubles, "deleted": st.booleans()}
)
files = st.lists(
    st.tuples(st.sampled_from(["p1", "p2"]), st.lists(rows, min_size=1, max_size=5)), max_size=6
)
comparisons = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"])
leaves: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Comparison, st.just("k"), comparisons, st.integers(-1, 13)),
    st.builds(Comparison, st.just("p"), comparisons, st.sampled_from(["p1", "p2", "p3"])),
    st.builds(Comparison, st.just("s"), comparisons, strings.filter(lambda v: v is not None)),
    st.builds(Comparison, st.just("d"), comparisons, doubles.filter(lambda v: v is not None)),
    st.builds(In, st.just("k"), st.lists(st.integers(0, 12), max_size=3).map(tuple)),
    st.builds(StartsWith, st.just("s"), st.sampled_from(["", "a", "ab", "b"])),
    st.builds(IsNull, st.sampled_from(["s", "d", "k"])),
    st.builds(IsNotNull, st.sampled_from(["s", "d", "k"])),
)
predicates = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(And, inner, inner), st.builds(Or, inner, inner), st.builds(Not, inner)
    ),
    max_leaves=4,
)


def order(value: object) -> tuple[int, object]:
    """Return a sort key in Spark's order: NaN after all numbers."""
    return (1, 0) if value != value else (0, value)


def truth(predicate: Predicate, row: Row) -> bool | None:
    """Evaluate as SQL does."""
    match predicate:
        case And(left, right) | Or(left, right):
            found = {truth(left, row), truth(right, row)}
            decisive = isinstance(predicate, Or)
            if decisive in found:
                return decisive
            return None if None in found else not decisive
        case Not(inner):
            value = truth(inner, row)
            return None if value is None else not value
        case IsNull(column):
            return row[column] is None
        case IsNotNull(column):
            return row[column] is not None
        case Comparison(column, op, literal):
            if row[column] is None:
                return False if op == "<=>" else None
            one, other = order(row[column]), order(literal)
            return {
                "=": one == other,
                "<=>": one == other,
                "!=": one != other,
                "<": one < other,
                "<=": one <= other,
                ">": one > other,
                ">=": one >= other,
            }[op]
        case In(column, values):
            return None if row[column] is None else row[column] in values
        case StartsWith(column, prefix):
            text = row[column]
            return None if text is None else str(text).startswith(prefix)
    raise AssertionError(predicate)


def stats(values: Sequence[object]) -> ColumnStats:
    present = sorted((v for v in values if v is not None), key=order)
    return ColumnStats(
        min=present[0] if present else None,  # type: ignore[arg-type]
        max=present[-1] if present else None,  # type: ignore[arg-type]
        null_count=len(values) - len(present),
    )


class Made:
    """Files with rows, oldest first; `rows` by file name."""

    def __init__(self, schema: TableSchema, made: list[tuple[str, list[Row]]]) -> None:
        self.keyed = bool(schema.primary_key)
        self.rows: dict[str, list[Row]] = {}
        found: list[DataFile] = []
        for i, (partition, raw) in enumerate(made):
            per_key = {row["k"]: row for row in raw}
            kept = [dict(r, p=partition) for r in (per_key.values() if self.keyed else raw)]
            if self.keyed:
                kept = [dict(r, s=None, d=None) if r["deleted"] else r for r in kept]
            else:
                kept = [dict(r, deleted=False) for r in kept]
            keys = [r["k"] for r in kept]
            self.rows[f"f{i}"] = kept
            found.append(
                make_file(
                    f"f{i}",
                    partition=(partition,),
                    keys=(min(keys), max(keys)) if self.keyed else None,  # type: ignore[type-var,arg-type]
                    sequence=(10 * i, 10 * i + 9),
                    rows=len(kept),
                    deletes=sum(bool(r["deleted"]) for r in kept),
                    stats={3: stats([r["s"] for r in kept]), 4: stats([r["d"] for r in kept])}
                    | ({} if self.keyed else {2: stats(keys)}),
                )
            )
        entries = entries_from_files(schema, added=found)
        self.live = LiveFiles(snapshot_id=1, schema=schema, entries=entries)

    def scan(self, names: Sequence[str], predicate: Predicate | None) -> list[Row]:
        """Merge the files with these names and filter."""
        merged: dict[object, Row] = {}
        for name in sorted(names, key=lambda n: int(n[1:])):
            for i, row in enumerate(self.rows[name]):
                merged[(row["p"], row["k"]) if self.keyed else (name, i)] = row
        return [
            row
            for row in merged.values()
            if not row["deleted"] and (predicate is None or truth(predicate, row) is True)
        ]


@settings(max_examples=400)
@given(st.sampled_from([KEYED, KEYLESS]), files, predicates)
def test_pruned_files_give_the_same_rows(
    schema: TableSchema, made: list[tuple[str, list[Row]]], predicate: Predicate
) -> None:
    table = Made(schema, made)
    whole = table.scan(table.live.names(), predicate)
    pruned = prune(table.live, predicate)

    def text(rows: list[Row]) -> list[str]:
        return sorted(repr(sorted(row.items())) for row in rows)

    assert text(table.scan(pruned.names(), predicate)) == text(whole)
    told = exact_row_count(table.live, predicate)
    assert told in (None, len(whole))


@settings(max_examples=200)
@given(st.sampled_from([KEYED, KEYLESS]), files, st.sampled_from(["s", "d"]))
def test_bounds_and_counts_that_are_told_are_right(
    schema: TableSchema, made: list[tuple[str, list[Row]]], column: str
) -> None:
    table = Made(schema, made)
    everything = table.scan(table.live.names(), None)
    assert exact_row_count(table.live) in (None, len(everything))
    if not table.keyed:
        assert exact_row_count(table.live) == len(everything)
    told = exact_bounds(table.live, column)
    if told is not None:
        values = sorted((r[column] for r in everything if r[column] is not None), key=order)
        assert told == ((values[0], values[-1]) if values else (None, None))


def test_what_can_be_excluded_is_excluded() -> None:
    """Pruning that keeps everything would pass the properties above."""
    rows: list[Row] = [{"k": 1, "s": "a", "d": 1.0, "deleted": False}]
    far: list[Row] = [{"k": 9, "s": "z", "d": None, "deleted": False}]
    table = Made(KEYED, [("p1", rows), ("p1", far), ("p2", rows), ("p2", rows)])
    for predicate, kept in [
        (Comparison("k", "<", 5), ["f0", "f2", "f3"]),
        (Comparison("p", "=", "p1"), ["f0", "f1"]),
        (And(Comparison("p", "=", "p1"), Comparison("s", ">=", "b")), ["f1"]),
        (IsNull("d"), ["f1"]),
        (Not(IsNull("d")), ["f0", "f2", "f3"]),
        (StartsWith("s", "z"), ["f1"]),
        (In("k", (3, 4)), []),
        (Or(Comparison("k", "=", 9), Comparison("p", "=", "p3")), ["f1"]),
        (Comparison("nested.field", "=", 1), ["f0", "f1", "f2", "f3"]),
        (Comparison("k", "=", "text"), ["f0", "f1", "f2", "f3"]),
    ]:
        assert prune(table.live, predicate).names() == kept, predicate
    assert exact_row_count(table.live, Comparison("p", "=", "p1")) == 2
    assert exact_row_count(table.live, Comparison("k", "<=", 8)) is None
    assert exact_bounds(prune(table.live, Comparison("p", "=", "p1")), "s") == ("a", "z")
