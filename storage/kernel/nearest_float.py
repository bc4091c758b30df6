"""Numbers as the nearest floating-point number, where Arrow's cast rounds twice or refuses."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_EXACT: Final = {pa.float64(): (1 << 53, 22), pa.float32(): (1 << 24, 10)}
"""By type: up to which integer and which power of ten it has all of them. The quotient of two such
numbers is rounded once (source: Clinger, "How to read floating point numbers accurately")."""


def nearest_floats(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return numbers in FLOAT or DOUBLE, each the nearest that `kind` has; ties go to the even one.

    A number beyond the range becomes infinite or 0.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError: they are no numbers.
    """
    if not pa.types.is_decimal(values.type):
        return values.cast(kind, safe=not pa.types.is_integer(values.type))
    integer_max, scale_max = _EXACT[kind]
    scale = values.type.scale
    if pa.types.is_decimal128(values.type) and 0 <= scale <= scale_max:
        unscaled = _unscaled(values)
        bounds = pc.min_max(unscaled)
        low, high = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
        if -integer_max <= low and high <= integer_max:
            ten = pa.scalar(10.0**scale, kind)
            return pc.divide(unscaled.cast(pa.int64()).cast(kind), ten)
    return values.cast(pa.string()).cast(kind)  # whose parser rounds once


def _unscaled(values: pa.Array) -> pa.Array:
    """Return decimals without their decimal point; nothing is copied."""
    whole = pa.decimal128(38, 0)
    return pa.Array.from_buffers(whole, len(values), values.buffers(), offset=values.offset)
