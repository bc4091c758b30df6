"""Goal: the lines of a file are those that Python's reader of CSV finds, however it is read."""

from __future__ import annotations

import csv
import io
import random

import pytest

from table_store.catalog.connectors.filesystem import text_lines as module
from table_store.catalog.connectors.filesystem.text_lines import text_lines


def found_in(data: bytes, delimiter: str | None = ",") -> list[bytes]:
    return [line for found in text_lines(io.BytesIO(data), delimiter) for line in found.to_pylist()]


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 64, 1 << 20])
def test_lines(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    chance = random.Random(block_bytes)
    rows = [
        ["".join(chance.choices('ab"\n,é', k=chance.randint(0, 6))) for _ in range(2)]
        for _ in range(200)
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = ("\n\n" + text.getvalue()).encode().removesuffix(b"\n")
    lines = [line.decode() for line in found_in(data)]
    assert [next(csv.reader(io.StringIO(line, newline=""))) for line in lines] == rows
    plain = data.replace(b"\n", b"\r\n")
    assert found_in(plain, None) == [
        line.rstrip(b"\r") for line in plain.split(b"\n") if line.strip(b"\r")
    ]


@pytest.mark.parametrize("delimiter", [",", None])
def test_a_byte_order_mark_begins_a_file(delimiter: str | None) -> None:
    """Excel and Windows write it; elsewhere it is a character."""
    assert found_in("\ufeffa,b\n\ufeffc\n".encode(), delimiter) == [b"a,b", "\ufeffc".encode()]
    assert found_in("\ufeff\ufeffa".encode(), delimiter) == ["\ufeffa".encode()]
    for short in (b"", b"a", b"\n", b"ab", "\ufeff".encode()):
        assert found_in(short, delimiter) == [line for line in (short.strip(),) if line.isalpha()]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_quotes_within_fields(delimiter: str) -> None:
    """They are characters where the field does not begin with one."""
    chance = random.Random(delimiter)
    for _ in range(400):
        lines = []
        for _ in range(chance.randint(1, 8)):
            fields = []
            for _ in range(3):
                text = "".join(chance.choices('ab" ' + delimiter, k=chance.randint(1, 5)))
                is_quoted = chance.random() < 0.5
                if is_quoted:
                    text = '"' + text.replace("a", "\n").replace('"', '""') + '"'
                else:
                    text = "x" + text.replace(delimiter, "y")
                fields.append(text)
            lines.append(delimiter.join(fields).encode())
        data = b"\n".join(lines)
        assert found_in(data, delimiter) == lines
        rows = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter)
        assert len(list(rows)) == len(lines)


def test_a_quote_that_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no other lines along, neither at the end of a file nor within a long one."""
    data = b'1,a\n2,"b\n3,c\n4,"d\ne"\n5,"f\n'
    for block_bytes, quoted_bytes in ((1 << 20, 1 << 20), (4, 8)):
        monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
        monkeypatch.setattr(module, "_QUOTED_BYTES_MAX", quoted_bytes)
        found = found_in(b'1,a\n2,"b\n3,c\n4,d\n')
        assert found == [b"1,a", b'2,"b', b"3,c", b"4,d"]
    assert found_in(data)[-1] == b'5,"f'
