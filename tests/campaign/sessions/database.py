"""Tables as values: what names stand for, and the columns and rows of each table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

Row: TypeAlias = tuple[int | None, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Columns and rows of a table, the rows sorted; the first column is the key if it has one.

    A column keeps its number in `numbers` through a change of its name, and no other gets it;
    there have been `used` of them.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    has_key: bool
    numbers: tuple[int, ...]
    used: int

    @staticmethod
    def empty(columns: tuple[str, ...], *, has_key: bool) -> Content:
        """Return a new table."""
        numbers = tuple(range(len(columns)))
        return Content(
            columns=columns, rows=(), has_key=has_key, numbers=numbers, used=len(columns)
        )

    def with_column(self, column: str) -> Content:
        """Return the table with one more column, which is NULL."""
        added = replace(
            self,
            columns=(*self.columns, column),
            numbers=(*self.numbers, self.used),
            used=self.used + 1,
        )
        return added.holding((*row, None) for row in self.rows)

    def without_column(self, column: str) -> Content:
        """Return the table without a column."""
        at = self.columns.index(column)
        rest = replace(self, columns=_without(self.columns, at), numbers=_without(self.numbers, at))
        return rest.holding(_without(row, at) for row in self.rows)

    def like(self, other: Content) -> Content:
        """Return the same rows with the columns of another moment; what is not here is NULL."""
        at = [self.numbers.index(n) if n in self.numbers else None for n in other.numbers]
        rows = ([None if i is None else row[i] for i in at] for row in self.rows)
        return other.holding(map(tuple, rows))

    def holding(self, rows: Iterable[Row]) -> Content:
        """Return the table with these rows in place of its own."""
        return replace(self, rows=tuple(sorted(rows, key=_order)))

    def adding(self, added: Iterable[Row]) -> Content:
        """Return the table after an INSERT: with a key, the last row of each key stays."""
        if not self.has_key:
            return self.holding([*self.rows, *added])
        return self.holding({row[0]: row for row in (*self.rows, *added)}.values())

    def value(self, row: Row, column: str) -> int | None:
        """Return what a row holds in a column."""
        return row[self.columns.index(column)]

    def row_of(self, **values: int | None) -> Row:
        """Return a row with these values, and NULL in all other columns."""
        return tuple(values.get(column) for column in self.columns)


def _without(values: tuple[T, ...], at: int) -> tuple[T, ...]:
    return (*values[:at], *values[at + 1 :])


def _order(row: Row) -> list[tuple[bool, int]]:
    return [(value is not None, value or 0) for value in row]


@dataclass(frozen=True, slots=True)
class Database:
    """What each name stands for, and every table that there ever was, by its number."""

    names: tuple[tuple[str, int], ...] = ()
    tables: tuple[Content, ...] = ()

    def table_of(self, name: str) -> int | None:
        """Return the number of the table of this name; None if there is none."""
        return dict(self.names).get(name)

    def creating(self, name: str, content: Content) -> Database:
        """Return the database with a new table, in place of any other of its name."""
        names = {**dict(self.names), name: len(self.tables)}
        return Database(tuple(sorted(names.items())), (*self.tables, content))

    def renaming(self, name: str, target: str) -> Database | None:
        """Return the database after RENAME; None where it has to fail."""
        names = dict(self.names)
        if name not in names or target in names:
            return None
        names[target] = names.pop(name)
        return Database(tuple(sorted(names.items())), self.tables)

    def dropping(self, name: str) -> Database | None:
        """Return the database after DROP; None where it has to fail."""
        names = dict(self.names)
        if names.pop(name, None) is None:
            return None
        return Database(tuple(sorted(names.items())), self.tables)

    def with_table(self, number: int, content: Content) -> Database:
        """Return the database with other content of one table."""
        tables = (*self.tables[:number], content, *self.tables[number + 1 :])
        return Database(self.names, tables)
