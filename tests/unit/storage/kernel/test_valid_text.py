"""Goal: a text that is not UTF-8 is found at any depth, and only where it counts.

The oracle is Python's decoder.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from table_store.storage.kernel.errors import InvalidTextError
from table_store.storage.kernel.valid_text import check_texts, holds_text, is_valid_text

INVALID = [
    b"\xff",
    b"a\xffb",
    b"\x80",
    b"\xc3",
    b"\xc0\x80",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"x" * 100 + b"\xfe",
]
VALID = ["", "a", "\0", "\ufeff", "e\u0301", "\u202eabc", "\U0001f980", "\U0010ffff", "é" * 5000]


def texts(*values: bytes | None) -> pa.Array:
    return pa.array(values, pa.binary()).view(pa.string())


def nested(bad: pa.Array) -> dict[str, pa.Array]:
    """Return arrays with `bad`, two texts, at a place, by the name of the place."""
    good = pa.array(["x", "y"])
    struct = pa.StructArray.from_arrays([good, bad], ["g", "b"])
    return {
        "c": bad,
        "c.b": struct,
        "c.element": pa.ListArray.from_arrays([0, 0, 2], bad),
        "c.element.b": pa.ListArray.from_arrays([0, 1, 2], struct),
        "c.key": pa.MapArray.from_arrays([0, 1, 2], bad, good),
        "c.value": pa.MapArray.from_arrays([0, 0, 2], good, bad),
    }


@pytest.mark.parametrize("wrong", INVALID, ids=repr)
def test_a_text_that_is_not_utf8_is_found_at_any_depth(wrong: bytes) -> None:
    for path, column in nested(texts(b"ok", wrong)).items():
        for form in (column, pa.chunked_array([column.slice(0, 0), column])):
            with pytest.raises(InvalidTextError) as raised:
                check_texts(form, "c")
            assert raised.value.column == path
            assert wrong[:32].hex() in str(raised.value)
        check_texts(column.slice(0, 0), "c")


def test_valid_texts_pass_at_any_depth() -> None:
    for value in VALID:
        for column in nested(pa.array([value, None if value else ""]).fill_null("")).values():
            check_texts(column, "c")


def test_texts_that_no_row_has_do_not_count() -> None:
    bad = texts(b"\xff", b"a")
    check_texts(bad.slice(1), "c")
    mask = pa.array([True, False])
    check_texts(pa.StructArray.from_arrays([bad], ["x"], mask=mask), "c")
    check_texts(pa.ListArray.from_arrays(pa.array([1, 2], pa.int32()), bad), "c")
    check_texts(pa.DictionaryArray.from_arrays([1, 1], bad), "c")
    with pytest.raises(InvalidTextError):
        check_texts(pa.DictionaryArray.from_arrays([1, 0], bad), "c")
    with pytest.raises(InvalidTextError):
        check_texts(bad.cast(pa.binary()).cast(pa.large_binary()).view(pa.large_string()), "c")


def test_random_bytes_are_judged_as_python_does() -> None:
    draw = random.Random(7)
    for _ in range(2000):
        data = bytes(draw.choice(b"\x00a\x7f\x80\xbf\xc2\xe0\xed\xf0\xf4\xff") for _ in range(4))
        try:
            data.decode()
        except UnicodeDecodeError:
            with pytest.raises(InvalidTextError):
                check_texts(texts(b"", data), "c")
        else:
            check_texts(texts(b"", data), "c")


def test_types_without_texts_cost_nothing() -> None:
    assert not holds_text(pa.binary())
    assert not holds_text(pa.map_(pa.int32(), pa.list_(pa.struct([("b", pa.binary())]))))
    assert holds_text(pa.map_(pa.int32(), pa.list_(pa.struct([("b", pa.string())]))))


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert [is_valid_text(t) for t in ("", "a", "🦀", "a\ud83e", "\udc00")] == [
        True,
        True,
        True,
        False,
        False,
    ]
