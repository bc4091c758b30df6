"""Stored queries under new names of the tables and columns that they read.

A rewritten text is only a proposal: whether it means the same, Spark tells. All but the names stays
as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from table_store.catalog.names.identifier import quoted, quoted_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """A table's whole name, and where names without a catalog or namespace are looked for."""

    parts: tuple[str, ...]
    current: tuple[str, ...]

    def is_named(self, table: exp.Table) -> bool:
        """Whether a name in a query is that of the table; case does not count."""
        said = tuple(part.name for part in table.parts)
        missing = len(self.parts) - len(said)
        whole = (*self.current[:missing], *said) if missing >= 0 else said
        return [p.lower() for p in whole] == [p.lower() for p in self.parts]


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


def renamed_column(text: str, table: TableName, old: str, new: str) -> Iterator[str]:
    """Yield proposals for a query after a column of a table was renamed, the likeliest first.

    A column that the query returns keeps the name that it had.
    """
    query = _parsed(text)
    if query is None:
        return
    yield _edited(text, list(_of_scopes(query, table, old, new)))
    everywhere = [c for c in query.find_all(exp.Column) if c.name.lower() == old.lower()]
    yield _edited(text, [_named(column.this, new) for column in everywhere])


def renamed_table(text: str, table: TableName, new: Sequence[str]) -> Iterator[str]:
    """Yield proposals for a query after a table got another name, the likeliest first."""
    query = _parsed(text)
    if query is None:
        return
    common = {name.alias.lower() for name in query.find_all(exp.CTE)}
    found = [
        found
        for found in query.find_all(exp.Table)
        if table.is_named(found) and (len(found.parts) > 1 or found.name.lower() not in common)
    ]
    for has_alias in (True, False):
        edits = []
        for one in found:
            first, last = one.parts[0], one.parts[-1]
            alias = "" if one.alias or not has_alias else f" AS {quoted(one.name)}"
            edits.append(_Edit(_start(first), _end(last), quoted_parts(new) + alias))
        yield _edited(text, edits)


def _parsed(text: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return None


def _of_scopes(query: exp.Expr, table: TableName, old: str, new: str) -> Iterator[_Edit]:
    try:
        scopes = traverse_scope(query)
    except SqlglotError:
        return
    seen: set[int] = set()
    for scope in scopes:
        for column in scope.columns:
            if id(column) in seen:
                continue
            seen.add(id(column))
            part = _part_of_column(scope, column, table, old)
            if part is None:
                continue
            is_returned = column.parent is scope.expression and column.arg_key == "expressions"
            alias = f" AS {quoted(old)}" if is_returned and part is column.this else ""
            yield _named(part, new, alias)


def _part_of_column(
    scope: Scope, column: exp.Column, table: TableName, old: str
) -> exp.Expr | None:
    """The identifier in a reference that stands for the column; None if none does."""
    qualifier = column.table.lower()
    if not qualifier:
        readable = [source for known in _outwards(scope) for source in known.sources.values()]
        is_his = any(isinstance(s, exp.Table) and table.is_named(s) for s in readable)
        return column.this if is_his and column.name.lower() == old.lower() else None
    for known in _outwards(scope):
        sources = {name.lower(): source for name, source in known.sources.items()}
        if qualifier in sources:
            source = sources[qualifier]
            is_his = isinstance(source, exp.Table) and table.is_named(source)
            return column.this if is_his and column.name.lower() == old.lower() else None
    # A field of a struct is written like a column of a table.
    return column.args["table"] if qualifier == old.lower() else None


def _outwards(scope: Scope) -> Iterator[Scope]:
    inner: Scope | None = scope
    while inner is not None:
        yield inner
        inner = inner.parent


def _named(identifier: exp.Expr, name: str, alias: str = "") -> _Edit:
    return _Edit(_start(identifier), _end(identifier), quoted(name) + alias)


def _start(identifier: exp.Expr) -> int:
    return int(identifier.meta["start"])


def _end(identifier: exp.Expr) -> int:
    return int(identifier.meta["end"]) + 1


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    for edit in sorted(set(edits), key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
