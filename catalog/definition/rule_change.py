"""Changes of what a table demands of its rows: CHECK constraints, NOT NULL and the primary key.

A rule that is added is true of later rows at once and of older ones only if somebody has looked, so
it comes in two changes: a constraint that is not verified, then the same one verified, or NOT NULL
in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from table_store.catalog.definition.declared_settings import is_quoted_as_usual
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.schema_evolution import set_not_null
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    InvalidSchemaError,
    NotFoundError,
)


@dataclass(frozen=True, slots=True)
class AddCheck:
    """A CHECK constraint from now on; it is not verified."""

    name: str
    condition: StoredExpression


@dataclass(frozen=True, slots=True)
class KeepCheck:
    """Older rows satisfy the constraint, too."""

    name: str


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """Remove a constraint."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RequireColumn:
    """NOT NULL at a column, in which no row has NULL, as whoever asks for it has made sure."""

    name: str


@dataclass(frozen=True, slots=True)
class AddPrimaryKey:
    """A key for a table without one, whose rows are then ordered by it."""

    name: str
    columns: tuple[str, ...]


RuleChange: TypeAlias = AddCheck | KeepCheck | DropConstraint | RequireColumn | AddPrimaryKey


def rule_from_spark(
    change: Mapping[str, object], settings: Mapping[str, str] | None = None
) -> AddCheck | AddPrimaryKey | DropConstraint:
    """Return the change of a constraint that the bridge sent; `settings` are the session's.

    Raises:
        InvalidSchemaError: a table cannot have such a constraint later on, or not at all.
    """
    if change["change"] == "drop_constraint":
        return DropConstraint(str(change["name"]), if_exists=bool(change.get("ifExists")))
    constraint = change["constraint"]
    assert isinstance(constraint, Mapping), "the bridge writes a record"
    name, kind = str(constraint["name"]), str(constraint["kind"])
    if kind == "check":
        condition = StoredExpression(str(constraint["condition"]), settings or {})
        return AddCheck(name, condition)
    if kind == "primary key":
        columns = constraint["columns"]
        assert isinstance(columns, Sequence), "the bridge writes a list of names"
        return AddPrimaryKey(name, tuple(".".join(path) for path in columns))
    raise unsupported_constraint(name, kind)


def unsupported_constraint(name: str, kind: str) -> InvalidSchemaError:
    """Return the error for a constraint of a kind that tables do not have."""
    return InvalidSchemaError(
        reason=f"constraint {name} ({kind}) is not supported; CHECK and PRIMARY KEY … NOT ENFORCED "
        "are"
    )


def with_rule(schema: TableSchema, change: RuleChange, *, since: int, time_ms: int) -> TableSchema:
    """Return the schema with a rule changed; `since` is the id that the result will have.

    Raises:
        AlreadyExistsError: a constraint has the name.
        NotFoundError: no constraint has it.
        InvalidSchemaError: it is the primary key, with which the rows move.
    """
    match change:
        case AddCheck(name, condition):
            if _named(schema, name) is not None or names_key(schema, name):
                raise AlreadyExistsError(kind="constraint", name=name)
            check = Check(name=name, condition=condition, since=since, is_verified=False)
            return replace(schema, checks=(*schema.checks, check))
        case KeepCheck(name):
            return replace(
                schema,
                checks=tuple(
                    replace(c, is_verified=True) if c.name.lower() == name.lower() else c
                    for c in schema.checks
                ),
            )
        case DropConstraint(name, if_exists):
            found = _named(schema, name)
            if found is None and names_key(schema, name):
                raise _only_alone(name)
            if found is None and not if_exists:
                raise NotFoundError(kind="constraint", name=name)
            return replace(schema, checks=tuple(c for c in schema.checks if c is not found))
        case RequireColumn(name):
            return set_not_null(schema, name, time_ms=time_ms)
        case AddPrimaryKey(name, _):
            raise _only_alone(name)


def pending_check(schema: TableSchema, change: RuleChange) -> AddCheck | None:
    """Return the constraint that stands in while older rows are looked at; None if none need be.

    One that was left by somebody who died meanwhile is taken up.
    """
    match change:
        case AddCheck():
            return change
        case RequireColumn(name):
            field = schema.field_named(name)
            if not field.nullable:
                return None
            condition = StoredExpression(f"{_quoted(field.name)} IS NOT NULL")
            check = f"{field.name}_not_null"
            while (found := _named(schema, check)) and found.condition != condition:
                check += "_"
            return AddCheck(check, condition)
    return None


def checks_of(schema: TableSchema, column: str) -> tuple[Check, ...]:
    """Return the constraints whose condition names a column, be it in part."""
    return tuple(c for c in schema.checks if list(mentions(c.condition, column)))


def renamed_checks(schema: TableSchema, old: str, new: str) -> tuple[Check, ...]:
    """Return the constraints as they are after a column has got another name."""
    return tuple(replace(c, condition=_renamed(c.condition, old, new)) for c in schema.checks)


def _named(schema: TableSchema, name: str) -> Check | None:
    return next((c for c in schema.checks if c.name.lower() == name.lower()), None)


def key_name(schema: TableSchema) -> str:
    """Return what the primary key of a table is called."""
    return schema.constraint_name or "pk"


def names_key(schema: TableSchema, name: str) -> bool:
    """Return whether it is the name of the table's primary key."""
    return bool(schema.primary_key) and key_name(schema).lower() == name.lower()


def _only_alone(name: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        reason=f"the primary key {name} is added or dropped by an ALTER TABLE of its own"
    )


def _renamed(condition: StoredExpression, old: str, new: str) -> StoredExpression:
    edits: Sequence[tuple[int, int]] = sorted(mentions(condition, old), reverse=True)
    text = condition.text
    for start, end in edits:
        text = text[:start] + _quoted(new) + text[end:]
    return condition.with_text(text)


def mentions(condition: StoredExpression, column: str) -> Sequence[tuple[int, int]]:
    """Return where a condition names a column, as start and end.

    Of `a.b.c` it is the `a`, for a condition has no tables.

    Raises:
        InvalidSchemaError: nobody knows, because Spark alone can read it.
    """
    if not is_quoted_as_usual(condition):
        raise _unclear(condition, column)
    try:
        query = sqlglot.parse_one(f"SELECT\n{condition.text}", dialect="spark")
    except SqlglotError:
        raise _unclear(condition, column) from None
    named = [part for part in query.find_all(exp.Identifier) if part.name.lower() == column.lower()]
    if named and query.find(exp.Lambda):
        raise _unclear(condition, column)  # the name may be that of the function's own argument
    shift = len("SELECT\n")
    first = [reference.parts[0] for reference in query.find_all(exp.Column)]
    return [
        (int(part.meta["start"]) - shift, int(part.meta["end"]) + 1 - shift)
        for part in first
        if part.name.lower() == column.lower()
    ]


def _unclear(condition: StoredExpression, column: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        reason=f"the constraint with the condition {condition.text} may use it; drop that first",
        column=column,
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
