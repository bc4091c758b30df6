"""Brings a column of rows from elsewhere to the type of its column in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bag.bag import equality_groups
from table_store.storage.file_store.model.errors import (
    DuplicateMapKeyError,
    NaiveTimestampError,
    NullKeyError,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.arrays import IntArray
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.nearest_float import nearest_floats
from table_store.storage.kernel.nested_array import map_entries, struct_of
from table_store.storage.kernel.time_zone import clock_times, instants_of
from table_store.storage.kernel.types import (
    BINARY,
    DOUBLE,
    FLOAT,
    TIME_PRECISION_MAX,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    TimeType,
    to_arrow,
)

_VARIANT_PARTS: Final = StructType(
    (
        StructField(name="value", type=BINARY, nullable=False),
        StructField(name="metadata", type=BINARY, nullable=False),
    )
)

_KINDS: Final[tuple[tuple[str, Callable[[pa.DataType], bool]], ...]] = (
    ("number", pa.types.is_integer),
    ("number", pa.types.is_floating),
    ("number", pa.types.is_decimal),
    ("boolean", pa.types.is_boolean),
    ("text", pa.types.is_string),
    ("text", pa.types.is_large_string),
    ("text", pa.types.is_string_view),
    ("bytes", pa.types.is_binary),
    ("bytes", pa.types.is_large_binary),
    ("bytes", pa.types.is_binary_view),
    ("bytes", pa.types.is_fixed_size_binary),
    ("date", pa.types.is_date),
    ("time", pa.types.is_time),
    ("timestamp", pa.types.is_timestamp),
)
"""What all types have in common whose values may become each other."""

_LISTS: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)

_PLAIN_LAYOUTS: Final = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
"""By the types from which Arrow takes no values: others for the same values."""

_OF_STORAGE: Final = ("arrow.uuid", "arrow.json")
"""Extension types whose values are those of the type that stores them."""


def conformed(
    values: pa.Array, field: Field, zone: str | None, *, is_projection: bool = False
) -> pa.Array:
    """Return the values in the Arrow type of a column; flat ones are not copied if they have it.

    Every value is the same afterwards: a number that does not fit exactly is refused, and so is a
    text in a column of numbers. FLOAT and DOUBLE take the nearest number that they have, and none
    that is beyond their range. A DECIMAL takes of a binary number the shortest decimal one that
    stands for it. A TIME drops the digits that it does not have. Fields of structs are found by
    name in any case, the same case first, and all of them must be there. Inside of arrays, maps
    and structs the same holds. It does not check that required values are there, except keys of
    maps.

    Args:
        values: of any type of Arrow.
        field: the column.
        zone: the zone of timestamps that have none, and of the clock that a TIMESTAMP_NTZ shows.
        is_projection: whether fields of structs that the column does not have are left out, and
            those that the values do not have are NULL.

    Raises:
        InvalidSchemaError: a value does not fit, or the types are of different kinds, or a struct
            has other fields.
        NaiveTimestampError: a timestamp has no zone where one is needed, or the other way round,
            and `zone` is None.
        NullKeyError: a key of a map is NULL.
        DuplicateMapKeyError: a map has a key twice.
    """
    return _Conversion(zone, is_projection).conform(values, field.type, field.name)


@dataclass(frozen=True, slots=True)
class _Conversion:
    """Converts an array of any type; see `conformed` for what the attributes mean."""

    zone: str | None
    is_projection: bool

    def conform(self, values: pa.Array, target: DataType, path: str) -> pa.Array:
        """Return the values as `target`; `path` is where they are, such as `column.element`."""
        source = values.type
        if pa.types.is_null(source):
            return pa.nulls(len(values), to_arrow(target))
        if pa.types.is_dictionary(source):
            used = pc.unique(values.indices.drop_null())
            distinct = self.conform(_categories(values, used, path), target, path)
            return distinct.take(pc.index_in(values.indices, value_set=used))
        if pa.types.is_run_end_encoded(source):
            runs = _run_of_each(values)
            first, last = (int(runs[0]), int(runs[-1])) if len(runs) else (0, -1)
            distinct = self.conform(values.values[first : last + 1], target, path)
            return distinct.take(pa.array(runs - first))
        if isinstance(source, pa.BaseExtensionType):
            return self.conform(_unwrapped(values, target, path), target, path)
        match target:
            case StructType() if pa.types.is_struct(source):
                return self._struct(values, target, to_arrow(target), path)
            case PrimitiveType() if target == VARIANT and pa.types.is_struct(source):
                return self._struct(values, _VARIANT_PARTS, to_arrow(target), path)
            case ArrayType() if any(is_kind(source) for is_kind in _LISTS):
                return self._list(values, target, path)
            case MapType() if pa.types.is_map(source):
                return self._map(values, target, path)
        return self._flat(values, target, path)

    def _struct(
        self, values: pa.StructArray, target: StructType, kind: pa.DataType, path: str
    ) -> pa.Array:
        places = places_of(values.type, [field.name for field in target.fields], f"{path}.")
        if not self.is_projection:
            _check_fields(values.type, target, places, path)
        found = values.flatten()  # a field is NULL where its struct is
        children = [
            pa.nulls(len(values), to_arrow(field.type))
            if place is None
            else self.conform(found[place], field.type, f"{path}.{field.name}")
            for place, field in zip(places, target.fields, strict=True)
        ]
        return struct_of(values, children, kind)

    def _list(self, values: pa.Array, target: ArrayType, path: str) -> pa.Array:
        # Elements of lists that are NULL are dropped.
        elements = self.conform(values.flatten(), target.element, f"{path}.element")
        offsets, kind = _offsets(pc.list_value_length(values), path), to_arrow(target)
        return pa.ListArray.from_arrays(offsets, elements, type=kind, mask=_mask(values))

    def _map(self, values: pa.MapArray, target: MapType, path: str) -> pa.Array:
        entries = map_entries(values)
        lengths = pc.list_value_length(entries)
        keys, items = entries.flatten().flatten()
        keys = self.conform(keys, target.key, f"{path}.key")
        if keys.null_count:
            raise NullKeyError(column=f"{path}.key")
        if target.key in (FLOAT, DOUBLE):
            # As Spark does: -0.0 is 0.0, and there is one NaN.
            keys = pc.if_else(pc.is_nan(keys), pa.scalar(float("nan"), keys.type), pc.add(keys, 0))
        _check_distinct(keys, lengths, path)
        items = self.conform(items, target.value, f"{path}.value")
        offsets, kind = _offsets(lengths, path), to_arrow(target)
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=_mask(values))

    def _flat(self, values: pa.Array, target: DataType, path: str) -> pa.Array:
        """Return values that are not nested; those are refused that Arrow's own cast changes."""
        kind = to_arrow(target)
        if _kind(values.type) is None or _kind(values.type) != _kind(kind):
            raise _misfit(values, f"{target.sql_name()} takes no such values", path)
        try:
            if not values.type.equals(kind):
                values = _cast(self._in_zone(values, target, path), kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _misfit(values, str(error).rstrip("."), path) from error
        return _truncated(values, target) if isinstance(target, TimeType) else values

    def _in_zone(self, values: pa.Array, target: DataType, path: str) -> pa.Array:
        if target not in (TIMESTAMP, TIMESTAMP_NTZ):
            return values
        is_naive = values.type.tz is None
        if is_naive == (target == TIMESTAMP_NTZ):
            return values
        if self.zone is None:
            found = "without a time zone" if is_naive else "with a time zone"
            raise NaiveTimestampError(
                where=f"Column {path!r}", needed=target.sql_name(), found=found
            )
        if is_naive:
            return instants_of(values, self.zone)
        return clock_times(values, self.zone)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal32(values.type) or pa.types.is_decimal64(values.type):
        # Arrow casts these two to some numbers only.
        values = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    if pa.types.is_decimal(kind):
        if pa.types.is_integer(values.type):
            values = values.cast(pa.decimal128(20, 0))  # else Arrow looks at the type's range
        elif pa.types.is_floating(values.type):
            values = values.cast(pa.string())  # else Arrow rounds
    if not pa.types.is_floating(kind):
        return values.cast(kind)
    done = nearest_floats(values, kind)
    if values.type.bit_width > kind.bit_width:
        became_infinite = pc.and_(pc.is_finite(values), pc.is_inf(done))
        became_zero = pc.and_(pc.not_equal(values, 0), pc.equal(done, 0))
        lost = values.filter(pc.or_(became_infinite, became_zero))
        if len(lost):
            raise pa.ArrowInvalid(f"{lost[0]} is beyond the range of {kind}")
    return done


def _truncated(times: pa.Array, target: TimeType) -> pa.Array:
    """Return times of day without the digits that the type does not have, as Spark stores them."""
    step = 10 ** (TIME_PRECISION_MAX - target.precision)
    if step == 1:
        return times
    micros = times.cast(pa.int64())
    return pc.multiply(pc.divide(micros, step), step).cast(times.type)


def _unwrapped(values: pa.ExtensionArray, target: DataType, path: str) -> pa.Array:
    """Return the values of an extension type in a type of Arrow's own."""
    if values.type.extension_name == "arrow.bool8":
        return pc.not_equal(values.storage, 0)
    if values.type.extension_name in _OF_STORAGE:
        return values.storage
    raise _misfit(values, f"{target.sql_name()} takes no such values", path)


def _categories(values: pa.DictionaryArray, used: pa.Array, path: str) -> pa.Array:
    """Return the categories that rows have; the others need not fit."""
    categories = values.dictionary
    plain = _PLAIN_LAYOUTS.get(categories.type, categories.type)
    try:
        return categories.cast(plain).take(used)
    except pa.ArrowNotImplementedError as error:
        raise _misfit(values, str(error).rstrip("."), path) from error


def _run_of_each(values: pa.RunEndEncodedArray) -> IntArray:
    """Return for each value the number of its run."""
    ends = values.run_ends.to_numpy()
    places = np.arange(values.offset, values.offset + len(values))
    runs: IntArray = np.searchsorted(ends, places, side="right")
    return runs


def places_of(source: Iterable[pa.Field], names: Sequence[str], path: str = "") -> list[int | None]:
    """Return where the fields of some names are; None: nowhere. Names have no case, as in Spark.

    If several fields differ in case only, the one with exactly the name is meant.

    Args:
        source: the fields.
        names: those that are looked for.
        path: where the fields are, such as `column.`.

    Raises:
        InvalidSchemaError: several fields could be meant.
    """
    known: dict[str, list[tuple[int, str]]] = {}
    for place, field in enumerate(source):
        known.setdefault(field.name.lower(), []).append((place, field.name))
    found: list[int | None] = []
    for name in names:
        similar = known.get(name.lower(), [])
        meant = [one for one in similar if one[1] == name] or similar
        if len(meant) > 1:
            several = ", ".join(one for _, one in meant)
            reason = f"rows have it more than once: {several}"
            raise InvalidSchemaError(reason=reason, column=f"{path}{name}")
        found.append(meant[0][0] if meant else None)
    return found


def _check_fields(
    source: pa.StructType, target: StructType, places: Sequence[int | None], path: str
) -> None:
    """Check that rows have all fields of a struct, and no others."""
    names = [field.name for field in target.fields]
    lower = {name.lower() for name in names}
    for place, field in enumerate(source):
        if place not in places:
            reason = f"the struct has no such field; it has {', '.join(names)}"
            if field.name.lower() in lower:
                reason = "rows have it twice"
            raise InvalidSchemaError(reason=reason, column=f"{path}.{field.name}")
    for found, name in zip(places, names, strict=True):
        if found is None:
            reason = "rows must have all fields of a struct"
            raise InvalidSchemaError(reason=reason, column=f"{path}.{name}")


def _check_distinct(keys: pa.Array, lengths: pa.Array, path: str) -> None:
    """Refuse maps in which two keys are equal, as Spark compares them."""
    if (pc.max(lengths).as_py() or 0) < 2:
        return
    counts = pc.fill_null(lengths, 0).to_numpy()
    maps = pa.array(np.repeat(np.arange(len(counts)), counts))
    groups = equality_groups(pa.table({"map": maps, "key": keys}))
    distinct, first = np.unique(groups, return_index=True)
    if len(distinct) < len(keys):
        twice = np.setdiff1d(np.arange(len(keys)), first)[0]
        raise DuplicateMapKeyError(column=path, key=keys[int(twice)].as_py())


def _offsets(lengths: pa.Array, path: str) -> pa.Array:
    """Return where lists of these lengths begin and end, one behind the other."""
    ends = np.cumsum(pc.fill_null(lengths, 0).to_numpy(), dtype=np.int64)
    try:
        return pa.array(np.concatenate([[0], ends]), pa.int32())
    except pa.ArrowInvalid as error:
        reason = "its lists have more than 2,147,483,647 elements; write fewer rows at once"
        raise InvalidSchemaError(reason=reason, column=path) from error


def _mask(values: pa.Array) -> pa.BooleanArray | None:
    return values.is_null() if values.null_count else None


def _kind(data_type: pa.DataType) -> str | None:
    return next((name for name, is_kind in _KINDS if is_kind(data_type)), None)


def _misfit(values: pa.Array, why: str, path: str) -> InvalidSchemaError:
    reason = f"its values of type {values.type} do not fit ({why})"
    return InvalidSchemaError(reason=reason, column=path)
