"""The columns that have a name at a place of a query, each with the columns that it comes from.

Names are found as Spark finds them: first as a column with a qualifier, then as one without, whose
further parts are fields of a struct; then as an alias further left in the same SELECT; then in the
query outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from table_store.catalog.names.identifier import Identifier

_QUALIFIER_LENGTH_MAX: Final = 3


class UnreadableQueryError(Exception):
    """A query has something of which it is not known what it means, so nothing is said of it."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a table that a query reads; of a struct the whole column."""

    table: Identifier
    name: str


Sources: TypeAlias = frozenset[SourceColumn]

NO_SOURCES: Final[Sources] = frozenset()


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result, and where its values come from.

    `name` is None where Spark makes one up from an expression.
    """

    name: str | None
    sources: Sources


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a result, and the columns that decide which rows it has."""

    columns: tuple[ResultColumn, ...]
    indirect: Sources = NO_SOURCES

    @property
    def sources(self) -> Sources:
        """Where the values of all columns come from."""
        return united(column.sources for column in self.columns)

    def renamed(self, names: Sequence[str]) -> Relation:
        """Return the same with other names, all of them."""
        if len(names) != len(self.columns):
            raise UnreadableQueryError("as many names as columns are needed")
        named = zip(self.columns, names, strict=True)
        return replace(self, columns=tuple(replace(column, name=name) for column, name in named))

    def cut_to(self, names: Sequence[str]) -> Relation:
        """Return the columns that the result had when it was defined; all if that is not known.

        A column that a table has got since is no part of a ``*``. Of several columns with one name
        each stays at its turn.

        Raises:
            UnreadableQueryError: the result has not had these columns.
        """
        if not names:
            return self
        if len(names) == len(self.columns):
            for column, name in zip(self.columns, names, strict=True):
                if column.name is not None and not _is_same(column.name, name):
                    raise UnreadableQueryError(f"Spark calls {column.name} {name}")
            return self.renamed(names)
        found = []
        for at, name in enumerate(names):
            same = [column for column in self.columns if _is_same(column.name, name)]
            turn = sum(_is_same(other, name) for other in names[:at])
            if turn >= len(same):
                raise UnreadableQueryError(f"the result has no column {name} any more")
            found.append(same[turn])
        return replace(self, columns=tuple(found))


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column, and the parts of the name of its table, in lower case.

    `is_hidden`: it is found only with a qualifier, as a column that USING has merged.
    """

    column: ResultColumn
    qualifier: tuple[str, ...] = ()
    is_hidden: bool = False

    def is_called(self, name: str) -> bool:
        """Whether the column has this name; case does not count."""
        return _is_same(self.column.name, name)

    def is_of(self, qualifier: tuple[str, ...]) -> bool:
        """Whether its table has this name or one that ends with it."""
        return self.qualifier[-len(qualifier) :] == qualifier


@dataclass(frozen=True, slots=True)
class Scope:
    """All columns at a place.

    Attributes:
        columns: in the order in which ``*`` has them.
        outer: the columns of the query outside.
        aliases: of the same SELECT, in lower case.
        is_alias_first: whether an alias hides a column, as in HAVING.
    """

    columns: tuple[ScopeColumn, ...] = ()
    outer: Scope | None = None
    aliases: Mapping[str, Sources] = field(default_factory=dict)
    is_alias_first: bool = False

    def found(self, parts: Sequence[str]) -> Sources:
        """Return where the values come from of what a name stands for.

        Raises:
            UnreadableQueryError: the name stands for nothing, or for several columns.
        """
        name = parts[0].lower()
        here = self._own(parts)
        alias = self.aliases.get(name)
        if alias is not None and self.is_alias_first and here not in (None, alias):
            raise UnreadableQueryError(f"{name} is a column and an alias")
        scope = self.outer
        while here is None and alias is None and scope is not None:
            here, scope = scope._own(parts), scope.outer
        if here is None and alias is None:
            raise UnreadableQueryError(f"there is no {'.'.join(parts)}")
        return here if here is not None else alias or NO_SOURCES

    def star(self, qualifier: Sequence[str] = ()) -> list[ResultColumn]:
        """Return the columns of ``*``, or of ``t.*``.

        Raises:
            UnreadableQueryError: there is no such table; it may be a struct.
        """
        if not qualifier:
            return [one.column for one in self.columns if not one.is_hidden]
        lower = tuple(part.lower() for part in qualifier)
        of_table = [one for one in self.columns if one.is_of(lower)]
        if not of_table:
            raise UnreadableQueryError(f"there is no table {'.'.join(qualifier)}")
        in_order = sorted(of_table, key=lambda one: not one.is_hidden)
        return [one.column for one in in_order]

    def _own(self, parts: Sequence[str]) -> Sources | None:
        lower = tuple(part.lower() for part in parts)
        for length in range(min(_QUALIFIER_LENGTH_MAX, len(parts) - 1), 0, -1):
            qualified = [
                one
                for one in self.columns
                if one.is_of(lower[:length]) and one.is_called(parts[length])
            ]
            if qualified:
                return _only(qualified)
        plain = [one for one in self.columns if one.is_called(parts[0]) and not one.is_hidden]
        return _only(plain) if plain else None


def qualified(relation: Relation, qualifier: Sequence[str]) -> tuple[ScopeColumn, ...]:
    """Return the columns of a relation under the name of a table."""
    lower = tuple(part.lower() for part in qualifier)
    return tuple(ScopeColumn(column, lower) for column in relation.columns)


def merged(
    left: Sequence[ScopeColumn], right: Sequence[ScopeColumn], names: Sequence[str], side: str
) -> tuple[ScopeColumn, ...]:
    """Return the columns of ``left JOIN right USING (names)``; `side` is LEFT, RIGHT, FULL or "".

    The merged columns come first. They are those of the left, of the right in a RIGHT JOIN, and
    new ones in a FULL JOIN; the others are found with a qualifier alone.

    Raises:
        UnreadableQueryError: a name is not found once on each side.
    """
    lefts, rights = [_named(left, name) for name in names], [_named(right, name) for name in names]
    match side:
        case "FULL":
            both = zip(names, lefts, rights, strict=True)
            first = [
                ScopeColumn(ResultColumn(name, a.column.sources | b.column.sources))
                for name, a, b in both
            ]
            hidden = [*lefts, *rights]
        case "RIGHT":
            first, hidden = rights, lefts
        case _:
            first, hidden = lefts, rights
    keys = [*lefts, *rights]
    others = [one for one in (*left, *right) if not any(one is key for key in keys)]
    return (*first, *others, *(replace(one, is_hidden=True) for one in hidden))


def keys_first(columns: Sequence[ScopeColumn], names: Sequence[str]) -> tuple[ScopeColumn, ...]:
    """Return the columns of ``left SEMI JOIN right USING (names)``, which are those of the left.

    Raises:
        UnreadableQueryError: a name is not found once.
    """
    keys = [_named(columns, name) for name in names]
    return (*keys, *(one for one in columns if not any(one is key for key in keys)))


def common_names(left: Sequence[ScopeColumn], right: Sequence[ScopeColumn]) -> list[str]:
    """Return the names that a NATURAL JOIN merges, in the order of the left.

    Raises:
        UnreadableQueryError: not all names are known.
    """
    names = [_known_name(one) for one in left if not one.is_hidden]
    others = {_known_name(one).lower() for one in right if not one.is_hidden}
    return [name for name in names if name.lower() in others]


def united(many: Iterable[Sources]) -> Sources:
    """Return the columns that are in any of these sets."""
    return NO_SOURCES.union(*many)


def _named(columns: Iterable[ScopeColumn], name: str) -> ScopeColumn:
    found = [one for one in columns if one.is_called(name) and not one.is_hidden]
    if len(found) != 1:
        raise UnreadableQueryError(f"there are {len(found)} columns {name}")
    return found[0]


def _known_name(one: ScopeColumn) -> str:
    if one.column.name is None:
        raise UnreadableQueryError("a column has no known name")
    return one.column.name


def _only(found: Sequence[ScopeColumn]) -> Sources:
    different = {one.column.sources for one in found}
    if len(different) != 1:
        raise UnreadableQueryError(f"there are {len(found)} columns {found[0].column.name}")
    return different.pop()


def _is_same(name: str | None, other: str) -> bool:
    return name is not None and name.lower() == other.lower()
