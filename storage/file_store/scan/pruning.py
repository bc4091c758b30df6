"""Which files can hold rows that a predicate selects: vectorised over the list of live files.

A predicate is evaluated to three masks: the files that may have a row for which it is true, false,
or (because of NULL) unknown. NOT swaps the first two. A file stays if too little is known of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.key_sections import section_numbers
from table_store.storage.kernel.arrays import Mask
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from table_store.storage.kernel.types import to_arrow
from table_store.storage.kernel.values import Value, python_value


@dataclass(frozen=True, slots=True)
class Outcomes:
    """For each file: which values the predicate may have for some row."""

    may_be_true: Mask
    may_be_false: Mask
    may_be_unknown: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of one column per file, or group of files. NULL bounds are unknown."""

    low: pa.ChunkedArray
    high: pa.ChunkedArray
    some_null: Mask
    some_value: Mask


def prune(live: LiveFiles, predicate: Predicate | None) -> LiveFiles:
    """Return the files that a scan with this predicate must read.

    In a table with key, a file may hide older rows in files it overlaps. So conditions on key
    and partition columns exclude single files; conditions on other columns exclude a file only
    together with all files it overlaps.
    """
    if predicate is None or not live.file_count:
        return live
    keyed = bool(live.schema.primary_key)
    names = {n.lower() for n in (*live.schema.primary_key, *live.schema.partition_keys)}
    for condition in conjuncts(predicate):
        if not keyed or {c.lower() for c in condition.columns()} <= names:
            live = live.select(outcomes(live, condition).may_be_true)
    for condition in conjuncts(predicate):
        if keyed and not {c.lower() for c in condition.columns()} <= names and live.file_count:
            matching = outcomes(live, condition).may_be_true
            if not matching.all():
                sections = section_numbers(live.entries, live.schema)
                live = live.select(np.isin(sections, sections[matching]))
    return live


def exact_row_count(live: LiveFiles, predicate: Predicate | None = None) -> int | None:
    """Return how many rows a scan would yield, or None when only reading can tell.

    The number is known if nothing is deleted or superseded, and if the bounds decide the
    predicate for every file.
    """
    # Only files that no row needs are left out here, so that newer versions of rows stay.
    live = prune(live, predicate)
    if not _all_rows_count(live):
        return None
    if predicate is not None and live.file_count:
        decided = outcomes(live, predicate)
        if (decided.may_be_true & (decided.may_be_false | decided.may_be_unknown)).any():
            return None
        live = live.select(decided.may_be_true)
    return live.record_count


def exact_bounds(live: LiveFiles, column: str) -> tuple[Value, Value] | None:
    """Return MIN and MAX of a column, or None when only reading can tell.

    Both are None if all values are NULL.
    """
    field = live.schema.field_named(column)
    names = [f"min_{field.id}", f"max_{field.id}", f"nulls_{field.id}", f"exact_{field.id}"]
    if not live.file_count:
        return None, None
    if not _all_rows_count(live) or any(n not in live.entries.column_names for n in names):
        return None
    low, high, nulls, exact = (live.entries[name] for name in names)
    if pa.types.is_floating(low.type) and pc.any(pc.is_nan(high)).as_py():
        return None
    all_null = pc.fill_null(pc.equal(nulls, live.entries["row_count"]), False)
    known = pc.and_(pc.fill_null(exact, False), pc.and_(low.is_valid(), high.is_valid()))
    if not pc.all(pc.or_(known, all_null)).as_py():
        return None
    return python_value(pc.min(low)), python_value(pc.max(high))


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the conditions that the predicate joins by AND."""
    if isinstance(predicate, And):
        return (*conjuncts(predicate.left), *conjuncts(predicate.right))
    return (predicate,)


def outcomes(live: LiveFiles, predicate: Predicate) -> Outcomes:
    """Return which values the predicate may have for the rows of each file, by its bounds."""
    return evaluated(predicate, partial(_bounds, live), live.file_count)


def evaluated(
    predicate: Predicate, bounds_of: Callable[[str], Bounds | None], count: int
) -> Outcomes:
    """Return which values the predicate may have for the rows of each file, or group of files.

    Args:
        predicate: on rows.
        bounds_of: returns the bounds of a column, given by name; None if nothing is known.
        count: how many files, or groups of files, there are.
    """
    match predicate:
        case And() | Or():
            left = evaluated(predicate.left, bounds_of, count)
            right = evaluated(predicate.right, bounds_of, count)
            if isinstance(predicate, And):
                return _both(left, right)
            return _opposite(_both(_opposite(left), _opposite(right)))
        case Not():
            return _opposite(evaluated(predicate.inner, bounds_of, count))
        case Comparison() | In() | IsNull() | IsNotNull() | StartsWith():
            bounds = bounds_of(predicate.column)
            if bounds is not None:
                return _leaf(bounds, predicate)
    everywhere = np.ones(count, dtype=np.bool_)
    return Outcomes(everywhere, everywhere, everywhere)


def _both(left: Outcomes, right: Outcomes) -> Outcomes:
    unknown_left = left.may_be_unknown & (right.may_be_true | right.may_be_unknown)
    unknown_right = right.may_be_unknown & (left.may_be_true | left.may_be_unknown)
    return Outcomes(
        left.may_be_true & right.may_be_true,
        left.may_be_false | right.may_be_false,
        unknown_left | unknown_right,
    )


def _opposite(inner: Outcomes) -> Outcomes:
    return Outcomes(inner.may_be_false, inner.may_be_true, inner.may_be_unknown)


def _leaf(bounds: Bounds, predicate: Predicate) -> Outcomes:
    everywhere = np.ones(len(bounds.some_null), dtype=np.bool_)
    match predicate:
        case IsNull():
            return Outcomes(bounds.some_null, bounds.some_value, ~everywhere)
        case IsNotNull():
            return Outcomes(bounds.some_value, bounds.some_null, ~everywhere)
        case Comparison():
            return _comparison(bounds, predicate)
        case In():
            some_within = _some_within(bounds, predicate) & bounds.some_value
            return Outcomes(some_within, bounds.some_value, bounds.some_null)
        case StartsWith() if pa.types.is_string(bounds.low.type):
            prefix = predicate.prefix
            cut = pc.utf8_slice_codeunits(bounds.low, 0, len(prefix)) if prefix else bounds.low
            above = _or_unknown(pc.less_equal(cut, prefix)) if prefix else everywhere
            below = _or_unknown(pc.greater_equal(bounds.high, prefix))
            return Outcomes(above & below & bounds.some_value, bounds.some_value, bounds.some_null)
    return Outcomes(everywhere, everywhere, everywhere)


def _some_within(bounds: Bounds, predicate: In) -> Mask:
    """Where more values are up to the upper bound than are below the lower one."""
    known = _mask(pc.and_(bounds.low.is_valid(), bounds.high.is_valid()))
    if any(value != value for value in predicate.values):
        return np.ones_like(known)  # Arrow compares NaN otherwise than Spark
    try:
        values = pa.chunked_array([pa.array(predicate.values, bounds.low.type)]).drop_null()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return np.ones_like(known)
    wanted = np.unique(_ordered(values))
    below = np.searchsorted(wanted, _ordered(bounds.low.filter(known)))
    up_to = np.searchsorted(wanted, _ordered(bounds.high.filter(known)), side="right")
    within = ~known
    within[known] = up_to > below
    return within


def _ordered(values: pa.ChunkedArray) -> npt.NDArray[Any]:
    """The values, none of them NULL, in a form in which NumPy orders them as Arrow does."""
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        values = values.cast(pa.int64() if pa.types.is_timestamp(kind) else pa.int32())
    found: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found


def _comparison(bounds: Bounds, predicate: Comparison) -> Outcomes:
    undecided = Outcomes(bounds.some_value, bounds.some_value | bounds.some_null, bounds.some_null)
    if predicate.value != predicate.value:
        return undecided  # Arrow compares NaN otherwise than Spark
    try:
        value = pa.scalar(predicate.value, bounds.low.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return undecided
    low_below = _or_unknown(pc.less(bounds.low, value))
    low_reaches = _or_unknown(pc.less_equal(bounds.low, value))
    high_above = _or_unknown(pc.greater(bounds.high, value))
    high_reaches = _or_unknown(pc.greater_equal(bounds.high, value))
    equal = low_reaches & high_reaches
    different = low_below | high_above
    match predicate.op:
        case "=":
            may_be = equal, different
        case "!=":
            may_be = different, equal
        case "<":
            may_be = low_below, high_reaches
        case ">=":
            may_be = high_reaches, low_below
        case ">":
            may_be = high_above, low_reaches
        case "<=":
            may_be = low_reaches, high_above
        case _:  # for NULL, <=> is false and not unknown
            return Outcomes(
                equal & bounds.some_value,
                (different & bounds.some_value) | bounds.some_null,
                np.zeros_like(equal),
            )
    return Outcomes(may_be[0] & bounds.some_value, may_be[1] & bounds.some_value, bounds.some_null)


def _bounds(live: LiveFiles, column: str) -> Bounds | None:
    schema, entries = live.schema, live.entries
    try:
        field = schema.field_named(column)
    except InvalidSchemaError:
        return None  # a nested field, or a column that only the reader has
    if field.name in schema.partition_keys:
        value = entries[f"partition_{schema.partition_keys.index(field.name)}"]
        is_null = _mask(value.is_null())
        return without_nan(value, value, some_null=is_null, some_value=~is_null)
    present = set(entries.column_names)
    unknown = pa.chunked_array([pa.nulls(entries.num_rows, to_arrow(field.type))])
    low = entries[f"min_{field.id}"] if f"min_{field.id}" in present else unknown
    high = entries[f"max_{field.id}"] if f"max_{field.id}" in present else unknown
    if field.name in schema.primary_key and "key_min_0" in present:
        key_low, key_high = _key_bounds(entries, schema.primary_key.index(field.name))
        low, high = pc.coalesce(low, key_low), pc.coalesce(high, key_high)
    some_null = some_value = _everywhere(live)
    if f"nulls_{field.id}" in present:
        nulls, rows = entries[f"nulls_{field.id}"], entries["row_count"]
        some_null = _or_unknown(pc.greater(nulls, 0))
        some_value = _or_unknown(pc.less(nulls, rows))
    if field.name in schema.primary_key:
        some_null = np.zeros_like(some_null)
    return without_nan(low, high, some_null=some_null, some_value=some_value)


def _key_bounds(entries: pa.Table, index: int) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the bounds that the least and greatest key give for one key column.

    Keys are ordered by their first column first, so they bound a later column only in files
    in which all columns before it are constant. Partition columns always are.
    """
    low, high = entries[f"key_min_{index}"], entries[f"key_max_{index}"]
    for before in range(index):
        constant = pc.equal(entries[f"key_min_{before}"], entries[f"key_max_{before}"])
        constant = pc.fill_null(constant, False)
        nothing = pa.scalar(None, low.type)
        low, high = pc.if_else(constant, low, nothing), pc.if_else(constant, high, nothing)
    return low, high


def without_nan(
    low: pa.ChunkedArray, high: pa.ChunkedArray, *, some_null: Mask, some_value: Mask
) -> Bounds:
    """Return the bounds with NaN as unknown: it is Spark's greatest number, but not Arrow's."""
    if pa.types.is_floating(low.type):
        has_nan = pc.or_(pc.fill_null(pc.is_nan(low), False), pc.fill_null(pc.is_nan(high), False))
        nothing = pa.scalar(None, low.type)
        low, high = pc.if_else(has_nan, nothing, low), pc.if_else(has_nan, nothing, high)
    return Bounds(low=low, high=high, some_null=some_null, some_value=some_value)


def _all_rows_count(live: LiveFiles) -> bool:
    """Return whether every stored row is a row of the table."""
    if not live.file_count:
        return True
    if live.delete_count:
        return False
    if not live.schema.primary_key:
        return True
    sections = section_numbers(live.entries, live.schema)
    return len(np.unique(sections)) == live.file_count


def _everywhere(live: LiveFiles) -> Mask:
    return np.ones(live.file_count, dtype=np.bool_)


def _or_unknown(column: pa.ChunkedArray) -> Mask:
    return _mask(pc.fill_null(column, True))


def _mask(column: pa.ChunkedArray) -> Mask:
    mask: Mask = column.to_numpy()
    return mask
