"""Goal: the lineage of a query is that of the columns that it was made from, however it is nested.

Oracle: the generator, which notes the columns that it puts into each expression and condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.meta_service.column_lineage import (
    ColumnLineage,
    LineageKind,
    NamedRelation,
    WrittenTable,
    column_lineage,
)
from table_store.catalog.meta_service.query_scope import SourceColumn
from table_store.catalog.names.identifier import Identifier
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.types import INTEGER

Sources: TypeAlias = frozenset[SourceColumn]

COLUMNS = ("a", "b", "c")
EXPRESSIONS = ("{0}", "{0} + {1}", "coalesce({1}, {0}, 0)", "CASE WHEN {0} > 1 THEN {1} END")
AGGREGATES = ("max({0})", "sum({0} * {1})", "count(DISTINCT {0})", "sum({0}) - min({1})")
RESULT = ("x", "y")
NONE: Sources = frozenset()


@dataclass(frozen=True, slots=True)
class Query:
    """A query, where its columns come from, by their names, and what it reads."""

    text: str
    columns: dict[str, Sources]
    indirect: Sources
    tables: frozenset[str]


def table(name: str) -> Query:
    columns = {c: frozenset((SourceColumn(Identifier("n", name), c),)) for c in COLUMNS}
    return Query(f"SELECT * FROM {name}", columns, NONE, frozenset((name,)))


TABLES = st.sampled_from(("t", "u", "v")).map(table)


@st.composite
def selects(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    """A SELECT of two columns from one relation or two that are joined."""
    inner = draw(st.lists(below, min_size=1, max_size=2))
    named = {f"r{number}": query for number, query in enumerate(inner)}
    columns = {(alias, c): s for alias, query in named.items() for c, s in query.columns.items()}
    indirect = NONE.union(*(query.indirect for query in inner))

    def expression(forms: tuple[str, ...]) -> tuple[str, Sources]:
        picked = draw(st.lists(st.sampled_from(sorted(columns)), min_size=2, max_size=2))
        form = draw(st.sampled_from(forms))
        used = picked if "{1}" in form else picked[:1]
        names = [spelled(*one) for one in picked]
        return form.format(*names), NONE.union(*(columns[one] for one in used))

    def spelled(alias: str, name: str) -> str:
        is_unique = sum(other == name for _, other in columns) == 1
        said = name if is_unique and draw(st.booleans()) else f"{alias}.{name}"
        return said.upper() if draw(st.booleans()) else said

    is_common = draw(st.booleans())
    relations = [
        f"c_{alias} AS {alias}" if is_common else f"({query.text}) AS {alias}"
        for alias, query in named.items()
    ]
    text = f"FROM {relations[0]}"
    if len(relations) == 2:
        on, used = expression(EXPRESSIONS)
        kind = draw(st.sampled_from(("", "LEFT ", "FULL ")))
        text, indirect = f"{text} {kind}JOIN {relations[1]} ON {on} > 0", indirect | used
    if draw(st.booleans()):
        where, used = expression(EXPRESSIONS)
        text, indirect = f"{text} WHERE {where} = 1", indirect | used
    is_grouped = draw(st.booleans())
    key, x = expression(EXPRESSIONS)
    value, y = expression(AGGREGATES if is_grouped else EXPRESSIONS)
    if is_grouped:
        by = draw(st.sampled_from((key, "1", "ALL")))
        text, indirect = f"{text} GROUP BY {by}", indirect | x
    distinct = ""
    if draw(st.booleans()):
        distinct, indirect = "DISTINCT ", indirect | x | y
    text = f"SELECT {distinct}{key} AS x, {value} AS y {text}"
    if is_common:
        common = ", ".join(f"c_{alias} AS ({query.text})" for alias, query in named.items())
        text = f"WITH {common} {text}"
    tables = frozenset().union(*(query.tables for query in inner))
    return Query(text, {"x": x, "y": y}, indirect, tables)


@st.composite
def unions(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    """A union of two results, whose columns are called as those of the left one."""
    left, right = draw(selects(below)), draw(selects(below))
    is_all = draw(st.booleans())
    columns = {name: left.columns[name] | right.columns[name] for name in RESULT}
    indirect = left.indirect | right.indirect
    if not is_all:
        indirect = indirect.union(*columns.values())
    word = "UNION ALL" if is_all else "UNION"
    text = f"({left.text}) {word} ({right.text})"
    return Query(text, columns, indirect, left.tables | right.tables)


QUERIES = selects(
    st.recursive(TABLES, lambda below: st.one_of(selects(below), unions(below)), max_leaves=6)
)


def find(identifier: Identifier) -> NamedRelation:
    return NamedRelation(identifier=identifier, columns=COLUMNS, location=identifier.name)


@given(QUERIES)
def test_the_lineage_is_what_the_query_was_made_from(query: Query) -> None:
    stored = StoredQuery(
        text=query.text,
        current_catalog="c",
        current_namespace=("n",),
        settings={},
        columns=RESULT,
    )
    found = column_lineage(
        WrittenTable(
            fields=tuple(Field(id=0, name=name, type=INTEGER) for name in RESULT),
            query=stored,
            catalog="c",
            sources=query.tables,
        ),
        find,
    )
    value, indirect = LineageKind.VALUE, LineageKind.INDIRECT
    expected = {
        ColumnLineage(name, source, value) for name in RESULT for source in query.columns[name]
    }
    assert len(set(found)) == len(found)
    assert set(found) == expected | {ColumnLineage(None, one, indirect) for one in query.indirect}
