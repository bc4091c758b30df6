"""Goal: filters, updates and deletes without Spark do what DuckDB does to the same rows.

Its rules for NULL, integers and texts are Spark's, as far as the conditions here go.
"""

from __future__ import annotations

import tempfile
from functools import partial
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store import TableDescriptor, connect
from table_store.client.table import Table
from table_store.storage.file_store.model.errors import DuplicateKeyError, NullKeyError
from tests.values.strategies import texts

_NUMBERS: Final = st.integers(-3, 3)
_TEXTS: Final = texts(alphabet="ab%_ ")
_ROWS: Final = st.lists(
    st.tuples(st.integers(0, 9), st.none() | _NUMBERS, st.none() | _TEXTS), max_size=8
)
_INTEGERS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["id", "n", "n", "NULL"])
        | _NUMBERS.map(str)
        | st.tuples(_INTEGERS, st.sampled_from("+-*"), _INTEGERS).map(lambda t: f"({' '.join(t)})")
        | st.tuples(_CONDITIONS, _INTEGERS).map(
            lambda t: f"CASE WHEN {t[0]} THEN {t[1]} ELSE n END"
        )
        | _INTEGERS.map(lambda i: f"coalesce(n, {i})")
    )
)
_STRINGS: Final = st.sampled_from(
    ["s", "upper(s)", "s || 'a'", "trim(s)", "left(s, 1)"]
) | _TEXTS.map(lambda text: f"'{text}'")
_OPERATORS: Final = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_CONDITIONS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.tuples(_INTEGERS, _OPERATORS, _INTEGERS).map(" ".join)
        | st.tuples(_STRINGS, _OPERATORS, _STRINGS).map(" ".join)
        | st.sampled_from(["n IS NULL", "s IS NOT NULL", "id IN (1, 2, 7)", "n NOT IN (1, NULL)"])
        | _TEXTS.map(lambda text: f"s LIKE '{text}'")
        | st.tuples(_INTEGERS, _NUMBERS).map(lambda t: f"{t[0]} BETWEEN {t[1]} AND {t[1] + 2}")
        | _CONDITIONS.map(lambda c: f"NOT ({c})")
        | st.tuples(_CONDITIONS, st.sampled_from(["AND", "OR"]), _CONDITIONS).map(
            lambda t: f"({' '.join(t)})"
        )
    )
)
_KEYS: Final = st.sampled_from(["id", "id + 1", "9 - id", "7", "coalesce(n, id)", "n"])
_STATEMENTS: Final = st.lists(
    st.tuples(st.just("append"), _ROWS)
    | st.tuples(st.just("upsert"), _ROWS)
    | st.tuples(st.just("delete"), _CONDITIONS)
    | st.tuples(st.just("update"), st.tuples(_INTEGERS, _CONDITIONS))
    | st.tuples(st.just("move"), st.tuples(_KEYS, _CONDITIONS)),
    max_size=6,
)


class Twins:
    """A table with key and a table of DuckDB with the same rows."""

    def __init__(self, folder: str) -> None:
        described = TableDescriptor.for_managed().column("id", "INT").column("n", "INT")
        self.table: Table = connect(folder).create(
            "t", described.column("s", "STRING", default="'d'").primary_key("id")
        )
        self.duck = duckdb.connect()
        self.duck.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT, s TEXT)")

    def run(self, kind: str, argument: Any) -> None:
        if kind == "append":
            self.table.append(arrow(argument))
            for row in argument:
                self.duck.execute("INSERT OR REPLACE INTO t VALUES (?, ?, ?)", row)
        elif kind == "upsert":
            self.table.upsert(arrow(argument).select(["id", "n"]))
            for id_, n, _ in argument:
                self.duck.execute(
                    "INSERT INTO t VALUES (?, ?, 'd') ON CONFLICT DO UPDATE SET n = excluded.n",
                    (id_, n),
                )
        elif kind == "delete":
            self.table.delete(argument)
            self.duck.execute(f"DELETE FROM t WHERE {argument}")
        elif kind == "move":
            self.move(*argument)
        else:
            value, where = argument
            self.table.update({"n": value}, where)
            self.duck.execute(f"UPDATE t SET n = {value} WHERE {where}")

    def move(self, value: str, where: str) -> None:
        """Give rows another key, unless it is NULL, or another row would have it."""
        moved = self.duck.execute(f"SELECT id, {value}, n, s FROM t WHERE {where}").fetchall()
        old, new = {row[0] for row in moved}, [row[1] for row in moved]
        others = {row[0] for row in self.rows()} - old
        update = partial(self.table.update, {"id": value}, where)
        if None in new:
            with pytest.raises(NullKeyError):
                update()
        elif len({*new}) < len(new) or others & {*new}:
            with pytest.raises(DuplicateKeyError) as error:
                update()
            assert new.count(error.value.key["id"]) + (error.value.key["id"] in others) > 1
        else:
            update()
            self.duck.execute("DELETE FROM t WHERE list_contains(?, id)", ([*old],))
            for row in moved:
                self.duck.execute("INSERT INTO t VALUES (?, ?, ?)", row[1:])

    def rows(self, where: str = "TRUE") -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.duck.execute(
            f"SELECT * FROM t WHERE {where} ORDER BY id"
        ).fetchall()
        return found


def arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema([("id", pa.int32()), ("n", pa.int32()), ("s", pa.string())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def of(table: Table, where: str | None = None) -> list[tuple[Any, ...]]:
    found = table.scan(where=where).to_arrow().sort_by("id").to_pylist()
    return [tuple(row.values()) for row in found]


@settings(max_examples=60, deadline=None)
@given(_ROWS, st.lists(_CONDITIONS, min_size=1, max_size=12))
def test_filters(rows: list[tuple[Any, ...]], conditions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(folder)
        twins.run("append", rows)
        for where in conditions:
            expected = twins.rows(where)
            assert of(twins.table, where) == expected, where
            assert twins.table.scan(where=where).count() == len(expected), where


@settings(max_examples=40, deadline=None)
@given(_STATEMENTS)
def test_statements(statements: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(folder)
        for kind, argument in statements:
            twins.run(kind, argument)
            assert of(twins.table) == twins.rows(), kind
