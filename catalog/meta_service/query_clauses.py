"""The clauses of a query, as sqlglot parses them: what of them is read, and the names in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from table_store.catalog.meta_service.query_scope import UnreadableQueryError

ORDERS: Final = ("order", "sort", "distribute", "cluster")
"""Clauses that say which rows are the first ones, which matters for LIMIT alone."""

_OF_QUERY: Final = ("order", "limit", "offset", "with_")
_SET_OPERATION: Final = frozenset(("this", "expression", "distinct", *_OF_QUERY))
_SELECT: Final = (
    *("expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify"),
    *("windows", "distinct", "sort", "cluster", "distribute", "hint"),
)
_KNOWN: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Select: frozenset((*_SELECT, *_OF_QUERY)),
    exp.Union: _SET_OPERATION,
    exp.Except: _SET_OPERATION,
    exp.Intersect: _SET_OPERATION,
    exp.Subquery: frozenset(("this", "alias", "joins", "sample", *_OF_QUERY)),
    exp.Table: frozenset(("this", "db", "catalog", "alias", "joins", "sample", "hints")),
    exp.Values: frozenset(("expressions", "alias")),
    exp.Join: frozenset(("this", "on", "using", "side", "kind", "method", "hint")),
    exp.Lateral: frozenset(("this", "view", "outer", "alias")),
    exp.Star: frozenset(("except_",)),
    exp.Distinct: frozenset(),
    exp.With: frozenset(("expressions",)),
    exp.CTE: frozenset(("this", "alias")),
    exp.Insert: frozenset(("this", "expression", "by_name", "with_")),
}


def check_known(node: exp.Expr) -> None:
    """Return quietly if a clause has nothing but what is read of it.

    Raises:
        UnreadableQueryError: it has more, such as a PIVOT.
    """
    unknown = [key for key, value in node.args.items() if value and key not in _KNOWN[type(node)]]
    if unknown:
        raise UnreadableQueryError(f"{node.key} with {unknown[0]}")


def star_of(item: exp.Expr) -> exp.Star | None:
    """Return the star of ``*`` or ``t.*``; None if an item of a SELECT list is neither."""
    star = item.this if isinstance(item, exp.Column) else item
    return star if isinstance(star, exp.Star) else None


def left_out(star: exp.Star) -> list[str]:
    """Return the columns, in lower case, that EXCEPT leaves out of a star.

    Raises:
        UnreadableQueryError: one is a part of a struct, or the star has another clause.
    """
    check_known(star)
    columns = star.args.get("except_") or ()
    if any(isinstance(column, exp.Column) and column.table for column in columns):
        raise UnreadableQueryError("a part of a column is left out")
    return [column.name.lower() for column in columns]


def unaliased(item: exp.Expr) -> exp.Expr:
    """Return the expression of an item of a SELECT list."""
    inner: exp.Expr = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
    return inner


def result_names(item: exp.Expr) -> list[str | None]:
    """Return how Spark calls the columns of a SELECT item; None if it makes up a name."""
    match item:
        case exp.Alias():
            return [item.alias]
        case exp.Aliases():
            return [one.name for one in item.expressions]
        case exp.Column():
            return [item.name]
        case exp.Cast() if isinstance(item.this, exp.Column):
            return [item.this.name]
        case exp.Dot():
            root = item.this
            while isinstance(root, exp.Dot):
                root = root.this
            return [item.expression.name if isinstance(root, exp.Column) else None]
    return [None]


def check_groupings(group: exp.Group) -> None:
    """Return quietly if no grouping of several has a number, which may be a column's position.

    Raises:
        UnreadableQueryError: one has.
    """
    for several in group.find_all(exp.Cube, exp.Rollup, exp.GroupingSets):
        if several.find(exp.Literal):
            raise UnreadableQueryError("a number in one grouping of several")


def grouped_by_all(items: list[exp.Expr]) -> list[exp.Expr]:
    """Return what GROUP BY ALL groups by: the items of a SELECT list without aggregates.

    Raises:
        UnreadableQueryError: that cannot be told from their text.
    """
    unclear = (exp.Anonymous, exp.Window, exp.Query)
    if any(star_of(item) is not None or item.find(*unclear) for item in items):
        raise UnreadableQueryError("GROUP BY ALL of items that may have aggregates")
    of_groups = [item for item in items if item.find(exp.AggFunc)]
    for column in (column for item in of_groups for column in item.find_all(exp.Column)):
        if column.find_ancestor(exp.AggFunc) is None:
            raise UnreadableQueryError("GROUP BY ALL of a part of an item")
    return [unaliased(item) for item in items if not item.find(exp.AggFunc)]


def is_relation(node: exp.Expr) -> bool:
    """Return whether what is in parentheses after FROM is a relation itself, and no query."""
    is_joined = bool(node.args.get("joins") or node.args.get("alias"))
    return isinstance(node, exp.Table) or (isinstance(node, exp.Subquery) and is_joined)


def table_alias(node: exp.Expr) -> tuple[str, ...]:
    """Return the alias of a relation, as a qualifier; empty without."""
    return (node.alias,) if node.alias else ()


def column_aliases(node: exp.Expr) -> list[str]:
    """Return the names that a relation's alias gives its columns; empty if it gives none."""
    alias = node.args.get("alias")
    return [one.name for one in alias.columns] if isinstance(alias, exp.TableAlias) else []
