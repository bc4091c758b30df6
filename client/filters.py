"""Conditions on rows as programs write them: SQL text, tuples, or expressions of Arrow."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.definition.declared_type import CHAR_VARCHAR, COLLATIONS
from table_store.client.errors import (
    ExpressionFailedError,
    InvalidExpressionError,
    UnsupportedExpressionError,
)
from table_store.client.expressions.coercion import NotKnownError
from table_store.client.expressions.comparison import among, compared
from table_store.client.expressions.evaluation import holding
from table_store.client.expressions.expression import (
    Call,
    Column,
    Expression,
    columns_of,
    connected,
)
from table_store.client.expressions.pushdown import divided
from table_store.client.expressions.sql_reader import Names, as_condition
from table_store.client.expressions.sql_text import read_expression
from table_store.client.value_literal import value_literal
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.order.row_filter import can_evaluate, verdicts
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.types import BOOLEAN, to_arrow

Term: TypeAlias = "tuple[str, str, Any]"
Filter: TypeAlias = "str | pc.Expression | Predicate | Sequence[Term] | Sequence[Sequence[Term]]"
"""A condition: SQL text; `(column, operator, value)` terms, all of which hold; lists of such terms,
of which one holds; an expression of Arrow, with Arrow's own rules; or a predicate of storage."""

_OPERATORS: Final = {"==": "=", "<>": "!="} | {o: o for o in ("=", "!=", "<", "<=", ">", ">=")}
_POSITION: Final = "FieldPath("
"""How Arrow prints a column by its position; a text that has it only costs columns."""

_ARROW_REFUSALS: Final = (pa.ArrowException, LookupError, TypeError, ValueError)
_CHAR: Final = re.compile(r"char\(\s*(\d+)\s*\)", re.I)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A condition in the parts that different readers evaluate; rows satisfy all of them.

    `pushed` is evaluated by storage, `rest` and `arrow` on the rows that it returns. `columns` are
    those that `rest` and `arrow` look at. `arrow` is evaluated on the columns in `arrow_columns`
    in this order, to which its positions refer.
    """

    text: str = ""
    pushed: Predicate | None = None
    rest: Expression | None = None
    arrow: pc.Expression | None = None
    columns: frozenset[str] = frozenset()
    arrow_columns: tuple[str, ...] = ()

    @property
    def is_pushed(self) -> bool:
        """Whether storage evaluates all of it."""
        return self.rest is None and self.arrow is None

    def holding(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of storage that satisfy the rest.

        Raises:
            ExpressionFailedError: the condition has no result for a row.
        """
        if self.rest is not None:
            rows = holding(self.rest, rows, sql=self.text)
        if self.arrow is not None and rows.num_rows:
            seen = pa.Table.from_batches([rows]).select(list(self.arrow_columns))
            try:
                mask = verdicts(seen, self.arrow)
            except pa.ArrowInvalid as error:
                reason = str(error).strip().rstrip(".")
                raise ExpressionFailedError(expression=self.text, reason=reason) from error
            rows = rows.filter(mask.combine_chunks())
        return rows


EVERY_ROW: Final = RowFilter()


def row_filter(where: Filter | None, schema: TableSchema, zone: str | None) -> RowFilter:
    """Return the condition that `where` means; None means every row.

    Args:
        where: see `Filter`.
        schema: of the table; SQL text and tuples spell its names in any case.
        zone: in which timestamps without one are read; None refuses them.

    Raises:
        InvalidExpressionError: it is no condition on these columns.
        UnsupportedExpressionError: it has something that only Spark evaluates.
    """
    if where is None:
        return EVERY_ROW
    if isinstance(where, Predicate):
        return RowFilter(text=str(where.to_json()), pushed=where)
    if isinstance(where, pc.Expression):
        return _of_arrow(where, schema)
    names = names_of(schema, zone)
    text = where if isinstance(where, str) else shown_value(where)
    if isinstance(where, str):
        condition = as_condition(where, read_expression(where, names))
    else:
        condition = _of_terms(where, names, text)
    parts = divided(condition)
    needed = frozenset() if parts.rest is None else columns_of(parts.rest)
    return RowFilter(text=text, pushed=parts.pushed, rest=parts.rest, columns=needed)


def names_of(schema: TableSchema, zone: str | None) -> Names:
    """Return what expressions on a table may name."""
    columns, refused = {}, {}
    for field in schema.fields:
        metadata = dict(field.metadata)
        if COLLATIONS in metadata:
            refused[field.name.lower()] = f"column {field.name!r} has a collation"
        columns[field.name.lower()] = Column(field.name, field.type, char_length(field))
    return Names(columns, refused, zone)


def char_length(field: Field) -> int | None:
    """Return the length of a CHAR column; None for all others."""
    found = _CHAR.fullmatch(declared_text(field))
    return None if found is None else int(found[1])


def declared_text(field: Field) -> str:
    """Return how a column with CHAR or VARCHAR was declared; empty for all others."""
    return str(json.loads(dict(field.metadata).get(CHAR_VARCHAR, '""')))


def shown_value(value: object) -> str:
    """Return how errors show a value; scalars of Arrow may hold texts that are not UTF-8."""
    try:
        return str(value) if isinstance(value, pc.Expression) else repr(value)
    except UnicodeDecodeError:
        return type(value).__name__


def _of_arrow(where: pc.Expression, schema: TableSchema) -> RowFilter:
    columns = pa.schema([(field.name, to_arrow(field.type)) for field in schema.fields])
    text = shown_value(where)
    try:
        kind = verdicts(columns.empty_table(), where).type
    except _ARROW_REFUSALS as error:
        known = ", ".join(schema.column_names)
        reason = f"Arrow cannot evaluate it on the columns {known}"
        raise InvalidExpressionError(expression=text, reason=reason) from error
    if not pa.types.is_boolean(kind):
        reason = f"a condition is boolean, and this is {kind}"
        raise InvalidExpressionError(expression=text, reason=reason)
    if _POSITION in text or text == type(where).__name__:
        # A position is one among all columns of the table, in their order.
        needed = tuple(columns.names)
    else:
        needed = tuple(
            name
            for position, name in enumerate(columns.names)
            if not can_evaluate(columns.remove(position), where)
        )
    return RowFilter(text, arrow=where, columns=frozenset(needed), arrow_columns=needed)


def _of_terms(where: object, names: Names, text: str) -> Expression:
    if not isinstance(where, Sequence):
        reason = "it is neither SQL text nor a list of tuples (column, operator, value)"
        raise InvalidExpressionError(expression=text, reason=reason)
    if not where:
        raise InvalidExpressionError(expression=text, reason="there are no terms in it")
    groups = where if all(isinstance(one, list) for one in where) else [where]
    alternatives = []
    for group in groups:
        terms = [_term(term, names, text) for term in group]
        if not terms:
            raise InvalidExpressionError(expression=text, reason="a list of terms is empty")
        alternatives.append(connected("and", terms))
    return connected("or", alternatives)


def _term(term: object, names: Names, text: str) -> Expression:
    match term:
        case (str(name), str(operator), value):
            column = read_expression("`" + name.replace("`", "``") + "`", names)
        case _:
            reason = f"{term!r} is no tuple (column, operator, value)"
            raise InvalidExpressionError(expression=text, reason=reason)
    word = " ".join(operator.lower().split())
    try:
        if word in ("in", "not in"):
            if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
                reason = f"{operator} needs a list of values"
                raise InvalidExpressionError(expression=text, reason=reason)
            items = [value_literal(item, shown=text) for item in value]
            found = among(column, items, names.zone)
            return Call("not", (found,), BOOLEAN) if word == "not in" else found
        if word not in _OPERATORS:
            reason = f"{operator!r} is none of =, !=, <, <=, >, >=, in, not in"
            raise InvalidExpressionError(expression=text, reason=reason)
        literal = value_literal(value, shown=text)
        if literal.value is None:
            reason = "nothing is equal to None; say it in SQL, as in 'a IS NULL'"
            raise InvalidExpressionError(expression=text, reason=reason)
        return compared(_OPERATORS[word], column, literal, names.zone)
    except NotKnownError as error:
        raise UnsupportedExpressionError(sql=text, reason=str(error)) from error
