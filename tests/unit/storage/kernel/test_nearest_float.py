"""Goal: a number becomes the nearest one of FLOAT and DOUBLE.

The oracle for DOUBLE is Python's `float`; for FLOAT it is the closest neighbour in fractions.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.kernel.nearest_float import nearest_floats

PRECISIONS = (1, 7, 8, 9, 10, 15, 16, 17, 18, 19, 28, 37, 38)


def nearest_float32(value: Decimal | int) -> float:
    """Return the closest float of 32 bits; of two the one whose last bit is 0."""
    near = np.float32(float(value))
    around = [np.nextafter(near, np.float32(end)) for end in (-math.inf, math.inf)]
    return float(
        min(
            [near, *around],
            key=lambda f: (abs(Fraction(float(f)) - Fraction(value)), int(f.view(np.int32)) & 1),
        )
    )


def decimals(precision: int, scale: int) -> list[Decimal]:
    """Return edges and random decimals."""
    draw, edge = random.Random(f"{precision} {scale}"), 10**precision - 1
    edges = [n for e in (24, 53) for n in range(2**e - 2, 2**e + 3) if n <= edge]
    drawn = [draw.randint(-edge, edge) // 10 ** draw.randrange(precision) for _ in range(20)]
    numbers = [0, 1, -1, edge, -edge, *edges, *[-n for n in edges], *drawn]
    return [Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)) for n in numbers]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_decimals_become_the_nearest_number(precision: int, kind: pa.DataType) -> None:
    nearest = float if kind == pa.float64() else nearest_float32
    for scale in sorted({0, 1, 2, 5, precision // 2, precision - 1, precision}):
        if scale > precision:
            continue
        given = decimals(precision, scale)
        for some in (given, given[3:9]):
            values = pa.array([None, *some], pa.decimal128(precision, scale))
            for array in (values, values.cast(pa.decimal256(precision, scale))):
                found = nearest_floats(array.slice(1), kind).to_pylist()
                assert found == [nearest(value) for value in some], (precision, scale)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_integers_become_the_nearest_number(kind: pa.DataType) -> None:
    edges = [2**e + d for e in (24, 25, 53, 54, 62) for d in range(-3, 4)]
    given = [*edges, *[-n for n in edges], 2**63 - 1, -(2**63), (2**53 + 1) * 2**9 + 1]
    nearest = float if kind == pa.float64() else nearest_float32
    assert nearest_floats(pa.array(given), kind).to_pylist() == [nearest(n) for n in given]
    unsigned = pa.array([2**64 - 1, 2**63 + 1025], pa.uint64())
    assert nearest_floats(unsigned, kind).to_pylist() == [nearest(n.as_py()) for n in unsigned]


def test_what_is_beyond_the_range_is_infinite_or_zero() -> None:
    values = pa.array([Decimal(10**39), None], pa.decimal256(50, 0))
    assert nearest_floats(values, pa.float32()).to_pylist() == [math.inf, None]
    small = pa.array([Decimal("1e-70")], pa.decimal256(76, 75))
    assert nearest_floats(small, pa.float32()).to_pylist() == [0.0]
    assert nearest_floats(small, pa.float64()).to_pylist() == [1e-70]
    assert nearest_floats(pa.array([1e300]), pa.float32()).to_pylist() == [math.inf]
    assert nearest_floats(pa.array([], pa.decimal128(5, 2)), pa.float64()).to_pylist() == []
