"""What a statement does to a database, as the steps between which others may come.

What is promised, and what the steps therefore are:

- A statement is about the table that its name stood for at one moment while it ran (a step of its
  own: a table keeps its identity through RENAME, and what is written to one that was dropped since
  is gone with it).
- A read sees one snapshot: one step, all of its rows at once.
- UPDATE, DELETE, MERGE, INSERT OVERWRITE and ALTER are serialisable: what they read and what they
  write is one step, with nothing between (no lost update). So are INSERT of values and TRUNCATE,
  which read nothing.
- INSERT ... SELECT reads a snapshot, and later adds what it found: two steps.
- The columns that a statement names are those of the moment at which it found its table; one that
  has another name since then is still the same.
- COMPACT and the expiry of snapshots change nothing; a stream is as many steps as it has batches.
- A statement that fails with an error which says so has done nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.campaign.sessions.database import Content, Database, Row

Memory: TypeAlias = tuple[object, ...]
"""What a statement knows from its earlier steps."""

Step: TypeAlias = Callable[[Database, Memory], tuple[Database, Memory] | None]
"""What follows on a step at some moment; None where it cannot have happened then."""

Change: TypeAlias = Callable[[Content], Content | None]
"""A table after a statement; None where it does not fit the table's columns and has to fail."""

Answer: TypeAlias = tuple[tuple[str, ...], tuple[Row, ...]]
"""Columns and sorted rows that a read returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement's text and meaning; exactly one of the last four says what it does.

    `changes` are several for the batches of a stream. `reads` tells what a query returns.
    `copies` are the rows that an INSERT ... SELECT finds. `defines` changes names. One that
    `is_of_columns` changes what the table's columns are.
    """

    sql: str
    name: str
    changes: tuple[Change, ...] = ()
    reads: Callable[[Content], Answer | None] | None = None
    copies: Callable[[Content], tuple[dict[str, int | None], ...] | None] | None = None
    defines: Callable[[Database], Database | None] | None = None
    rows_of_stream: tuple[Row, ...] = ()
    is_of_columns: bool = False

    def steps(self, answer: Answer | None) -> Sequence[Step]:
        """Return the steps of the statement, which succeeded; `answer` is what it returned."""
        if self.defines is not None:
            return [_defining(self.defines)]
        if self.reads is not None:
            return [_naming(self.name), _reading(self.reads, answer)]
        if self.copies is not None:
            return [_naming(self.name), _finding(self.copies), _adding]
        changing = _altering if self.is_of_columns else _changing
        return [_naming(self.name), *map(changing, self.changes)]

    def steps_without_table(self) -> Sequence[Step]:
        """Return the steps where it failed because there is no table of the name, or one."""
        define = self.defines
        if define is None:
            return [_absent(self.name)]
        return [lambda db, memory: (db, memory) if define(db) is None else None]

    def steps_not_fitting(self) -> Sequence[Step]:
        """Return the steps where it failed because of the table's columns."""
        fits: Callable[[Content], object] | None = self.reads or self.copies
        fits = fits or (self.changes[0] if self.changes else None)
        return [_naming(self.name), _not_fitting(fits)]


def _naming(name: str) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        number = database.table_of(name)
        if number is None:
            return None
        return database, (number, database.tables[number].holding(()))

    return step


def _absent(name: str) -> Step:
    return lambda db, memory: (db, memory) if db.table_of(name) is None else None


def _defining(defines: Callable[[Database], Database | None]) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        after = defines(database)
        return None if after is None else (after, memory)

    return step


def _table(database: Database, memory: Memory) -> tuple[int, Content]:
    number = memory[0]
    assert isinstance(number, int), "the first step has found the table"
    return number, database.tables[number]


def _reading(reads: Callable[[Content], Answer | None], answer: Answer | None) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        content = _table(database, memory)[1].like(_begun(memory))
        return (database, memory) if reads(content) == answer else None

    return step


def _altering(change: Change) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        number, content = _table(database, memory)
        after = change(content)
        return None if after is None else (database.with_table(number, after), memory)

    return step


def _changing(change: Change) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        number, content = _table(database, memory)
        after = change(content.like(_begun(memory)))
        if after is None:
            return None
        return database.with_table(number, after.like(content)), memory

    return step


def _begun(memory: Memory) -> Content:
    """The table as the statement found it, without its rows."""
    content = memory[1]
    assert isinstance(content, Content), "the first step has found the table"
    return content


def _not_fitting(fits: Callable[[Content], object] | None) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        content = _table(database, memory)[1]
        return (database, memory) if fits is None or fits(content) is None else None

    return step


def _finding(copies: Callable[[Content], tuple[dict[str, int | None], ...] | None]) -> Step:
    def step(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
        found = copies(_table(database, memory)[1].like(_begun(memory)))
        if found is None:
            return None
        return database, (*memory, tuple(tuple(row.items()) for row in found))

    return step


def _adding(database: Database, memory: Memory) -> tuple[Database, Memory] | None:
    number, content = _table(database, memory)
    found, begun = memory[2], _begun(memory)
    assert isinstance(found, tuple), "the step before has found the rows"
    if any(column not in begun.columns for row in found for column, _ in row):
        return None
    seen = content.like(begun)
    after = seen.adding([begun.row_of(**dict(row)) for row in found])
    return database.with_table(number, after.like(content)), memory
