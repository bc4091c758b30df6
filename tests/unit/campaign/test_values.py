"""The envelope draws every class of value, and no value changes on its way through Arrow."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.values.arrow_layout import laid_out
from tests.values.arrow_values import arrow_array, arrow_table, plain_rows, plain_values
from tests.values.edges import INVALID_TEXTS, LENGTHS, edges
from tests.values.envelope import CASE_BYTES, Envelope
from tests.values.kinds import SCALARS, Array, Kind, Map, Struct, inner_kinds
from tests.values.sql_values import clock_text, sql_text

NESTED = Struct(
    (("a", Array(Map("STRING", "INT"))), ("b", "VARIANT"), ("c", "TIME(0)")), frozenset("b")
)


@pytest.mark.parametrize("kind", [*SCALARS, "VARIANT", NESTED, Array(NESTED)], ids=str)
def test_values_come_back_from_every_layout_of_arrow(kind: Kind) -> None:
    envelope = Envelope(random.Random(1), has_invalid_texts=True, longest=4_096)
    rows = [(value,) for value in envelope.values(kind, 40)]
    table = arrow_table(rows, {"v": kind})
    assert plain_rows(table, {"v": kind}) == rows
    for seed in range(6):
        found = laid_out(table, random.Random(seed))
        assert plain_values(found.column(0), kind) == [value for (value,) in rows]


def drawn(kind: Kind, count: int) -> Iterator[object]:
    for seed in range(count):
        yield Envelope(random.Random(seed), has_invalid_texts=seed % 2 == 0).value(kind)


def test_texts_of_every_length_are_drawn() -> None:
    texts = [text for text in drawn("STRING", 3_000) if isinstance(text, bytes)]
    assert {len(text.decode(errors="replace")) for text in texts} >= set(LENGTHS)
    assert set(texts) >= {*INVALID_TEXTS, *edges("STRING")}


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(38,38)", "DATE", "TIMESTAMP_NTZ", "VARIANT"])
def test_every_edge_is_drawn(kind: str) -> None:
    assert set(drawn(kind, 1_000)) >= {None, *edges(kind)}


def test_kinds_of_every_class_are_drawn() -> None:
    kinds = [inner for seed in range(2_000) for inner in inner_kinds(drawn_kind(seed))]
    assert {kind for kind in kinds if isinstance(kind, str)} >= {*SCALARS, "VARIANT"}
    assert {type(kind) for kind in kinds} == {str, Array, Map, Struct}


def drawn_kind(seed: int) -> Kind:
    return Envelope(random.Random(seed)).kind()


def test_a_case_is_bounded() -> None:
    envelope = Envelope(random.Random(1))
    values = [value for value in envelope.values("STRING", 3_000) if value is not None]
    assert 8 << 20 < sum(map(len, values)) <= CASE_BYTES


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01 00:00:00.000000"),
        (-1, "1969-12-31 23:59:59.999999"),
        (-62_135_596_800_000_000, "0001-01-01 00:00:00.000000"),
        (951_782_400_000_001, "2000-02-29 00:00:00.000001"),
        (min(edges("TIMESTAMP")), "-9999-01-01 00:00:00.000000"),
    ],
)
def test_clocks_of_every_year(micros: int, text: str) -> None:
    assert clock_text(micros) == text


@pytest.mark.parametrize("text", ["", "it's", "a" * 600, "x" + "€" * 99 + "\\", "é" * 62])
def test_texts_in_sql_say_what_repeats(text: str) -> None:
    said = sql_text(text.encode())
    assert len(said) < 600
    assert "\\" not in said
    assert said.isascii()


def test_required_fields_are_never_null() -> None:
    for seed in range(60):
        kind = Envelope(random.Random(seed)).struct(2)
        values = Envelope(random.Random(seed)).values(kind, 20)
        array = arrow_array(values, kind)
        assert isinstance(array, pa.StructArray)
        for at, (name, _) in enumerate(kind.fields):
            if name in kind.required:
                assert not any(value is not None and value[at] is None for value in values)
