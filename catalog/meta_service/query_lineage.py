"""From which columns of which tables each column of a query's result comes.

sqlglot parses the text; what it says is read strictly: an operator, a name or a clause that is not
known here makes the whole query unreadable, so that nothing wrong is said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final, TypeAlias

from sqlglot import exp

from table_store.catalog.meta_service.query_clauses import (
    ORDERS,
    check_groupings,
    check_known,
    column_aliases,
    grouped_by_all,
    is_relation,
    left_out,
    result_names,
    star_of,
    table_alias,
    unaliased,
)
from table_store.catalog.meta_service.query_scope import (
    NO_SOURCES,
    Relation,
    ResultColumn,
    Scope,
    ScopeColumn,
    Sources,
    UnreadableQueryError,
    common_names,
    keys_first,
    merged,
    qualified,
    united,
)

NameParts: TypeAlias = tuple[str, ...]
"""A name as a query has it, of one part to three."""

FindRelation: TypeAlias = Callable[[NameParts], tuple[NameParts, Relation]]
"""Returns the whole name of a table or view, and its columns; raises `UnreadableQueryError`."""

_CommonTables: TypeAlias = Mapping[str, Callable[[], Relation]]

_JOINS_OF_LEFT: Final = ("SEMI", "ANTI")
_GENERATORS: Final = (exp.Explode, exp.Posexplode, exp.Inline, exp.Stack)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a query stands: the tables of WITH, the columns outside of it and the named windows."""

    common: _CommonTables = field(default_factory=dict)
    outer: Scope | None = None
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Use:
    """What an expression's value comes from, and what decides on rows in its subqueries."""

    values: Sources = NO_SOURCES
    indirect: Sources = NO_SOURCES

    @property
    def all(self) -> Sources:
        return self.values | self.indirect


@dataclass(frozen=True, slots=True)
class QueryReader:
    """Reads a query.

    Attributes:
        find: what its names stand for.
        lost: words, in lower case, that sqlglot has not taken as names; none may be a column's.
    """

    find: FindRelation
    lost: Set[str] = frozenset()

    def result(self, query: exp.Expr, common: exp.With | None = None) -> Relation:
        """Return the columns of a query's result; `common` are tables of a WITH in front of it.

        Raises:
            UnreadableQueryError: it has something that is not known here.
        """
        return self._query(query, self._with(common, _Place()))

    def expression(self, expression: exp.Expr, relation: Relation) -> Sources:
        """Return what the value of an expression over the columns of a relation comes from.

        Raises:
            UnreadableQueryError: it has something that is not known here.
        """
        return self._use(expression, self._scope(qualified(relation, ())), _Place()).values

    def _scope(self, columns: tuple[ScopeColumn, ...], outer: Scope | None = None) -> Scope:
        for one in columns:
            if (one.column.name or "").lower() in self.lost:
                raise UnreadableQueryError(f"{one.column.name} may be something else")
        return Scope(columns, outer)

    # -- queries -----------------------------------------------------------------------------------

    def _query(self, query: exp.Expr, place: _Place) -> Relation:
        match query:
            case exp.Select():
                return self._select(query, place)
            case exp.SetOperation():
                return self._set_operation(query, place)
            case exp.Subquery():
                check_known(query)
                place = self._with(query.args.get("with_"), place)
                return self._cut(query, self._query(query.this, place), place)
            case exp.Values():
                return self._values(query, place)
        raise UnreadableQueryError(f"not a query: {query.key}")

    def _with(self, common: exp.Expr | None, place: _Place) -> _Place:
        if common is None:
            return place
        check_known(common)
        for one in common.expressions:
            check_known(one)
            read = cache(partial(self._named, one, one.this, place))
            place = replace(place, common={**place.common, one.alias.lower(): read})
        return place

    def _named(self, node: exp.Expr, query: exp.Expr, place: _Place) -> Relation:
        return _aliased(node, self._query(query, place))

    def _set_operation(self, query: exp.SetOperation, place: _Place) -> Relation:
        check_known(query)
        place = self._with(query.args.get("with_"), place)
        left, right = self._query(query.this, place), self._query(query.expression, place)
        if len(left.columns) != len(right.columns):
            raise UnreadableQueryError("two results with other numbers of columns")
        indirect = left.indirect | right.indirect
        is_union = isinstance(query, exp.Union)
        if not is_union or query.args.get("distinct"):
            indirect |= left.sources | right.sources
        columns = left.columns
        if is_union:
            columns = tuple(
                replace(one, sources=one.sources | other.sources)
                for one, other in zip(columns, right.columns, strict=True)
            )
        return self._cut(query, Relation(columns, indirect), place)

    def _values(self, values: exp.Values, place: _Place) -> Relation:
        check_known(values)
        rows = [
            row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions
        ]
        scope = Scope(outer=place.outer)
        uses = [[self._use(cell, scope, place) for cell in row] for row in rows]
        if len({len(row) for row in uses}) != 1:
            raise UnreadableQueryError("rows with other numbers of columns")
        columns = tuple(
            ResultColumn(f"col{number}", united(use.values for use in column))
            for number, column in enumerate(zip(*uses, strict=True), start=1)
        )
        return Relation(columns, united(use.indirect for row in uses for use in row))

    def _cut(
        self, query: exp.Expr, relation: Relation, place: _Place, scope: Scope | None = None
    ) -> Relation:
        """A result of which LIMIT leaves the first rows in an order, by names of a scope."""
        found = relation.indirect
        if query.args.get("limit") or query.args.get("offset"):
            known = scope or Scope(qualified(relation, ()), place.outer)
            for clause in ORDERS:
                used = query.args.get(clause)
                found |= self._keys(used, known, place, relation.columns)
        return replace(relation, indirect=found)

    # -- SELECT ------------------------------------------------------------------------------------

    def _select(self, select: exp.Select, place: _Place) -> Relation:
        check_known(select)
        place = self._with(select.args.get("with_"), place)
        columns, indirect = self._from(select, place)
        scope = self._scope(columns, place.outer)
        windows = {w.name.lower(): w for w in select.args.get("windows") or ()}
        place = replace(place, windows=windows)
        found, aliases, inner = self._items(select, scope, place)
        indirect |= inner | self._all(select.args.get("where"), scope, place)
        by_alias = replace(scope, aliases=aliases)
        indirect |= self._group(select, by_alias, place, found)
        after = replace(by_alias, is_alias_first=True)
        for clause in ("having", "qualify"):
            indirect |= self._all(select.args.get(clause), after, place)
        relation = Relation(tuple(found), indirect)
        distinct = select.args.get("distinct")
        if distinct:
            check_known(distinct)
            relation = replace(relation, indirect=indirect | relation.sources)
        return self._cut(select, relation, place, after)

    def _items(
        self, select: exp.Select, scope: Scope, place: _Place
    ) -> tuple[list[ResultColumn], dict[str, Sources], Sources]:
        """The columns of a SELECT list, those of them with an alias, and what decides on rows."""
        found: list[ResultColumn] = []
        aliases: dict[str, Sources] = {}
        indirect = NO_SOURCES
        for item in select.expressions:
            star = star_of(item)
            if star is not None:
                found += self._expanded(item, star, scope)
                continue
            use = self._use(unaliased(item), replace(scope, aliases=dict(aliases)), place)
            names = result_names(item)
            found += [ResultColumn(name, use.values) for name in names]
            indirect |= use.indirect
            if isinstance(item, exp.Alias | exp.Aliases):
                aliases.update((name.lower(), use.values) for name in names if name is not None)
        return found, aliases, indirect

    def _expanded(self, item: exp.Expr, star: exp.Star, scope: Scope) -> list[ResultColumn]:
        qualifier = [part.name for part in item.parts[:-1]] if isinstance(item, exp.Column) else []
        found = scope.star(qualifier)
        for name in left_out(star):
            kept = [one for one in found if one.name is None or one.name.lower() != name]
            if len(kept) != len(found) - 1:
                raise UnreadableQueryError(f"there is no column {name} to leave out")
            found = kept
        return found

    def _group(
        self, select: exp.Select, scope: Scope, place: _Place, items: list[ResultColumn]
    ) -> Sources:
        group = select.args.get("group")
        if group is None:
            return NO_SOURCES
        if group.args.get("all"):
            keys = grouped_by_all(select.expressions)
            return united(self._use(key, scope, place).all for key in keys)
        check_groupings(group)
        return self._keys(group, scope, place, items)

    def _keys(
        self, clause: exp.Expr | None, scope: Scope, place: _Place, items: Sequence[ResultColumn]
    ) -> Sources:
        """What GROUP BY and ORDER BY name; a whole number is the position of a column."""
        if clause is None:
            return NO_SOURCES
        found = NO_SOURCES
        for part in clause.iter_expressions():
            key = part.this if isinstance(part, exp.Ordered) else part
            if isinstance(key, exp.Literal) and key.is_int:
                if not 0 < int(key.name) <= len(items):
                    raise UnreadableQueryError(f"there is no column {key.name}")
                found |= items[int(key.name) - 1].sources
            else:
                found |= self._use(key, scope, place).all
        return found

    # -- FROM --------------------------------------------------------------------------------------

    def _from(self, select: exp.Select, place: _Place) -> tuple[tuple[ScopeColumn, ...], Sources]:
        clause = select.args.get("from_")
        columns: tuple[ScopeColumn, ...] = ()
        indirect = NO_SOURCES
        if clause is not None:
            columns, indirect = self._relation(clause.this, place, ())
        columns, indirect = self._joined(select, place, columns, indirect)
        for lateral in select.args.get("laterals") or ():
            added, used = self._lateral(lateral, place, columns)
            columns, indirect = (*columns, *added), indirect | used
        return columns, indirect

    def _joined(
        self, node: exp.Expr, place: _Place, left: tuple[ScopeColumn, ...], indirect: Sources
    ) -> tuple[tuple[ScopeColumn, ...], Sources]:
        for join in node.args.get("joins") or ():
            check_known(join)
            right, used = self._relation(join.this, place, left)
            names = [one.name for one in join.args.get("using") or ()]
            if join.method.upper() == "NATURAL":
                names = common_names(left, right)
            elif join.method:
                raise UnreadableQueryError(f"a {join.method} JOIN")
            both = Scope((*left, *right), place.outer)
            indirect |= used | self._all(join.args.get("on"), both, place)
            side, kind = join.side.upper(), join.kind.upper()
            columns = merged(left, right, names, side) if names else both.columns
            for name in names:
                pair = [one for one in (*left, *right) if one.is_called(name) and not one.is_hidden]
                indirect |= united(one.column.sources for one in pair)
            left = keys_first(left, names) if kind in _JOINS_OF_LEFT else columns
        return left, indirect

    def _relation(
        self, node: exp.Expr, place: _Place, left: tuple[ScopeColumn, ...]
    ) -> tuple[tuple[ScopeColumn, ...], Sources]:
        match node:
            case exp.Table():
                check_known(node)
                columns, indirect = self._table(node, place)
            case exp.Subquery() if is_relation(node.this):
                check_known(node)
                columns, indirect = self._relation(node.this, place, ())
                if node.alias:
                    whole = Relation(tuple(one.column for one in columns if not one.is_hidden))
                    columns = qualified(_aliased(node, whole), (node.alias,))
            case exp.Subquery() | exp.Values():
                found = self._named(node, node, place)
                columns, indirect = qualified(found, table_alias(node)), found.indirect
            case exp.Lateral():
                columns, indirect = self._lateral(node, place, left)
            case _:
                raise UnreadableQueryError(f"not a relation: {node.key}")
        return self._joined(node, place, columns, indirect)

    def _table(self, node: exp.Table, place: _Place) -> tuple[tuple[ScopeColumn, ...], Sources]:
        if not isinstance(node.this, exp.Identifier):
            if not isinstance(node.this, exp.Anonymous) or node.this.name.lower() != "range":
                raise UnreadableQueryError("a function that makes a table")
            found = _aliased(node, Relation((ResultColumn("id", NO_SOURCES),)))
            return qualified(found, table_alias(node) or ("range",)), NO_SOURCES
        parts = tuple(part.name for part in node.parts)
        common = place.common.get(parts[0].lower()) if len(parts) == 1 else None
        whole, found = (parts, common()) if common is not None else self.find(parts)
        return qualified(_aliased(node, found), table_alias(node) or whole), found.indirect

    def _lateral(
        self, node: exp.Lateral, place: _Place, left: tuple[ScopeColumn, ...]
    ) -> tuple[tuple[ScopeColumn, ...], Sources]:
        check_known(node)
        scope = Scope(left, place.outer)
        if isinstance(node.this, exp.Subquery):
            found = self._query(node.this, replace(place, outer=scope))
        elif node.args.get("view") or isinstance(node.this, _GENERATORS):
            names = column_aliases(node)
            if not names:
                raise UnreadableQueryError("a generator whose columns have no names")
            use = self._use(node.this, scope, place)
            found = Relation(tuple(ResultColumn(n, use.values) for n in names), use.indirect)
        else:
            raise UnreadableQueryError(f"LATERAL {node.this.key}")
        return qualified(_aliased(node, found), table_alias(node)), found.indirect

    # -- expressions -------------------------------------------------------------------------------

    def _all(self, clause: exp.Expr | None, scope: Scope, place: _Place) -> Sources:
        return NO_SOURCES if clause is None else self._use(clause, scope, place).all

    def _use(
        self,
        node: exp.Expr,
        scope: Scope,
        place: _Place,
        variables: frozenset[str] = frozenset(),
    ) -> _Use:
        match node:
            case exp.Column() if isinstance(node.this, exp.Star):
                columns = scope.star([part.name for part in node.parts[:-1]])
                return _Use(united(one.sources for one in columns))
            case exp.Column():
                parts = [part.name for part in node.parts]
                return _Use() if parts[0].lower() in variables else _Use(scope.found(parts))
            case exp.Count(this=exp.Star()):
                return _Use()
            case exp.Star():
                return _Use(united(one.sources for one in scope.star()))
            case exp.Exists() if isinstance(node.this, exp.Query):
                found = self._query(node.this, replace(place, outer=scope))
                return _Use(indirect=found.indirect)
            case exp.Query():
                found = self._query(node, replace(place, outer=scope))
                return _Use(found.sources, found.indirect)
            case exp.Lambda():
                variables |= {one.name.lower() for one in node.expressions}
                children = [node.this]
            case _:
                children = list(node.iter_expressions())
                named = node.args.get("alias") if isinstance(node, exp.Window) else None
                if named is not None:
                    if named.name.lower() not in place.windows:
                        raise UnreadableQueryError(f"there is no window {named.name}")
                    children.append(place.windows[named.name.lower()])
        uses = [self._use(child, scope, place, variables) for child in children]
        return _Use(united(use.values for use in uses), united(use.indirect for use in uses))


def _aliased(node: exp.Expr, relation: Relation) -> Relation:
    names = column_aliases(node)
    return relation.renamed(names) if names else relation
