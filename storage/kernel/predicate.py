"""Conditions on rows, as small values: evaluated by Arrow, and by statistics elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.values import JsonValue, Value, value_from_json, value_to_json

COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=", "<=>")

ColumnTypes: TypeAlias = Mapping[str, pa.DataType]
PredicateJson: TypeAlias = "dict[str, JsonValue | list[JsonValue] | PredicateJson]"

_UNKNOWN: Final = pc.scalar(pa.scalar(None, pa.bool_()))
_NO_TYPES: Final[ColumnTypes] = {}


@dataclass(frozen=True, slots=True)
class Predicate(ABC):
    """A condition in SQL's three-valued logic; the concrete ones are the subclasses below."""

    @abstractmethod
    def columns(self) -> frozenset[str]:
        """Return the names of the columns that the condition looks at."""

    @abstractmethod
    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:
        """Return the condition for `pyarrow` filters, which keep the rows where it is true.

        `types` are the columns' Arrow types. They are needed only where the literal alone does not
        tell the type: an integer stands for a date or timestamp outside of Python's range, or is
        compared with a floating-point column that holds NaN.
        """

    @abstractmethod
    def to_json(self) -> PredicateJson:
        """Return a mapping for `json.dumps`; `predicate_from_json` is the inverse."""


@dataclass(frozen=True, slots=True)
class Comparison(Predicate):
    """`column op value`; the value is not None.

    Floating-point numbers compare as Spark's do: NaN equals NaN and is greater than all others.
    """

    column: str
    op: str
    value: Value

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS or self.value is None:
            raise TableStoreError(f"No comparison: {self.column} {self.op} {self.value!r}.")

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return frozenset((self.column,))

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:
        """See `Predicate.to_expression`."""
        field, value = pc.field(self.column), _literal(self.value, types.get(self.column))
        if pa.types.is_floating(value.type):
            return _floating(field, self.op, value)
        return _plain(field, self.op, value)

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"column": self.column, "op": self.op, "value": value_to_json(self.value)}


@dataclass(frozen=True, slots=True)
class In(Predicate):
    """`column IN (values)`; no value is None, and without values the condition is false."""

    column: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if any(value is None for value in self.values):
            raise TableStoreError(f"NULL among the values of {self.column} IN (…).")

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return frozenset((self.column,))

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:
        """See `Predicate.to_expression`."""
        field = pc.field(self.column)
        if not self.values:
            return pc.scalar(False)
        array = _literals(self.values, types.get(self.column))
        found = field.isin(array)
        if pa.types.is_floating(array.type) and any(map(_is_nan, array)):
            found = found | pc.is_nan(field)
        # `is_in` is false for NULL, where SQL says unknown; the two differ under a NOT.
        found = pc.if_else(field.is_null(), _UNKNOWN, found)
        if not _is_bounded(array.type):
            return found
        # Arrow does not compare a list with the bounds of a row group, but does so with two ends.
        ends = pc.min_max(array)
        return (field >= ends["min"]) & (field <= ends["max"]) & found

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"column": self.column, "op": "in", "values": [*map(value_to_json, self.values)]}


@dataclass(frozen=True, slots=True)
class IsNull(Predicate):
    """`column IS NULL`."""

    column: str

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return frozenset((self.column,))

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:  # noqa: ARG002
        """See `Predicate.to_expression`."""
        return pc.field(self.column).is_null()

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"column": self.column, "op": "is null"}


@dataclass(frozen=True, slots=True)
class IsNotNull(Predicate):
    """`column IS NOT NULL`."""

    column: str

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return frozenset((self.column,))

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:  # noqa: ARG002
        """See `Predicate.to_expression`."""
        return pc.field(self.column).is_valid()

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"column": self.column, "op": "is not null"}


@dataclass(frozen=True, slots=True)
class StartsWith(Predicate):
    """`column LIKE 'prefix%'`."""

    column: str
    prefix: str

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return frozenset((self.column,))

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:  # noqa: ARG002
        """See `Predicate.to_expression`."""
        return pc.starts_with(pc.field(self.column), self.prefix)

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"column": self.column, "op": "starts with", "value": self.prefix}


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """`left AND right`."""

    left: Predicate
    right: Predicate

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return self.left.columns() | self.right.columns()

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:
        """See `Predicate.to_expression`."""
        return self.left.to_expression(types) & self.right.to_expression(types)

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"op": "and", "left": self.left.to_json(), "right": self.right.to_json()}


@dataclass(frozen=True, slots=True)
class Or(Predicate):
    """`left OR right`."""

    left: Predicate
    right: Predicate

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return self.left.columns() | self.right.columns()

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:
        """See `Predicate.to_expression`."""
        return self.left.to_expression(types) | self.right.to_expression(types)

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"op": "or", "left": self.left.to_json(), "right": self.right.to_json()}


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    """`NOT condition`; it is unknown where the condition is."""

    inner: Predicate

    def columns(self) -> frozenset[str]:
        """See `Predicate.columns`."""
        return self.inner.columns()

    def to_expression(self, types: ColumnTypes = _NO_TYPES) -> pc.Expression:
        """See `Predicate.to_expression`."""
        return ~self.inner.to_expression(types)

    def to_json(self) -> PredicateJson:
        """See `Predicate.to_json`."""
        return {"op": "not", "inner": self.inner.to_json()}


def predicate_from_json(item: object) -> Predicate:
    """Return the condition that `Predicate.to_json` described.

    Raises:
        TableStoreError: `item` is not such a form.
    """
    match item:
        case {"op": "and", "left": left, "right": right}:
            return And(predicate_from_json(left), predicate_from_json(right))
        case {"op": "or", "left": left, "right": right}:
            return Or(predicate_from_json(left), predicate_from_json(right))
        case {"op": "not", "inner": inner}:
            return Not(predicate_from_json(inner))
        case {"op": "is null", "column": str(column)}:
            return IsNull(column)
        case {"op": "is not null", "column": str(column)}:
            return IsNotNull(column)
        case {"op": "starts with", "column": str(column), "value": str(prefix)}:
            return StartsWith(column, prefix)
        case {"op": "in", "column": str(column), "values": list(values)}:
            return In(column, tuple(value_from_json(value) for value in values))
        case {"op": str(op), "column": str(column), "value": value}:
            return Comparison(column, op, value_from_json(value))
    raise TableStoreError(f"Not the JSON form of a condition: {item!r}.")


def _literal(value: Value, data_type: pa.DataType | None) -> pa.Scalar:
    scalar = pa.scalar(value)
    if data_type is None or not pa.types.is_integer(scalar.type):
        return scalar
    if pa.types.is_floating(data_type):
        return pa.scalar(float(scalar.as_py()))
    if pa.types.is_date32(data_type):
        return scalar.cast(pa.int32()).cast(data_type)
    return scalar.cast(data_type) if pa.types.is_temporal(data_type) else scalar


def _literals(values: Sequence[Value], data_type: pa.DataType | None) -> pa.Array:
    """All values of a list, as their column's type compares them, in one type."""
    is_as_written = data_type is None or pa.types.is_integer(data_type)
    if is_as_written and all(type(value) is int for value in values):
        return pa.array(values)  # much faster than one by one
    scalars = [_literal(value, data_type) for value in values]
    if any(pa.types.is_decimal(scalar.type) for scalar in scalars):
        # Each has come with as many digits as it needs.
        return pa.array([scalar.as_py() for scalar in scalars])
    if any(pa.types.is_floating(scalar.type) and scalar.as_py() == 0 for scalar in scalars):
        scalars += [pa.scalar(0.0), pa.scalar(-0.0)]  # one value to Spark, but two to `is_in`
    return pa.array(scalars)


def _is_bounded(data_type: pa.DataType) -> bool:
    """Whether the least and the greatest value bound all others, and compare as they are."""
    kinds = (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp, pa.types.is_string)
    return any(is_kind(data_type) for is_kind in kinds)


def _is_nan(scalar: pa.Scalar) -> bool:
    value = scalar.as_py() if pa.types.is_floating(scalar.type) else None
    return value is not None and value != value


def _plain(field: pc.Expression, op: str, value: pa.Scalar) -> pc.Expression:
    match op:
        case "=":
            return field == value
        case "!=":
            return field != value
        case "<":
            return field < value
        case "<=":
            return field <= value
        case ">":
            return field > value
        case ">=":
            return field >= value
    return pc.coalesce(field == value, pc.scalar(False))


def _floating(field: pc.Expression, op: str, value: pa.Scalar) -> pc.Expression:
    is_nan = pc.is_nan(field)
    if not _is_nan(value):
        plain = _plain(field, op, value)
        return plain | is_nan if op in (">", ">=") else plain
    match op:
        case "=" | ">=":
            return is_nan
        case "<=>":
            return pc.coalesce(is_nan, pc.scalar(False))
        case "!=" | "<":
            return ~is_nan
        case "<=":
            return is_nan | ~is_nan
    return is_nan & ~is_nan


def conjunction(terms: Sequence[Predicate]) -> Predicate | None:
    """Return the condition that all terms hold, as a tree of little depth; None without terms."""
    if len(terms) < 2:
        return terms[0] if terms else None
    half = (len(terms) + 1) // 2
    left, right = conjunction(terms[:half]), conjunction(terms[half:])
    return left if right is None else right if left is None else And(left, right)
